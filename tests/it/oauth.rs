//! Access tokens of an issuer (RFC 9068) on routes that accept API keys: `oidc-provider` is the issuer.

use std::time::Duration;

use ep_kernel::method::Method as RouteMethod;
use ep_site::RouteKind;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, IdentityProvider, Reply, Service, Setup, question, until};

async fn service_with(setup: Setup) -> (Service, IdentityProvider) {
    let (setup, url) = setup.at_known_address();
    let provider = IdentityProvider::start(&url, 0).await;
    (setup.with("EP_AUTH_ISSUER_URL", &provider.issuer).boot().await, provider)
}

async fn service() -> (Service, IdentityProvider) {
    service_with(Setup::demo()).await
}

/// Returns a client with a token with these claims.
async fn holder(service: &Service, provider: &IdentityProvider, claims: Value) -> Client {
    service.anonymous().with_key(&provider.token(json!({ "claims": claims })).await)
}

/// Returns the parameters of a `WWW-Authenticate` header: error, scope, resource metadata.
#[track_caller]
fn challenge(reply: &Reply) -> [String; 3] {
    let header = reply.header("www-authenticate");
    let parameters = header.strip_prefix("Bearer ").unwrap_or_else(|| panic!("{}: {header}", reply.text));
    ["error", "scope", "resource_metadata"].map(|wanted| {
        let mut pairs = parameters.split(", ").map(|pair| pair.split_once('=').unwrap());
        pairs
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value.trim_matches('"').to_owned())
            .unwrap_or_default()
    })
}

const METADATA: &str = "/.well-known/oauth-protected-resource";
const READ: &str = "polls:read";
const POLLS: &str = "polls:read polls:write";
const ACCOUNT: &str = "polls:read polls:write account";

#[tokio::test]
async fn no_login_without_an_issuer() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for path in [METADATA, &format!("{METADATA}/api/mcp"), "/.well-known/openid-configuration"] {
        assert!(client.get(path).await.refused(404).contains("EP_AUTH_ISSUER_URL"), "{path}");
    }
    for path in ["/api/keys", "/api/a2a/tasks"] {
        assert_eq!(client.get(path).await.header("www-authenticate"), r#"Bearer realm="ensemble-poll""#);
    }
    let reply = client.with_key("eyJhbGciOiJub25lIn0.e30.").rpc("/api/mcp", "tools/list", json!({})).await;
    assert_eq!(reply.header("www-authenticate"), r#"Bearer realm="ensemble-poll", error="invalid_token""#);
    assert!(reply.rpc_refused(401).starts_with("this API key is not valid"));
    let card = client.get("/.well-known/agent-card.json").await.expect(200);
    assert!(card["securitySchemes"]["openid"].is_null());
}

#[tokio::test]
async fn issuer_is_advertised_in_every_location() {
    let (service, provider) = service().await;
    let (client, url) = (service.anonymous(), &service.url);
    for (part, scopes) in [("", ACCOUNT), ("/api/mcp", POLLS), ("/api/a2a", POLLS)] {
        let document = client.get(&format!("{METADATA}{part}")).await.expect(200);
        let expected = json!({
            "resource": format!("{url}{part}"),
            "authorization_servers": [provider.issuer],
            "scopes_supported": scopes.split(' ').collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
            "resource_name": "Ensemble Poll",
        });
        assert_eq!(document, expected);
    }
    let passed_on = client.get("/.well-known/openid-configuration").await.expect(200);
    let http = Client::new(&provider.issuer, None);
    let own = http.get("/.well-known/openid-configuration").await.expect(200);
    for (name, value) in own.as_object().unwrap() {
        assert_eq!(&passed_on[name], value, "{name}");
    }
    let card = client.get("/.well-known/agent-card.json").await.expect(200);
    let scheme = &card["securitySchemes"]["openid"];
    assert_eq!(scheme["openIdConnectUrl"], format!("{}/.well-known/openid-configuration", provider.issuer));
    assert_eq!(scheme["openIdConnectSecurityScheme"]["openIdConnectUrl"], scheme["openIdConnectUrl"]);

    // Every 401 names the metadata of the requested resource and the required scope.
    let named = |part: &str| format!("{url}{METADATA}{part}");
    let unknown_key = client.with_key(&format!("ep_k_{}", "x".repeat(43)));
    for (who, error) in [(&client, ""), (&unknown_key, "invalid_token")] {
        for (reply, scope, part) in [
            (who.get("/api/keys").await, READ, ""),
            (who.post("/api/keys", &json!({})).await, ACCOUNT, ""),
            (who.post("/api/polls", &question(json!({}))).await, POLLS, ""),
            (who.rpc("/api/mcp", "tools/list", json!({})).await, POLLS, "/api/mcp"),
            (who.rpc("/api/mcp/x/all", "initialize", json!({})).await, POLLS, "/api/mcp"),
            (who.rpc("/api/a2a", "GetTask", json!({})).await, POLLS, "/api/a2a"),
            (who.get("/api/a2a/tasks").await, POLLS, "/api/a2a"),
            (who.post("/api/a2a/tasks/send", &json!({})).await, POLLS, "/api/a2a"),
        ] {
            assert_eq!(reply.status, 401, "{}", reply.text);
            assert_eq!(challenge(&reply), [error, scope, &named(part)].map(str::to_owned));
        }
    }
    // Free routes need no login.
    client.post("/api/poll", &json!({ "question": "Is water wet?" })).await.expect(200);
    client.get("/api/models").await.expect(200);
}

#[tokio::test]
async fn a_token_does_not_create_a_deleted_account_again() {
    let setup = Setup::demo().with("EP_KEYS_READ_ACCOUNT", "true");
    let (service, provider) = service_with(setup).await;
    let alice = holder(&service, &provider, json!({ "sub": "alice" })).await;
    let account = alice.get("/api/account/export").await.expect(200);
    let consent = json!({ "confirm": account["account"]["id"], "forfeit_balance": true });
    alice.post("/api/account/delete", &consent).await.expect(200);
    for _ in 0..2 {
        let refused = alice.get("/api/balance").await.refused(401);
        assert!(refused.contains("was deleted"), "{refused}");
    }
    let bob = holder(&service, &provider, json!({ "sub": "bob" })).await;
    bob.get("/api/balance").await.expect(200);
}

#[tokio::test]
async fn tokens_are_accepted_like_keys() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let setup = Setup::demo().on(engine).with("EP_KEYS_READ_ACCOUNT", "true");
        let (service, provider) = service_with(setup).await;
        let verified = json!({ "email": "Alice@Example.com", "email_verified": true });
        // The first requests of a new user are concurrent.
        let alice = holder(&service, &provider, verified).await;
        let made =
            join_all((0..6).map(|_| async { alice.post("/api/keys", &json!({})).await.expect(201) })).await;
        let keys = alice.get("/api/keys").await.expect(200);
        assert_eq!(keys.as_array().unwrap().len(), made.len(), "they are one account: {keys}");
        assert_eq!(alice.get("/api/balance").await.expect(200)["balance"], "$1.00");
        let with_key = service.anonymous().with_key(made[0]["key"].as_str().unwrap());
        assert_eq!(with_key.get("/api/keys").await.expect(200).as_array().unwrap().len(), made.len());

        // For each of the service's resource identifiers, and over every interface.
        let url = &service.url;
        for audience in
            [json!(url), json!(format!("{url}/")), json!(["https://other.example", format!("{url}/api/mcp")])]
        {
            let claims = json!({ "sub": "alice", "aud": audience });
            let client = holder(&service, &provider, claims).await;
            client.get("/api/keys").await.expect(200);
            assert_eq!(client.tool("get_balance", json!({})).await["structuredContent"]["balance"], "$1.00");
            assert_eq!(client.get("/api/a2a/tasks").await.expect(200)["tasks"], json!([]));
        }
        let bob = holder(&service, &provider, json!({ "sub": "bob", "aud": format!("{url}/api/a2a") })).await;
        assert_eq!(bob.get("/api/keys").await.expect(200), json!([]));
        assert_eq!(bob.poll(json!({})).await.expect(200)["status"], "success");
        let mut polled = bob.tool("poll_question", question(json!({}))).await;
        assert_eq!(polled["structuredContent"].take()["status"], "success");
        let part = json!({ "data": question(json!({})) });
        let message = json!({ "role": "ROLE_USER", "messageId": "1", "parts": [part] });
        let task = bob.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        assert!(task["result"]["task"]["id"].is_string(), "{task}");

        for route in service.site.routes.iter().filter(|route| route.access.key) {
            let method: Method = route.method.as_str().parse().unwrap();
            let called =
                matches!(route.kind, RouteKind::Operation | RouteKind::EventStream | RouteKind::Protocol);
            let request = bob.request(method, &route.path.replace(['{', '}'], ""));
            let posted = route.method == RouteMethod::Post;
            let request = if posted { request.json(&json!({})) } else { request };
            if called {
                let reply = bob.send(request).await;
                assert!(
                    !matches!(reply.status, 401 | 403),
                    "{}: {} {}",
                    route.path,
                    reply.status,
                    reply.text
                );
            }
        }
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn invalid_tokens_are_rejected() {
    let (service, provider) = service().await;
    let now = service.app.ports.clock.now().millis() / 1000;
    let claim = |name: &str, value: Value| json!({ "claims": { name: value } });
    let header = |name: &str, value: Value| json!({ "header": { name: value } });
    let refusals = [
        (claim("aud", json!("https://other.example")), "/api/mcp"),
        (claim("aud", json!(format!("{}.evil.example", service.url))), "for another service"),
        (claim("aud", json!([])), "for another service"),
        (claim("aud", json!(7)), "claims"),
        (claim("aud", Value::Null), "claims"),
        (claim("iss", json!("https://evil.example")), "identity provider"),
        (claim("iss", json!(format!("{}/", provider.issuer))), "identity provider"),
        (claim("iss", Value::Null), "claims"),
        (claim("exp", json!(now - 61)), "expired"),
        (claim("exp", json!("tomorrow")), "claims"),
        (claim("exp", Value::Null), "claims"),
        (claim("exp", json!(-1e300)), "expired"),
        (claim("iat", json!(now + 120)), "not valid yet"),
        (claim("iat", Value::Null), "claims"),
        (claim("nbf", json!(now + 120)), "not valid yet"),
        (claim("nbf", json!(1e300)), "not valid yet"),
        (claim("sub", Value::Null), "claims"),
        (claim("sub", json!("")), "subject"),
        (claim("sub", json!("x".repeat(256))), "subject"),
        (claim("sub", json!("a\u{0}b")), "subject"),
        (claim("client_id", Value::Null), "claims"),
        (claim("jti", Value::Null), "claims"),
        (claim("cnf", json!({ "jkt": "a" })), "bound to a key"),
        (claim("padding", json!("x".repeat(9000))), "longer than"),
        (header("typ", json!("JWT")), "type"),
        (header("typ", Value::Null), "type"),
        (header("kid", json!("unknown")), "not signed"),
        (json!({ "key": "other" }), "not signed"),
        (json!({ "key": "other", "header": { "kid": null } }), "not signed"),
        (json!({ "key": "secret", "header": { "alg": "HS256" } }), "algorithm"),
        (json!({ "key": "none" }), "type"),
    ];
    for (making, words) in refusals {
        let token = provider.token(making.clone()).await;
        let client = service.anonymous().with_key(&token);
        let reply = client.get("/api/keys").await;
        assert_eq!(challenge(&reply)[0], "invalid_token", "{making}: {}", reply.text);
        assert!(!reply.text.contains(&token[token.len() - 20..]), "{}", reply.text);
        let said = reply.refused(401);
        assert!(said.contains("access token is not accepted") && said.contains(words), "{making}: {said}");
    }
    let good = provider.token(json!({})).await;
    let parts: Vec<&str> = good.split('.').collect();
    let of = |header: &Value| {
        use base64::Engine as _;
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header.to_string());
        format!("{header}.{}.{}", parts[1], parts[2])
    };
    let typ = "at+jwt";
    for (token, words) in [
        ("garbage".to_owned(), "neither"),
        ("a.b".into(), "neither"),
        ("a.b.c".into(), "neither"),
        ("..".into(), "neither"),
        (format!("{}.{}.", parts[0], parts[1]), "not signed"),
        (format!("{}.{}.!", parts[0], parts[1]), "neither"),
        (format!("{good}.{}", parts[2]), "neither"),
        (format!("{}.e30.{}", parts[0], parts[2]), "claims"),
        ("x".repeat(20_000), "longer than"),
        (of(&json!({ "typ": typ, "alg": "none" })), "algorithm"),
        (of(&json!({ "typ": typ, "alg": "HS256", "kid": "test" })), "algorithm"),
        (of(&json!({ "typ": typ, "alg": "ES256", "kid": "test" })), "not signed"),
        (of(&json!({ "typ": typ, "alg": "PS256", "kid": "test" })), "not signed"),
        (of(&json!({ "typ": typ, "alg": "rot13" })), "algorithm"),
        (of(&json!({ "typ": typ, "alg": 1 })), "neither"),
        (of(&json!({ "typ": typ, "alg": "RS256", "crit": ["exp"] })), "extensions"),
        (
            of(&json!({ "typ": typ, "alg": "RS256", "kid": "test", "jku": "https://evil.example" })),
            "not signed",
        ),
    ] {
        let client = service.anonymous().with_key(&token);
        let shown: String = token.chars().take(80).collect();
        let said = client.get("/api/keys").await.refused(401);
        assert!(said.contains(words), "{shown}: {said}");
        let reply = client.rpc("/api/mcp", "tools/list", json!({})).await;
        assert_eq!(challenge(&reply)[0], "invalid_token", "{shown}");
        assert!(reply.rpc_refused(401).contains(words), "{shown}");
        let reply = client.rpc("/api/a2a", "GetTask", json!({})).await;
        assert_eq!(challenge(&reply)[0], "invalid_token", "{shown}");
        assert!(reply.refused(401).contains(words), "{shown}");
    }
    // Within the one minute of allowed clock skew; token types in media type form.
    for making in [
        claim("exp", json!(now - 20)),
        claim("nbf", json!(now + 20)),
        claim("iat", json!(now as f64 + 0.5)),
        claim("email_verified", json!("true")),
        header("typ", json!("application/AT+JWT")),
        header("kid", Value::Null),
    ] {
        let client = service.anonymous().with_key(&provider.token(making.clone()).await);
        assert_eq!(client.get("/api/keys").await.status, 200, "{making}");
    }
}

#[tokio::test]
async fn missing_scope_is_named_with_status_403() {
    let (service, provider) = service().await;
    let url = &service.url;
    let with_scope = async |scope: Value| holder(&service, &provider, json!({ "scope": scope })).await;
    let none = with_scope(json!("openid email")).await;
    let (read, polls) = (with_scope(json!(READ)).await, with_scope(json!("polls:write")).await);
    let all = with_scope(json!("account")).await;
    let poll = polls.post("/api/polls", &question(json!({}))).await.expect(202);
    let poll = poll["poll_id"].as_str().unwrap();
    let call = |name: &str| json!({ "name": name, "arguments": question(json!({})) });
    let part = json!({ "data": question(json!({})) });
    let message = json!({ "message": { "role": "ROLE_USER", "messageId": "1", "parts": [part] } });
    let missing = |reply: Reply, scope: &str, part: &str| {
        assert_eq!(reply.status, 403, "{}", reply.text);
        let metadata = format!("{url}{METADATA}{part}");
        assert_eq!(challenge(&reply), ["insufficient_scope", scope, &metadata].map(str::to_owned));
        reply
    };
    // REST.
    let reply = missing(read.post("/api/poll", &question(json!({}))).await, POLLS, "");
    assert!(reply.refused(403).contains(POLLS));
    missing(read.post("/api/poll/stream", &question(json!({}))).await, POLLS, "");
    missing(read.post(&format!("/api/polls/{poll}/cancel"), &json!({})).await, POLLS, "");
    for client in [&read, &polls] {
        missing(client.post("/api/keys", &json!({})).await, ACCOUNT, "");
        client.get("/api/keys").await.expect(200);
    }
    all.post("/api/keys", &json!({})).await.expect(201);
    missing(none.get("/api/keys").await, READ, "");
    // MCP: an error result would inform the model, not the client.
    let reply = read.rpc("/api/mcp", "tools/call", call("poll_question")).await;
    assert!(missing(reply, POLLS, "/api/mcp").rpc_refused(403).contains(POLLS));
    let reply = read.mcp(json!({}), "tools/call", Some("poll_question"), call("poll_question")).await;
    missing(reply, POLLS, "/api/mcp");
    let with_progress =
        json!({ "name": "poll_question", "arguments": question(json!({})), "_meta": { "progressToken": 1 } });
    missing(read.rpc("/api/mcp", "tools/call", with_progress).await, POLLS, "/api/mcp");
    missing(read.rpc("/api/mcp", "tools/call", json!({ "name": "cancel_poll" })).await, POLLS, "/api/mcp");
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let reply = read.mcp(tasks, "tasks/cancel", Some(poll), json!({ "taskId": poll })).await;
    missing(reply, POLLS, "/api/mcp");
    missing(none.rpc("/api/mcp", "tools/list", json!({})).await, READ, "/api/mcp");
    read.rpc("/api/mcp", "tools/list", json!({})).await.expect(200);
    let seen = read.tool("get_poll_result", json!({ "poll_id": poll })).await;
    assert_eq!(seen["isError"], false, "{seen}");
    // A2A: all bindings, streams and stored objects.
    let half = json!({ "data": { "question": "Which of the two is the better one?" } });
    let half = json!({ "message": { "role": "ROLE_USER", "messageId": "2", "parts": [half] } });
    let waiting = polls.rpc("/api/a2a", "SendMessage", half).await.expect(200);
    let task = &waiting["result"]["task"]["id"];
    let push = json!({ "taskId": task, "url": "https://agent.example/hook" });
    for reply in [
        read.rpc("/api/a2a", "SendMessage", message.clone()).await,
        read.rpc("/api/a2a", "SendStreamingMessage", message.clone()).await,
        read.post("/api/a2a/message:send", &message).await,
        read.post("/api/a2a/message:stream", &message).await,
        read.post("/api/a2a/tasks/send", &message).await,
        read.rpc("/api/a2a", "CancelTask", json!({ "id": task })).await,
        read.rpc("/api/a2a", "CreateTaskPushNotificationConfig", push).await,
    ] {
        missing(reply, POLLS, "/api/a2a");
    }
    missing(none.get("/api/a2a/tasks").await, READ, "/api/a2a");
    read.get("/api/a2a/tasks").await.expect(200);
    polls.rpc("/api/a2a", "SendMessage", message).await.expect(200);
    // The response to a key is unchanged.
    let key = all.post("/api/keys", &json!({ "scope": "read" })).await.expect(201);
    let key = service.anonymous().with_key(key["key"].as_str().unwrap());
    let refused = key.poll(json!({})).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (403, ""));
    let rejected = key.tool("poll_question", question(json!({}))).await;
    assert_eq!(rejected["isError"], true);
}

#[tokio::test]
async fn issuer_rotates_keys_and_becomes_unavailable() {
    let (service, provider) = service().await;
    let client = service.anonymous();
    let token = async || provider.token(json!({})).await;
    let status = async |token: &str| client.with_key(token).get("/api/keys").await.status;
    let first = token().await;
    assert_eq!(status(&first).await, 200);
    assert_eq!(provider.key_fetches().await, 1);
    for _ in 0..5 {
        assert_eq!(status(&first).await, 200);
    }
    assert_eq!(provider.key_fetches().await, 1, "they are cached");
    provider.rotate("second").await;
    let second = token().await;
    assert_eq!((status(&first).await, status(&second).await), (200, 200), "known keys are used meanwhile");
    assert_eq!((status(&first).await, status(&second).await), (401, 200));
    assert_eq!(provider.key_fetches().await, 2);

    // Unknown key ids: an attacker can send any number of them.
    let forge = async |kid: String| provider.token(json!({ "header": { "kid": kid }, "key": "other" })).await;
    let forged = join_all((0..20).map(|number| forge(number.to_string()))).await;
    let answers = join_all(forged.iter().map(|token| status(token))).await;
    assert!(answers.into_iter().all(|status| status == 401));
    assert_eq!(provider.key_fetches().await, 2, "they were fetched less than a minute ago");

    let other = Setup::demo().with("EP_AUTH_ISSUER_URL", &provider.issuer).with("EP_BASE_URL", &service.url);
    let other_service = other.boot().await;
    let other = other_service.anonymous();
    other.with_key(&second).get("/api/keys").await.expect(200);
    let unknown = forge("unknown".to_owned()).await;
    // Callers that disconnect before a response cause no further fetches.
    let fetches = provider.key_fetches().await;
    provider.breaks(json!({ "/jwks": { "silent": true } })).await;
    for _ in 0..5 {
        let request = other.with_key(&unknown).request(Method::GET, "/api/keys");
        assert!(request.timeout(Duration::from_millis(200)).send().await.is_err());
    }
    let read = async || provider.key_fetches().await;
    assert_eq!(until("the keys are fetched", read, |count| *count > fetches).await, fetches + 1);
    drop(provider);
    assert_eq!(status(&second).await, 200, "the keys stay cached while the issuer is unreachable");
    assert_eq!(status(&unknown).await, 401);
    for _ in 0..2 {
        let reply = other.with_key(&unknown).get("/api/keys").await;
        assert!(reply.refused(503).contains("is not responding"), "it may have been signed with a new key");
    }
    other.with_key(&second).get("/api/keys").await.expect(200);
}

#[tokio::test]
async fn unavailable_issuer_keys_are_reported() {
    let (service, provider) = service().await;
    let (token, client) = (provider.token(json!({})).await, service.anonymous());
    let keys = Client::new(&provider.issuer, None).get("/jwks").await.expect(200);
    let refuse = async |answer: Value, path: &str| {
        provider.breaks(json!({ path: answer })).await;
        // The service has no cached keys.
        let other =
            Setup::demo().with("EP_AUTH_ISSUER_URL", &provider.issuer).with("EP_BASE_URL", &service.url);
        let other = other.boot().await;
        let caller = other.anonymous().with_key(&token);
        let reply = caller.get("/api/keys").await;
        assert!(reply.status == 401 || !reply.header("retry-after").is_empty(), "{}", reply.text);
        // All other requests succeed.
        other.user().await.get("/api/keys").await.expect(200);
        let other_issuer = provider.token(json!({ "claims": { "iss": "https://evil.example" } })).await;
        other.anonymous().with_key(&other_issuer).get("/api/keys").await.refused(401);
        let status = reply.status;
        let said = reply.refused(status);
        assert!(status == 401 || said.contains("is not responding"), "{said}");
        status
    };
    let discovery = "/.well-known/openid-configuration";
    let of = |key: &Value, name: &str, value: &str| {
        let mut key = key.clone();
        key[name] = json!(value);
        json!({ "body": json!({ "keys": [key] }).to_string() })
    };
    let point = json!({ "kty": "EC", "crv": "P-256", "kid": "test", "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" });
    for (path, answer, expected) in [
        (discovery, json!({ "status": 500 }), 503),
        (discovery, json!({ "status": 302, "body": "{}" }), 503),
        (discovery, json!({ "type": "text/html", "body": "<!doctype html>" }), 503),
        (discovery, json!({ "body": "{\"issuer\":\"https://evil.example\"}" }), 503),
        ("/jwks", json!({ "status": 404 }), 503),
        ("/jwks", json!({ "type": "text/html", "body": "<!doctype html>" }), 503),
        ("/jwks", json!({ "body": "not JSON" }), 503),
        ("/jwks", json!({ "body": "{\"keys\":7}" }), 503),
        ("/jwks", json!({ "body": " ".repeat(50_000), "repeat": 40 }), 503),
        ("/jwks", json!({ "silent": true }), 503),
        ("/jwks", json!({ "body": "{\"keys\":[]}" }), 401),
        ("/jwks", json!({ "body": "{\"keys\":[{\"kty\":\"quantum\",\"kid\":\"test\"},7,null]}" }), 401),
        ("/jwks", json!({ "body": json!({ "keys": [point] }).to_string() }), 401),
        ("/jwks", json!({ "body": "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"test\",\"k\":\"AAAA\"}]}" }), 401),
        ("/jwks", of(&keys["keys"][0], "use", "enc"), 401),
        ("/jwks", of(&keys["keys"][0], "n", "AQAB"), 401),
    ] {
        let shown: String = answer.to_string().chars().take(100).collect();
        assert_eq!(refuse(answer, path).await, expected, "{path} {shown}");
    }
    let silent = client.with_key(&token);
    provider.breaks(json!({})).await;
    assert_eq!(silent.get("/api/keys").await.status, 200, "nothing was wrong with the token");
}
