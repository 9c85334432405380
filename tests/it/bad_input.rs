//! Invalid input returns a 4xx with a remedy; nothing is charged or stored, and no model is called.

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Service, question};

#[tokio::test]
async fn validation_errors_name_the_field() {
    let service = Service::start().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let text = |length: usize| "x".repeat(length);
    let cases: Vec<(Value, &str)> = vec![
        (json!({ "question": "too short" }), "question"),
        (json!({ "question": "         x         " }), "question"),
        (json!({ "question": 7 }), "question"),
        (json!({ "question": ["Which of the two?"] }), "question"),
        (json!({ "question": "A question with a \u{0} in it?" }), "U+0000"),
        (json!({ "question": "A question with \u{e0041} in it?" }), "U+E0041"),
        (json!({ "options": ["fine", "turned \u{202e} around"] }), "options[1]"),
        (json!({ "question": null, "prompt": null }), "question"),
        (json!({ "options": [] }), "2 to 10"),
        (json!({ "options": ["one"] }), "2 to 10"),
        (json!({ "options": (0..11).map(|n| n.to_string()).collect::<Vec<_>>() }), "2 to 10"),
        (json!({ "options": ["same", " same "] }), "options[1]"),
        (json!({ "options": ["Caf\u{e9}", "Cafe\u{301}"] }), "options[1]"),
        (json!({ "options": ["full", "ｆｕｌｌ"] }), "options[1]"),
        (json!({ "options": ["fine", "  "] }), "options[1]"),
        (json!({ "options": ["fine", "\u{200b}\u{2060}"] }), "options[1]"),
        (json!({ "options": ["fine", "line\nbreak"] }), "options[1]"),
        (json!({ "options": ["fine", text(201)] }), "options[1]"),
        (json!({ "options": ["fine", 3] }), "options[1]"),
        (json!({ "options": "Alpha, Beta" }), "options"),
        (json!({ "options": { "a": 1 } }), "options"),
        (json!({ "poll_type": "ranked" }), "poll_type"),
        (json!({ "preset": "nope" }), "nope"),
        (json!({ "preset": 5 }), "preset"),
        (json!({ "models": "a/b" }), "models"),
        (json!({ "models": ["a/b", 3] }), "models[1]"),
        (json!({ "models": vec!["a/b"; 151] }), "has 151 model ids"),
        (json!({ "models": ["no/such", "maker1/*"] }), "no no/such;"),
        (json!({ "models": ["maker1/line-1"] }), "one model"),
        (json!({ "models": ["maker1/*"], "preset": "budget" }), "one of the two"),
        (json!({ "exclude": [" "] }), "exclude"),
        (json!({ "exclude": ["*"] }), "exclude"),
        (json!({ "profile": "reckless" }), "profile"),
        (json!({ "pace": "warp" }), "pace"),
        (json!({ "confidence_threshold": 1.01 }), "confidence_threshold"),
        (json!({ "confidence_threshold": -0.01 }), "confidence_threshold"),
        (json!({ "confidence_threshold": "0.9" }), "confidence_threshold"),
        (json!({ "confidence_threshold": "NaN" }), "confidence_threshold"),
        (json!({ "max_cost_usd": 0 }), "max_cost_usd"),
        (json!({ "max_cost_usd": -1 }), "max_cost_usd"),
        (json!({ "max_cost_usd": "Infinity" }), "max_cost_usd"),
        (json!({ "max_cost_usd": true }), "max_cost_usd"),
        (json!({ "private": "yes" }), "private"),
        (json!({ "dry_run": 1 }), "dry_run"),
        (json!({ "wait_ms": -5 }), "wait_ms"),
        (json!({ "wait_ms": 600_001 }), "wait_ms"),
        (json!({ "pace": { "fast": null } }), "pace"),
        (json!({ "profile": { "quick": null } }), "profile"),
        (json!({ "poll_type": { "fptp": null } }), "poll_type"),
        (json!({ "max_cost_usd": 1e-9 }), "max_cost_usd"),
    ];
    for (members, named) in cases {
        let shown = members.to_string();
        let message = client.poll(members).await.refused(400);
        assert!(message.contains(named), "{shown}: {message}");
    }
    client.post("/api/poll", &json!({ "question": "Which of the two is better?" })).await.refused(400);
    assert_eq!(service.upstream().total_calls(), 0);
    assert_eq!(service.settled_cost(user).await, MicroUsd::ZERO);
    // Unknown fields are ignored, and the largest allowed values are accepted.
    let wide = json!({ "question": text(10), "options": [text(200), "é".repeat(200)], "surprise": { "a": [1] }, "confidence_threshold": 0, "max_cost_usd": 1e300 });
    client.post("/api/poll", &wide).await.expect(200);
}

#[tokio::test]
async fn bodies_must_be_json_objects() {
    let service = Service::start().await;
    let client = service.user().await;
    let send = |body: &str, kind: &str| {
        let request =
            client.request(Method::POST, "/api/poll").header("content-type", kind).body(body.to_owned());
        let client = client.clone();
        async move { client.send(request).await }
    };
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for body in [
        "{",
        "{\"question\": }",
        "not json",
        "{\"a\":1} trailing",
        "{\"max_cost_usd\": NaN}",
        "{\"max_cost_usd\": 1e999}",
        deep.as_str(),
    ] {
        let message = send(body, "application/json").await.refused(400);
        assert!(message.contains("JSON"), "{message}");
    }
    for body in ["[]", "null", "\"text\"", "5"] {
        assert!(send(body, "application/json").await.refused(400).contains("object"));
    }
    assert!(send("", "application/json").await.refused(400).contains("options"));
    assert!(
        send("question=x", "application/x-www-form-urlencoded")
            .await
            .refused(415)
            .contains("application/json")
    );
    send("{}", "application/vnd.poll+json").await.refused(400);
    let huge = format!("{{\"question\": \"{}\"}}", "x".repeat(70_000));
    for path in ["/api/poll", "/api/poll/stream", "/api/mcp", "/api/a2a", "/api/a2a/tasks/send"] {
        let request =
            client.request(Method::POST, path).header("content-type", "application/json").body(huge.clone());
        let reply = client.send(request).await;
        assert!(
            reply.status == 413 || (path == "/api/a2a" && reply.text.contains("65536")),
            "{path}: {} {}",
            reply.status,
            reply.text
        );
    }
}

#[tokio::test]
async fn truncated_body_is_not_reported_as_malformed() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let service = Service::start().await;
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = "POST /api/poll HTTP/1.1\r\nhost: localhost\r\nx-machine-client: true\r\nconnection: close\r\n\
        content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    // A chunk with an invalid length.
    stream.write_all(format!("{head}5\r\n{{\"q\":\r\nnonsense\r\n").as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 408") && reply.contains("incomplete_body"), "{reply}");
    assert!(reply.contains("ended early; send the request again"), "{reply}");
}

/// RFC 8259 §8.1 also applies to ignored fields.
#[tokio::test]
async fn bodies_must_be_utf8() {
    let service = Service::start().await;
    let client = service.user().await;
    for path in ["/api/poll", "/api/mcp", "/api/a2a", "/api/a2a/tasks/send"] {
        let body = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"unread\":{\"\x93\":1}}".to_vec();
        let request = client.request(Method::POST, path).header("content-type", "application/json");
        let reply = client.send(request.body(body)).await;
        let error = reply.json()["error"].clone();
        assert!(reply.status == 400 || error["code"] == -32700, "{path}: {} {error}", reply.status);
    }
}

#[tokio::test]
async fn agent_protocols_name_fields_with_oversized_numbers() {
    let service = Service::start().await;
    let client = service.user().await;
    let body =
        r#"{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"parts":[]},"x":1e999}}"#;
    for path in ["/api/mcp", "/api/a2a", "/api/a2a/tasks/send"] {
        let request = client.request(Method::POST, path).header("content-type", "application/json");
        let reply = client.send(request.body(body)).await;
        let said = reply.json()["error"].to_string();
        assert!(said.contains("JSON"), "{path}: {said}");
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_return_json_errors() {
    let service = Service::start().await;
    let anyone = service.anonymous();
    for path in ["/nowhere", "/api/nowhere", "/api/result", "/api/nowhere/", "/.well-known/nothing"] {
        let reply = anyone.get(path).await;
        assert_eq!(reply.header("content-type"), "application/json");
        reply.refused(404);
    }
    let wrong = anyone.send(anyone.request(Method::PUT, "/api/poll")).await;
    assert_eq!(wrong.header("allow"), "OPTIONS, POST");
    wrong.refused(405);
    let wrong = anyone.send(anyone.request(Method::POST, "/api/health")).await;
    assert_eq!(wrong.header("allow"), "GET, HEAD, OPTIONS");
    wrong.refused(405);
    for path in ["/api/mcp", "/api/a2a", "/api/a2a/tasks/send", "/.well-known/agent-card.json"] {
        let reply = anyone.send(anyone.request(Method::DELETE, path)).await;
        assert!(!reply.header("allow").is_empty(), "{path}");
        reply.refused(405);
    }
    assert!(anyone.get("/api/results/%ff").await.refused(400).contains("percent-encoding"));
    for id in ["EP-20260131-0000000000", "nonsense", "EP-20260131-0000000000'--", "%00", "..%2f..%2fetc"] {
        anyone.get(&format!("/api/results/{id}")).await.refused(404);
    }
}

#[tokio::test]
async fn problem_details_on_request() {
    let service = Service::start().await;
    let client = service.user().await;
    for headers in [[("accept", "application/problem+json")], [("x-machine-client", "true")]] {
        let reply =
            client.post_with("/api/poll", &question(json!({ "options": ["one", "one"] })), &headers).await;
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert_eq!(reply.header("vary"), "Accept, X-Machine-Client");
        let problem = reply.expect(400);
        assert_eq!((&problem["code"], &problem["status"]), (&json!("invalid_input"), &json!(400)));
        assert_eq!(problem["errors"][0]["field"], "options");
        let (about, fragment) = problem["type"].as_str().unwrap().split_once('#').unwrap();
        let catalog = client.get(about.strip_prefix(&service.url).unwrap()).await.expect(200);
        let entries = catalog["errors"].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["code"] == fragment && entry["type"] == problem["type"]));
        assert!(problem["instance"].as_str().unwrap().starts_with("urn:uuid:"));
        let lost =
            client.send(client.request(Method::GET, "/nowhere").header(headers[0].0, headers[0].1)).await;
        assert_eq!(lost.expect(404)["code"], "unknown_route");
    }
}
