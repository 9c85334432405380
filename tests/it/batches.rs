//! Batches: files, rows, results, money and errors, by OpenAI's endpoints and by the operations.

use std::path::Path;
use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Script, ScriptedUpstream};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::crash::{admin, started};
use crate::harness::{Client, Reply, Service, Setup, WebhookReceiver, until};

pub const CHAT: &str = "/v1/chat/completions";
const BOUNDARY: &str = "rows";

/// A row that decides a grade.
fn row(id: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "grade": { "enum": ["pass", "fail"] } }, "required": ["grade"] });
    let body = json!({
        "messages": [{ "role": "user", "content": format!("Grade the answer {id}.") }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "grade", "schema": schema } },
    });
    json!({ "custom_id": id, "method": "POST", "url": CHAT, "body": body })
}

pub(crate) fn rows(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|number| row(&format!("row-{number}")).to_string()).collect();
    lines.join("\n") + "\n"
}

/// Returns the form of an upload.
pub fn form(purpose: &str, content: &str) -> String {
    format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n{content}\r\n--{BOUNDARY}\r\n\
         Content-Disposition: form-data; name=\"purpose\"\r\n\r\n{purpose}\r\n--{BOUNDARY}--\r\n"
    )
}

pub async fn send_form(client: &Client, form: String) -> Reply {
    // In pieces without a length, as JavaScript's client sends it.
    let pieces: Vec<_> =
        form.into_bytes().chunks(4000).map(|part| Ok::<_, std::io::Error>(part.to_vec())).collect();
    let body = reqwest::Body::wrap_stream(futures::stream::iter(pieces));
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    client.send(client.request(Method::POST, "/v1/files").header("content-type", kind).body(body)).await
}

/// Uploads a file of rows.
pub(crate) async fn upload(client: &Client, content: &str) -> String {
    let file = send_form(client, form("batch", content)).await.expect(200);
    assert_eq!((&file["object"], &file["bytes"]), (&json!("file"), &json!(content.len())));
    file["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn create(client: &Client, file: &str) -> String {
    let request = json!({ "input_file_id": file, "endpoint": CHAT, "completion_window": "24h" });
    let batch = client.post("/v1/batches", &request).await.expect(200);
    assert_eq!((&batch["object"], &batch["status"]), (&json!("batch"), &json!("validating")));
    batch["id"].as_str().unwrap().to_owned()
}

/// Waits for the end of a batch.
pub(crate) async fn ended(client: &Client, id: &str) -> Value {
    let read = async || client.get(&format!("/v1/batches/{id}")).await.expect(200);
    until("the batch has ended", read, |batch| {
        !["validating", "in_progress", "cancelling"].contains(&batch["status"].as_str().unwrap())
    })
    .await
}

/// Returns the lines of a file.
pub async fn lines(client: &Client, file: &Value) -> Vec<Value> {
    let reply = client.get(&format!("/v1/files/{}/content", file.as_str().unwrap())).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/octet-stream"));
    reply.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) async fn account(service: &Service) -> Client {
    service.user_with(MicroUsd::new(5_000_000)).await.1
}

/// Returns the balance and the held amount, in cents.
async fn money(client: &Client) -> (i64, i64) {
    let balance = client.get("/api/balance").await.expect(200);
    (balance["balance_cents"].as_i64().unwrap(), balance["held_cents"].as_i64().unwrap())
}

#[tokio::test]
async fn rows_are_answered_and_errors_have_a_file_of_their_own() {
    let service = Setup::demo().boot().await;
    let (client, stranger) = (account(&service).await, account(&service).await);
    let mut bad = row("bad");
    bad["body"]["messages"] = json!([]);
    let content = format!("{}\n{bad}\n", rows(12)).replace(r#""body":{"#, r#""body":{"model":"trio","#);
    let file = upload(&client, &content).await;
    let id = create(&client, &file).await;
    let batch = ended(&client, &id).await;
    assert_eq!(batch["status"], "completed", "{batch}");
    assert_eq!(batch["request_counts"], json!({ "total": 13, "completed": 12, "failed": 1 }));
    let answers = lines(&client, &batch["output_file_id"]).await;
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer["custom_id"], format!("row-{number}"));
        let response = &answer["response"];
        assert_eq!((&response["status_code"], &answer["error"]), (&json!(200), &Value::Null), "{answer}");
        let message = response["body"]["choices"][0]["message"].clone();
        assert!(message["content"].is_string() || message["refusal"].is_string(), "{message}");
    }
    let sum = |name: &str| -> u64 {
        answers.iter().map(|answer| answer["response"]["body"]["usage"][name].as_u64().unwrap()).sum()
    };
    let usage = &batch["usage"];
    assert!(sum("total_tokens") > 0 && usage["total_tokens"] == sum("total_tokens"), "{batch}");
    assert_eq!((&usage["input_tokens"], &batch["model"]), (&json!(sum("prompt_tokens")), &json!("trio")));
    let errors = lines(&client, &batch["error_file_id"]).await;
    assert_eq!(errors[0]["custom_id"], "bad");
    assert_eq!(errors[0]["response"]["status_code"], 400);
    assert_eq!(errors[0]["response"]["body"]["error"]["code"], "unsupported_value");
    // The polls are private, and their cost is that of the batch.
    let poll = answers[0]["response"]["body"]["poll"]["poll_id"].as_str().unwrap();
    assert_eq!(stranger.get(&format!("/api/results/{poll}")).await.status, 404);
    assert_eq!(client.get(&format!("/api/results/{poll}")).await.status, 200);
    assert!(batch["poll"]["cost_usd"].as_f64().unwrap() > 0.0 && batch["poll"]["held_usd"] == 0.0, "{batch}");
    assert_eq!(money(&client).await.1, 0);

    // The file is as it was uploaded, and all of it belongs to one account.
    let uploaded = client.get(&format!("/v1/files/{file}/content")).await;
    assert_eq!(uploaded.text, content);
    for path in [format!("/v1/files/{file}"), format!("/v1/batches/{id}"), format!("/api/batches/{id}")] {
        assert_eq!(client.get(&path).await.status, 200, "{path}");
        assert_eq!(stranger.get(&path).await.status, 404, "{path}");
    }
    let output = batch["output_file_id"].as_str().unwrap();
    assert_eq!(stranger.get(&format!("/v1/files/{output}/content")).await.status, 404);
    assert_eq!(stranger.get("/v1/batches").await.expect(200)["data"], json!([]));
    let listed = client.get("/v1/files?limit=2").await.expect(200);
    assert_eq!(
        (&listed["first_id"], &listed["last_id"], &listed["has_more"]),
        (&json!(file), &json!(output), &json!(true))
    );
    let rest = client.get(&format!("/v1/files?after={output}")).await.expect(200);
    assert_eq!((&rest["first_id"], &rest["has_more"]), (&batch["error_file_id"], &json!(false)));
    for deleted in [file.as_str(), output] {
        let gone =
            client.send(client.request(Method::DELETE, &format!("/v1/files/{deleted}"))).await.expect(200);
        assert_eq!(gone["deleted"], true);
        assert_eq!(client.get(&format!("/v1/files/{deleted}")).await.status, 404);
        assert_eq!(client.get(&format!("/v1/files/{deleted}/content")).await.status, 404);
    }
}

#[tokio::test]
async fn a_key_for_reading_changes_nothing() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let file = upload(&client, &rows(2)).await;
    let id = create(&client, &file).await;
    let reading = client.post("/api/keys", &json!({ "scope": "read" })).await.expect(201);
    let reader = client.with_key(reading["key"].as_str().unwrap());
    let request = json!({ "input_file_id": file, "endpoint": CHAT });
    for reply in [
        send_form(&reader, form("batch", "{}")).await,
        reader.post("/v1/batches", &request).await,
        reader.post(&format!("/v1/batches/{id}/cancel"), &json!({})).await,
        reader.send(reader.request(Method::DELETE, &format!("/v1/files/{file}"))).await,
    ] {
        assert_eq!(reply.status, 403, "{}", reply.text);
    }
    assert_eq!(reader.get(&format!("/v1/batches/{id}")).await.status, 200);
    assert_eq!(ended(&client, &id).await["status"], "completed");
}

#[tokio::test]
async fn accounts_take_turns() {
    let mut script = Script::panel(3);
    script.default.latency = Duration::from_millis(60);
    let service = Setup::scripted(script).with("EP_BATCH_ROWS", "4").boot().await;
    let mut large = Vec::new();
    for _ in 0..3 {
        let client = account(&service).await;
        let id = create(&client, &upload(&client, &rows(60)).await).await;
        large.push((client, id));
    }
    let client = account(&service).await;
    let small = create(&client, &upload(&client, &rows(3)).await).await;
    assert_eq!(ended(&client, &small).await["request_counts"]["completed"], 3);
    let mut done = Vec::new();
    for (client, id) in &large {
        let batch = client.get(&format!("/v1/batches/{id}")).await.expect(200);
        done.push(batch["request_counts"]["completed"].as_u64().unwrap());
    }
    assert!(done.iter().all(|rows| *rows < 60), "{done:?}");
    for (client, id) in &large {
        client.post(&format!("/v1/batches/{id}/cancel"), &json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn wrong_files_and_requests_name_the_problem() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let (good, other) = (row("a"), json!({ "custom_id": "b", "url": "/v1/responses", "body": {} }));
    let file = upload(&client, &format!("{good}\nnot json\n{good}\n{other}")).await;
    let batch = ended(&client, &create(&client, &file).await).await;
    assert_eq!((&batch["status"], &batch["output_file_id"]), (&json!("failed"), &Value::Null));
    let errors = batch["errors"]["data"].as_array().unwrap();
    let found: Vec<(&str, u64)> =
        errors.iter().map(|e| (e["code"].as_str().unwrap(), e["line"].as_u64().unwrap())).collect();
    assert_eq!(found, [("invalid_json_line", 2), ("duplicate_custom_id", 3), ("url_mismatch", 4)]);
    let empty = upload(&client, "\n\n").await;
    let batch = ended(&client, &create(&client, &empty).await).await;
    assert_eq!(batch["errors"]["data"][0]["code"], "empty_file");

    for (form, status, param) in [
        (form("assistants", "{}"), 400, "purpose"),
        (form("batch", &"x".repeat((1 << 20) + 1)), 400, "file"),
        (
            format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}--\r\n"
            ),
            400,
            "file",
        ),
        (form("batch", "{}").replace("--rows--\r\n", ""), 400, ""),
    ] {
        let refused = send_form(&client, form).await.expect(status);
        assert_eq!(refused["error"]["param"].as_str().unwrap_or_default(), param, "{refused}");
    }
    let text = client.post("/v1/files", &json!({})).await.expect(415);
    assert!(text["error"]["message"].as_str().unwrap().contains("multipart/form-data"), "{text}");
    for (request, status, param) in [
        (json!({ "endpoint": CHAT }), 400, "input_file_id"),
        (json!({ "input_file_id": file, "endpoint": "/v1/embeddings" }), 400, "endpoint"),
        (
            json!({ "input_file_id": file, "endpoint": CHAT, "completion_window": "1h" }),
            400,
            "completion_window",
        ),
        (json!({ "input_file_id": file, "endpoint": CHAT, "metadata": { "a": 1 } }), 400, "metadata"),
        (json!({ "input_file_id": format!("file-{}", "0".repeat(32)), "endpoint": CHAT }), 404, ""),
    ] {
        let refused = client.post("/v1/batches", &request).await.expect(status);
        assert_eq!(refused["error"]["param"].as_str().unwrap_or_default(), param, "{refused}");
    }
    let free = client.with_key("free");
    let refused = free.get("/v1/batches").await.expect(401);
    assert!(!refused["error"]["message"].as_str().unwrap().contains("key free"), "{refused}");
}

#[tokio::test]
async fn rows_that_cannot_be_asked_are_refused_before_they_are_many() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let poll = |number: usize, more: Value| {
        let mut body = json!({ "question": "Which is it, of both?", "options": ["a", "b"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "custom_id": format!("r{number}"), "method": "POST", "url": "/api/poll", "body": body })
            .to_string()
    };
    let batch_of = async |lines: Vec<String>| {
        let file = upload(&client, &lines.join("\n")).await;
        let request = json!({ "input_file_id": file, "endpoint": "/api/poll" });
        let batch = client.post("/v1/batches", &request).await.expect(200);
        ended(&client, batch["id"].as_str().unwrap()).await
    };
    // A misspelt limit has no effect, so its row is refused.
    let batch = batch_of(vec![poll(0, json!({})), poll(1, json!({ "max_cost_usdd": 1 }))]).await;
    assert_eq!(batch["request_counts"], json!({ "total": 2, "completed": 1, "failed": 1 }));
    let error = &lines(&client, &batch["error_file_id"]).await[0]["response"]["body"];
    assert!(error.to_string().contains("max_cost_usdd is not an argument of poll_question"), "{error}");
    // The errors of many such rows would cost nothing.
    let rows = (0..1001).map(|number| poll(number, json!({ "preset": "none" })));
    let batch = batch_of(rows.collect()).await;
    assert_eq!((&batch["status"], &batch["output_file_id"]), (&json!("failed"), &Value::Null));
    let errors = batch["errors"]["data"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]["line"]), (100, &json!(1)), "{}", errors[0]);
    assert!(errors[0]["message"].as_str().unwrap().contains("preset"), "{}", errors[0]);
}

#[tokio::test]
async fn refused_batches_leave_no_file() {
    let service = Setup::scripted(Script { held: true, ..Script::panel(2) }).boot().await;
    let client = account(&service).await;
    let rows = json!({ "rows": [{ "question": "Which is it, of both?", "options": ["a", "b"] }], "max_cost_usd": 0.01 });
    let created = async || client.post("/api/batches", &rows).await.status;
    for _ in 0..50 {
        assert_eq!(created().await, 202);
    }
    assert_eq!(created().await, 409);
    let files = client.get("/v1/files?limit=100").await.expect(200);
    assert_eq!(files["data"].as_array().unwrap().len(), 50);
    service.upstream().release(1000);
}

#[tokio::test]
async fn the_money_of_a_batch_is_set_aside_together() {
    let service = Setup::scripted(Script { held: true, ..Script::panel(3) }).boot().await;
    let client = account(&service).await;
    let file = upload(&client, &rows(8)).await;
    let request = json!({ "input_file_id": file, "endpoint": CHAT });
    let started =
        client.post_with("/v1/batches", &request, &[("poll-max-cost-usd", "0.5")]).await.expect(200);
    let id = started["id"].as_str().unwrap();
    let read = async || client.get(&format!("/api/batches/{id}")).await.expect(200);
    let in_progress = until("the batch is in progress", read, |batch| batch["status"] == "in_progress").await;
    assert_eq!(in_progress["max_cost_usd"], 0.5);
    let held = in_progress["held_usd"].as_f64().unwrap();
    assert!(held > 0.0 && held <= 0.5, "{in_progress}");
    let file_in_use = client.send(client.request(Method::DELETE, &format!("/v1/files/{file}"))).await;
    assert_eq!(file_in_use.status, 409, "{}", file_in_use.text);
    // A retry of the request does not create a second batch.
    let retry = [("poll-max-cost-usd", "0.5"), ("x-stainless-retry-count", "1")];
    assert_eq!(client.post_with("/v1/batches", &request, &retry).await.expect(200)["id"], id);
    service.upstream().release(1000);
    let batch = ended(&client, id).await;
    assert_eq!(batch["request_counts"], json!({ "total": 8, "completed": 8, "failed": 0 }));
    let cost = batch["poll"]["cost_usd"].as_f64().unwrap();
    let (balance, held) = money(&client).await;
    assert!(held == 0 && cost > 0.0 && cost <= 0.5, "{batch}");
    assert!((500 - balance - (cost * 100.0).round() as i64).abs() <= 1, "{balance} {cost}");

    // A maximum below the worst case of a row asks nothing, and too little for all rows fails the last ones.
    let low =
        client.post_with("/v1/batches", &request, &[("poll-max-cost-usd", "0.000001")]).await.expect(200);
    let low = ended(&client, low["id"].as_str().unwrap()).await;
    assert_eq!(
        (&low["status"], &low["errors"]["data"][0]["code"]),
        (&json!("failed"), &json!("max_cost_too_low"))
    );

    // Without money for one row, nothing is asked.
    let poor = service.user_with(MicroUsd::new(1)).await.1;
    let file = upload(&poor, &rows(1)).await;
    let batch = ended(&poor, &create(&poor, &file).await).await;
    assert_eq!(
        (&batch["status"], &batch["errors"]["data"][0]["code"]),
        (&json!("failed"), &json!("insufficient_balance"))
    );
}

#[tokio::test]
async fn a_repeated_request_for_a_batch_is_marked() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let file = upload(&client, &rows(1)).await;
    let request = json!({ "input_file_id": file, "endpoint": CHAT });
    let key = [("idempotency-key", "batch-1")];
    let first = client.post_with("/v1/batches", &request, &key).await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, ""), "{}", first.text);
    let retry = [("x-stainless-retry-count", "1")];
    for headers in [&key, &retry] {
        let again = client.post_with("/v1/batches", &request, headers).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"), "{}", again.text);
        assert_eq!(again.json()["id"], first.json()["id"]);
    }
    let new = client.post_with("/v1/batches", &request, &[("idempotency-key", "batch-2")]).await;
    assert_eq!((new.status, new.header("idempotent-replayed")), (200, ""), "{}", new.text);
    assert_ne!(new.json()["id"], first.json()["id"]);
}

#[tokio::test]
async fn a_cancelled_batch_finishes_what_was_begun() {
    let script = Script { held: true, ..Script::panel(3) };
    let service = Setup::scripted(script).with("EP_BATCH_ROWS", "2").boot().await;
    let client = account(&service).await;
    let file = upload(&client, &rows(6)).await;
    let id = create(&client, &file).await;
    let listed = async || client.get(&format!("/api/polls?batch_id={id}")).await.expect(200);
    until("two rows have polls", listed, |polls| polls["polls"].as_array().unwrap().len() >= 2).await;
    let cancelling = client.post(&format!("/v1/batches/{id}/cancel"), &json!({})).await.expect(200);
    assert_eq!(cancelling["status"], "cancelling");
    service.upstream().release(1000);
    let batch = ended(&client, &id).await;
    assert_eq!((&batch["status"], &batch["request_counts"]["completed"]), (&json!("cancelled"), &json!(2)));
    assert_eq!(batch["request_counts"]["failed"], 4);
    let unasked = lines(&client, &batch["error_file_id"]).await;
    assert_eq!(unasked.len(), 4);
    assert_eq!(
        (&unasked[0]["custom_id"], &unasked[0]["error"]["code"]),
        (&json!("row-2"), &json!("batch_cancelled"))
    );
    let size =
        client.get(&format!("/v1/files/{}", batch["error_file_id"].as_str().unwrap())).await.expect(200);
    let sent = client.get(&format!("/v1/files/{}/content", batch["error_file_id"].as_str().unwrap())).await;
    assert_eq!(size["bytes"], sent.text.len());
    assert_eq!(money(&client).await.1, 0);
    assert_eq!(
        client.post(&format!("/api/batches/{id}/cancel"), &json!({})).await.expect(200)["status"],
        "cancelled"
    );
}

#[tokio::test]
async fn an_agent_creates_a_batch_of_questions() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let rows = json!([
        { "question": "Which of the two is better?", "options": ["Alpha", "Beta"] },
        { "id": "second", "question": "Which is the worse one?", "options": ["Alpha", "Beta"] },
    ]);
    let call = async |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let reply = client.rpc("/api/mcp?toolsets=all", "tools/call", params).await;
        let body: Value = serde_json::from_str(reply.text.trim_start_matches("data:").trim()).unwrap();
        body["result"]["structuredContent"].clone()
    };
    let created = call("create_batch", json!({ "rows": rows, "preset": "trio", "complete": true })).await;
    let id = created["batch_id"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    assert_eq!(ended(&client, &id).await["status"], "completed");
    let results = call("get_batch_results", json!({ "batch_id": id })).await;
    let answers = results["results"].as_array().unwrap();
    let voters = |row: &Value| row["response"]["body"]["votes"].as_array().map(Vec::len);
    assert!(answers.iter().all(|row| voters(row) == Some(3)), "{results}");
    assert_eq!(
        (&results["results"][0]["custom_id"], &results["results"][1]["custom_id"]),
        (&json!("1"), &json!("second"))
    );
    // The same key creates one batch.
    let key = [("idempotency-key", "batch-1")];
    let request = json!({ "rows": rows });
    let first = client.post_with("/api/batches", &request, &key).await.expect(202);
    let again = client.post_with("/api/batches", &request, &key).await;
    assert_eq!(
        (again.header("idempotent-replayed"), &again.json()["batch_id"]),
        ("true", &first["batch_id"])
    );
    for (request, field) in [
        (json!({}), "rows"),
        (json!({ "rows": [{ "question": "Short", "options": ["a", "b"] }] }), "rows[0].question"),
        (
            json!({ "input_file_id": "file-1", "max_cost_us": 1 }),
            "max_cost_us is not an argument of create_batch",
        ),
        (
            json!({ "rows": [{ "question": "Which is it, of both?", "options": ["a", "b"], "max_cost_us": 1 }] }),
            "rows[0].max_cost_us is not an argument of a row; did you mean max_cost_usd?",
        ),
        (
            json!({ "rows": [{ "question": "Which is it, of both?", "options": ["a", "b"], "private": false }] }),
            "other arguments are for the whole batch",
        ),
        (json!({ "rows": [{ "question": "Which is it, of one?", "options": ["a"] }] }), "rows[0].options"),
        (json!({ "rows": rows, "preset": "trio", "models": ["a", "b"] }), "models"),
        (json!({ "input_file_id": "file-1" }), "input_file_id"),
    ] {
        let refused =
            client.post_with("/api/batches", &request, &[("accept", "application/problem+json")]).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains(field), "{field}: {}", refused.text);
    }
}

#[tokio::test]
async fn the_end_of_a_batch_is_notified_instead_of_its_polls() {
    let receiver = WebhookReceiver::start().await;
    let service = Setup::demo().with("EP_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8").boot().await;
    let client = account(&service).await;
    let url = json!({ "url": format!("{}/all", receiver.url) });
    client.post("/api/account/webhook", &url).await.expect(200);
    let secret = client.post("/api/account/webhook/secret", &json!({})).await.expect(200);
    receiver.check_with(secret["secret"].as_str().unwrap()).await;
    let rows = json!([{ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] }]);
    let request =
        json!({ "rows": rows, "notify_url": format!("{}/own", receiver.url), "metadata": { "run": "7" } });
    let id = client.post("/api/batches", &request).await.expect(202)["batch_id"].clone();
    let received = receiver.received(1).await;
    assert_eq!((&received[0]["path"], &received[0]["headers"]["webhook-id"]), (&json!("/own"), &id));
    let event = &received[0]["verified"];
    assert_eq!((&event["type"], &event["data"]["batch_id"]), (&json!("batch.completed"), &id), "{event}");
    assert_eq!(event["data"]["rows"], json!({ "total": 1, "completed": 1, "failed": 0 }));
    assert_eq!(event["data"]["metadata"]["run"], "7");
    ended(&client, id.as_str().unwrap()).await;
    let path = format!("/api/batches/{}", id.as_str().unwrap());
    until(
        "the notification is delivered",
        async || client.get(&path).await.expect(200),
        |batch| batch["notification"]["state"] == "delivered",
    )
    .await;
    let listed = client.get("/api/account/webhook").await.expect(200);
    assert_eq!(listed["notifications"], json!([]));
    let refused =
        client.post("/api/batches", &json!({ "rows": rows, "notify_url": "ftp://example.com" })).await;
    assert!(refused.refused(400).contains("notify_url"));
}

async fn serve(data: &Path, upstream: &ScriptedUpstream, database: Option<&str>) -> (Child, Client) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear().env("EP_BATCH_ROWS", "6");
    let (child, url) = started(command, data, upstream, database, 1500).await;
    let arguments = ["create-user", "--email", "a@example.com", "--credit-usd", "5", "--json"];
    let key = std::fs::read_to_string(data.join("key")).ok();
    let key = if let Some(key) = key {
        key
    } else {
        let key = admin(data, database, &arguments).await["api_key"].as_str().unwrap().to_owned();
        std::fs::write(data.join("key"), &key).unwrap();
        key
    };
    (child, Client::new(&url, Some(key)))
}

/// A panel whose models take up to 120 ms.
fn slow() -> Script {
    let mut script = Script::panel(5);
    (script.default.latency, script.default.jitter) = (Duration::from_millis(20), Duration::from_millis(100));
    script
}

/// Checks that each row was asked and paid once.
async fn assert_asked_once(client: &Client, id: &str, count: usize, data: &Path, database: Option<&str>) {
    let batch = ended(client, id).await;
    assert_eq!(
        batch["request_counts"],
        json!({ "total": count, "completed": count, "failed": 0 }),
        "{batch}"
    );
    let answers = lines(client, &batch["output_file_id"]).await;
    let polls: std::collections::BTreeSet<String> =
        answers.iter().map(|row| row["response"]["body"]["poll"]["poll_id"].to_string()).collect();
    let listed = client.get(&format!("/api/polls?batch_id={id}&limit=100")).await.expect(200);
    assert_eq!((polls.len(), listed["polls"].as_array().unwrap().len()), (count, count));
    let audit = admin(data, database, &["audit", "--json"]).await;
    assert_eq!(audit["clean"], true, "{audit}");
}

#[tokio::test]
async fn rows_are_asked_once_despite_kills() {
    let data = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(slow()).unwrap();
    let (mut child, client) = serve(data.path(), &upstream, None).await;
    let id = create(&client, &upload(&client, &rows(60)).await).await;
    for _ in 0..8 {
        let before = upstream.total_calls();
        until("models are called", async || upstream.total_calls(), |calls| *calls >= before + 4).await;
        child.kill().await.unwrap();
        (child, _) = serve(data.path(), &upstream, None).await;
    }
    let (_child, client) = {
        child.kill().await.unwrap();
        serve(data.path(), &upstream, None).await
    };
    assert_asked_once(&client, &id, 60, data.path(), None).await;
}

#[tokio::test]
async fn two_replicas_share_the_rows_and_one_takes_over() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    let url = Some(database.url());
    let data = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(slow()).unwrap();
    let (mut first, client) = serve(data.path(), &upstream, url).await;
    let (_second, other) = serve(data.path(), &upstream, url).await;
    let id = create(&client, &upload(&client, &rows(60)).await).await;
    let read = async || other.get(&format!("/v1/batches/{id}")).await.expect(200);
    until("eight rows are completed", read, |batch| batch["request_counts"]["completed"].as_u64() >= Some(8))
        .await;
    first.kill().await.unwrap();
    assert_asked_once(&other, &id, 60, data.path(), url).await;
}
