//! A2A: the agent card, every form of `tasks/send`, and JSON-RPC in both dialects.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Script, VoteFor};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Service, Setup, question, until};

async fn service() -> Service {
    Setup::scripted(Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) }).boot().await
}

/// Returns the result data of a task of any dialect.
fn data(task: &Value) -> &Value {
    &task["artifacts"][0]["parts"][0]["data"]
}

#[tokio::test]
async fn tasks_send_accepts_every_form_and_responds_alike() {
    let service = service().await;
    let client = service.user().await;
    let asked = question(json!({}));
    let parts = [
        json!({ "type": "data", "data": asked }),
        json!({ "kind": "data", "data": asked }),
        json!({ "data": asked }),
        json!({ "type": "text", "text": asked.to_string() }),
        json!({ "kind": "text", "text": format!("```json\n{asked}\n```") }),
        json!({ "text": asked.to_string() }),
    ];
    for part in parts {
        let params = json!({ "id": "task-1", "sessionId": "session-1", "message": { "role": "user", "parts": [part] } });
        let task = client.post("/api/a2a/tasks/send", &params).await.expect(200);
        assert_eq!(
            (&task["status"]["state"], &task["sessionId"]),
            (&json!("completed"), &json!("session-1"))
        );
        assert_eq!(data(&task)["winning_option"], "Beta");
        assert_eq!(task["id"], "task-1", "the client's id comes back");
        assert_eq!(task["artifacts"][0]["parts"][0]["type"], "data");
        let enveloped = json!({ "jsonrpc": "2.0", "id": 9, "method": "tasks/send", "params": params });
        let reply = client.post("/api/a2a/tasks/send", &enveloped).await.expect(200);
        assert_eq!((&reply["id"], &reply["result"]["status"]["state"]), (&json!(9), &json!("completed")));
        let reply = client.post("/api/a2a", &enveloped).await.expect(200);
        assert_eq!(reply["result"]["status"]["state"], "completed");
    }
}

#[tokio::test]
async fn tasks_send_rejects_with_interface_status_codes() {
    let service = service().await;
    let client = service.user().await;
    let send = |part: Value| json!({ "message": { "role": "user", "parts": [part] } });
    let bad = [
        json!({}),
        json!({ "message": {} }),
        json!({ "message": { "parts": [] } }),
        send(json!({ "text": "Just chatting" })),
        send(json!({ "data": { "question": "Long enough to ask?", "options": ["one"] } })),
        send(json!({ "data": { "question": "Long enough to ask?" } })),
        send(json!({ "url": "https://example.com/question.json" })),
    ];
    let empty = client.request(Method::POST, "/api/a2a/tasks/send").header("x-machine-client", "true");
    assert_eq!(client.send(empty).await.expect(400)["code"], "malformed_json");
    for params in bad {
        client.post("/api/a2a/tasks/send", &params).await.refused(400);
        let enveloped = json!({ "jsonrpc": "2.0", "id": "x", "method": "tasks/send", "params": params });
        let reply = client.post("/api/a2a/tasks/send", &enveloped).await.expect(400);
        assert_eq!((&reply["id"], reply["error"]["message"].is_string()), (&json!("x"), true));
    }
    let good = send(json!({ "data": question(json!({})) }));
    service.anonymous().post("/api/a2a/tasks/send", &good).await.refused(401);
    let (_, poor) = service.user_with(MicroUsd::ZERO).await;
    poor.post("/api/a2a/tasks/send", &good).await.refused(402);
}

#[tokio::test]
async fn json_rpc_dialect_1_0() {
    let service = service().await;
    let client = service.user().await;
    let part = json!({ "data": question(json!({})), "mediaType": "application/json" });
    let message = json!({ "messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [part] });
    let reply = client
        .rpc("/api/a2a", "SendMessage", json!({ "message": message, "configuration": {} }))
        .await
        .expect(200);
    let task = &reply["result"]["task"];
    assert_eq!(
        (&task["status"]["state"], &task["contextId"]),
        (&json!("TASK_STATE_COMPLETED"), &json!("c1"))
    );
    assert_eq!(data(task)["winning_option"], "Beta");
    assert!(task["artifacts"][0]["parts"][1]["text"].as_str().unwrap().contains("“Beta” won"));
    assert_eq!(task["history"][0]["messageId"], "m1");
    assert!(!reply.to_string().contains("\"kind\""));
    let got = client.rpc("/api/a2a", "GetTask", json!({ "id": task["id"] })).await.expect(200);
    assert_eq!(data(&got["result"])["tally"], data(task)["tally"]);

    let at_once = json!({ "message": message, "configuration": { "returnImmediately": true } });
    let reply = client.rpc("/api/a2a", "SendMessage", at_once).await.expect(200);
    assert!(reply["result"]["task"]["status"]["state"].as_str().unwrap().starts_with("TASK_STATE_"));
}

#[tokio::test]
async fn nonblocking_task_is_found_by_id_and_completes() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.latency = Duration::from_millis(100);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let v1 = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] });
    let v03 = json!({ "kind": "message", "messageId": "n", "role": "user",
        "parts": [{ "kind": "data", "data": question(json!({})) }] });
    for (send, get, cancel, params) in [
        (
            "SendMessage",
            "GetTask",
            "CancelTask",
            json!({ "message": v1, "configuration": { "return_immediately": true } }),
        ),
        (
            "message/send",
            "tasks/get",
            "tasks/cancel",
            json!({ "message": v03, "configuration": { "blocking": false } }),
        ),
    ] {
        let sent = client.rpc("/api/a2a", send, params).await.expect(200)["result"].clone();
        let task = sent.get("task").unwrap_or(&sent);
        assert!(task["status"]["state"].as_str().unwrap().to_lowercase().ends_with("working"), "{task}");
        assert_eq!(task["id"], data(task)["poll_id"]);
        let by_id = json!({ "id": task["id"] });
        let read = async || client.rpc("/api/a2a", get, by_id.clone()).await.expect(200)["result"].clone();
        let got = until("the task is completed", read, |task| {
            task["status"]["state"].as_str().unwrap().to_lowercase().ends_with("completed")
        })
        .await;
        assert_eq!((&got["id"], &data(&got)["winning_option"]), (&task["id"], &json!("Beta")));
        let ended = client.rpc("/api/a2a", cancel, by_id.clone()).await.expect(200);
        assert_eq!(ended["error"]["code"], -32002);
    }
}

#[tokio::test]
async fn only_the_owner_can_cancel_a_task() {
    let mut script = Script { votes_for: VoteFor::Hash, ..Script::panel(40) };
    script.default.latency = Duration::from_millis(300);
    let service = Setup::scripted(script).with("EP_UPSTREAM_MAX_CONCURRENT", "2").boot().await;
    let client = service.user().await;
    let ask = question(json!({ "confidence_threshold": 1 }));
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": ask }] });
    let params = json!({ "message": message, "configuration": { "return_immediately": true } });
    let sent = client.rpc("/api/a2a", "SendMessage", params).await.expect(200)["result"]["task"].clone();
    let by_id = json!({ "id": sent["id"] });
    let other = service.user().await.rpc("/api/a2a", "CancelTask", by_id.clone()).await.expect(200);
    assert_eq!(other["error"]["code"], -32001, "{other}");
    for _ in 0..2 {
        let cancelled = client.rpc("/api/a2a", "CancelTask", by_id.clone()).await.expect(200);
        assert_eq!(cancelled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
    }
    let by_v03 = client.rpc("/api/a2a", "tasks/get", by_id).await.expect(200);
    assert_eq!(by_v03["result"]["status"]["state"], "canceled");
}

#[tokio::test]
async fn history_uses_the_dialect_of_the_request() {
    let service = service().await;
    let client = service.user().await;
    let asked = question(json!({}));
    let snake = json!({ "message_id": "m", "context_id": "c", "role": "ROLE_USER",
        "parts": [{ "kind": "data", "data": asked }] });
    let reply = client.rpc("/api/a2a", "SendMessage", json!({ "message": snake })).await.expect(200);
    let task = &reply["result"]["task"];
    let expected = json!([{ "messageId": "m", "contextId": "c", "taskId": task["id"], "role": "ROLE_USER",
        "parts": [{ "data": asked }] }]);
    assert_eq!(task["history"], expected);
    let bare = json!({ "messageId": "n", "role": "user", "parts": [{ "text": asked.to_string() }] });
    let reply = client.rpc("/api/a2a/", "message/send", json!({ "message": bare })).await.expect(200);
    let message = &reply["result"]["history"][0];
    assert_eq!((&message["kind"], &message["parts"][0]["kind"]), (&json!("message"), &json!("text")));
}

#[tokio::test]
async fn json_rpc_dialect_0_3() {
    let service = service().await;
    let client = service.user().await;
    let part = json!({ "kind": "text", "text": question(json!({})).to_string() });
    let message = json!({ "kind": "message", "messageId": "m1", "role": "user", "parts": [part] });
    let reply = client.rpc("/api/a2a", "message/send", json!({ "message": message })).await.expect(200);
    let task = &reply["result"];
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(task["artifacts"][0]["parts"][0]["kind"], "data");
    assert_eq!((&task["history"][0]["kind"], &task["contextId"]), (&json!("message"), &task["id"]));
    let got = client.rpc("/api/a2a", "tasks/get", json!({ "id": task["id"] })).await.expect(200);
    assert_eq!(got["result"]["kind"], "task");
}

#[tokio::test]
async fn json_rpc_errors_have_status_200_and_protocol_codes() {
    let service = service().await;
    let client = service.user().await;
    let error = |reply: Value| (reply["error"]["code"].as_i64().unwrap(), reply["error"]["data"].clone());
    let (code, details) =
        error(client.rpc("/api/a2a", "GetTask", json!({ "id": "EP-20260131-0000000000" })).await.expect(200));
    assert_eq!((code, &details[0]["reason"]), (-32001, &json!("TASK_NOT_FOUND")));
    let wrong = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": { "options": ["one"] } }] } });
    let (code, details) = error(client.rpc("/api/a2a", "SendMessage", wrong).await.expect(200));
    assert_eq!((code, &details[1]["fieldViolations"][0]["field"]), (-32602, &json!("options")));
    let role = json!({ "message": { "messageId": "m", "role": "user", "parts": [{ "text": "{}" }] } });
    assert_eq!(error(client.rpc("/api/a2a", "SendMessage", role).await.expect(200)).0, -32602);
    let raw = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "raw": "AA==" }] } });
    assert_eq!(error(client.rpc("/api/a2a", "SendMessage", raw).await.expect(200)).0, -32005);
    assert_eq!(error(client.rpc("/api/a2a", "NoSuchMethod", json!({})).await.expect(200)).0, -32601);
    for (method, code) in
        [("CancelTask", -32001), ("tasks/cancel", -32001), ("tasks/pushNotificationConfig/set", -32001)]
    {
        let reply =
            client.rpc("/api/a2a", method, json!({ "id": "EP-20260131-0000000000" })).await.expect(200);
        assert_eq!(error(reply).0, code, "{method}");
    }
    assert_eq!(error(client.post("/api/a2a", &json!([])).await.expect(200)).0, -32600);
    for path in ["/api/a2a", "/api/a2a/"] {
        assert_eq!(error(client.send(client.request(Method::POST, path)).await.expect(200)).0, -32700);
    }
    for id in [json!({}), json!(true), json!(-1), json!(1.5)] {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "GetTask" });
        let reply = client.post("/api/a2a", &body).await.expect(200);
        assert_eq!(reply["error"]["code"], -32600, "{id}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("id must be"), "{id}");
    }
    let version = [("a2a-version", "9.9")];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } });
    assert_eq!(error(client.post_with("/api/a2a", &body, &version).await.expect(200)).0, -32009);
    let (_, poor) = service.user_with(MicroUsd::ZERO).await;
    let good = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] } });
    let (code, details) = error(poor.rpc("/api/a2a", "SendMessage", good).await.expect(200));
    assert_eq!((code, &details[0]["reason"]), (40200, &json!("INSUFFICIENT_BALANCE")));
    let wrong_key = client.with_key(&format!("ep_k_{}", "x".repeat(43)));
    for client in [service.anonymous(), wrong_key] {
        for path in ["/api/a2a", "/api/a2a/tasks/send"] {
            let said = client.rpc(path, "SendMessage", json!({})).await.refused(401);
            assert!(said.contains("A2A") && said.contains("agent card") && !said.contains("MCP"), "{said}");
        }
    }
}

/// A message in the dialect of 1.0.
fn v1(id: &str, part: Value) -> Value {
    json!({ "message": { "messageId": id, "contextId": "conversation", "role": "ROLE_USER", "parts": [part] } })
}

#[tokio::test]
async fn task_survives_restart_with_message_context_and_time() {
    let data = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}", data.path().join("polls.db").display());
    let setup = || {
        let script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
        Setup::scripted(script)
            .with("EP_DATABASE_URL", file.clone())
            .with("EP_SECRET_KEY", "5a".repeat(32))
            .with("EP_BASE_URL", "https://polls.example.com")
    };
    let first = setup().boot().await;
    let (client, other) = (first.user().await, first.user().await);
    let key = client.key.clone().unwrap();
    let mut params = v1("m1", json!({ "text": question(json!({})).to_string(), "metadata": { "n": 1 } }));
    params["message"]["metadata"] = json!({ "trace": "abc" });
    let sent =
        client.rpc("/api/a2a", "SendMessage", params.clone()).await.expect(200)["result"]["task"].clone();
    let by_id = json!({ "id": sent["id"] });
    let got = client.rpc("/api/a2a", "GetTask", by_id.clone()).await.expect(200)["result"].clone();
    for member in ["id", "contextId", "status", "history"] {
        assert_eq!(got[member], sent[member], "{member}");
    }
    assert_eq!((&got["contextId"], &got["history"][0]["messageId"]), (&json!("conversation"), &json!("m1")));
    assert_eq!(got["history"][0]["metadata"], json!({ "trace": "abc" }));
    assert_eq!(got["history"][0]["parts"], params["message"]["parts"]);
    let old = client.rpc("/api/a2a", "tasks/get", by_id.clone()).await.expect(200)["result"].clone();
    assert_eq!(
        (&old["history"][0]["role"], &old["history"][0]["parts"][0]["kind"]),
        (&json!("user"), &json!("text"))
    );
    let bare = json!({ "id": sent["id"], "historyLength": 0 });
    let bare = client.rpc("/api/a2a", "GetTask", bare).await.expect(200)["result"].clone();
    assert_eq!((bare.get("history"), &bare["contextId"]), (None, &json!("conversation")));
    let foreign = other.rpc("/api/a2a", "GetTask", by_id.clone()).await.expect(200);
    assert_eq!(foreign["error"]["code"], -32001, "to others it does not exist");
    drop(first);
    let second = setup().boot().await;
    let client = second.anonymous().with_key(&key);
    let later = client.rpc("/api/a2a", "GetTask", by_id).await.expect(200)["result"].clone();
    for member in ["id", "contextId", "status", "history"] {
        assert_eq!(later[member], got[member], "{member}");
    }
    assert_eq!(self::data(&later)["votes"], self::data(&got)["votes"]);
}

#[tokio::test]
async fn resent_message_returns_the_same_poll() {
    let service = service().await;
    let client = service.user().await;
    let asked = json!({ "data": question(json!({})) });
    let send = async |params: Value| {
        client.rpc("/api/a2a", "SendMessage", params).await.expect(200)["result"]["task"]["id"].clone()
    };
    let first = send(v1("same", asked.clone())).await;
    let mut again = v1("same", asked.clone());
    again["configuration"] = json!({ "returnImmediately": true });
    assert_eq!(send(again).await, first);
    let v03 =
        json!({ "message": { "kind": "message", "messageId": "same", "role": "user", "parts": [asked] } });
    let old = client.rpc("/api/a2a", "message/send", v03).await.expect(200);
    assert_eq!(old["result"]["id"], first);
    assert_ne!(send(v1("other", asked.clone())).await, first);
    let changed = json!({ "data": question(json!({ "preset": "budget" })) });
    assert_ne!(send(v1("same", changed)).await, first, "another question is another poll");
    let header = [("idempotency-key", "mine")];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": v1("same", asked) });
    let keyed = client.post_with("/api/a2a", &body, &header).await.expect(200);
    assert_ne!(
        keyed["result"]["task"]["id"], first,
        "a key of the client's own goes before the message's id"
    );
}

#[tokio::test]
async fn message_resent_during_the_poll_returns_the_running_poll() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.latency = Duration::from_millis(1500);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let params = v1("m", json!({ "data": question(json!({})) }));
    let first = {
        let (client, params) = (client.clone(), params.clone());
        tokio::spawn(async move { client.rpc("/api/a2a", "SendMessage", params).await.expect(200) })
    };
    until("a model is called", async || service.upstream().total_calls(), |calls| *calls > 0).await;
    let at_once = json!({ "message": params["message"], "configuration": { "returnImmediately": true } });
    let again = client.rpc("/api/a2a", "SendMessage", at_once).await.expect(200);
    let running = &again["result"]["task"];
    assert_eq!(running["status"]["state"], "TASK_STATE_WORKING", "{again}");
    assert_eq!(running["contextId"], "conversation");
    assert_eq!(running["history"][0]["messageId"], "m");
    let waited = client.rpc("/api/a2a", "SendMessage", params).await.expect(200)["result"]["task"].clone();
    assert_eq!((&waited["id"], &waited["status"]["state"]), (&running["id"], &json!("TASK_STATE_COMPLETED")));
    assert_eq!(first.await.unwrap()["result"]["task"]["id"], running["id"]);
    assert_eq!(client.rpc("/api/a2a", "ListTasks", json!({})).await.expect(200)["result"]["totalSize"], 1);
}

#[tokio::test]
async fn message_rejected_for_low_balance_can_be_resent_after_funding() {
    let service = service().await;
    let (user, poor) = service.user_with(MicroUsd::ZERO).await;
    let params = v1("m", json!({ "data": question(json!({})) }));
    let refused = poor.rpc("/api/a2a", "SendMessage", params.clone()).await.expect(200);
    assert_eq!(refused["error"]["code"], 40200);
    service.app.accounts.credit(user, MicroUsd::STARTER_CREDIT, "gift").await.unwrap();
    let sent = poor.rpc("/api/a2a", "SendMessage", params).await.expect(200);
    assert_eq!(sent["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{sent}");
}

#[tokio::test]
async fn non_poll_results_are_returned_as_messages() {
    let service = service().await;
    let client = service.user().await;
    let reply = client.rpc("/api/a2a", "SendMessage", v1("m", json!({ "data": {} }))).await.expect(200);
    let message = &reply["result"]["message"];
    assert_eq!((&message["role"], &message["contextId"]), (&json!("ROLE_AGENT"), &json!("conversation")));
    assert_eq!(message["parts"][0]["data"]["balance"], "$1.00");
    assert!(reply["result"].get("task").is_none() && !message["messageId"].as_str().unwrap().is_empty());
    let v03 = json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [{ "kind": "data", "data": {} }] } });
    let reply = client.rpc("/api/a2a", "message/send", v03).await.expect(200)["result"].clone();
    assert_eq!((&reply["kind"], &reply["role"]), (&json!("message"), &json!("agent")));
    assert_eq!(reply["parts"][0]["kind"], "data");
    let dry = v1("m", json!({ "data": question(json!({ "dry_run": true })) }));
    let dry = client.rpc("/api/a2a", "SendMessage", dry).await.expect(200);
    assert_eq!(dry["result"]["message"]["parts"][0]["data"]["valid"], true);
    let legacy =
        json!({ "id": "mine", "message": { "role": "user", "parts": [{ "type": "data", "data": {} }] } });
    let task = client.post("/api/a2a/tasks/send", &legacy).await.expect(200);
    assert_eq!((&task["id"], &data(&task)["balance"]), (&json!("mine"), &json!("$1.00")));
}

#[tokio::test]
async fn failed_poll_is_a_failed_task() {
    let mut script = Script::panel(50);
    script.default =
        Behaviour::of(vec![Action::Status(401, "{\"error\": {\"message\": \"bad key\"}}".into())]);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let sent = client
        .rpc("/api/a2a", "SendMessage", v1("m", json!({ "data": question(json!({})) })))
        .await
        .expect(200);
    let task = &sent["result"]["task"];
    assert_eq!(
        (&task["status"]["state"], &data(task)["status"]),
        (&json!("TASK_STATE_FAILED"), &json!("failed"))
    );
    let got = client.rpc("/api/a2a", "tasks/get", json!({ "id": task["id"] })).await.expect(200);
    assert_eq!(got["result"]["status"]["state"], "failed");
}

#[tokio::test]
async fn plain_text_is_parsed_like_a_free_poll() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let words = v1("m", json!({ "text": "Which is better, Rust or Go?" }));
    let reply = client.rpc("/api/a2a", "SendMessage", words).await.expect(200);
    let task = &reply["result"]["task"];
    assert_eq!(data(task)["options"], json!(["Rust", "Go"]));
    assert_eq!(task["history"][0]["parts"][0]["text"], "Which is better, Rust or Go?");
    let skill = json!({ "message": { "messageId": "o", "role": "ROLE_USER", "parts": [{ "data": {} }], "metadata": { "skillId": "nope" } } });
    let reply = client.rpc("/api/a2a", "SendMessage", skill).await.expect(200);
    let said = reply["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("there is no skill nope; the skills are poll_question"), "{said}");
}

#[tokio::test]
async fn every_part_of_a_message_counts() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let ask = "Should we use tabs or spaces?";
    let fields = json!({ "data": { "question": ask, "options": ["Tabs", "Spaces"] } });
    for (id, parts) in [
        ("draft", json!([{ "text": ask }, { "text": "Do not poll anyone yet." }])),
        ("beside", json!([fields, { "text": "Keep it private." }])),
        ("settings", json!([{ "text": ask }, { "data": { "settings": { "private": true } } }])),
    ] {
        let message = json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": parts } });
        let reply = client.rpc("/api/a2a", "SendMessage", message).await.expect(200);
        let state = &reply["result"]["task"]["status"]["state"];
        assert_ne!(state, "TASK_STATE_COMPLETED", "{id}: {reply}");
    }
    let parts = json!([{ "text": ask }, { "text": "Keep it private." }]);
    let message = json!({ "message": { "messageId": "both", "role": "ROLE_USER", "parts": parts } });
    let reply = client.rpc("/api/a2a", "SendMessage", message).await.expect(200);
    let poll = data(&reply["result"]["task"]);
    assert_eq!((&poll["question"], &poll["options"]), (&json!(ask), &json!(["Tabs", "Spaces"])), "{reply}");
    let id = poll["poll_id"].as_str().unwrap();
    assert_eq!(service.anonymous().get(&format!("/api/results/{id}")).await.status, 404);
}

#[tokio::test]
async fn plain_words_reach_their_operation() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let said = async |text: &str| {
        let message = v1(&format!("m{}", text.len()), json!({ "text": text }));
        client.rpc("/api/a2a", "SendMessage", message).await.expect(200)["result"].clone()
    };
    for (text, question, options) in [
        ("Tabs vs spaces", "Tabs vs spaces", &["Tabs", "Spaces"][..]),
        ("Ask several models: is a hot dog a sandwich?", "Is a hot dog a sandwich?", &["Yes", "No"]),
        ("Best name for a cat? A) Tom B) Misty C) Luna", "Best name for a cat?", &["Tom", "Misty", "Luna"]),
        ("{'question': 'Which is best?', 'choices': ['A1', 'B2']}", "Which is best?", &["A1", "B2"]),
        (
            r#"{"prompt": "Which is best?", "choices": ["A1", "B2"], "requester": "x"}"#,
            "Which is best?",
            &["A1", "B2"],
        ),
        (
            r#"{"question": "Which label fits?", "choices": ["A1", "B2"], "email": "Win money now!"}"#,
            "Which label fits?\n\nemail: Win money now!",
            &["A1", "B2"],
        ),
        (
            "Please poll the models about this.\n\nWhich broker is best?\n- Kafka\n- NATS",
            "Which broker is best?",
            &["Kafka", "NATS"],
        ),
    ] {
        let task = said(text).await["task"].clone();
        assert_eq!(
            (&data(&task)["question"], &data(&task)["options"]),
            (&json!(question), &json!(options)),
            "{text}: {task}"
        );
    }
    let task = said("Rate this answer from 1 to 5: Paris is the capital of France.").await["task"].clone();
    assert_eq!(data(&task)["options"], json!(["1", "2", "3", "4", "5"]), "{task}");
    assert!(data(&task)["scale"].is_object(), "{task}");
    let poll = data(&task)["poll_id"].as_str().unwrap().to_owned();
    let text_of =
        |result: &Value| result["message"]["parts"][1]["text"].as_str().unwrap_or_default().to_owned();
    let result = said(&format!("How did poll {poll} go?")).await;
    assert_eq!(result["message"]["parts"][0]["data"]["poll_id"], json!(poll), "{result}");
    assert!(text_of(&said("What is my balance?").await).contains("is left on your account"));
    assert!(text_of(&said("Hello, what can you do?").await).starts_with("Send a question with its options"));
    assert!(text_of(&said("delete my account").await).starts_with("Nothing was changed"));
    let polls = async || client.get("/api/polls").await.expect(200);
    let before = polls().await;
    let draft = said("Do not poll anyone, I am only drafting: is tea or coffee better?").await;
    assert!(text_of(&draft).starts_with("Nobody was asked"), "{draft}");
    let code = said("Fix this: def f(x): return [x, y]").await;
    assert_eq!(code["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{code}");
    assert_eq!(polls().await, before);
}

#[tokio::test]
async fn what_plain_words_lack_is_asked_for() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let first = client
        .rpc("/api/a2a", "SendMessage", v1("m1", json!({ "text": "A) Tom B) Misty C) Luna" })))
        .await
        .expect(200);
    let task = &first["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{first}");
    let mut answer = v1("m2", json!({ "text": "What is the best name for a cat?" }));
    answer["message"]["taskId"] = task["id"].clone();
    let done = client.rpc("/api/a2a", "SendMessage", answer).await.expect(200);
    assert_eq!(data(&done["result"]["task"])["options"], json!(["Tom", "Misty", "Luna"]), "{done}");
    // A refusal is no list of options, and a limit of a later message counts.
    let waiting = client
        .rpc("/api/a2a", "SendMessage", v1("m5", json!({ "text": "What is the best pizza topping?" })))
        .await
        .expect(200);
    let next = async |id: &str, text: &str| {
        let mut message = v1(id, json!({ "text": text }));
        message["message"]["taskId"] = waiting["result"]["task"]["id"].clone();
        client.rpc("/api/a2a", "SendMessage", message).await.expect(200)["result"]["task"].clone()
    };
    for (at, text) in [
        "No, thanks",
        "Sorry, never mind.",
        "Do not poll this, I was only drafting",
        "I don't know, you decide",
        "Nein, danke",
    ]
    .into_iter()
    .enumerate()
    {
        let task = next(&format!("n{at}"), text).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{text}: {task}");
    }
    let done = next("n9", "Basil, olives. Keep the result private.").await;
    assert_eq!(data(&done)["options"], json!(["Basil", "olives"]), "{done}");
    let poll = data(&done)["poll_id"].as_str().unwrap();
    service.anonymous().get(&format!("/api/results/{poll}")).await.expect(404);
    // Limits in JSON that cannot be read are not lost.
    let unreadable = "{'question': 'Which is best?', 'choices': ['A', 'B'], 'max_cost_usd': 0.01}";
    let refused =
        client.rpc("/api/a2a", "SendMessage", v1("m3", json!({ "text": unreadable }))).await.expect(200);
    assert_eq!(refused["result"]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{refused}");
    let limits = r#"{"question": "Which is best?", "choices": ["A", "B"], "budget": 0.01}"#;
    let refused =
        client.rpc("/api/a2a", "SendMessage", v1("m4", json!({ "text": limits }))).await.expect(200);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn every_example_of_the_card_is_accepted() {
    let service = service().await;
    let client = service.user().await;
    let card = service.anonymous().get("/.well-known/agent-card.json").await.expect(200);
    for skill in card["skills"].as_array().unwrap() {
        for example in skill["examples"].as_array().unwrap() {
            let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": example }] });
            let reply =
                client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
            // The `get_poll_result` example names a poll that does not exist in this database.
            let result = &reply["result"];
            let known = result["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
                || result["message"]["role"] == "ROLE_AGENT";
            assert!(known || reply["error"]["code"] == -32001, "{example}: {reply}");
        }
    }
}

#[tokio::test]
async fn card_is_served_at_both_paths_hybrid_and_pure() {
    let service = service().await;
    let anyone = service.anonymous();
    let card = anyone.get("/.well-known/agent-card.json").await;
    let tag = card.header("etag").to_owned();
    assert_eq!((card.header("vary"), card.header("cache-control")), ("a2a-version", "public, max-age=3600"));
    assert!(httpdate::parse_http_date(card.header("last-modified")).is_ok());
    let card = card.expect(200);
    assert_eq!(anyone.get("/.well-known/agent.json").await.expect(200), card);
    assert_eq!(card["url"], format!("{}/api/a2a", service.url));
    assert_eq!((&card["protocolVersion"], &card["preferredTransport"]), (&json!("0.3.0"), &json!("JSONRPC")));
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    let skills: Vec<&str> =
        card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].as_str().unwrap()).collect();
    assert_eq!(skills, ["poll_question", "get_poll_result", "get_balance"]);
    let request = anyone.request(reqwest::Method::GET, "/.well-known/agent-card.json");
    let pure = anyone.send(request.header("a2a-version", "1.0")).await.expect(200);
    assert!(pure.get("url").is_none() && pure["supportedInterfaces"] == card["supportedInterfaces"]);
    let request = anyone.request(reqwest::Method::GET, "/.well-known/agent-card.json");
    assert_eq!(anyone.send(request.header("if-none-match", tag)).await.status, 304);
    let head = anyone.send(anyone.request(reqwest::Method::HEAD, "/.well-known/agent-card.json")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
