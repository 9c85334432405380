//! Completions in other shapes than asked for, refusals without a reason, and what is remembered of both.

use ep_upstream::testing::{Action, Forms, ReceivedRequest};
use serde_json::{Value, json};

use super::{FIRST, Fixture, reason, vote};

/// An event stream with these chunks.
fn events(chunks: &[Value]) -> Action {
    let lines = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    Action::Bytes(format!("{}data: [DONE]\n\n", lines.collect::<String>()).into_bytes())
}

fn piece(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn refusal(message: &str) -> Action {
    Action::Status(400, json!({ "error": { "message": message } }).to_string())
}

async fn requests(actions: Vec<Action>, votes: usize) -> Vec<ReceivedRequest> {
    let fixture = Fixture::with_actions(actions);
    let upstream = fixture.upstream();
    for _ in 0..votes {
        assert_eq!(vote(&upstream).await.vote, Ok(FIRST));
    }
    fixture.server.received("m")
}

#[tokio::test]
async fn an_event_stream_is_read_though_none_was_asked() {
    let text =
        events(&[piece(&json!({"content": "Ma"}), None), piece(&json!({"content": "rs"}), Some("stop"))]);
    let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
    let call = events(&[piece(&call("{\"option\":"), None), piece(&call("\"Mars\"}"), Some("tool_calls"))]);
    for action in [text, call] {
        assert_eq!(requests(vec![action], 1).await.len(), 1);
    }
}

#[tokio::test]
async fn small_faults_of_json_lose_no_vote() {
    let message = r#""choices":[{"message":{"content":"Mars"},"finish_reason":"stop"}]"#;
    for body in [
        format!("{{{message},\"speed\":NaN,\"load\":-Infinity}}"),
        format!("{{{message}}}\n\ndata: [DONE]\n\n"),
    ] {
        assert_eq!(requests(vec![Action::Bytes(body.into_bytes())], 1).await.len(), 1);
    }
}

#[tokio::test]
async fn a_compressed_response_is_read_and_not_asked_for() {
    let body = br#"{"choices":[{"message":{"content":"Mars"},"finish_reason":"stop"}]}"#;
    let zstd = ruzstd::encoding::compress_to_vec(&body[..], ruzstd::encoding::CompressionLevel::Fastest);
    let action = Action::StatusWithHeader(200, zstd, ("content-encoding", "zstd".to_owned()));
    let sent = requests(vec![action], 1).await;
    assert!(sent[0].headers.get("accept-encoding").is_none());
    let damaged = Action::StatusWithHeader(200, body.to_vec(), ("content-encoding", "gzip".to_owned()));
    assert_eq!(reason([damaged]).await.1, 1, "a damaged response may have been charged");
}

#[tokio::test]
async fn a_model_that_only_streams_is_asked_for_a_stream_from_then_on() {
    let only = refusal(
        "This model only support stream mode, please enable the stream parameter to access the model.",
    );
    let no_options = refusal("Unknown parameter: stream_options.");
    let answer = events(&[piece(&json!({"content": "Mars"}), Some("stop"))]);
    let sent = requests(vec![only, no_options, answer], 2).await;
    let streams: Vec<_> =
        sent.iter().map(|sent| (sent.body["stream"].clone(), sent.body["stream_options"].clone())).collect();
    let usage = json!({ "include_usage": true });
    let expected = [
        (Value::Null, Value::Null),
        (json!(true), usage),
        (json!(true), Value::Null),
        (json!(true), Value::Null),
    ];
    assert_eq!(streams, expected);
}

#[tokio::test]
async fn a_refusal_without_a_reason_is_answered_by_the_plainest_request() {
    let refused = || refusal("Provider returned error");
    let answer = || Action::Says("{value}".into());
    let sent = requests(vec![refused(), answer(), refused(), answer(), answer()], 3).await;
    assert_eq!(sent.len(), 5, "it is remembered after the second time");
    for plain in [&sent[1], &sent[3], &sent[4]] {
        let mut names: Vec<_> = plain.body.as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["max_tokens", "messages", "model"]);
        assert_eq!(plain.body["messages"].as_array().unwrap().len(), 1);
    }
    assert!(sent[2].body["tools"].is_array());
}

#[tokio::test]
async fn a_full_request_that_works_again_stays_in_use() {
    let refused = || refusal("Provider returned error");
    let actions = vec![
        refused(),
        Action::Says("{value}".into()),
        Action::Obey(Forms::ALL),
        refused(),
        Action::Says("{value}".into()),
        Action::Obey(Forms::ALL),
    ];
    let sent = requests(actions, 4).await;
    let tools: Vec<_> = sent.iter().map(|sent| sent.body["tools"].is_array()).collect();
    assert_eq!(tools, [true, false, true, true, false, true]);
}

#[tokio::test]
async fn refusals_with_a_reason_are_final() {
    for message in [
        "This model's maximum context length is 4096 tokens",
        "The model `m` does not exist",
        "Your credit balance is too low",
        "Incorrect API key provided",
        "The response was filtered due to our content management policy",
    ] {
        assert_eq!(reason([refusal(message)]).await.1, 1, "{message}");
    }
}

#[tokio::test]
async fn an_error_in_a_list_is_read() {
    let body =
        json!([{ "error": { "code": 400, "message": "API key expired", "status": "INVALID_ARGUMENT" } }]);
    let (_, calls, detail) = reason([Action::Status(400, body.to_string())]).await;
    assert_eq!((calls, detail.contains("API key expired")), (1, true), "{detail}");
}
