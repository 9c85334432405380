//! Empty values in limits: `""` and `[]` are refused, because the absence of a limit permits more.

use std::process::Command;

use ep_kernel::{Agents, Entry};
use ep_polling::MicroUsd;
use ep_tools::TOOLS;
use serde_json::{Value, json};

use crate::batches::{lines, upload};
use crate::harness::{Reply, Setup, by_rest, example, question, until};

/// Every operation with limits.
const LIMITS: [(&str, &[&str]); 7] = [
    ("poll_question", &["private"]),
    ("start_poll", &["private"]),
    ("dry_run_poll", &["private"]),
    ("poll_free", &["private"]),
    ("decide_questions", &["private"]),
    ("create_key", &["expires_at", "scope", "cap_usd", "daily_cap_usd", "funds_usd"]),
    ("create_batch", &["max_cost_usd", "private"]),
];

/// Names of arguments that limit in every operation that has them as optional ones.
const LIMITING: [&str; 8] =
    ["private", "share", "shared", "expires_at", "scope", "cap_usd", "daily_cap_usd", "funds_usd"];

/// Returns the name and the optional arguments of an operation.
fn optional(entry: &Entry) -> Vec<String> {
    let schema = entry.request().as_value();
    let required = schema["required"].to_string();
    let names = schema["properties"].as_object().into_iter().flat_map(|members| members.keys());
    names.filter(|name| !required.contains(&format!("\"{name}\""))).cloned().collect()
}

#[test]
fn every_limit_is_marked_and_described() {
    for entry in TOOLS.iter() {
        let name = entry.spec.name;
        let expected = LIMITS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, limits)| limits);
        assert_eq!(entry.limits(), expected, "{name}");
        for argument in optional(entry).iter().filter(|argument| LIMITING.contains(&argument.as_str())) {
            assert!(entry.limits().contains(argument), "{argument} of {name} is not marked as a limit");
        }
        for schema in [entry.input(), entry.request()] {
            let text = schema.as_value().to_string();
            assert!(!text.contains("x-limit"), "{name}: {text}");
            let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let empty = described.contains("null, \"\" or [] omits");
            assert!(entry.limits().is_empty() || !empty, "{name}: {described}");
            assert_eq!(optional(entry).is_empty(), !described.contains("omits an optional field"), "{name}");
        }
    }
}

fn refuses(refused: &str, limit: &str) -> bool {
    refused.contains(&format!("{limit} is empty: send null or omit it"))
}

#[tokio::test]
async fn an_empty_limit_is_refused_on_every_surface() {
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let keys = async || client.get("/api/keys").await.expect(200).as_array().unwrap().len();
    let before = keys().await;
    for (name, limits) in LIMITS {
        let entry = ep_tools::find(name).unwrap();
        let nobody = service.anonymous();
        let caller = if entry.spec.access.key { &client } else { &nobody };
        for (limit, empty) in limits.iter().flat_map(|limit| [(limit, json!("")), (limit, json!([]))]) {
            let mut input = example(entry);
            input[limit] = empty;
            for rest in entry.bindings() {
                let reply: Reply = by_rest(caller, rest, &input).await;
                assert!(refuses(&reply.text, limit), "{name}.{limit}: {}", reply.text);
            }
            if entry.spec.agents == Agents::None || !entry.spec.access.key {
                continue;
            }
            let refused = client.tool(name, input.clone()).await;
            assert!(refuses(&refused.to_string(), limit), "{name}.{limit}: {refused}");
            let refused = client.skill(name, &input).await["error"]["message"].take();
            assert!(refuses(&refused.to_string(), limit), "{name}.{limit}: {refused}");
        }
    }
    assert_eq!(keys().await, before, "a key was created");
    let mut all = json!({ "label": "x" });
    for limit in ["expires_at", "scope", "cap_usd", "daily_cap_usd", "funds_usd"] {
        all[limit] = json!("");
    }
    all["label"] = json!(7);
    let refused = client.post("/api/keys", &all).await.refused(400);
    for limit in ["expires_at", "scope", "cap_usd", "daily_cap_usd", "funds_usd"] {
        assert!(refuses(&refused, limit), "{limit}: {refused}");
        all[limit] = Value::Null;
    }
    assert!(refused.contains("label"), "{refused}");
    all["label"] = json!("x");
    assert_eq!(client.post("/api/keys", &all).await.expect(201)["scope"], "all");
    let polled = client.post("/api/poll", &question(json!({ "private": null }))).await.expect(200);
    service
        .anonymous()
        .get(&format!("/api/results/{}", polled["poll_id"].as_str().unwrap()))
        .await
        .expect(200);
}

/// A limit under a wrong name is refused even if it is empty, where unknown arguments are refused.
#[tokio::test]
async fn an_empty_limit_with_a_wrong_name_is_refused() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for (path, input) in [
        ("/api/keys", json!({ "cap": "" })),
        ("/api/keys", json!({ "expires": [] })),
        ("/api/batches", json!({ "rows": [question(json!({}))], "privat": "" })),
        ("/api/decide", json!({ "questions": [question(json!({ "private": true }))] })),
        ("/api/decide", json!({ "questions": [question(json!({ "max_cost_usd": "" }))] })),
    ] {
        client.post(path, &input).await.refused(400);
    }
    service
        .anonymous()
        .post("/api/decide", &json!({ "questions": [question(json!({ "private": true }))] }))
        .await
        .refused(400);
    client.post("/api/keys", &json!({ "cap": null })).await.expect(201);
}

#[test]
fn the_command_line_refuses_an_empty_limit() {
    let data = tempfile::tempdir().unwrap();
    for (name, input) in
        [("create_key", json!({ "cap_usd": "" })), ("poll_question", question(json!({ "private": [] })))]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(["call", name, &input.to_string()]);
        let run =
            command.env_clear().env("EP_DATA_DIR", data.path()).env("EP_DEMO_PACE", "0").output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.code() == Some(2) && stderr.contains("send null or omit it"), "{stderr}");
    }
}

#[tokio::test]
async fn an_empty_value_in_a_row_does_not_publish_its_poll() {
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let asked = json!({ "question": "Which of the two is it?", "options": ["Tea", "Water"], "private": "" });
    for empty in ["", "[]"] {
        let mut row = asked.clone();
        row["private"] = if empty.is_empty() { json!("") } else { json!([]) };
        let refused =
            client.post("/api/batches", &json!({ "rows": [row], "private": false })).await.refused(400);
        assert!(refused.contains("rows[0].private"), "{refused}");
    }
    // The first row is asked with the privacy of its batch, because null is absent.
    let mut absent = asked.clone();
    absent["private"] = Value::Null;
    let row = |id: &str, body| json!({ "custom_id": id, "method": "POST", "url": "/api/poll", "body": body });
    let file = upload(&client, &format!("{}\n{}", row("null", absent), row("empty", asked))).await;
    let batch = client.post("/api/batches", &json!({ "input_file_id": file })).await.expect(202);
    let id = batch["batch_id"].as_str().unwrap();
    let read = async || client.get(&format!("/api/batches/{id}")).await.expect(200);
    let batch = until("the batch has ended", read, |batch| batch["ended_at"].is_string()).await;
    assert_eq!(batch["status"], "completed", "{batch}");
    let failed = lines(&client, &batch["error_file_id"]).await;
    assert_eq!((failed.len(), &failed[0]["custom_id"]), (1, &json!("empty")), "{failed:?}");
    assert!(refuses(&failed[0].to_string(), "private"), "{failed:?}");
    let done = lines(&client, &batch["output_file_id"]).await;
    let poll = done[0]["response"]["body"]["poll_id"].as_str().unwrap();
    service.anonymous().get(&format!("/api/results/{poll}")).await.refused(404);
    client.get(&format!("/api/results/{poll}")).await.expect(200);
}
