//! Sign-in and the account page: forms without scripts, CSRF protection, errors, and a complete browser walk
//! (`tests/pages/account.mjs`).

use std::time::Duration;

use ep_kernel::method::Method as RouteMethod;
use ep_polling::MicroUsd;
use ep_site::RouteKind;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::deposits::PaymentSetup;
use crate::harness::{Client, IdentityProvider, Reply, Service, Setup, Stripe, WalletLibraries, question};
use crate::pages::walked_by;

pub const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");
pub const DASHBOARD: &str = "/dashboard";

/// A signed-in browser.
pub struct Visitor {
    pub client: Client,
    cookie: String,
}

impl Visitor {
    pub async fn new(service: &Service, dollars: i64) -> (Self, Client) {
        let (user, owner) = service.user_with(MicroUsd::new(dollars * 1_000_000)).await;
        (Self { client: service.anonymous(), cookie: service.cookie(user).await }, owner)
    }

    pub async fn get(&self, path: &str) -> Reply {
        let request = self.client.request(Method::GET, path);
        self.client.send(request.header("cookie", &self.cookie).header("accept", BROWSER)).await
    }

    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        send(&self.client, path, fields, &[OWN, ("cookie", &self.cookie)]).await
    }

    pub async fn page(&self) -> String {
        let page = self.get(DASHBOARD).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text
    }
}

async fn send(client: &Client, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let request = client.request(Method::POST, path).form(fields);
    client.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Returns the text between two marks of a page.
#[track_caller]
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split_once(after).unwrap().0
}

/// The title and the text of a refusal.
#[track_caller]
fn refusal(page: &Reply) -> (&str, &str) {
    let shown = between(&page.text, "id=\"refused\" role=\"alert\" tabindex=\"-1\">", "</div>");
    (between(shown, "<h3>", "</h3>"), between(shown, "<p>", "</p>"))
}

fn key_of(page: &Reply) -> String {
    assert_eq!(page.status, 200, "{}", page.text);
    between(&page.text, "id=\"key\">", "<").to_owned()
}

async fn keys(owner: &Client) -> Vec<Value> {
    owner.get("/api/keys").await.expect(200).as_array().unwrap().clone()
}

#[tokio::test]
async fn unauthenticated_users_are_redirected_to_sign_in_and_back() {
    let service = Setup::demo().boot().await;
    let (visitor, owner) = Visitor::new(&service, 5).await;
    let nobody = service.anonymous();
    let login = "/login?return_to=%2Fdashboard";
    for headers in [vec![], vec![("cookie", "ep_session=ended")]] {
        let request = nobody.request(Method::GET, DASHBOARD);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let sent = nobody.send(request).await;
        assert_eq!((sent.status, sent.header("location")), (303, login));
        assert_eq!(sent.header("set-cookie").is_empty(), headers.is_empty(), "an ended session is forgotten");
    }
    // A key is not a sign-in.
    assert_eq!(owner.get(DASHBOARD).await.status, 303);
    let page = visitor.get(DASHBOARD).await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert!(
        page.header("vary").contains("cookie") && page.text.contains("name=\"robots\" content=\"noindex\"")
    );
    assert!(
        page.text.contains("$5.00")
            && page.header("content-security-policy").contains("frame-ancestors 'none'")
    );

    // Signed-in users are redirected only to paths of this service.
    for (wanted, to) in [
        ("%2Fresults%2FEP-1", "/results/EP-1"),
        ("%2F%2Fevil.example", DASHBOARD),
        ("https%3A%2F%2Fevil.example", DASHBOARD),
        ("%2F%5Cevil.example", DASHBOARD),
        ("javascript%3Aalert(1)", DASHBOARD),
        ("%2Fa%0D%0Aset-cookie%3Aa=b", DASHBOARD),
        ("", DASHBOARD),
    ] {
        let path = format!("/login?return_to={wanted}");
        let sent = visitor.get(&path).await;
        assert_eq!((sent.status, sent.header("location")), (303, to), "{wanted}");
        let page = nobody.get(&path).await;
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert!(!page.text.contains("evil.example") && !page.text.contains("alert(1)"), "{}", page.text);
        assert!(page.text.contains(&format!("data-return=\"{to}\"")), "{wanted}: {}", page.text);
    }
    assert!(!nobody.get("/sitemap.xml").await.text.contains(DASHBOARD));
    assert!(nobody.get("/robots.txt").await.text.contains(&format!("Disallow: {DASHBOARD}\n")));
    let login = nobody.get("/login?return_to=%2Fdocs").await.text;
    assert!(
        login.contains(&format!("rel=\"canonical\" href=\"{}/login\"", service.url))
            && !login.contains("noindex")
    );
    let twin = nobody.request(Method::GET, "/login").header("accept", "text/markdown");
    assert!(nobody.send(twin).await.text.starts_with("# Sign in\n"));
    let twin = nobody.request(Method::GET, DASHBOARD).header("accept", "text/markdown");
    let twin = nobody.send(twin.header("cookie", &visitor.cookie)).await;
    assert!(twin.header("content-type").starts_with("text/markdown") && twin.text.contains("Balance: $5.00"));
}

#[tokio::test]
async fn sign_in_page_offers_the_configured_methods() {
    let (setup, url) = Setup::demo().at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    let with = setup
        .with("EP_AUTH_ISSUER_URL", &provider.issuer)
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client");
    let service = with.boot().await;
    let page = service.anonymous().get("/login?return_to=/results/EP-1").await.text;
    assert!(page.contains("href=\"/api/auth/login?return_to=%2Fresults%2FEP-1\""), "{page}");
    // A failed sign-in starts again, and its steps are not valid return paths.
    let client = service.anonymous();
    let failed = client.request(Method::GET, "/api/auth/callback?code=x").header("accept", BROWSER);
    let failed = client.send(failed).await;
    assert!(failed.status == 401 && failed.text.contains("href=\"/login\""), "{}", failed.text);
    assert!(failed.text.contains("did not start this sign-in"), "{}", failed.text);
    let without = Setup::demo().boot().await.anonymous().get("/login").await.text;
    assert!(!without.contains("/api/auth/login") && without.contains("needs JavaScript"), "{without}");
}

#[tokio::test]
async fn signing_in_replaces_the_earlier_session() {
    let service = Setup::demo().boot().await;
    let libraries = WalletLibraries::start();
    let wallet = libraries.wallet().await;
    // An attacker has placed their own session in the browser.
    let (planted, _) = Visitor::new(&service, 0).await;
    let client = service.anonymous();
    let signed_in = libraries.sign_in(&client, &wallet, &[("cookie", &planted.cookie), OWN]).await;
    let flags = signed_in.header("set-cookie").to_owned();
    assert!(flags.contains("; HttpOnly; SameSite=Lax; Path=/;"), "{flags}");
    let visitor = Visitor { client, cookie: signed_in.cookie() };
    assert_ne!(visitor.cookie, planted.cookie);
    assert!(visitor.page().await.contains(&format!("wallet {}", wallet.address.to_lowercase())));
    assert_eq!(planted.get(DASHBOARD).await.status, 303);
    assert_eq!(visitor.get("/api/auth/logout").await.status, 302);
    assert_eq!(visitor.get(DASHBOARD).await.status, 303);
}

#[tokio::test]
async fn key_is_created_once_shown_once_and_revoked() {
    let service = Setup::demo().boot().await;
    let (visitor, owner) = Visitor::new(&service, 5).await;
    let label = "<script>alert(1)</script> & \"x\"";
    let form = [("label", label), ("scope", "all"), ("nonce", "n1")];
    // Submitted twice concurrently, and once more.
    let (first, second) =
        tokio::join!(visitor.send("/dashboard/keys", &form), visitor.send("/dashboard/keys", &form));
    let third = visitor.send("/dashboard/keys", &form).await;
    let key = key_of(&first);
    assert_eq!((key_of(&second), key_of(&third)), (key.clone(), key.clone()));
    assert_eq!(first.header("cache-control"), "no-store");
    assert!(!first.text.contains("<script>alert"), "{}", first.text);
    assert!(
        first.text.contains("&#34;Authorization&#34;: &#34;Bearer ") && first.text.contains("claude mcp add")
    );
    assert_eq!(first.text.matches("$EP_API_KEY").count(), 0);
    assert_eq!(keys(&owner).await.len(), 2);
    let with_key = service.anonymous().with_key(&key);
    assert_eq!(with_key.get("/api/balance").await.expect(200)["balance"], "$5.00");
    let page = visitor.page().await;
    assert!(!page.contains(&key) && page.contains("&#60;script&#62;alert(1)"), "{page}");

    // Rejected input stays in the form.
    let long = "x".repeat(65);
    let refused =
        visitor.send("/dashboard/keys", &[("label", &long), ("scope", "read"), ("nonce", "n2")]).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.text.contains(&format!("value=\"{long}\""))
            && refused.text.contains("<option value=\"read\" selected>")
    );
    assert!(refused.text.contains("role=\"alert\""));
    let input = between(&refused.text, "<input id=\"label\"", ">");
    for marked in ["maxlength=\"64\"", "aria-invalid=\"true\"", "aria-describedby=\"refused\""] {
        assert!(input.contains(marked), "{marked}: {input}");
    }
    assert_eq!(refusal(&refused).0, "No key was created");
    // Without a scope, the key could do everything.
    let refused = visitor.send("/dashboard/keys", &[("label", "x"), ("scope", ""), ("nonce", "n3")]).await;
    assert_eq!(refused.status, 400);
    assert_eq!(keys(&owner).await.len(), 2);

    let id = keys(&owner).await.iter().find(|key| key["label"] == label).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (other, _) = Visitor::new(&service, 0).await;
    let not_own = other.send("/dashboard/keys/revoke", &[("key_id", &id), ("nonce", "n3")]).await;
    assert_eq!(not_own.status, 404);
    assert!(!other.page().await.contains("alert(1)"));
    with_key.get("/api/balance").await.expect(200);
    for _ in 0..2 {
        let revoked = visitor.send("/dashboard/keys/revoke", &[("key_id", &id), ("nonce", "n4")]).await;
        assert_eq!((revoked.status, revoked.header("location")), (303, "/dashboard?done=revoked#keys"));
    }
    with_key.get("/api/balance").await.refused(401);
    assert!(visitor.page().await.contains("Revoked keys (1)"));
    // The notice is in its section.
    let html = visitor.get("/dashboard?done=revoked").await.text;
    let section = between(&html, "<h2 id=\"keys\">", "</section>");
    assert!(
        section.contains("The key is revoked.") && html.matches("The key is revoked.").count() == 1,
        "{html}"
    );
    let stale = visitor.send("/dashboard/keys/revoke", &[("key_id", &id), ("nonce", "n5")]).await;
    assert_eq!(refusal(&stale), ("Nothing changed", "This key is already revoked."));
    for path in [
        "/dashboard/keys",
        "/dashboard/keys/revoke",
        "/dashboard/checkout",
        "/dashboard/polls/cancel",
        "/dashboard/polls/delete",
        "/dashboard/export",
        "/dashboard/delete",
    ] {
        assert_eq!(visitor.get(path).await.header("location"), DASHBOARD, "{path} is opened");
    }
}

#[tokio::test]
async fn form_input_survives_an_ended_session() {
    let service = Setup::demo().boot().await;
    let (visitor, owner) = Visitor::new(&service, 5).await;
    let form = [("label", "<b>laptop"), ("scope", "read"), ("nonce", "n1")];
    visitor.get("/api/auth/logout").await;
    for headers in [vec![OWN], vec![OWN, ("cookie", visitor.cookie.as_str())]] {
        let reply = send(&service.anonymous(), "/dashboard/keys", &form, &headers).await;
        assert_eq!(reply.status, 403);
        assert!(reply.text.contains("href=\"/login\" target=\"_blank\""), "{}", reply.text);
        for value in [
            "name=\"label\" value=\"&#60;b&#62;laptop\"",
            "name=\"scope\" value=\"read\"",
            "action=\"/dashboard/keys\"",
        ] {
            assert!(reply.text.contains(value), "{value}: {}", reply.text);
        }
    }
    assert_eq!(keys(&owner).await.len(), 1);
}

#[tokio::test]
async fn form_input_survives_rate_limiting() {
    let service = Setup::demo().with("EP_RATE_LIMIT_PER_MINUTE", "1").boot().await;
    let (visitor, _) = Visitor::new(&service, 5).await;
    assert_eq!(visitor.send("/dashboard/keys", &[("label", "first"), ("nonce", "n1")]).await.status, 200);
    let limited = visitor.send("/dashboard/keys", &[("label", "second"), ("nonce", "n2")]).await;
    assert_eq!((limited.status, limited.header("set-cookie")), (429, ""), "{}", limited.text);
    assert!(!limited.header("retry-after").is_empty() && limited.text.contains("id=\"countdown\""));
    assert!(limited.text.contains("name=\"label\" value=\"second\""), "{}", limited.text);
}

#[tokio::test]
async fn forms_of_other_websites_are_rejected() {
    let service = Setup::demo().with("EP_ALLOWED_ORIGINS", "*").boot().await;
    let (visitor, owner) = Visitor::new(&service, 5).await;
    let mut tried = 0;
    for route in &service.site.routes {
        if !matches!((route.kind, route.method), (RouteKind::Form, RouteMethod::Post)) {
            continue;
        }
        let session = ("cookie", visitor.cookie.as_str());
        let form = [("label", "planted"), ("amount", "5"), ("question", "Is it planted?"), ("nonce", "n")];
        for headers in [
            vec![session],
            vec![session, ("sec-fetch-site", "cross-site")],
            vec![session, ("sec-fetch-site", "same-site"), ("origin", service.url.as_str())],
            vec![session, ("origin", "https://evil.example")],
            vec![session, ("origin", "null")],
            vec![("sec-fetch-site", "cross-site")],
        ] {
            let reply = send(&visitor.client, &route.path, &form, &headers).await;
            assert_eq!(reply.status, 403, "{} {headers:?}", route.path);
            assert!(reply.text.contains("did not come from a page"), "{}", reply.text);
        }
        let fetched = visitor.client.post_with(&route.path, &json!({}), &[session, OWN]).await;
        assert_eq!(fetched.status, 415, "{}", route.path);
        tried += 1;
    }
    assert!(tried >= 5, "{tried}");
    assert_eq!((keys(&owner).await.len(), owner.get("/api/results").await.expect(200)), (1, json!([])));
}

#[tokio::test]
async fn polls_are_listed_searched_paged_and_cancelled() {
    let mut script = Script::divided_panel(40);
    script.default.latency = Duration::from_millis(700);
    let service = Setup::scripted(script).boot().await;
    let (visitor, owner) = Visitor::new(&service, 50).await;
    let slow = question(
        json!({ "pace": "thrifty", "confidence_threshold": 1, "question": "Is a running poll shown?" }),
    );
    let started = owner.post("/api/polls", &slow).await.expect(202);
    let id = started["poll_id"].as_str().unwrap();
    let page = visitor.page().await;
    assert!(between(&page, "id=\"running\"", "</table>").contains(&format!("value=\"{id}\"")), "{page}");
    assert!(page.contains("held for running polls"));
    let form = [("poll_id", id), ("nonce", "n1")];
    let (other, _) = Visitor::new(&service, 0).await;
    assert_eq!(other.send("/dashboard/polls/cancel", &form).await.status, 404);
    for _ in 0..2 {
        let cancelled = visitor.send("/dashboard/polls/cancel", &form).await;
        assert_eq!(
            (cancelled.status, cancelled.header("location")),
            (303, "/dashboard?done=cancelled#polls")
        );
    }
    let page = visitor.page().await;
    assert!(!page.contains("id=\"running\"") && page.contains("Is a running poll shown?"), "{page}");
    let again = visitor.send("/dashboard/polls/cancel", &[("poll_id", id), ("nonce", "n2")]).await;
    assert!([303, 409].contains(&again.status), "{}", again.text);
    let html = visitor.get("/dashboard?done=cancelled").await.text;
    assert!(
        between(&html, "<h2 id=\"polls\">", "</section>")
            .contains("The poll has ended with the votes so far.")
    );
    // A poll that ended by itself, and one that was deleted, in a stale tab.
    let ended = owner.poll(json!({ "confidence_threshold": 0.5 })).await.expect(200);
    let ended = ended["poll_id"].as_str().unwrap();
    let stale = visitor.send("/dashboard/polls/cancel", &[("poll_id", ended), ("nonce", "n4")]).await;
    assert_eq!((stale.status, refusal(&stale)), (409, ("Nothing changed", "It has already ended.")));
    let delete = async |nonce: &str| {
        let form = [("poll_id", ended), ("confirm", ended), ("nonce", nonce)];
        visitor.send("/dashboard/polls/delete", &form).await
    };
    // Its cost may still be charged.
    let mut nonce = 0;
    while delete(&nonce.to_string()).await.status == 409 {
        nonce += 1;
    }
    for path in ["/dashboard/polls/cancel", "/dashboard/polls/delete"] {
        let form = [("poll_id", ended), ("confirm", ended), ("nonce", "n5")];
        let stale = visitor.send(path, &form).await;
        assert_eq!(
            (stale.status, refusal(&stale)),
            (404, ("Nothing changed", "This poll is already deleted."))
        );
        // Another account does not learn that this poll is deleted.
        let form = [("poll_id", id), ("confirm", id), ("nonce", "n6")];
        let text = "Your account has no such poll. It may be deleted, or belong to another account.";
        assert_eq!(refusal(&other.send(path, &form).await).1, text);
    }
    let unknown = visitor.send("/dashboard/polls/cancel", &[("poll_id", "<b>"), ("nonce", "n3")]).await;
    assert!(unknown.status == 404 && !unknown.text.contains("<b>"), "{}", unknown.text);
}

#[tokio::test]
async fn account_reads_its_history_and_spending() {
    let service = Setup::default().boot().await;
    let (visitor, owner) = Visitor::new(&service, 50).await;
    assert!(visitor.page().await.contains("You have no polls yet"));
    for number in 0..23 {
        let asked = format!("Is number {number} a Größe? <i>");
        owner.poll(json!({ "question": asked, "max_cost_usd": 0.5 })).await.expect(200);
    }
    let page = visitor.page().await;
    assert_eq!(between(&page, "id=\"history\"", "</table>").matches("<tr>").count(), 21);
    assert!(page.contains("Is number 22 a") && !page.contains("Is number 2 a") && !page.contains("<i>"));
    let next = between(&page, "Page 1</span>\n<a href=\"", "\"").replace("&#38;", "&").replace("#polls", "");
    let second = visitor.get(&next).await.text;
    assert!(
        second.contains("Is number 2 a") && second.contains("Page 2") && !second.contains("rel=\"next\"")
    );
    let found = visitor.get("/dashboard?search=NUMBER+gr%C3%B6%C3%9Fe+21").await.text;
    assert_eq!(between(&found, "id=\"history\"", "</table>").matches("<tr>").count(), 2, "{found}");
    let none = visitor.get("/dashboard?search=%22%3E%3Cscript%3E").await.text;
    assert!(none.contains("No poll matches") && !none.contains("<script>\""), "{none}");
    let beyond = visitor.get("/dashboard?page=99").await.text;
    assert!(beyond.contains("There are no polls on page 99. <a href=\"/dashboard#polls\">"), "{beyond}");
    assert_eq!(visitor.get(&format!("/dashboard?search={}", "x".repeat(300))).await.status, 400);
    for page in ["page=0", "page=-1", "page=x", "page=99999999999"] {
        assert_eq!(visitor.get(&format!("/dashboard?{page}")).await.status, 200, "{page}");
    }

    let found = owner.get("/api/results?search=number%2021").await.expect(200);
    assert_eq!(
        (found.as_array().unwrap().len(), &found[0]["question"]),
        (1, &json!("Is number 21 a Größe? <i>"))
    );
    assert_eq!(owner.get("/api/results?running=true").await.expect(200), json!([]));
    let spending = owner.get("/api/spending").await.expect(200);
    let days = spending["days"].as_array().unwrap();
    assert_eq!((days.len(), &days[29]["polls"], &days[0]["polls"]), (30, &json!(23), &json!(0)));
    assert!(days[29]["cost_usd"].as_f64().unwrap() > 0.0 && days[29]["cost_usd"] == spending["total_usd"]);
    let chart = between(&page, "<svg class=\"days\"", "</svg>");
    assert!(
        chart.contains("aria-label=\"Spent each day, at most $") && chart.matches("<rect ").count() == 1,
        "{chart}"
    );
    assert_eq!(page.matches("<dd>23</dd>").count(), 1, "polls in 30 days");
    assert_eq!(service.user().await.get("/api/spending").await.expect(200)["total_usd"], 0.0);
}

#[tokio::test]
async fn error_pages_offer_a_next_step() {
    let service = Setup::demo().boot().await;
    let nobody = service.anonymous();
    let page = nobody.send(nobody.request(Method::GET, "/api/results").header("accept", BROWSER)).await;
    assert_eq!(page.status, 401);
    assert!(page.text.contains("href=\"/login?return_to=%2Fapi%2Fresults\""), "{}", page.text);
    let main = between(&page.text, "<main", "</main>");
    assert!(!main.contains("Authorization") && !main.contains("WWW-Authenticate"), "{main}");
    assert!(nobody.get("/api/results").await.refused(401).contains("Authorization"), "programs get a hint");
    let stale = nobody
        .request(Method::GET, "/api/results")
        .header("accept", BROWSER)
        .header("cookie", "ep_session=old");
    assert!(nobody.send(stale).await.text.contains("Your session has ended."));

    let (visitor, _) = Visitor::new(&service, 0).await;
    let form = [("question", "Which is best?"), ("option", "A"), ("option", "B"), ("who", "quick")];
    let poor = visitor.send("/ask", &form).await;
    // Without a way to pay, none is offered.
    let shown = between(&poor.text, "<section class=\"refused\"", "</section>");
    assert_eq!(poor.status, 402);
    assert!(
        !shown.contains("funds") && shown.contains("Choose free models, where available: they cost nothing."),
        "{shown}"
    );
}

#[tokio::test]
async fn form_redirects_to_the_payment_page_once() {
    let (setup, url) = Setup::demo().at_known_address();
    let stripe = Stripe::start(&url, &["whsec_new"]).await;
    let service = with_cards(setup, &stripe).boot().await;
    let (visitor, _) = Visitor::new(&service, 0).await;
    let form = [("amount", "$12.50"), ("nonce", "n1")];
    let mut links = Vec::new();
    for _ in 0..2 {
        let page = visitor.send("/dashboard/checkout", &form).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(page.text.contains("$12.50 will be added"));
        links.push(between(&page.text, "id=\"checkout\" href=\"", "\"").to_owned());
    }
    assert_eq!((stripe.requests().await.len(), &links[0]), (1, &links[1]));
    let preset =
        visitor.send("/dashboard/checkout", &[("preset", "25"), ("amount", ""), ("nonce", "n3")]).await;
    assert!(preset.text.contains("$25.00 will be added"), "{}", preset.text);
    // An address alone proves no payment.
    let session = links[0].rsplit('/').next().unwrap();
    let (other, _) = Visitor::new(&service, 0).await;
    let funded = format!("/dashboard?funded={session}");
    let waiting = visitor.get(&funded).await.text;
    assert!(waiting.contains("Your payment of $12.50 has not arrived yet."), "{waiting}");
    for (visitor, path) in [(&other, funded.as_str()), (&visitor, "/dashboard?funded=cs_test_unknown")] {
        let page = visitor.get(path).await.text;
        assert!(!page.contains("Thank you") && !page.contains("class=\"notice\""), "{page}");
    }
    for amount in ["", "2,50", "0.5", "1001", "much", "1e3", "-5", "5.001", "<b>", "99999999999999999999"] {
        let refused = visitor.send("/dashboard/checkout", &[("amount", amount), ("nonce", "n2")]).await;
        assert_eq!(refused.status, 400, "{amount}: {}", refused.text);
        let text = "Enter an amount from $1 to $1,000.";
        assert_eq!(refusal(&refused), ("Nothing was paid", text));
        assert!(!refused.text.contains("<b>"));
        let field = between(&refused.text, "<input id=\"amount\"", ">");
        assert!(field.contains("aria-describedby=\"refused\" aria-invalid=\"true\""), "{field}");
    }
    let form = [("question", "Which is best?"), ("option", "A"), ("option", "B"), ("who", "quick")];
    let poor = visitor.send("/ask", &form).await;
    assert!(poor.status == 402 && poor.text.contains("href=\"/dashboard#funds\""), "{}", poor.text);
    assert_eq!(stripe.requests().await.len(), 2);
    let page = visitor.get("/dashboard?funded=no").await.text;
    assert!(page.contains("Nothing was charged."));
    let without = Setup::demo().boot().await;
    let (visitor, _) = Visitor::new(&without, 0).await;
    let page = visitor.page().await;
    assert!(page.contains("No payment method is set up.") && !page.contains("Add funds"), "{page}");
    let form = [("amount", "$12.50"), ("nonce", "n1")];
    assert_eq!(visitor.send("/dashboard/checkout", &form).await.status, 503);
    let without = Setup::demo().with("EP_CONTACT", "mailto:help@example.com").boot().await;
    let (visitor, _) = Visitor::new(&without, 0).await;
    assert!(visitor.page().await.contains("<a href=\"mailto:help@example.com\">help@example.com</a>"));
}

fn with_cards(setup: Setup, stripe: &Stripe) -> Setup {
    setup
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_new")
        .with("EP_STRIPE_API_URL", &stripe.api_url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complete_account_walk_in_a_browser() {
    let world = PaymentSetup::start().await;
    let (setup, url) = world.with_node(Setup::demo()).at_known_address();
    let stripe = Stripe::start(&url, &["whsec_new"]).await;
    let provider = IdentityProvider::start(&url, 0).await;
    let service = with_cards(setup, &stripe)
        .with("EP_AUTH_ISSUER_URL", &provider.issuer)
        .with("EP_AUTH_CLIENT_ID", "polls")
        .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
        .boot()
        .await;
    let wallet = world.wallet(50).await;
    let given = json!({
        "wallet": wallet.private_key, "chainId": 84532,
        "others": [provider.issuer, stripe.api_url],
        "screenshots": std::env::var("EP_SCREENSHOTS").ok(),
    });
    walked_by("account.mjs", &service, given, |_| ()).await;
}
