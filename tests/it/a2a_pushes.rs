//! A2A push notifications: agents are notified when their tasks end.

use std::time::Duration;

use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Setup, WebhookReceiver, question};

async fn call(client: &Client, method: &str, params: Value) -> Value {
    client.rpc("/api/a2a", method, params).await.expect(200)
}

fn slow() -> Script {
    let mut script = Script::divided_panel(4);
    script.default.latency = Duration::from_millis(300);
    script
}

fn part() -> Value {
    json!({ "data": question(json!({ "confidence_threshold": 1 })) })
}

async fn notifications_use_the_requested_version(engine: Engine) {
    let setup = Setup::scripted(slow()).on(engine).with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8");
    let (service, receiver) = tokio::join!(setup.boot(), WebhookReceiver::start());
    let client = service.user().await;
    let authentication = json!({ "scheme": "Bearer", "credentials": "a-secret" });
    let config = json!({ "url": format!("{}/new", receiver.url), "token": "a-token", "authentication": authentication });
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [part()] });
    let configuration = json!({ "returnImmediately": true, "taskPushNotificationConfig": config });
    let sent =
        call(&client, "SendMessage", json!({ "message": message, "configuration": configuration })).await;
    let task = sent["result"]["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING", "{sent}");
    let notification = receiver.received(1).await[0].clone();
    assert_eq!((&notification["method"], &notification["path"]), (&json!("POST"), &json!("/new")));
    let headers = &notification["headers"];
    assert_eq!(headers["content-type"], "application/a2a+json");
    assert_eq!(
        (&headers["authorization"], &headers["x-a2a-notification-token"]),
        (&json!("Bearer a-secret"), &json!("a-token"))
    );
    let body: Value = serde_json::from_str(notification["body"].as_str().unwrap()).unwrap();
    let got = call(&client, "GetTask", json!({ "id": task["id"] })).await["result"].clone();
    assert_eq!(body["task"]["status"], got["status"]);
    assert_eq!(body["task"]["artifacts"][0]["parts"][0]["data"]["poll_id"], task["id"]);

    // The older version. Its task ends before the config is set and is notified anyway.
    let authentication = json!({ "schemes": ["Bearer"], "credentials": "older-secret" });
    let config = json!({ "url": format!("{}/old", receiver.url), "authentication": authentication });
    let set = json!({ "taskId": task["id"], "pushNotificationConfig": config });
    let set = call(&client, "tasks/pushNotificationConfig/set", set).await["result"].clone();
    assert_eq!((&set["taskId"], &set["pushNotificationConfig"]["id"]), (&task["id"], &task["id"]));
    assert!(!set.to_string().contains("older-secret"));
    let notification = receiver.received(2).await[1].clone();
    assert_eq!(notification["headers"]["authorization"], "Bearer older-secret");
    let body: Value = serde_json::from_str(notification["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["kind"], &body["status"]["state"]), (&json!("task"), &json!("completed")));
}

#[tokio::test]
async fn notifications_use_the_requested_version_on_sqlite() {
    notifications_use_the_requested_version(Engine::Sqlite).await;
}

#[tokio::test]
async fn notifications_use_the_requested_version_on_postgres() {
    notifications_use_the_requested_version(Engine::Postgres).await;
}

#[tokio::test]
async fn rejected_deliveries_are_retried() {
    let setup = Setup::demo().with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8");
    let (service, receiver) = tokio::join!(setup.boot(), WebhookReceiver::start());
    let client = service.user().await;
    receiver.answer(json!([500, 204])).await;
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [part()] });
    let configuration = json!({ "taskPushNotificationConfig": { "url": receiver.url } });
    let params = json!({ "message": message, "configuration": configuration });
    let task = call(&client, "SendMessage", params.clone()).await["result"]["task"]["id"].clone();
    let received = receiver.received(2).await;
    assert_eq!(received[0]["body"], received[1]["body"]);
    // A deleted config receives no notification.
    let listed = call(&client, "ListTaskPushNotificationConfigs", json!({ "taskId": task })).await;
    let id = listed["result"]["configs"][0]["id"].clone();
    for _ in 0..2 {
        let params = json!({ "taskId": task, "id": id });
        assert_eq!(call(&client, "DeleteTaskPushNotificationConfig", params).await["result"], json!({}));
    }
    let listed = call(&client, "ListTaskPushNotificationConfigs", json!({ "taskId": task })).await;
    assert_eq!(listed["result"]["configs"], json!([]));
}

#[tokio::test]
async fn only_the_owner_can_manage_push_configs() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": "What is the best pizza topping?" }] });
    let sent = call(&client, "SendMessage", json!({ "message": message })).await;
    let task = sent["result"]["task"]["id"].clone();
    let place =
        |id: &str| json!({ "taskId": task, "id": id, "url": "https://example.com/hook", "token": "t" });
    for id in ["a", "b", "a"] {
        let set = call(&client, "CreateTaskPushNotificationConfig", place(id)).await["result"].clone();
        assert_eq!(
            (&set["id"], &set["taskId"], &set["url"]),
            (&json!(id), &task, &json!("https://example.com/hook"))
        );
    }
    let path = format!("/api/a2a/tasks/{}/pushNotificationConfigs", task.as_str().unwrap());
    let listed = client.get(&path).await.expect(200);
    assert_eq!(listed["configs"].as_array().unwrap().len(), 2);
    let one = client.get(&format!("{path}/b")).await.expect(200);
    assert_eq!(one, listed["configs"][1]);
    let set = client.post(&path, &json!({ "id": "c", "url": "https://example.com/c" })).await.expect(200);
    assert_eq!(set["id"], "c");
    client.send(client.request(Method::DELETE, &format!("{path}/c"))).await.expect(200);
    assert_eq!(client.get(&format!("{path}/c")).await.expect(404)["error"]["status"], "NOT_FOUND");
    let old = call(&client, "tasks/pushNotificationConfig/list", json!({ "id": task })).await;
    assert_eq!(old["result"].as_array().unwrap().len(), 2);
    let by_name = json!({ "id": task, "pushNotificationConfigId": "a" });
    let got = call(&client, "tasks/pushNotificationConfig/get", by_name.clone()).await;
    assert_eq!(got["result"]["pushNotificationConfig"]["id"], "a");
    let gone = call(&client, "tasks/pushNotificationConfig/delete", by_name).await;
    assert_eq!((&gone["result"], gone.get("error")), (&Value::Null, None));

    for (method, params) in [
        ("CreateTaskPushNotificationConfig", place("a")),
        ("GetTaskPushNotificationConfig", json!({ "taskId": task, "id": "b" })),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": task })),
        ("DeleteTaskPushNotificationConfig", json!({ "taskId": task, "id": "b" })),
    ] {
        assert_eq!(call(&other, method, params).await["error"]["code"], -32001, "{method}");
    }
    for (member, value) in [
        ("url", json!("http://127.0.0.1:1/")),
        ("url", json!("https://169.254.169.254/")),
        ("url", json!("nonsense")),
        ("url", json!(7)),
        ("token", json!("a\r\nx-evil: 1")),
        ("authentication", json!({ "scheme": "Bearer", "credentials": "ü" })),
        ("taskId", json!("")),
        ("id", json!({})),
    ] {
        let mut wrong = place("z");
        wrong[member] = value.clone();
        let refused = call(&client, "CreateTaskPushNotificationConfig", wrong).await;
        assert_eq!(refused["error"]["code"], -32602, "{member} {value}: {refused}");
    }
    // A message with a rejected push URL opens no poll.
    let message = json!({ "messageId": "m9", "role": "ROLE_USER", "parts": [part()] });
    let configuration = json!({ "taskPushNotificationConfig": { "url": "https://10.0.0.1/" } });
    let refused =
        call(&client, "SendMessage", json!({ "message": message, "configuration": configuration })).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(call(&client, "ListTasks", json!({})).await["result"]["totalSize"], 1);
    for number in 0..9 {
        let set = call(&client, "CreateTaskPushNotificationConfig", place(&format!("n{number}"))).await;
        assert!(set["result"].is_object(), "{set}");
    }
    let refused = call(&client, "CreateTaskPushNotificationConfig", place("one-too-many")).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
