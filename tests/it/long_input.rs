//! Parsers of client and server input take linear time. For any text unit repeated up to the input limit, a
//! quadratic parser would take minutes.

use std::convert::Infallible;

use axum::body::Bytes;
use ensemble_poll::cli::event_stream::read_events;
use futures::stream;
use reqwest::Method;
use serde_json::{Value, json};

use crate::batches::{account, ended};
use crate::harness::{Client, Service, Setup, question};

/// Repeats a unit up to this many bytes.
fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

#[tokio::test]
async fn of_a_json_rpc_body() {
    let service = Service::start().await;
    let client = service.user().await;
    let units = [
        "{", "[", "\"", "\\", "\\\"", "{\"a\":", "[[],", "1e", "or ", ", ", "A or B? ", "?", "[A, B] ",
        "1. ", "\n- ", "é",
    ];
    for unit in units {
        let text = repeated(unit, 60_000);
        let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{text}"#);
        let part = json!({ "text": text });
        let params = json!({ "message": { "role": "user", "messageId": "m", "parts": [part] } });
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params });
        let arguments = json!({ "question": text, "options": [text, "B"], "models": [text], "preset": text });
        let called = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "poll_question", "arguments": arguments }
        });
        for path in ["/api/mcp", "/api/a2a", "/api/a2a/tasks/send"] {
            for body in [&text, &nested, &asked.to_string(), &called.to_string()] {
                let request = client.request(Method::POST, path).header("content-type", "application/json");
                let reply = client.send(request.body(body.clone())).await;
                assert!(reply.status < 500, "{} for {unit} repeated: {}", reply.status, reply.text);
            }
        }
    }
}

#[tokio::test]
async fn of_a_header() {
    let service = Service::start().await;
    let client = service.user().await;
    for unit in ["1.2.3.4, ", ", ", "a;q=0,", "\"x\",", "W/\"x\", ", "ep_session=a; ", "[::1]:1,", "="] {
        for name in [
            "x-forwarded-for",
            "accept",
            "if-none-match",
            "cookie",
            "idempotency-key",
            "a2a-version",
            "origin",
        ] {
            let request = client.request(Method::GET, "/api/models").header(name, repeated(unit, 60_000));
            let reply = client.send(request).await;
            assert!(reply.status < 500, "{} for {name}: {unit} repeated: {}", reply.status, reply.text);
        }
    }
}

#[tokio::test]
async fn of_an_event_stream() {
    for unit in [
        "\n",
        "\r",
        "data:",
        "data: 1\n",
        ":",
        "event: vote\n",
        "event: vote\ndata: 1\n\n",
        "{",
        "é",
        "id: 1\n\n",
    ] {
        let text = Bytes::from(repeated(unit, 1024 * 1024));
        for piece in [1, 16 * 1024] {
            let pieces = (0..text.len()).step_by(piece);
            let pieces = pieces.map(|at| Ok::<_, Infallible>(text.slice(at..(at + piece).min(text.len()))));
            drop(read_events(stream::iter(pieces), |_, _| ()).await);
        }
    }
}

/// Bodies from 16 KiB on are read beside the async workers, and answered like others.
const LONG: usize = 40_000;

/// Returns the question of a poll, as its owner reads it.
async fn asked(client: &Client, poll: &Value) -> String {
    let id = poll.as_str().unwrap_or_else(|| panic!("a poll: {poll}"));
    let poll = client.get(&format!("/api/polls/{id}/result")).await.expect(200);
    poll["question"].as_str().unwrap_or_else(|| panic!("a question: {poll}")).to_owned()
}

#[tokio::test]
async fn long_questions_are_asked_by_every_protocol() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let long = format!("Which one is it? {}", "x".repeat(LONG));
    let input = question(json!({ "question": long }));
    let poll = client.post("/api/poll", &input).await.expect(200);
    assert_eq!(asked(&client, &poll["poll_id"]).await, long);

    let called = client.tool("poll_question", input.clone()).await;
    assert_eq!(asked(&client, &called["structuredContent"]["poll_id"]).await, long);
    let params = json!({ "name": "poll_question", "arguments": input, "_meta": { "progressToken": 1 } });
    let reply = client.rpc("/api/mcp", "tools/call", params).await;
    let mut data = reply.text.lines().rev().filter_map(|line| line.strip_prefix("data: "));
    let last = data.next().unwrap_or_default();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(asked(&client, &last["result"]["structuredContent"]["poll_id"]).await, long);

    let done = client.skill("poll_question", &input).await;
    let data = |task: &Value| task["artifacts"][0]["parts"][0]["data"]["poll_id"].clone();
    assert_eq!(asked(&client, &data(&done["result"]["task"])).await, long);
    let text = json!({ "role": "ROLE_USER", "messageId": "text", "parts": [{ "text": input.to_string() }] });
    let done = client.post("/api/a2a/message:send", &json!({ "message": text })).await.expect(200);
    assert_eq!(asked(&client, &data(&done["task"])).await, long);
    let legacy = json!({ "message": { "role": "user", "parts": [{ "type": "data", "data": input }] } });
    let done = client.post("/api/a2a/tasks/send", &legacy).await.expect(200);
    assert_eq!(asked(&client, &data(&done)).await, long);
}

#[tokio::test]
async fn long_requests_of_mcp_have_their_length_in_the_arguments_of_a_tool() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let long = "x".repeat(LONG);
    for (method, params) in [
        ("tools/call", json!({ "name": "get_balance", "arguments": {}, "_meta": { "note": long } })),
        ("tools/call", json!({ "name": long, "arguments": {} })),
        ("prompts/get", json!({ "name": "poll_models", "arguments": { "question": long } })),
    ] {
        let refused = client.rpc("/api/mcp", method, params).await.expect(400)["error"].clone();
        assert_eq!(refused["code"], -32600, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("more than 16384 bytes"), "{refused}");
    }
    // Arguments are checked as usual.
    let called = client.tool("poll_question", json!({ "question": long, "optoins": ["a", "b"] })).await;
    assert!(called["content"][0]["text"].as_str().unwrap().contains("did you mean options?"), "{called}");
}

#[tokio::test]
async fn long_rows_of_batches_are_asked() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let row = |length: usize| json!({ "question": format!("Which? {}", "x".repeat(length)), "options": ["a", "b"] });
    let batch = json!({ "rows": [row(10), row(LONG)], "preset": "budget" });
    let created = client.post("/api/batches", &batch).await.expect(202);
    let batch = ended(&client, created["batch_id"].as_str().unwrap()).await;
    assert_eq!(batch["request_counts"]["completed"], 2, "{batch}");
}
