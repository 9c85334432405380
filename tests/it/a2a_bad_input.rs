//! Invalid input at the A2A endpoints returns the protocol's error, never a success, a 500 or a timeout.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question};

/// Methods with a task id, of both versions.
const OF_TASKS: [&str; 10] = [
    "GetTask",
    "CancelTask",
    "SubscribeToTask",
    "ListTaskPushNotificationConfigs",
    "CreateTaskPushNotificationConfig",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/set",
];
/// Methods without a task id.
const OTHERS: [&str; 9] = [
    "SendMessage",
    "SendStreamingMessage",
    "ListTasks",
    "GetTaskPushNotificationConfig",
    "DeleteTaskPushNotificationConfig",
    "message/send",
    "message/stream",
    "tasks/pushNotificationConfig/get",
    "tasks/send",
];
/// Paths of the HTTP+JSON binding with a task id.
const PATHS: [(&str, &str); 7] = [
    ("GET", "/tasks/{id}"),
    ("POST", "/tasks/{id}:cancel"),
    ("POST", "/tasks/{id}:subscribe"),
    ("GET", "/tasks/{id}:subscribe"),
    ("GET", "/tasks/{id}/pushNotificationConfigs"),
    ("GET", "/tasks/{id}/pushNotificationConfigs/p"),
    ("POST", "/tasks/{id}/pushNotificationConfigs"),
];

/// Sends bytes to the JSON-RPC endpoint and returns the error, also from an event.
async fn raw(client: &Client, body: String, headers: &[(&str, &str)]) -> Value {
    let mut request = client.request(Method::POST, "/api/a2a");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = client.send(request.body(body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let text = reply.text.trim();
    let event = text.lines().find_map(|line| line.strip_prefix("data: "));
    let reply: Value = serde_json::from_str(event.unwrap_or(text)).unwrap();
    assert_eq!((reply["jsonrpc"].as_str(), reply.get("result")), (Some("2.0"), None), "{reply}");
    assert!(!reply["error"]["message"].as_str().unwrap().is_empty(), "{reply}");
    reply
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn refused(client: &Client, method: &str, params: Value) -> i64 {
    let body = json!({ "jsonrpc": "2.0", "id": "r", "method": method, "params": params });
    let reply = raw(client, body.to_string(), &[JSON]).await;
    assert_eq!(reply["id"], "r");
    reply["error"]["code"].as_i64().unwrap()
}

#[tokio::test]
async fn invalid_envelopes() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}1{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("not json", -32700),
        (r#"{"jsonrpc":"2.0"} trailing"#, -32700),
        (deep.as_str(), -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}]"#, -32600),
        ("null", -32600),
        ("7", -32600),
        ("\"text\"", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"tasks/get"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"getTask"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/none"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#, -32601),
        // A request without an id still gets a response.
        (r#"{"jsonrpc":"2.0","method":"GetTask"}"#, -32602),
    ] {
        let reply = raw(&client, body.to_owned(), &[JSON]).await;
        assert_eq!(reply["error"]["code"], code, "{body}: {reply}");
    }
    let good = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } }).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/xml"] {
        let reply = raw(&client, good.clone(), &[("content-type", kind)]).await;
        assert_eq!(reply["error"]["code"], -32005, "{kind}: {reply}");
    }
    for version in ["9.9", "0.2", "2", "latest"] {
        for method in ["GetTask", "SendMessage", "SendStreamingMessage", "message/stream"] {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }).to_string();
            let reply = raw(&client, body, &[JSON, ("a2a-version", version)]).await;
            assert_eq!(reply["error"]["code"], -32009, "{version} {method}: {reply}");
        }
    }
    let huge = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": "x".repeat(70_000) } });
    assert!(
        raw(&client, huge.to_string(), &[JSON]).await["error"]["message"].as_str().unwrap().contains("65536")
    );
    let request =
        client.request(Method::POST, "/api/a2a").header(JSON.0, JSON.1).body(b"{\"id\":\"\xff\"}".to_vec());
    assert_eq!(client.send(request).await.expect(200)["error"]["code"], -32700);
}

#[tokio::test]
async fn invalid_parameters() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for method in OF_TASKS.into_iter().chain(OTHERS) {
        for params in [
            json!([]),
            json!(["x"]),
            json!("x"),
            json!(7),
            json!(true),
            json!({ "id": 7 }),
            json!({ "id": {} }),
        ] {
            // `ListTasks` needs no parameters.
            if method == "ListTasks" {
                continue;
            }
            assert_eq!(refused(&client, method, params.clone()).await, -32602, "{method} {params}");
        }
    }
    for list in [
        json!({ "pageSize": 0 }),
        json!({ "pageSize": 101 }),
        json!({ "pageSize": "x" }),
        json!({ "status": "done" }),
        json!({ "pageToken": "x" }),
        json!({ "statusTimestampAfter": "today" }),
        json!({ "historyLength": -1 }),
        json!({ "contextId": [] }),
    ] {
        assert_eq!(refused(&client, "ListTasks", list.clone()).await, -32602, "{list}");
    }
    let part = json!({ "data": question(json!({})) });
    let message = |changes: Value| {
        let mut message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [part] });
        for (name, value) in changes.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    };
    for (changes, code) in [
        (json!({ "role": "user" }), -32602),
        (json!({ "role": null }), -32602),
        (json!({ "messageId": "" }), -32602),
        (json!({ "messageId": 7 }), -32602),
        (json!({ "messageId": "x".repeat(257) }), -32602),
        (json!({ "parts": [] }), -32602),
        (json!({ "parts": "text" }), -32602),
        (json!({ "parts": [7] }), -32602),
        (json!({ "parts": [{ "text": 7 }] }), -32602),
        (json!({ "parts": [{ "text": "" }] }), -32602),
        (json!({ "parts": [{ "data": [1] }] }), -32602),
        (json!({ "parts": [{}] }), -32005),
        (json!({ "parts": [{ "raw": "AA==", "mediaType": "image/png" }] }), -32005),
        (json!({ "parts": [{ "url": "https://example.com/a.png" }] }), -32005),
        (json!({ "contextId": [] }), -32602),
        (json!({ "taskId": 7 }), -32602),
        (json!({ "taskId": "nothing" }), -32001),
        (json!({ "metadata": { "skillId": "nothing" } }), -32602),
        (json!({ "parts": [{ "data": { "question": "Too few options?", "options": ["one"] } }] }), -32602),
    ] {
        for method in ["SendMessage", "SendStreamingMessage"] {
            let params = json!({ "message": message(changes.clone()) });
            assert_eq!(refused(&client, method, params).await, code, "{method} {changes}");
        }
    }
    for configuration in [
        json!("x"),
        json!([]),
        json!({ "acceptedOutputModes": "text/plain" }),
        json!({ "historyLength": "all" }),
        json!({ "taskPushNotificationConfig": { "url": "https://10.0.0.1/" } }),
        json!({ "taskPushNotificationConfig": { "url": "http://example.com/" } }),
        json!({ "taskPushNotificationConfig": { "url": "https://[::1]/" } }),
        json!({ "taskPushNotificationConfig": { "url": 7 } }),
    ] {
        let params = json!({ "message": message(json!({})), "configuration": configuration });
        assert_eq!(refused(&client, "SendMessage", params).await, -32602, "{configuration}");
    }
    let modes =
        json!({ "message": message(json!({})), "configuration": { "acceptedOutputModes": ["image/png"] } });
    assert_eq!(refused(&client, "SendMessage", modes).await, -32005);
    let listed = client.rpc("/api/a2a", "ListTasks", json!({})).await.expect(200);
    assert_eq!(listed["result"]["totalSize"], 0, "nothing of it has begun a task");
}

#[tokio::test]
async fn unknown_foreign_and_finished_tasks() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let message = |id: &str, task: Value| json!({ "message": { "messageId": id, "taskId": task, "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] } });
    let sent = client.rpc("/api/a2a", "SendMessage", message("m", Value::Null)).await.expect(200);
    let ended = sent["result"]["task"]["id"].clone();
    let push = "https://example.com/hook";
    for (client, id) in
        [(&client, json!("EP-20260131-0000000000")), (&client, json!("x\u{0}y")), (&other, ended.clone())]
    {
        for method in OF_TASKS {
            let params = match method {
                "CreateTaskPushNotificationConfig" => json!({ "taskId": id, "url": push }),
                "ListTaskPushNotificationConfigs" => json!({ "taskId": id }),
                "tasks/pushNotificationConfig/set" => {
                    json!({ "taskId": id, "pushNotificationConfig": { "url": push } })
                }
                _ => json!({ "id": id }),
            };
            let code = refused(client, method, params).await;
            let expected = if id == json!("x\u{0}y") { -32602 } else { -32001 };
            assert_eq!(code, expected, "{method} {id}");
        }
    }
    assert_eq!(refused(&other, "SendMessage", message("n", ended.clone())).await, -32001);
    // A finished task accepts no messages, cannot be cancelled and has no events to follow.
    for method in ["SendMessage", "SendStreamingMessage"] {
        assert_eq!(refused(&client, method, message("n", ended.clone())).await, -32004, "{method}");
    }
    let older = json!({ "message": { "messageId": "o", "taskId": ended, "role": "user", "parts": [{ "kind": "text", "text": "More?" }] } });
    for method in ["message/send", "message/stream"] {
        assert_eq!(refused(&client, method, older.clone()).await, -32004, "{method}");
    }
    for (method, code) in [
        ("CancelTask", -32002),
        ("tasks/cancel", -32002),
        ("SubscribeToTask", -32004),
        ("tasks/resubscribe", -32004),
    ] {
        assert_eq!(refused(&client, method, json!({ "id": ended })).await, code, "{method}");
    }
}

#[tokio::test]
async fn http_binding_uses_its_error_format() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let send = async |method: &str, path: &str, kind: &str, body: &str| {
        let request = client.request(method.parse().unwrap(), path).header("content-type", kind);
        let reply = client.send(request.body(body.to_owned())).await;
        let status = reply.status;
        assert!((400..500).contains(&status), "{method} {path} {body}: {status} {}", reply.text);
        let error = reply.json()["error"].clone();
        assert_eq!(error["code"], status, "{error}");
        assert!(error["details"][0]["reason"].is_string(), "{error}");
        (status, error["details"][0]["reason"].as_str().unwrap().to_owned())
    };
    for base in ["/api/a2a", "/api/a2a/v1"] {
        for (method, path) in PATHS {
            let path = format!("{base}{}", path.replace("{id}", "EP-20260131-0000000000"));
            let body = if method == "POST" {
                r#"{ "url": "https://example.com/hook", "config": { "pushNotificationConfig": { "url": "https://example.com/hook" } } }"#
            } else {
                ""
            };
            let (status, reason) = send(method, &path, "application/json", body).await;
            assert_eq!((status, reason.as_str()), (404, "TASK_NOT_FOUND"), "{method} {path}");
        }
        for path in ["/message:send", "/message:stream"] {
            let path = format!("{base}{path}");
            for body in [
                "",
                "{",
                "[]",
                "7",
                "null",
                "{}",
                r#"{ "message": 7 }"#,
                r#"{ "message": { "role": "ROLE_USER" } }"#,
            ] {
                assert_eq!(send("POST", &path, "application/json", body).await.0, 400, "{path} {body}");
            }
            let (status, reason) = send("POST", &path, "text/plain", "{}").await;
            assert_eq!((status, reason.as_str()), (415, "CONTENT_TYPE_NOT_SUPPORTED"));
            let huge = format!(r#"{{ "message": "{}" }}"#, "x".repeat(70_000));
            assert_eq!(send("POST", &path, "application/json", &huge).await.0, 413);
        }
        for query in [
            "pageSize=0",
            "pageSize=x",
            "status=done",
            "pageToken=x",
            "includeArtifacts=perhaps",
            "historyLength=-1",
        ] {
            assert_eq!(
                send("GET", &format!("{base}/tasks?{query}"), "application/json", "").await.0,
                400,
                "{query}"
            );
        }
        assert_eq!(send("POST", &format!("{base}/tasks/x:dance"), "application/json", "").await.0, 404);
        assert_eq!(send("GET", &format!("{base}/tasks/%ff"), "application/json", "").await.0, 400);
    }
    let request = client.request(Method::GET, "/api/a2a/tasks").header("a2a-version", "9.9");
    let refused = client.send(request).await.expect(400);
    assert_eq!(refused["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
}

/// The messages of the compatibility kits have a special meaning only with the feature `conformance-fixtures`.
#[cfg(not(feature = "conformance-fixtures"))]
#[tokio::test]
async fn kit_messages_are_ordinary_messages() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for id in ["tck-message-response-1", "tck-artifact-text-1", "tck-reject-task-1"] {
        let message =
            json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "tck-artifact-text" }] });
        let sent = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        let task = &sent["result"]["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{sent}");
    }
    service.anonymous().rpc("/api/a2a", "SendMessage", json!({})).await.expect(401);
}
