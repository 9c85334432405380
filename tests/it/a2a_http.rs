//! A2A's HTTP+JSON binding.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question};

fn ask(id: &str) -> Value {
    json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] } })
}

async fn post(client: &Client, path: &str, body: &Value) -> crate::harness::Reply {
    client.post_with(&format!("/api/a2a{path}"), body, &[("a2a-version", "1.0")]).await
}

async fn get(client: &Client, path: &str) -> crate::harness::Reply {
    client.get(&format!("/api/a2a{path}")).await
}

#[tokio::test]
async fn tasks_are_sent_read_listed_and_cancelled() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let sent = post(&client, "/message:send", &ask("m")).await;
    assert_eq!(sent.header("content-type"), "application/a2a+json");
    assert_eq!(sent.header("cache-control"), "no-store");
    let task = sent.expect(200)["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    let id = task["id"].as_str().unwrap();
    let request = client.request(Method::GET, &format!("/api/a2a/tasks/{id}?historyLength=0"));
    let plain = client.send(request.header("accept", "application/json")).await;
    assert_eq!(plain.header("content-type"), "application/json");
    let read = plain.expect(200);
    assert_eq!((&read["id"], &read["status"], read.get("history")), (&task["id"], &task["status"], None));
    let by_rpc = client.rpc("/api/a2a", "GetTask", json!({ "id": id })).await.expect(200);
    assert_eq!(by_rpc["result"]["status"], read["status"]);

    let page =
        get(&client, "/tasks?pageSize=1&includeArtifacts=true&status=TASK_STATE_COMPLETED").await.expect(200);
    assert_eq!((&page["tasks"][0]["id"], &page["totalSize"]), (&task["id"], &json!(1)));
    assert!(page["tasks"][0]["artifacts"].is_array());
    assert_eq!(get(&other, "/tasks").await.expect(200)["tasks"], json!([]));

    // Some clients send an empty body.
    let cancel = client.request(Method::POST, &format!("/api/a2a/tasks/{id}:cancel"));
    let refused = client.send(cancel).await.expect(400)["error"].clone();
    assert_eq!((&refused["code"], &refused["status"]), (&json!(400), &json!("FAILED_PRECONDITION")));
    assert_eq!(refused["details"][0]["reason"], "TASK_NOT_CANCELABLE");
    let waiting = json!({ "message": { "messageId": "w", "role": "ROLE_USER", "parts": [{ "text": "What is the best pizza topping?" }] } });
    let waiting = post(&client, "/message:send", &waiting).await.expect(200)["task"]["id"].clone();
    let cancelled = post(&client, &format!("/tasks/{}:cancel", waiting.as_str().unwrap()), &json!({})).await;
    assert_eq!(cancelled.expect(200)["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn stream_events_have_no_envelope() {
    let mut script = Script::divided_panel(4);
    script.default.latency = Duration::from_millis(200);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let mut body = ask("m");
    body["message"]["parts"][0]["data"]["confidence_threshold"] = json!(1);
    let reply = post(&client, "/message:stream", &body).await;
    assert_eq!(reply.header("content-type"), "text/event-stream");
    let events: Vec<Value> = reply
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let names: Vec<&str> =
        events.iter().map(|event| event.as_object().unwrap().keys().next().unwrap().as_str()).collect();
    let (first, last) = (names[0], &names[names.len() - 2..]);
    assert_eq!((first, last), ("task", &["artifactUpdate", "statusUpdate"][..]), "{names:?}");
    let id = events[0]["task"]["id"].as_str().unwrap();
    for method in [Method::GET, Method::POST] {
        let request = client.request(method, &format!("/api/a2a/tasks/{id}:subscribe"));
        let refused = client.send(request).await.expect(400);
        assert_eq!(refused["error"]["details"][0]["reason"], "UNSUPPORTED_OPERATION");
    }
}

#[tokio::test]
async fn errors_use_the_status_and_format_of_the_binding() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let task = post(&client, "/message:send", &ask("m")).await.expect(200)["task"]["id"].clone();
    let task = task.as_str().unwrap();
    let refused = |reply: crate::harness::Reply, status: u16| {
        let body = reply.expect(status);
        assert_eq!(body["error"]["code"], status, "{body}");
        body["error"]["details"][0]["reason"].as_str().unwrap().to_owned()
    };
    for path in ["/tasks/nothing", "/tasks/a:b:subscribe"] {
        assert_eq!(refused(get(&client, path).await, 404), "TASK_NOT_FOUND", "{path}");
    }
    assert_eq!(refused(get(&other, &format!("/tasks/{task}")).await, 404), "TASK_NOT_FOUND");
    assert_eq!(refused(get(&client, "/tasks/%00").await, 400), "INVALID_PARAMS");
    assert_eq!(refused(get(&client, "/tasks?pageSize=many").await, 400), "INVALID_PARAMS");
    assert_eq!(refused(get(&client, "/tasks/x?historyLength=-1").await, 404), "TASK_NOT_FOUND");
    assert_eq!(
        refused(post(&client, &format!("/tasks/{task}:frobnicate"), &json!({})).await, 404),
        "METHOD_NOT_FOUND"
    );
    assert_eq!(refused(post(&client, &format!("/tasks/{task}"), &json!({})).await, 404), "METHOD_NOT_FOUND");
    assert_eq!(refused(post(&client, "/message:send", &json!([])).await, 400), "INVALID_PARAMS");
    assert_eq!(refused(post(&client, "/message:send", &json!({})).await, 400), "INVALID_PARAMS");
    let broken =
        client.request(Method::POST, "/api/a2a/message:send").header("content-type", "application/json");
    assert_eq!(refused(client.send(broken.body("{")).await, 400), "MALFORMED_JSON");
    let xml = client.request(Method::POST, "/api/a2a/message:send").header("content-type", "text/xml");
    assert_eq!(refused(client.send(xml.body("<a/>")).await, 415), "CONTENT_TYPE_NOT_SUPPORTED");
    let large =
        client.request(Method::POST, "/api/a2a/message:send").header("content-type", "application/a2a+json");
    assert_eq!(refused(client.send(large.body(" ".repeat(70_000))).await, 413), "PAYLOAD_TOO_LARGE");
    let mut follow_up = ask("m2");
    follow_up["message"]["taskId"] = json!(task);
    assert_eq!(refused(post(&client, "/message:send", &follow_up).await, 400), "UNSUPPORTED_OPERATION");
    let raw = json!({ "message": { "messageId": "r", "role": "ROLE_USER", "parts": [{ "raw": "AA==" }] } });
    assert_eq!(refused(post(&client, "/message:stream", &raw).await, 400), "CONTENT_TYPE_NOT_SUPPORTED");
    let old = client.request(Method::GET, "/api/a2a/tasks").header("a2a-version", "9.9");
    assert_eq!(refused(client.send(old).await, 400), "VERSION_NOT_SUPPORTED");
    let (_, poor) = service.user_with(MicroUsd::ZERO).await;
    assert_eq!(refused(post(&poor, "/message:send", &ask("m")).await, 402), "INSUFFICIENT_BALANCE");
    post(&service.anonymous(), "/message:send", &ask("m")).await.refused(401);
}

#[tokio::test]
async fn binding_0_3_uses_its_protobuf_json() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let message = json!({ "message_id": "m", "role": "ROLE_USER", "content": [{ "data": { "data": question(json!({})) } }] });
    let sent =
        post(&client, "/v1/message:send", &json!({ "request": message })).await.expect(200)["task"].clone();
    assert_eq!(sent["status"]["state"], "TASK_STATE_COMPLETED", "{sent}");
    assert!(sent["artifacts"][0]["parts"][0]["data"]["data"]["poll_id"].is_string());
    assert_eq!(sent["history"][0]["content"][0]["data"]["data"], question(json!({})));
    let id = sent["id"].as_str().unwrap();
    let read = get(&client, &format!("/v1/tasks/{id}")).await.expect(200);
    assert_eq!(read["history"], sent["history"]);
    let newer = get(&client, &format!("/tasks/{id}")).await.expect(200);
    assert_eq!(newer["history"][0]["parts"][0]["data"], question(json!({})));
    // Some clients send messages in the JSON-RPC format.
    let message = json!({ "kind": "message", "messageId": "m", "role": "user", "parts": [{ "kind": "data", "data": question(json!({})) }] });
    let again = post(&client, "/v1/message:send", &json!({ "message": message })).await.expect(200);
    assert_eq!((&again["id"], &again["kind"]), (&sent["id"], &json!("task")));
    let stream = json!({ "message": { "messageId": "n", "role": "ROLE_USER", "content": [{ "text": "What is the best pizza topping?" }] } });
    let stream = post(&client, "/v1/message:stream", &stream).await.text;
    assert!(stream.contains("\"final\":true") && stream.contains("TASK_STATE_INPUT_REQUIRED"), "{stream}");
}
