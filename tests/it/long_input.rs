//! Parsers of client and server input take linear time. For any text unit repeated up to the input limit, a
//! quadratic parser would take minutes.

use std::convert::Infallible;

use axum::body::Bytes;
use ensemble_poll::cli::event_stream::read_events;
use futures::stream;
use reqwest::Method;
use serde_json::json;

use crate::harness::Service;

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
