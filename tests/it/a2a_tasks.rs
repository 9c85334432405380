//! Stored A2A tasks: conversations, lists and owners.

use std::time::Duration;

use ep_upstream::testing::{Script, VoteFor};
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Setup, question};

fn words(id: &str, text: &str) -> Value {
    json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

/// A text message in an existing task.
fn follow_up(id: &str, task: &Value, text: &str) -> Value {
    let mut params = words(id, text);
    params["message"]["taskId"] = task.clone();
    params
}

async fn call(client: &Client, method: &str, params: Value) -> Value {
    client.rpc("/api/a2a", method, params).await.expect(200)
}

async fn sent(client: &Client, params: Value) -> Value {
    let reply = call(client, "SendMessage", params).await;
    assert!(reply["result"]["task"].is_object(), "{reply}");
    reply["result"]["task"].clone()
}

async fn missing_input_is_requested_and_completes_the_task(engine: Engine) {
    let service = Setup::demo().on(engine).boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let first = words("m1", "What is the best pizza topping?");
    let task = sent(&client, first.clone()).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    let asked = &task["status"]["message"];
    assert!(asked["parts"][0]["text"].as_str().unwrap().contains("[Option A, Option B]"), "{asked}");
    assert_eq!((&asked["role"], &asked["taskId"]), (&json!("ROLE_AGENT"), &task["id"]));
    assert!(task.get("artifacts").is_none());
    assert_eq!(sent(&client, first).await, task, "the same message is the same task");
    let listed = call(&client, "ListTasks", json!({ "status": "TASK_STATE_INPUT_REQUIRED" })).await;
    assert_eq!(listed["result"]["tasks"][0]["id"], task["id"]);

    // Other accounts do not find the task, and another context is rejected.
    let answer = follow_up("m2", &task["id"], "Basil, Olives or Onions");
    let foreign = call(&other, "SendMessage", answer.clone()).await;
    assert_eq!(foreign["error"]["code"], -32001, "{foreign}");
    let mut elsewhere = answer.clone();
    elsewhere["message"]["contextId"] = json!("another");
    assert_eq!(call(&client, "SendMessage", elsewhere).await["error"]["code"], -32602);

    // Unreadable input is requested again; invalid input leaves the task unchanged.
    let again = sent(&client, follow_up("m1b", &task["id"], "no")).await;
    assert_eq!(again["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let mut wrong = follow_up("m1c", &task["id"], "");
    wrong["message"]["parts"] = json!([{ "data": { "options": ["one"] } }]);
    assert_eq!(call(&client, "SendMessage", wrong).await["error"]["code"], -32602);

    let done = sent(&client, answer.clone()).await;
    assert_eq!((&done["id"], &done["contextId"]), (&task["id"], &task["contextId"]));
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    let poll = &done["artifacts"][0]["parts"][0]["data"];
    assert_eq!(poll["options"], json!(["Basil", "Olives", "Onions"]));
    let said: Vec<&str> = done["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["messageId"].as_str().unwrap())
        .filter(|id| id.starts_with('m'))
        .collect();
    assert_eq!(said, ["m1", "m1b", "m2"]);
    let last = call(&client, "GetTask", json!({ "id": task["id"], "historyLength": 1 })).await;
    assert_eq!(last["result"]["history"].as_array().unwrap().len(), 1);
    assert_eq!(last["result"]["history"][0]["messageId"], "m2");

    // The same message returns the same poll; a different one is rejected.
    assert_eq!(sent(&client, answer).await["artifacts"][0]["parts"][0]["data"]["poll_id"], poll["poll_id"]);
    let late = call(&client, "SendMessage", follow_up("m3", &task["id"], "Rome, Oslo")).await;
    assert_eq!(late["error"]["code"], -32004, "{late}");
    let unknown = call(&client, "SendMessage", follow_up("m4", &json!("nothing"), "Rome, Oslo")).await;
    assert_eq!(unknown["error"]["code"], -32001);
}

#[tokio::test]
async fn missing_input_is_requested_and_completes_the_task_on_sqlite() {
    missing_input_is_requested_and_completes_the_task(Engine::Sqlite).await;
}

#[tokio::test]
async fn missing_input_is_requested_and_completes_the_task_on_postgres() {
    missing_input_is_requested_and_completes_the_task(Engine::Postgres).await;
}

#[tokio::test]
async fn concurrent_replies_to_one_task_open_one_poll() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let task = sent(&client, words("m1", "What is the best pizza topping?")).await;
    let answers = ["Basil, Olives", "Basil, Onions", "Basil, Ham", "Basil, Corn"];
    let sending = answers.iter().enumerate().map(|(number, words)| {
        let answer = follow_up(&format!("a{number}"), &task["id"], words);
        let client = client.clone();
        async move { call(&client, "SendMessage", answer).await }
    });
    let replies = futures::future::join_all(sending).await;
    let done = |reply: &&Value| reply["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED";
    assert_eq!(replies.iter().filter(done).count(), 1, "{replies:?}");
    for refused in replies.iter().filter(|reply| !done(reply)) {
        assert!([json!(40900), json!(-32004)].contains(&refused["error"]["code"]), "{refused}");
    }
    assert_eq!(client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn task_with_long_messages_rejects_further_messages() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let task = sent(&client, words("m0", "What is the best pizza topping?")).await;
    let noise = "no ".repeat(6_000);
    for number in 1..=4 {
        sent(&client, follow_up(&format!("m{number}"), &task["id"], &noise)).await;
    }
    let refused = call(&client, "SendMessage", follow_up("m9", &task["id"], "Basil, Olives")).await;
    assert_eq!(refused["error"]["code"], -32004, "{refused}");
    let canceled = call(&client, "CancelTask", json!({ "id": task["id"] })).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
}

#[tokio::test]
async fn read_only_key_cannot_change_tasks() {
    let service = Setup::demo().boot().await;
    let owner = service.user().await;
    let created = owner.post("/api/keys", &json!({ "scope": "read" })).await.expect(201);
    let reader = owner.with_key(created["key"].as_str().unwrap());
    let task = sent(&owner, words("m1", "What is the best pizza topping?")).await;
    let push = json!({ "taskId": task["id"], "id": "p", "url": "https://example.com/hook" });
    call(&owner, "CreateTaskPushNotificationConfig", push.clone()).await["result"]["id"].as_str().unwrap();
    let before = call(&reader, "GetTask", json!({ "id": task["id"] })).await["result"].clone();
    assert_eq!(before["status"], task["status"]);

    for (method, params) in [
        ("SendMessage", words("m2", "What is the best pasta sauce?")),
        ("SendMessage", follow_up("m3", &task["id"], "no")),
        ("SendMessage", follow_up("m4", &task["id"], "Basil, Olives")),
        ("CancelTask", json!({ "id": task["id"] })),
        ("CreateTaskPushNotificationConfig", push),
        ("DeleteTaskPushNotificationConfig", json!({ "taskId": task["id"], "id": "p" })),
    ] {
        let refused = call(&reader, method, params).await;
        assert_eq!(refused["error"]["code"], 40300, "{method}: {refused}");
    }
    assert_eq!(call(&owner, "GetTask", json!({ "id": task["id"] })).await["result"], before);
    let pushes = call(&owner, "ListTaskPushNotificationConfigs", json!({ "taskId": task["id"] })).await;
    assert_eq!(pushes["result"]["configs"].as_array().unwrap().len(), 1, "{pushes}");
    assert_eq!(call(&owner, "ListTasks", json!({})).await["result"]["totalSize"], 1);
}

#[tokio::test]
async fn task_waiting_for_input_can_be_cancelled() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let task = sent(&client, words("m1", "What is the best pizza topping?")).await;
    for _ in 0..2 {
        let cancelled = call(&client, "CancelTask", json!({ "id": task["id"] })).await;
        assert_eq!(cancelled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
    }
    let late = call(&client, "SendMessage", follow_up("m2", &task["id"], "Basil, Olives")).await;
    assert_eq!(late["error"]["code"], -32004);
}

async fn tasks_are_listed_in_pages(engine: Engine) {
    let script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(3) };
    let service = Setup::scripted(script).on(engine).boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let mut ids = Vec::new();
    for number in 0..5 {
        let message = json!({ "messageId": format!("m{number}"), "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }],
            "contextId": if number < 2 { "first" } else { "second" } });
        ids.push(sent(&client, json!({ "message": message })).await["id"].clone());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    ids.reverse();
    let list = async |params: Value| call(&client, "ListTasks", params).await["result"].clone();
    let all = list(json!({})).await;
    let listed = |page: &Value| -> Vec<Value> {
        page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!(listed(&all), ids);
    assert_eq!(
        (&all["totalSize"], &all["pageSize"], &all["nextPageToken"]),
        (&json!(5), &json!(50), &json!(""))
    );
    assert!(all["tasks"][0].get("artifacts").is_none() && all["tasks"][0]["history"][0]["messageId"] == "m4");
    let (mut pages, mut token) = (Vec::new(), json!(""));
    loop {
        let page = list(json!({ "pageSize": 2, "pageToken": token })).await;
        pages.extend(listed(&page));
        token = page["nextPageToken"].clone();
        if token == "" {
            break;
        }
    }
    assert_eq!(pages, ids);
    assert_eq!(list(json!({ "contextId": "first" })).await["totalSize"], 2);
    assert_eq!(list(json!({ "status": "TASK_STATE_WORKING" })).await["totalSize"], 0);
    assert_eq!(list(json!({ "status": "TASK_STATE_SUBMITTED" })).await["tasks"], json!([]));
    let full = list(json!({ "includeArtifacts": true, "historyLength": 0, "pageSize": 1 })).await;
    assert_eq!(full["tasks"][0]["artifacts"][0]["parts"][0]["data"]["winning_option"], "Beta");
    assert!(full["tasks"][0].get("history").is_none());
    let since = all["tasks"][1]["status"]["timestamp"].clone();
    assert_eq!(list(json!({ "statusTimestampAfter": since })).await["totalSize"], 2);
    assert_eq!(call(&other, "ListTasks", json!({})).await["result"]["totalSize"], 0);
    for wrong in [
        json!({ "pageSize": 0 }),
        json!({ "pageSize": 101 }),
        json!({ "pageSize": "2" }),
        json!({ "pageToken": "nonsense" }),
        json!({ "status": "DONE" }),
        json!({ "historyLength": -1 }),
        json!({ "statusTimestampAfter": "yesterday" }),
    ] {
        assert_eq!(call(&client, "ListTasks", wrong.clone()).await["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn tasks_are_listed_in_pages_on_sqlite() {
    tasks_are_listed_in_pages(Engine::Sqlite).await;
}

#[tokio::test]
async fn tasks_are_listed_in_pages_on_postgres() {
    tasks_are_listed_in_pages(Engine::Postgres).await;
}

#[tokio::test]
async fn legacy_task_uses_the_client_id() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let send = |id: &str, question_of: &str| {
        let part = json!({ "type": "data", "data": question(json!({ "question": question_of })) });
        json!({ "id": id, "sessionId": "s", "message": { "role": "user", "parts": [part] } })
    };
    let path = "/api/a2a/tasks/send";
    let first = client.post(path, &send("mine", "Which of the two is better?")).await.expect(200);
    let again = client.post(path, &send("mine", "Which of the two is better?")).await.expect(200);
    assert_eq!((&first["id"], &again["status"]), (&json!("mine"), &first["status"]));
    client.post(path, &send("mine", "Which of the two is worse?")).await.refused(400);
    let theirs = other.post(path, &send("mine", "Which of the two is better?")).await.expect(200);
    let poll = |task: &Value| task["artifacts"][0]["parts"][0]["data"]["poll_id"].clone();
    assert_eq!(poll(&again), poll(&first));
    assert_ne!(poll(&theirs), poll(&first), "ids are of an account");
    let by_clients = call(&client, "tasks/get", json!({ "id": "mine" })).await["result"].clone();
    assert_eq!((&by_clients["id"], &by_clients["sessionId"]), (&json!("mine"), &json!("s")));
    let by_ours = call(&client, "tasks/get", json!({ "id": poll(&first) })).await["result"].clone();
    assert_eq!((&by_ours["id"], &by_ours["kind"]), (&poll(&first), &json!("task")));
    let ended = call(&client, "tasks/cancel", json!({ "id": "mine" })).await;
    assert_eq!(ended["error"]["code"], -32002);
    let longest = json!({ "id": "mine", "historyLength": 5 });
    let shown = call(&client, "tasks/get", longest).await["result"]["history"].clone();
    assert_eq!(shown.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn results_use_the_accepted_output_modes() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let ask = |id: &str, modes: Value| {
        json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] },
            "configuration": { "acceptedOutputModes": modes } })
    };
    let text = sent(&client, ask("a", json!(["text/plain"]))).await;
    let parts = text["artifacts"][0]["parts"].as_array().unwrap();
    assert!(parts.len() == 1 && parts[0]["text"].is_string(), "{parts:?}");
    let read = call(&client, "GetTask", json!({ "id": text["id"] })).await["result"]["artifacts"].clone();
    assert_eq!(read, text["artifacts"], "it is stored");
    let data = sent(&client, ask("b", json!(["application/json"]))).await;
    let parts = data["artifacts"][0]["parts"].as_array().unwrap();
    assert!(parts.len() == 1 && parts[0]["data"].is_object(), "{parts:?}");
    let none = call(&client, "SendMessage", ask("c", json!(["image/png"]))).await;
    assert_eq!(none["error"]["code"], -32005);
    assert_eq!(call(&client, "ListTasks", json!({})).await["result"]["totalSize"], 2, "nothing was asked");
}

#[tokio::test]
async fn invalid_ids_are_rejected() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for id in [json!(7), json!("a\u{0}b"), json!("x".repeat(300)), json!({})] {
        for member in ["messageId", "taskId", "contextId"] {
            let mut params = words("m", "Which is better, Rust or Go?");
            params["message"][member] = id.clone();
            let refused = call(&client, "SendMessage", params).await;
            assert_eq!(refused["error"]["code"], -32602, "{member} {id}: {refused}");
        }
        let refused = call(&client, "GetTask", json!({ "id": id })).await;
        assert_eq!(refused["error"]["code"], -32602, "{id}: {refused}");
    }
}
