//! Errors with a remedy: ways to fund an account, the nearest path, the methods of a path.

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question};

const MACHINE: (&str, &str) = ("x-machine-client", "true");

/// Sends a request and asks for problem details.
async fn problem(client: &Client, method: Method, path: &str) -> Value {
    let reply = client.send(client.request(method, path).header(MACHINE.0, MACHINE.1)).await;
    reply.json()
}

/// Returns the recovery actions of an account without money.
async fn ways_to_pay(setup: Setup) -> Vec<Value> {
    let service = setup.boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let asked = client.post_with("/api/poll", &question(json!({})), &[MACHINE]).await.expect(402);
    let catalog = client.get("/api/errors/catalog").await.expect(200);
    let actions = |value: &Value| value["recovery_actions"].as_array().unwrap().clone();
    let row = catalog["errors"].as_array().unwrap().iter().find(|row| row["code"] == "insufficient_balance");
    let paying = |action: &Value| action["action"] != "lower_cost";
    let ways: Vec<Value> = actions(&asked).into_iter().filter(paying).collect();
    let listed: Vec<Value> = actions(row.unwrap()).into_iter().filter(paying).collect();
    assert_eq!(ways, listed, "the catalogue lists the same");
    for way in &ways {
        let Some(path) = way["href"].as_str().and_then(|href| href.strip_prefix(&service.url)) else {
            continue;
        };
        let method: Method = way["method"].as_str().unwrap().parse().unwrap();
        let request = client.request(method, path);
        let request = match &way["example"] {
            Value::Null => request,
            example => request.json(example),
        };
        let status = client.send(request).await.status;
        assert!(![404, 405, 503].contains(&status), "{way}: {status}");
    }
    ways
}

fn summary(ways: &[Value]) -> Vec<(&str, &str, &Value)> {
    ways.iter()
        .map(|way| {
            let path = way["href"].as_str().unwrap_or_default();
            let path = path.find("/api").or_else(|| path.find("/dashboard")).map_or(path, |at| &path[at..]);
            (way["action"].as_str().unwrap(), path, &way["example"])
        })
        .collect()
}

fn with_cards(setup: Setup) -> Setup {
    setup.with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests").with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
}

fn with_usdc(setup: Setup) -> Setup {
    setup
        .with("EP_X402_NETWORK", "eip155:84532")
        .with("EP_X402_FACILITATOR_URL", "http://127.0.0.1:9")
        .with("EP_X402_PAY_TO", "0x000000000000000000000000000000000000dEaD")
}

#[tokio::test]
async fn empty_balance_error_lists_the_ways_to_pay() {
    let none = Value::Null;
    let (dollars, cents) = (json!({ "amount_usd": 5 }), json!({ "amount_cents": 500 }));
    let unpaid = ways_to_pay(Setup::demo()).await;
    assert_eq!(summary(&unpaid), [("ask_operator", "", &none)]);
    let contact = ways_to_pay(Setup::demo().with("EP_CONTACT", "money@example.com")).await;
    assert_eq!(summary(&contact), [("ask_operator", "mailto:money@example.com", &none)]);
    let page = ("add_funds", "/dashboard#funds", &none);
    let deposit = ("add_funds", "/api/deposit", &dollars);
    let checkout = ("add_funds", "/api/checkout", &cents);
    assert_eq!(summary(&ways_to_pay(with_usdc(Setup::demo())).await), [deposit, page]);
    assert_eq!(summary(&ways_to_pay(with_cards(Setup::demo())).await), [checkout, page]);
    let both = ways_to_pay(with_cards(with_usdc(Setup::demo()))).await;
    assert_eq!(summary(&both), [deposit, checkout, page]);
}

#[tokio::test]
async fn unknown_path_error_names_the_nearest_path() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let id = "EP-20260131-7KQ2M4X9TB";
    for (method, given, near) in [
        (Method::GET, format!("/api/result/{id}"), format!("/api/results/{id}")),
        (Method::GET, format!("/result/{id}"), format!("/results/{id}")),
        (Method::POST, "/api/pol".to_owned(), "/api/poll".to_owned()),
        (Method::POST, "/poll".to_owned(), "/api/poll".to_owned()),
        (Method::POST, "/v2/poll".to_owned(), "/api/poll".to_owned()),
        (Method::GET, "/api/model".to_owned(), "/api/models".to_owned()),
        (Method::GET, "/openapi.json".to_owned(), "/api/openapi.json".to_owned()),
        (Method::GET, "/.well-known/agent-cards.json".to_owned(), "/.well-known/agent-card.json".to_owned()),
    ] {
        let fault = problem(&client, method.clone(), &given).await;
        assert_eq!(fault["code"], "unknown_route", "{given}");
        let detail = fault["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("there is nothing at {given}; did you mean {near}?")), "{detail}");
        let action = &fault["recovery_actions"][0];
        assert_eq!(action["action"], "use_nearest_path", "{given}");
        assert_eq!(action["method"], method.as_str(), "{given}");
        assert_eq!(action["href"], format!("{}{near}", service.url), "{given}");
    }
    for given in ["/nowhere", "/wp-login.php", &format!("/x/{id}"), &format!("/{}", "a".repeat(4000))] {
        let fault = problem(&client, Method::GET, given).await;
        assert_eq!(fault["recovery_actions"][0]["action"], "read_card", "{fault}");
    }
}

#[tokio::test]
async fn wrong_method_error_lists_the_methods() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let fault = problem(&client, Method::PUT, "/api/keys").await;
    let detail = fault["detail"].as_str().unwrap();
    assert!(detail.starts_with("PUT is not allowed here; use GET, HEAD, OPTIONS, POST. "), "{detail}");
    for method in ["GET", "POST"] {
        let actions = fault["recovery_actions"].as_array().unwrap();
        let action = actions.iter().find(|action| action["method"] == method).unwrap();
        assert_eq!(action["action"], "use_allowed_method");
        assert_eq!(action["href"], format!("{}/api/keys", service.url));
        assert!(
            detail.contains(&format!("{method}: {}", action["description"].as_str().unwrap())),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn trailing_slash_redirect_keeps_method_and_query() {
    let service = Setup::demo().boot().await;
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (path, to) in [
        ("/api/poll/", "/api/poll"),
        ("/docs/?a=b", "/docs?a=b"),
        ("/results/EP-1/", "/results/EP-1"),
        ("/api/mcp//", "/api/mcp"),
        ("/llms.txt/", "/llms.txt"),
    ] {
        for method in [Method::GET, Method::POST] {
            let reply = browser.request(method, format!("{}{path}", service.url)).send().await.unwrap();
            assert_eq!(
                (reply.status().as_u16(), reply.headers()["location"].as_bytes()),
                (308, to.as_bytes()),
                "{path}"
            );
            assert!(reply.headers().contains_key("x-request-id"));
        }
    }
    for path in ["//evil.example/", "/nowhere/", "/results/a/b/", "//api/poll/"] {
        let reply = browser.get(format!("{}{path}", service.url)).send().await.unwrap();
        assert_eq!(reply.status(), 404, "{path}");
    }
    // A client that follows redirects sends the same request.
    let followed = reqwest::Client::new().post(format!("{}/api/poll/", service.url));
    let reply = followed.json(&question(json!({}))).send().await.unwrap();
    assert_eq!(reply.status(), 200, "{}", reply.text().await.unwrap());
}

#[tokio::test]
async fn wrong_type_of_an_agent_message_is_reported() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for (message, given) in [(json!("hello"), "a string"), (json!([1]), "a list"), (json!(7), "a number")] {
        let reply = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        let said = reply["error"]["message"].as_str().unwrap();
        assert!(
            said.contains(&format!("message must be an object with role and parts, not {given}")),
            "{said}"
        );
    }
    let reply = client.rpc("/api/a2a", "SendMessage", json!({})).await.expect(200);
    assert!(reply["error"]["message"].as_str().unwrap().contains("message is missing"), "{reply}");
}

#[tokio::test]
async fn unknown_polls_return_one_error() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let id = "EP-20260131-7KQ2M4X9TB";
    for (id, shown) in [(id, id), ("nonsense", "nonsense")] {
        let expected = format!("there is no poll {shown}; ids look like EP-20260131-7KQ2M4X9TB");
        for path in [
            "/api/results/{id}",
            "/api/polls/{id}/status",
            "/api/polls/{id}/result",
            "/api/graph/mermaid/{id}",
            "/api/feedback/{id}",
            "/results/{id}",
            "/results/{id}.csv",
            "/results/{id}.svg",
            "/embed/{id}",
        ] {
            let reply = client.get(&path.replace("{id}", id)).await;
            assert_eq!(reply.refused(404), expected, "{path}");
        }
        for (path, body) in [
            ("/api/polls/{id}/cancel".to_owned(), json!({})),
            ("/api/feedback".to_owned(), json!({ "poll_id": id, "outcome_correct": true })),
        ] {
            let reply = client.post(&path.replace("{id}", id), &body).await;
            assert_eq!(reply.refused(404), expected, "{path}");
        }
        for path in ["/api/polls/{id}/events", "/api/results/{id}/events"] {
            let request = client.request(Method::GET, &path.replace("{id}", id));
            let reply = client.send(request.header("accept", "text/event-stream")).await;
            assert_eq!(reply.refused(404), expected, "{path}");
        }
        for tool in ["get_poll_result", "cancel_poll"] {
            let stated = client.tool(tool, json!({ "poll_id": id })).await;
            assert_eq!(stated["structuredContent"]["error"]["detail"], expected, "{tool}");
        }
        let uri = format!("poll://{id}");
        let read = client.rpc("/api/mcp", "resources/read", json!({ "uri": uri })).await.json();
        assert_eq!(read["error"]["message"], expected);
    }
}
