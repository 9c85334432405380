//! Sign-in at an identity provider: `oidc-provider`, which is certified, driven like a browser.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use crate::harness::{Client, Engine, IdentityProvider, Reply, Service, Setup, free_port, until};

/// A browser that follows redirects and stores cookies. Each host has one jar, regardless of the port.
struct Browser {
    http: reqwest::Client,
    cookies: BTreeMap<String, String>,
    /// Every visited URL.
    visited: Vec<Url>,
}

impl Browser {
    fn new() -> Self {
        let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
        Self { http, cookies: BTreeMap::new(), visited: Vec::new() }
    }

    /// Makes one request without following redirects.
    async fn get(&mut self, url: &str) -> Reply {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = self.http.get(url).header("cookie", cookies.join("; ")).send().await.unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let (name, value) = cookie.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Reply { status, headers, text: response.text().await.unwrap() }
    }

    /// Follows redirects until a URL begins with `stop`, and returns that URL.
    async fn follow(&mut self, url: &str, stop: &str) -> String {
        let mut url = Url::parse(url).unwrap();
        for _ in 0..12 {
            let reply = self.get(url.as_str()).await;
            assert!((300..400).contains(&reply.status), "{url}: {} {}", reply.status, reply.text);
            url = url.join(reply.header("location")).unwrap();
            self.visited.push(url.clone());
            if url.as_str().starts_with(stop) {
                return url.into();
            }
        }
        panic!("{url} leads on and on");
    }

    /// Signs in at the provider and returns the callback URL without opening it.
    async fn callback(&mut self, service: &Service, path: &str) -> String {
        let stop = format!("{}/api/auth/callback", service.url);
        self.follow(&format!("{}{path}", service.url), &stop).await
    }

    async fn sign_in(&mut self, service: &Service) -> String {
        let callback = self.callback(service, "/api/auth/login").await;
        let reply = self.get(&callback).await;
        assert_eq!(reply.status, 302, "{}", reply.text);
        reply.header("location").to_owned()
    }

    async fn me(&mut self, service: &Service) -> Reply {
        self.get(&format!("{}/api/auth/me", service.url)).await
    }
}

/// Starts a service with a provider. The service's address is chosen first because the provider must know it.
async fn service_with_provider(setup: Setup) -> (Service, IdentityProvider) {
    let (setup, url) = setup.at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    (at_provider(setup, &provider.issuer).boot().await, provider)
}

fn at_provider(setup: Setup, issuer: &str) -> Setup {
    setup
        .with("EP_AUTH_ISSUER_URL", issuer)
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
}

#[tokio::test]
async fn users_sign_in_and_out() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (service, provider) = service_with_provider(Setup::demo().on(engine)).await;
        let mut browser = Browser::new();
        let begun = browser.get(&format!("{}/api/auth/login", service.url)).await;
        assert_eq!(begun.status, 302);
        let flow = begun.header("set-cookie");
        assert!(flow.contains("; HttpOnly; SameSite=Lax; Path=/api/auth; Max-Age=600"), "{flow}");
        assert!(flow.len() < 4096);
        let request = Url::parse(begun.header("location")).unwrap();
        let parameters: BTreeMap<String, String> = request.query_pairs().into_owned().collect();
        assert!(request.as_str().starts_with(&provider.issuer));
        assert_eq!(parameters["code_challenge_method"], "S256");
        assert_eq!(
            (parameters["response_type"].as_str(), parameters["scope"].as_str()),
            ("code", "openid email")
        );

        assert_eq!(browser.sign_in(&service).await, format!("{}/dashboard", service.url));
        assert!(!browser.cookies.contains_key("ep_oidc"), "it has done its work");
        let me = browser.me(&service).await.expect(200);
        assert_eq!(me["email"], "alice@example.com");
        let balance = browser.get(&format!("{}/api/balance", service.url)).await.expect(200);
        assert_eq!(balance["balance"], "$1.00");

        // The same person gets the same account with a new session; the old session has ended.
        let earlier = browser.cookies["ep_session"].clone();
        let callback = browser.callback(&service, "/api/auth/login?return_to=/results/EP-1").await;
        let reply = browser.get(&callback).await;
        assert_eq!(reply.header("location"), format!("{}/results/EP-1", service.url));
        assert_ne!(browser.cookies["ep_session"], earlier);
        assert_eq!(browser.me(&service).await.expect(200), me);
        let request = service.anonymous().request(Method::GET, "/api/auth/me");
        let old = request.header("cookie", format!("ep_session={earlier}"));
        service.anonymous().send(old).await.refused(401);
        let balance = browser.get(&format!("{}/api/balance", service.url)).await.expect(200);
        assert_eq!(balance["balance"], "$1.00");

        // Signing out ends the session here and at the provider.
        let session = browser.cookies["ep_session"].clone();
        browser.visited.clear();
        browser.follow(&format!("{}/api/auth/logout", service.url), &format!("{}/", service.url)).await;
        let at_provider = &browser.visited[0];
        assert!(at_provider.as_str().starts_with(&provider.issuer), "{at_provider}");
        assert!(at_provider.query_pairs().any(|(name, _)| name == "id_token_hint"));
        browser.cookies.insert("ep_session".into(), session);
        browser.me(&service).await.refused(401);
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn same_email_address_does_not_merge_accounts() {
    let (service, provider) = service_with_provider(Setup::demo()).await;
    let user =
        service.app.accounts.create_user("victim@example.com".parse().unwrap(), MicroUsd::new(5_000_000));
    let victim = user.await.unwrap();
    let mut users = vec![json!(victim)];
    for subject in ["mallory", "eve"] {
        provider.sign_in(subject, "Victim@Example.com", true).await;
        let mut browser = Browser::new();
        browser.sign_in(&service).await;
        let me = browser.me(&service).await.expect(200);
        assert_eq!(me["email"], "victim@example.com");
        assert!(!users.contains(&me["userId"]), "{me}");
        users.push(me["userId"].clone());
        let results = browser.get(&format!("{}/api/results", service.url)).await.expect(200);
        assert_eq!(results, json!([]));
        let balance = browser.get(&format!("{}/api/balance", service.url)).await.expect(200);
        assert_eq!(balance["balance"], "$1.00", "its own starter credit");
    }
    // An e-mail address that the provider has not verified is ignored.
    provider.sign_in("anyone", "victim@example.com", false).await;
    let mut browser = Browser::new();
    browser.sign_in(&service).await;
    let email = browser.me(&service).await.expect(200)["email"].clone();
    assert!(email.as_str().unwrap().ends_with("@login.invalid"), "{email}");
    // The operator's command reports that the address is ambiguous, with the account ids.
    let admin = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_ep"))
            .args(["admin"])
            .args(arguments)
            .env("EP_DATA_DIR", service.data.path())
            .output()
            .unwrap()
    };
    let refused = admin(&["balance", "--email", "victim@example.com", "--json"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(users.iter().all(|user| said.contains(user.as_str().unwrap())), "{said}");
    let shown = admin(&["balance", "--user", &victim.to_string(), "--json"]);
    let balance: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(balance["available_usd"].as_f64(), Some(5.0));
}

#[tokio::test]
async fn callback_of_another_browser_is_rejected() {
    let (service, provider) = service_with_provider(Setup::demo().seeded(5)).await;
    let refused = async |browser: &mut Browser, url: &str| {
        let reply = browser.get(url).await;
        assert!(!reply.header("set-cookie").contains("ep_session"), "{}", reply.header("set-cookie"));
        assert!(reply.header("location").is_empty());
        reply.refused(401)
    };
    let changed = |url: &str, name: &str, value: Option<&str>| {
        let mut url = Url::parse(url).unwrap();
        let others: Vec<(String, String)> =
            url.query_pairs().into_owned().filter(|(known, _)| known != name).collect();
        let value = value.map(|value| (name.to_owned(), value.to_owned()));
        url.query_pairs_mut().clear().extend_pairs(others.into_iter().chain(value));
        url.to_string()
    };
    let mut browser = Browser::new();
    let callback = browser.callback(&service, "/api/auth/login").await;

    // Opened in another person's browser, which would then be signed in as the attacker.
    assert!(refused(&mut Browser::new(), &callback).await.contains("did not start this sign-in"));
    let mut other = Browser::new();
    other.callback(&service, "/api/auth/login").await;
    assert!(refused(&mut other, &callback).await.contains("did not start this sign-in"));
    for state in [None, Some(""), Some("guessed")] {
        refused(&mut browser, &changed(&callback, "state", state)).await;
    }
    refused(&mut browser, &format!("{}/api/auth/callback", service.url)).await;
    refused(&mut browser, &format!("{}/api/auth/callback?code=abc", service.url)).await;
    // A response of another provider (RFC 9207) uses up the sign-in attempt.
    assert!(
        refused(&mut browser, &changed(&callback, "iss", Some("https://evil.example")))
            .await
            .contains("another")
    );
    assert!(refused(&mut browser, &callback).await.contains("used already"));
    let callback = browser.callback(&service, "/api/auth/login").await;
    assert!(refused(&mut browser, &changed(&callback, "iss", None)).await.contains("another"));

    // A code used in another sign-in, where the verifier does not match.
    let stolen = other.callback(&service, "/api/auth/login").await;
    let (_, code) =
        Url::parse(&stolen).unwrap().query_pairs().into_owned().find(|(name, _)| name == "code").unwrap();
    let callback = browser.callback(&service, "/api/auth/login").await;
    assert!(
        refused(&mut browser, &changed(&callback, "code", Some(&code)))
            .await
            .contains("did not accept the code")
    );

    // A callback works once.
    let callback = browser.callback(&service, "/api/auth/login").await;
    let cookies = browser.cookies.clone();
    assert_eq!(browser.get(&callback).await.status, 302);
    browser.cookies = cookies;
    assert!(refused(&mut browser, &callback).await.contains("used already"));

    provider.refuse_next("access_denied").await;
    let callback = browser.callback(&service, "/api/auth/login").await;
    assert!(callback.contains("error=access_denied"));
    assert!(refused(&mut browser, &callback).await.contains("refused (access_denied)"));

    // A sign-in expires after ten minutes.
    let callback = browser.callback(&service, "/api/auth/login").await;
    service.clock.as_ref().unwrap().advance(Duration::from_mins(10));
    assert!(refused(&mut browser, &callback).await.contains("ten minutes"));
}

#[tokio::test]
async fn redirects_to_other_websites_are_rejected() {
    let (service, _provider) = service_with_provider(Setup::demo()).await;
    for path in
        ["//evil.example", "https://evil.example/", "/%5Cevil.example", "%09//evil.example", "/%0d%0aa:b"]
    {
        let mut browser = Browser::new();
        let callback = browser.callback(&service, &format!("/api/auth/login?return_to={path}")).await;
        let reply = browser.get(&callback).await;
        assert_eq!(reply.header("location"), format!("{}/dashboard", service.url), "{path}");
    }
}

#[tokio::test]
async fn service_starts_before_its_provider() {
    let port = free_port();
    let issuer = format!("http://127.0.0.1:{port}");
    let service = at_provider(Setup::demo(), &issuer).boot().await;
    let client = service.anonymous();
    let reply = client.get("/api/auth/login").await;
    assert!(!reply.header("retry-after").is_empty());
    assert!(reply.refused(503).contains("identity provider is not responding"));
    client.get("/api/health").await.expect(200);
    let _provider = IdentityProvider::start(&service.url, port).await;
    let sign_in = async || client.get("/api/auth/login").await.status;
    until("the service has found its provider", sign_in, |status| *status != 503).await;
    Browser::new().sign_in(&service).await;
}

#[tokio::test]
async fn message_names_the_settings_without_a_provider() {
    let service = Setup::demo().boot().await;
    let client: Client = service.anonymous();
    for path in ["/api/auth/login", "/api/auth/callback?code=a"] {
        let said = client.get(path).await.refused(503);
        assert!(said.contains("EP_AUTH_ISSUER_URL") && said.contains("wallet"), "{said}");
    }
}

#[tokio::test]
async fn provider_booleans_may_be_strings() {
    let (service, provider) = service_with_provider(Setup::demo()).await;
    for (subject, verified, taken) in [("apple", "true", true), ("pear", "false", false)] {
        let claims = json!({ "sub": subject, "email": "a@example.com", "email_verified": verified });
        provider.sign_in_with(claims).await;
        let mut browser = Browser::new();
        browser.sign_in(&service).await;
        let email = browser.me(&service).await.expect(200)["email"].clone();
        assert_eq!(email == "a@example.com", taken, "{verified}: {email}");
    }
}

#[tokio::test]
async fn id_token_of_another_client_is_rejected() {
    let (service, provider) = service_with_provider(Setup::demo()).await;
    for (party, accepted) in [("polls", true), ("another-client", false), ("", false)] {
        provider.sign_in_with(json!({ "sub": "zoe", "azp": party })).await;
        let mut browser = Browser::new();
        let callback = browser.callback(&service, "/api/auth/login").await;
        let reply = browser.get(&callback).await;
        assert_eq!(browser.cookies.contains_key("ep_session"), accepted, "{party}");
        if !accepted {
            assert!(reply.refused(401).contains("another client"), "{party}");
        }
    }
}

#[tokio::test]
async fn links_from_other_websites_stop_at_the_sign_in_page() {
    let (service, _provider) = service_with_provider(Setup::demo()).await;
    let client = service.anonymous();
    let begin = async |site: &str| {
        let request = client.request(Method::GET, "/api/auth/login?return_to=/results/EP-1%3Fa%3Db");
        client.send(request.header("sec-fetch-site", site)).await
    };
    for site in ["cross-site", "same-site"] {
        let reply = begin(site).await;
        assert_eq!((reply.status, reply.header("set-cookie")), (302, ""), "{site}");
        let page = format!("{}/login?return_to=%2Fresults%2FEP-1%3Fa%3Db", service.url);
        assert_eq!(reply.header("location"), page);
        let page = client.get("/login?return_to=%2Fresults%2FEP-1%3Fa%3Db").await;
        assert!(page.status == 200 && page.text.contains("/api/auth/login?return_to="), "{}", page.text);
    }
    for site in ["same-origin", "none"] {
        assert!(begin(site).await.header("set-cookie").starts_with("ep_oidc="), "{site}");
    }
}
