//! Batches as A2A tasks: started, followed, cancelled, and reported by push notifications.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Service, Setup, WebhookReceiver, until};

fn slow(millis: u64) -> Script {
    let mut script = Script::divided_panel(4);
    script.default.latency = Duration::from_millis(millis);
    script
}

fn rows(count: usize) -> Value {
    let row = |number: usize| json!({ "id": format!("r{number}"), "question": format!("Which is best of {number}?"), "options": ["A", "B"] });
    (0..count).map(row).collect()
}

fn message(id: &str, rows: &Value) -> Value {
    let data = json!({ "rows": rows, "confidence_threshold": 1 });
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "data": data }] })
}

async fn call(client: &Client, method: &str, params: Value) -> Value {
    client.rpc("/api/a2a", method, params).await.expect(200)
}

async fn account(service: &Service) -> Client {
    service.user_with(MicroUsd::new(5_000_000)).await.1
}

fn batch(task: &Value) -> &Value {
    &task["artifacts"][0]["parts"][0]["data"]
}

/// Waits for the end of a task.
async fn ended(client: &Client, id: &Value) -> Value {
    let read = async || call(client, "GetTask", json!({ "id": id })).await["result"].clone();
    until("the task has ended", read, |task| task["status"]["state"] != "TASK_STATE_WORKING").await
}

async fn the_end_of_a_batch_is_pushed(engine: Engine) {
    let setup = Setup::scripted(slow(100)).on(engine).with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8");
    let (service, receiver) = tokio::join!(setup.boot(), WebhookReceiver::start());
    let (client, other) = (account(&service).await, account(&service).await);
    let config = json!({ "url": format!("{}/new", receiver.url), "token": "a-token" });
    let configuration = json!({ "returnImmediately": true, "taskPushNotificationConfig": config });
    let params = json!({ "message": message("m1", &rows(3)), "configuration": configuration });
    let sent = call(&client, "SendMessage", params.clone()).await;
    let task = sent["result"]["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING", "{sent}");
    let id = task["id"].as_str().unwrap();
    assert_eq!((batch(&task)["batch_id"].as_str(), id.starts_with("batch_")), (Some(id), true), "{task}");
    let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(text.contains(id), "{text}");
    // The same message is the same task, and the same batch.
    let again = call(&client, "SendMessage", params).await;
    assert_eq!(again["result"]["task"]["id"], task["id"]);
    let batches = client.get("/api/batches").await.expect(200);
    assert_eq!(batches["batches"].as_array().unwrap().len(), 1);

    let notification = receiver.received(1).await[0].clone();
    assert_eq!(notification["headers"]["x-a2a-notification-token"], "a-token");
    let body: Value = serde_json::from_str(notification["body"].as_str().unwrap()).unwrap();
    let got = call(&client, "GetTask", json!({ "id": task["id"] })).await["result"].clone();
    assert_eq!(body["task"], got);
    assert_eq!(got["status"]["state"], "TASK_STATE_COMPLETED");
    let state = batch(&got);
    assert_eq!(state["rows"], json!({ "total": 3, "completed": 3, "failed": 0 }));
    assert_eq!(got["status"]["timestamp"], state["ended_at"]);
    let listed = call(&client, "ListTasks", json!({ "status": "TASK_STATE_COMPLETED" })).await;
    assert_eq!(listed["result"]["tasks"][0]["id"], task["id"]);
    assert_eq!(call(&other, "GetTask", json!({ "id": task["id"] })).await["error"]["code"], -32001);

    // A configuration that is set after the end is notified, too.
    let set =
        json!({ "taskId": task["id"], "pushNotificationConfig": { "url": format!("{}/old", receiver.url) } });
    call(&client, "tasks/pushNotificationConfig/set", set).await;
    let notification = receiver.received(2).await[1].clone();
    let body: Value = serde_json::from_str(notification["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&body["kind"], &body["status"]["state"]),
        (&json!("task"), &json!("completed")),
        "{notification}"
    );

    // An ended task takes neither messages nor a cancellation.
    let mut late = message("m2", &rows(1));
    late["taskId"] = task["id"].clone();
    assert_eq!(call(&client, "SendMessage", json!({ "message": late })).await["error"]["code"], -32004);
    let cancelled = call(&client, "CancelTask", json!({ "id": task["id"] })).await;
    assert_eq!(cancelled["error"]["code"], -32002, "{cancelled}");
}

#[tokio::test]
async fn the_end_of_a_batch_is_pushed_on_sqlite() {
    the_end_of_a_batch_is_pushed(Engine::Sqlite).await;
}

#[tokio::test]
async fn the_end_of_a_batch_is_pushed_on_postgres() {
    the_end_of_a_batch_is_pushed(Engine::Postgres).await;
}

async fn one_message_starts_one_batch(engine: Engine) {
    let service = Setup::scripted(slow(100)).on(engine).boot().await;
    let client = account(&service).await;
    let config = json!({ "url": "https://example.com/hook" });
    let configuration = json!({ "returnImmediately": true, "taskPushNotificationConfig": config });
    let params = json!({ "message": message("m1", &rows(200)), "configuration": configuration });
    let sent = (0..20).map(|_| call(&client, "SendMessage", params.clone()));
    let sent = futures::future::join_all(sent).await;
    for one in &sent {
        assert_eq!(one["result"]["task"]["id"], sent[0]["result"]["task"]["id"], "{one}");
        assert!(one["error"].is_null(), "{one}");
    }
    let batches = client.get("/api/batches").await.expect(200);
    assert_eq!(batches["batches"].as_array().unwrap().len(), 1);
    let task = json!({ "taskId": sent[0]["result"]["task"]["id"] });
    let listed = call(&client, "ListTaskPushNotificationConfigs", task).await;
    assert_eq!(listed["result"]["configs"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn one_message_starts_one_batch_on_sqlite() {
    one_message_starts_one_batch(Engine::Sqlite).await;
}

#[tokio::test]
async fn one_message_starts_one_batch_on_postgres() {
    one_message_starts_one_batch(Engine::Postgres).await;
}

/// A model may see only text: over MCP, and over A2A if the client accepts nothing else.
#[tokio::test]
async fn the_text_of_a_batch_has_its_id_and_the_next_step() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let created = client.tool("create_batch", json!({ "rows": rows(1), "input_file_id": null })).await;
    let text = created["content"][0]["text"].as_str().unwrap();
    let id = created["structuredContent"]["batch_id"].clone();
    assert!(text.contains(id.as_str().unwrap()) && text.contains("get_batch"), "{text}");
    let path = format!("/api/batches/{}", id.as_str().unwrap());
    until(
        "the batch has ended",
        async || client.get(&path).await.expect(200),
        |batch| !batch["ended_at"].is_null(),
    )
    .await;
    let read = client.tool("get_batch", json!({ "batch_id": id })).await;
    let text = read["content"][0]["text"].as_str().unwrap();
    for part in [
        "1 of 1 rows have a result",
        "get_batch_results returns the answers",
        "/batches/batch_",
        "file-output-",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(read["content"].as_array().unwrap().len(), 1, "a batch is no resource");
    let message =
        json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "data": { "batch_id": id } }] });
    let configuration = json!({ "acceptedOutputModes": ["text/plain"] });
    let sent =
        call(&client, "SendMessage", json!({ "message": message, "configuration": configuration })).await;
    let parts = &sent["result"]["message"]["parts"];
    assert_eq!((parts.as_array().unwrap().len(), &parts[0]["text"]), (1, &json!(text)), "{sent}");
    // Lines with errors are named.
    let wrong = service.user_with(MicroUsd::new(1)).await.1;
    let failed = call(&wrong, "SendMessage", json!({ "message": self::message("m2", &rows(1)) })).await;
    let failed = wrong.tool("get_batch", json!({ "batch_id": failed["result"]["task"]["id"] })).await;
    let text = failed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Correct the errors") && text.contains("balance"), "{text}");
}

#[tokio::test]
async fn a_stream_shows_the_progress_of_a_batch_and_its_end() {
    // One row after the other, so that the counts change while the stream looks.
    let service = Setup::scripted(slow(1_000)).with("EP_BATCH_ROWS", "1").boot().await;
    let client = account(&service).await;
    for method in ["SendStreamingMessage", "message/stream"] {
        let rows = rows(if method == "message/stream" { 2 } else { 3 });
        let mut message = message(method, &rows);
        if method == "message/stream" {
            message["role"] = json!("user");
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "message": message } });
        let events = client.post("/api/a2a", &request).await;
        let events: Vec<Value> = events
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone())
            .collect();
        let (first, last) = (&events[0], &events[events.len() - 1]);
        if method == "SendStreamingMessage" {
            assert!(first["task"]["id"].as_str().unwrap().starts_with("batch_"), "{events:?}");
            assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{events:?}");
            let progress: Vec<&Value> =
                events.iter().map(|event| &event["statusUpdate"]["metadata"]["rows"]).collect();
            assert!(progress.iter().any(|rows| rows["total"] == 3), "{events:?}");
            let artifact = &events[events.len() - 2]["artifactUpdate"]["artifact"];
            assert_eq!(artifact["parts"][0]["data"]["rows"]["completed"], 3);
        } else {
            assert_eq!((&first["kind"], &last["kind"]), (&json!("task"), &json!("status-update")));
            assert_eq!((&last["status"]["state"], &last["final"]), (&json!("completed"), &json!(true)));
        }
    }
}

#[tokio::test]
async fn sending_waits_for_a_small_batch() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let sent = call(&client, "SendMessage", json!({ "message": message("m1", &rows(2)) })).await;
    let task = &sent["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{sent}");
    // The answers are read by the batch's id, and its state without naming a skill.
    let id = batch(task)["batch_id"].clone();
    let read = json!({ "messageId": "m2", "role": "ROLE_USER", "parts": [{ "data": { "batch_id": id } }] });
    let read = call(&client, "SendMessage", json!({ "message": read })).await;
    assert_eq!(read["result"]["message"]["parts"][0]["data"]["status"], "completed", "{read}");
    let results = json!({
        "messageId": "m3", "role": "ROLE_USER", "parts": [{ "data": { "batch_id": id } }],
        "metadata": { "skillId": "get_batch_results" },
    });
    let results = call(&client, "SendMessage", json!({ "message": results })).await;
    let data = &results["result"]["message"]["parts"][0]["data"];
    assert_eq!(data["results"].as_array().map(Vec::len), Some(2), "{results}");
    // The legacy method names the task.
    let legacy = json!({ "id": "mine", "message": { "role": "user", "parts": [{ "type": "data", "data": { "rows": rows(1) } }] } });
    let legacy = call(&client, "tasks/send", legacy).await;
    assert_eq!(
        (&legacy["result"]["id"], &legacy["result"]["status"]["state"]),
        (&json!("mine"), &json!("completed"))
    );
}

#[tokio::test]
async fn a_cancelled_batch_is_a_cancelled_task_and_an_unpaid_one_fails() {
    let service = Setup::scripted(slow(500)).boot().await;
    let (client, poor) = (account(&service).await, service.user_with(MicroUsd::new(1)).await.1);
    let configuration = json!({ "returnImmediately": true });
    let params = json!({ "message": message("m1", &rows(60)), "configuration": configuration });
    let task = call(&client, "SendMessage", params.clone()).await["result"]["task"]["id"].clone();
    let cancelled = call(&client, "CancelTask", json!({ "id": task })).await["result"].clone();
    assert!(
        ["TASK_STATE_WORKING", "TASK_STATE_CANCELED"]
            .contains(&cancelled["status"]["state"].as_str().unwrap()),
        "{cancelled}"
    );
    let done = ended(&client, &task).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_CANCELED", "{done}");
    assert_eq!(batch(&done)["status"], "cancelled");

    let task = call(&poor, "SendMessage", params).await["result"]["task"]["id"].clone();
    let failed = ended(&poor, &task).await;
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED", "{failed}");
    let said = failed["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(said.contains("no row was asked"), "{said}");
}

#[tokio::test]
async fn a_batch_with_a_task_is_not_the_work_of_another_task() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let keyed = async |message: &Value| {
        let params = json!({ "message": message });
        let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
        let request = client.request(reqwest::Method::POST, "/api/a2a").header("idempotency-key", "one");
        client.send(request.json(&rpc)).await.expect(200)
    };
    let first = keyed(&message("m1", &rows(1))).await;
    let batch = first["result"]["task"]["id"].as_str().unwrap();
    let words = json!({ "messageId": "m2", "role": "ROLE_USER", "parts": [{ "text": "Rate this, please" }] });
    let waiting =
        call(&client, "SendMessage", json!({ "message": words })).await["result"]["task"]["id"].clone();
    let mut again = message("m3", &rows(1));
    again["taskId"] = waiting.clone();
    again["metadata"] = json!({ "skillId": "create_batch" });
    let refused = keyed(&again).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains(batch), "{refused}");
    // The task still takes its options.
    let options = json!({ "messageId": "m4", "role": "ROLE_USER", "parts": [{ "text": "Best topping of all? [Basil, Olives]" }], "taskId": waiting });
    let done = call(&client, "SendMessage", json!({ "message": options })).await;
    assert_eq!(done["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
}
