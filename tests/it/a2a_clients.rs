//! The official A2A clients: every version uses the same URL.

use std::time::Duration;

use ep_upstream::testing::{Script, VoteFor};
use serde_json::{Value, json};

use crate::harness::{AgentClient, Setup, question};

/// Runs a client and returns its observations: `run` of `tests/counterparts/a2a-*`.
async fn seen(program: &str, version: &str, binding: &str) -> Value {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(40) };
    script.default.latency = Duration::from_millis(200);
    let service = Setup::scripted(script).with("EP_UPSTREAM_MAX_CONCURRENT", "2").boot().await;
    let client = service.user().await;
    let slow = question(json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    let request = json!({
        "op": "run",
        "url": service.url,
        "key": client.key,
        "version": version,
        "binding": binding,
        "question": question(json!({ "pace": "fast" })),
        "slow_question": slow,
        "webhook": "https://example.com/hook",
    });
    AgentClient::start(program).run(request).await
}

/// The observations that all clients share, with `errors` for the names of errors.
fn expected(errors: Value) -> Value {
    json!({
        "sent": "completed",
        "winner": "Beta",
        "got": "completed",
        "history": 1,
        "streamed": ["task", "artifact-update", "status-update"],
        "streamed_last": "completed",
        "asked": "input-required",
        "completed": "completed",
        "listed": null,
        "push": ["mine", "https://example.com/hook", 1],
        "cancelled": "canceled",
        "subscribed": ["task", "canceled"],
        "errors": errors,
    })
}

fn listed(mut expected: Value) -> Value {
    // The three tasks before the listing; rejected messages created none.
    expected["listed"] = json!(3);
    expected
}

#[tokio::test]
async fn python_1_3_over_json_rpc_and_http() {
    let names = |wrong: &str| {
        json!({
            "unknown": "TaskNotFoundError",
            "ended": "UnsupportedOperationError",
            "cancel": "TaskNotCancelableError",
            "stream": wrong,
            "subscribe": "UnsupportedOperationError",
            "private": wrong,
        })
    };
    let (rpc, http, older) = tokio::join!(
        seen("a2a-1.py", "1.3", "JSONRPC"),
        seen("a2a-1.py", "1.3", "HTTP+JSON"),
        seen("a2a-1.py", "1.3", "0.3"),
    );
    let mut seen_by_all = expected(names("InvalidParamsError"));
    seen_by_all["batch"] = json!(["task", "artifact-update", "completed"]);
    assert_eq!(rpc, listed(seen_by_all.clone()));
    assert_eq!(http, listed(seen_by_all.clone()));
    assert_eq!(older, seen_by_all);
}

#[tokio::test]
async fn python_0_3_and_0_2() {
    let (newer, older) =
        tokio::join!(seen("a2a-0-3.py", "0.3", "JSONRPC"), seen("a2a-0-2.py", "0.2", "JSONRPC"),);
    let codes = json!({
        "unknown": -32001, "ended": -32004, "cancel": -32002, "stream": -32602, "subscribe": -32004, "private": -32602,
    });
    assert_eq!(newer, expected(codes.clone()));
    let mut without_subscription = expected(codes);
    without_subscription["subscribed"] = Value::Null;
    without_subscription["errors"]["subscribe"] = Value::Null;
    assert_eq!(older, without_subscription);
}

#[tokio::test]
async fn javascript_1_3_and_0_3() {
    let (rpc, http, older) = tokio::join!(
        seen("a2a-clients.mjs", "1.3", "JSONRPC"),
        seen("a2a-clients.mjs", "1.3", "HTTP+JSON"),
        seen("a2a-clients.mjs", "0.3", "JSONRPC"),
    );
    let names = |prefix: &str, wrong: &str| {
        json!({
            "unknown": format!("{prefix}TaskNotFoundError"),
            "ended": format!("{prefix}UnsupportedOperationError"),
            "cancel": format!("{prefix}TaskNotCancelableError"),
            "stream": wrong,
            "subscribe": format!("{prefix}UnsupportedOperationError"),
            "private": wrong,
        })
    };
    assert_eq!(rpc, listed(expected(names("JsonRpc", "JsonRpcRequestMalformedError"))));
    assert_eq!(http, listed(expected(names("Rest", "RestRequestMalformedError"))));
    // This version reports stream errors without a code.
    let codes = json!({
        "unknown": -32001, "ended": -32004, "cancel": -32002, "stream": "Error", "subscribe": "Error", "private": -32602,
    });
    assert_eq!(older, expected(codes));
}
