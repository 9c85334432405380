//! A2A streams: sending, subscribing, and errors for streaming clients.

use std::time::Duration;

use ep_store::testing::Postgres;
use ep_upstream::testing::Script;
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question};

/// The events of a stream, read one at a time.
struct Events {
    body: futures::stream::BoxStream<'static, Vec<u8>>,
    read: String,
}

impl Events {
    async fn of(client: &Client, method: &str, params: &Value) -> Self {
        let body = json!({ "jsonrpc": "2.0", "id": "s-1", "method": method, "params": params });
        let request = client.request(Method::POST, "/api/a2a").header("accept", "text/event-stream");
        let response = request.json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let body = response.bytes_stream().map(|bytes| bytes.unwrap().to_vec()).boxed();
        Self { body, read: String::new() }
    }

    /// Returns the next frame; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.find("\n\n") {
                let block: String = self.read.drain(..end + 2).collect();
                if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                    let frame: Value = serde_json::from_str(data).unwrap();
                    assert_eq!((&frame["jsonrpc"], &frame["id"]), (&json!("2.0"), &json!("s-1")));
                    return Some(frame);
                }
                continue;
            }
            self.read.push_str(&String::from_utf8(self.body.next().await?).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame["result"].clone());
        }
        frames
    }
}

/// Models with this latency.
fn models(count: usize, latency_ms: u64) -> Script {
    let mut script = Script::divided_panel(count);
    script.default.latency = Duration::from_millis(latency_ms);
    script
}

fn ask(id: &str, part: Value) -> Value {
    json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [part] } })
}

fn everybody() -> Value {
    json!({ "data": question(json!({ "confidence_threshold": 1, "pace": "fast" })) })
}

#[tokio::test]
async fn task_is_streamed_to_its_end_in_1_0() {
    let service = Setup::scripted(models(6, 200)).boot().await;
    let client = service.user().await;
    let frames = Events::of(&client, "SendStreamingMessage", &ask("m", everybody())).await.rest().await;
    let task = &frames[0]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING", "{task}");
    assert_eq!(task["history"][0]["messageId"], "m");
    let votes = &frames[1..7];
    for vote in votes {
        let update = &vote["statusUpdate"];
        assert_eq!((&update["taskId"], &update["contextId"]), (&task["id"], &task["contextId"]));
        assert_eq!(update["status"]["state"], "TASK_STATE_WORKING");
        assert_eq!(update["status"]["timestamp"], task["status"]["timestamp"]);
        assert!(update["metadata"]["model_id"].is_string(), "{update}");
    }
    let artifact = &frames[7]["artifactUpdate"];
    assert_eq!(artifact["artifact"]["parts"][0]["data"]["poll_id"], task["id"]);
    assert_eq!(artifact["lastChunk"], true);
    let last = &frames[8]["statusUpdate"]["status"];
    assert_eq!(last["state"], "TASK_STATE_COMPLETED");
    assert_eq!(frames.len(), 9);
    let frames_text = json!(frames).to_string();
    assert!(!frames_text.contains("\"kind\"") && !frames_text.contains("\"final\""), "{frames_text}");
    let got = client.rpc("/api/a2a", "GetTask", json!({ "id": task["id"] })).await.expect(200);
    assert_eq!(got["result"]["status"], *last);
    // The same message returns the same task, which has ended.
    let again = Events::of(&client, "SendStreamingMessage", &ask("m", everybody())).await.rest().await;
    assert_eq!(again, [json!({ "task": got["result"] })]);
}

#[tokio::test]
async fn task_is_streamed_to_its_end_in_0_3() {
    let service = Setup::scripted(models(4, 200)).boot().await;
    let client = service.user().await;
    let part = json!({ "kind": "data", "data": everybody()["data"] });
    let message = json!({ "kind": "message", "messageId": "m", "role": "user", "parts": [part] });
    let params = json!({ "message": message });
    let frames = Events::of(&client, "message/stream", &params).await.rest().await;
    let kinds: Vec<&str> = frames.iter().map(|frame| frame["kind"].as_str().unwrap()).collect();
    let expected = [
        "task",
        "status-update",
        "status-update",
        "status-update",
        "status-update",
        "artifact-update",
        "status-update",
    ];
    assert_eq!(kinds, expected);
    let finals: Vec<bool> = frames.iter().map(|frame| frame["final"] == true).collect();
    assert_eq!(finals, [false, false, false, false, false, false, true]);
    assert_eq!(frames[6]["status"]["state"], "completed");
}

#[tokio::test]
async fn non_poll_results_are_streamed() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let balance = ask("m1", json!({ "data": {} }));
    let frames = Events::of(&client, "SendStreamingMessage", &balance).await.rest().await;
    assert_eq!((frames.len(), &frames[0]["message"]["role"]), (1, &json!("ROLE_AGENT")));
    let unclear = ask("m2", json!({ "text": "What is the best pizza topping?" }));
    let frames = Events::of(&client, "SendStreamingMessage", &unclear).await.rest().await;
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let waiting = json!({ "id": frames[0]["task"]["id"] });
    let old = Events::of(&client, "tasks/resubscribe", &waiting).await.rest().await;
    assert_eq!((&old[1]["status"]["state"], &old[1]["final"]), (&json!("input-required"), &json!(true)));
    // Since 1.0, a subscription continues until the task has ended.
    let mut subscription = Events::of(&client, "SubscribeToTask", &waiting).await;
    assert_eq!(subscription.next().await.unwrap()["result"], frames[0]);
    let mut answer = ask("m3", json!({ "text": "no" }));
    answer["message"]["taskId"] = waiting["id"].clone();
    client.rpc("/api/a2a", "SendMessage", answer.clone()).await.expect(200);
    let asked = subscription.next().await.unwrap()["result"]["statusUpdate"].clone();
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    answer["message"]["messageId"] = json!("m4");
    answer["message"]["parts"] = json!([{ "text": "Basil, Olives" }]);
    client.rpc("/api/a2a", "SendMessage", answer).await.expect(200);
    let rest = subscription.rest().await;
    assert_eq!(rest.last().unwrap()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{rest:?}");
}

#[tokio::test]
async fn resubscribing_returns_the_remaining_events_on_any_replica() {
    let database = Postgres::start().unwrap().database().await.unwrap();
    let setup = || {
        Setup::scripted(models(12, 300))
            .with("EP_DATABASE_URL", database.url())
            .with("EP_SECRET_KEY", "5a".repeat(32))
            .with("EP_BASE_URL", "https://polls.example.com")
            .with("EP_UPSTREAM_MAX_CONCURRENT", "2")
    };
    let (first, second) = tokio::join!(setup().boot(), setup().boot());
    let client = first.user().await;
    let elsewhere = second.anonymous().with_key(client.key.as_ref().unwrap());
    let mut stream = Events::of(&client, "SendStreamingMessage", &ask("m", everybody())).await;
    let task = stream.next().await.unwrap()["result"]["task"]["id"].clone();
    stream.next().await.unwrap();
    drop(stream);
    let by_id = json!({ "id": task });
    for (method, wrapped) in [("SubscribeToTask", true), ("tasks/resubscribe", false)] {
        let refused = second.user().await.rpc("/api/a2a", "SubscribeToTask", by_id.clone()).await.expect(200);
        assert_eq!(refused["error"]["code"], -32001);
        let frames = Events::of(&elsewhere, method, &by_id).await;
        let frames = if wrapped {
            let mut frames = frames;
            vec![frames.next().await.unwrap()["result"].clone()]
        } else {
            frames.rest().await
        };
        let first = if wrapped { &frames[0]["task"] } else { &frames[0] };
        assert_eq!(first["id"], task);
        if !wrapped {
            let last = frames.last().unwrap();
            assert_eq!((&last["status"]["state"], &last["final"]), (&json!("completed"), &json!(true)));
            assert_eq!(frames[frames.len() - 2]["kind"], "artifact-update");
        }
    }
    // A conversation that starts on one replica is completed on the other.
    let unclear = ask("q", json!({ "text": "What is the best pizza topping?" }));
    let waiting = client.rpc("/api/a2a", "SendMessage", unclear).await.expect(200)["result"]["task"].clone();
    let mut answer = ask("a", json!({ "text": "Basil, Olives" }));
    answer["message"]["taskId"] = waiting["id"].clone();
    let done = elsewhere.rpc("/api/a2a", "SendMessage", answer).await.expect(200);
    assert_eq!(done["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    let read = client.rpc("/api/a2a", "GetTask", json!({ "id": waiting["id"] })).await.expect(200);
    assert_eq!(read["result"]["history"], done["result"]["task"]["history"]);
}

#[tokio::test]
async fn errors_use_the_format_of_streaming_clients() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let done = client.rpc("/api/a2a", "SendMessage", ask("m", everybody())).await.expect(200);
    let ended = json!({ "id": done["result"]["task"]["id"] });
    let unknown = json!({ "id": "EP-20260131-0000000000" });
    let wrong = ask("n", json!({ "data": { "question": "Long enough to ask?", "options": ["one"] } }));
    for (method, params, code) in [
        ("SubscribeToTask", &ended, -32004),
        ("SubscribeToTask", &unknown, -32001),
        ("SubscribeToTask", &json!({}), -32602),
        ("SendStreamingMessage", &wrong, -32602),
        ("SendStreamingMessage", &json!({}), -32602),
    ] {
        let reply = client.rpc("/api/a2a", method, params.clone()).await;
        assert_eq!(reply.header("content-type"), "application/json");
        assert_eq!(reply.expect(200)["error"]["code"], code, "{method} {params}");
    }
    for (method, params, code) in [
        ("tasks/resubscribe", &ended, -32004),
        ("tasks/resubscribe", &unknown, -32001),
        ("message/stream", &json!({ "message": { "role": "user" } }), -32602),
    ] {
        let mut stream = Events::of(&client, method, params).await;
        assert_eq!(stream.next().await.unwrap()["error"]["code"], code, "{method} {params}");
        assert_eq!(stream.next().await, None);
    }
}
