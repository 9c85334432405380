//! Snapshots of the responses that clients parse. A seeded service returns the same bytes every time.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::harness::{Client, Reply, Setup, question, without_durations};

/// Headers that clients use.
const HEADERS: [&str; 10] = [
    "content-type",
    "cache-control",
    "vary",
    "retry-after",
    "allow",
    "www-authenticate",
    "idempotency-key",
    "idempotent-replayed",
    "ratelimit-policy",
    "etag",
];

/// Formats a reply as a snapshot: measured durations are zero and lists of votes have only their first entry.
///
/// Entity tags are shortened, because they depend on measured durations in the body.
fn shown(reply: &Reply) -> Value {
    let headers: Map<String, Value> = HEADERS
        .into_iter()
        .filter(|name| !reply.header(name).is_empty())
        .map(|name| (name.to_owned(), json!(if name == "etag" { "\"…\"" } else { reply.header(name) })))
        .collect();
    let mut body = serde_json::from_str(&reply.text).unwrap_or_else(|_| Value::String(events(&reply.text)));
    without_durations(&mut body);
    shorten(&mut body);
    json!({ "status": reply.status, "headers": headers, "body": body })
}

/// Formats an event stream as names and data, without the votes between the first and the last.
fn events(text: &str) -> String {
    let events: Vec<&str> = text.split("\n\n").filter(|event| !event.trim().is_empty()).collect();
    let shown = events.iter().take(2).chain(events.last());
    shown
        .map(|event| event.lines().map(line_without_durations).collect::<Vec<_>>().join("\n"))
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn line_without_durations(line: &str) -> String {
    let Some(mut data) = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok()) else {
        return line.to_owned();
    };
    without_durations(&mut data);
    shorten(&mut data);
    format!("data: {data}")
}

fn shorten(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::Array(votes) if matches!(name.as_str(), "votes" | "variants" | "errors") => {
                        votes.truncate(1);
                    }
                    // MCP repeats the structured content as text.
                    Value::String(text) if name == "text" && text.starts_with('{') => "{…}".clone_into(text),
                    _ => {}
                }
                shorten(member);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(shorten),
        _ => {}
    }
}

#[tokio::test]
async fn responses_that_clients_parse() {
    let setup = Setup::demo().seeded(11).with("EP_BASE_URL", "https://polls.example.com");
    let service = setup.boot().await;
    let (user, nobody) = (service.user().await, service.anonymous());
    let asked = question(json!({ "preset": "frontier_generalist" }));
    let poll = user.post_with("/api/poll", &asked, &[("idempotency-key", "one")]).await;
    let id = poll.json()["poll_id"].as_str().unwrap().to_owned();
    let problem = [("accept", "application/problem+json")];
    let message =
        |id: &str, data: Value| json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "data": data }] });
    let rpc = |client: &Client, method: &'static str, params: Value| {
        let (client, path) = (client.clone(), if method.contains("tools") { "/api/mcp" } else { "/api/a2a" });
        async move { client.rpc(path, method, params).await }
    };
    let wrong = |client: &Client| client.request(Method::PUT, "/api/poll");
    let replies = [
        ("poll", poll),
        ("poll_replayed", user.post_with("/api/poll", &asked, &[("idempotency-key", "one")]).await),
        ("poll_invalid", user.post("/api/poll", &question(json!({ "options": ["one"] }))).await),
        (
            "poll_invalid_problem",
            user.post_with("/api/poll", &question(json!({ "options": ["one"] })), &problem).await,
        ),
        ("poll_free", nobody.post("/api/poll", &json!({ "poll": "Tea or coffee? [Tea, Coffee]" })).await),
        ("poll_stream", user.post("/api/poll/stream", &asked).await),
        ("dry_run", user.post("/api/poll/dry-run", &asked).await),
        ("result", nobody.get(&format!("/api/results/{id}")).await),
        ("result_unknown", nobody.get("/api/results/EP-20260101-0000000000").await),
        ("unauthenticated", nobody.post("/api/poll/dry-run", &asked).await),
        ("unknown_route", nobody.get("/nowhere").await),
        ("wrong_method", nobody.send(wrong(&nobody)).await),
        ("profiles", nobody.get("/api/profiles").await),
        ("models", nobody.get("/api/models").await),
        ("mcp_tools", rpc(&user, "tools/list", json!({})).await),
        (
            "mcp_result",
            rpc(&user, "tools/call", json!({ "name": "get_poll_result", "arguments": { "poll_id": id } }))
                .await,
        ),
        ("mcp_refusal", rpc(&user, "tools/call", json!({ "name": "poll_question", "arguments": {} })).await),
        ("a2a_task", rpc(&user, "SendMessage", json!({ "message": message("m", asked.clone()) })).await),
        ("a2a_refusal", rpc(&user, "GetTask", json!({ "id": "EP-20260101-0000000000" })).await),
        ("a2a_unknown_method", rpc(&user, "NoSuchMethod", json!({})).await),
        (
            "a2a_tasks_send",
            user.post("/api/a2a/tasks/send", &json!({ "message": message("n", asked) })).await,
        ),
    ];
    insta::with_settings!({ snapshot_path => "snapshots/client_contract", prepend_module_to_snapshot => false }, {
        for (name, reply) in &replies {
            insta::assert_json_snapshot!(*name, shown(reply));
        }
    });
}
