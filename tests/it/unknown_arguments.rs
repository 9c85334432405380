//! Arguments that an operation does not know, and arguments that are sent in another form.

use ep_kernel::Access;
use ep_polling::MicroUsd;
use ep_tools::TOOLS;
use ep_upstream::testing::{Script, priced};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, by_rest, example, question};

#[tokio::test]
async fn an_unknown_argument_is_refused_where_dropping_it_grants_more() {
    let service = Setup::demo().boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let before = client.get("/api/keys").await.expect(200).as_array().unwrap().len();
    let wish = json!({ "label": "x", "scop": "read", "daily_cap": 1, "expires": "2030-01-01T00:00:00Z" });
    let refused = client.post("/api/keys", &wish).await.refused(400);
    for (given, nearest) in [("scop", "scope"), ("daily_cap", "daily_cap_usd"), ("expires", "expires_at")] {
        let advice = format!("{given} is not an argument of create_key; did you mean {nearest}?");
        assert!(refused.contains(&advice), "{refused}");
    }
    let keys = client.get("/api/keys?unknown_name=1").await.expect(200);
    assert_eq!(keys.as_array().unwrap().len(), before, "a key was created");

    let cookie = service.cookie(user).await;
    let openapi = client.get("/api/openapi.json").await.expect(200);
    let mut checked = 0;
    for entry in TOOLS.iter().filter(|entry| entry.spec.refuses_unknown()) {
        let Some(rest) = entry.spec.rest else { continue };
        let mut input = example(entry);
        if entry.input().get("properties").is_none() {
            continue;
        }
        let path = rest.path.replace(['{', '}'], "");
        let by_cookie = entry.spec.access.and(rest.only) == Access::COOKIE;
        let caller = if by_cookie { service.anonymous() } else { client.clone() };
        let request = caller.request(rest.method.as_str().parse().unwrap(), &path);
        let request = match rest.method.as_str() {
            "POST" => {
                input["unknown_name"] = json!(1);
                request.json(&input)
            }
            _ => request.query(&[("unknown_name", "1")]),
        };
        let request = if by_cookie {
            request.header("cookie", &cookie).header("sec-fetch-site", "same-origin")
        } else {
            request
        };
        let reply = caller.send(request).await;
        let expected = format!("unknown_name is not an argument of {}", entry.spec.name);
        assert!(reply.refused(400).contains(&expected), "{}", entry.spec.name);
        let method = rest.method.as_str().to_lowercase();
        let body =
            &openapi["paths"][rest.path][&method]["requestBody"]["content"]["application/json"]["schema"];
        if let Some(name) = body["$ref"].as_str() {
            let schema = openapi.pointer(&name[1..]).unwrap();
            assert_eq!(schema["additionalProperties"], false, "{}", entry.spec.name);
        }
        checked += 1;
    }
    assert!(checked > 10, "{checked}");
    // Reads and polls stay tolerant.
    for entry in TOOLS.iter().filter(|entry| !entry.spec.refuses_unknown()) {
        let mut input = example(entry);
        input["unknown_name"] = json!(1);
        if let Some(rest) = entry.spec.rest {
            let reply = by_rest(&client, rest, &input).await;
            assert!(!reply.text.contains("is not an argument"), "{}: {}", entry.spec.name, reply.text);
        }
    }
}

#[test]
fn the_command_line_refuses_an_unknown_argument_too() {
    let data = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ep"));
    command.args(["call", "create_key", r#"{ "scop": "read" }"#]);
    let run = command.env_clear().env("EP_DATA_DIR", data.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && stderr.contains("did you mean scope?"), "{stderr}");
}

#[tokio::test]
async fn an_idempotency_key_in_the_body_counts_as_the_header() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let keyed = question(json!({ "idempotency_key": "order-7" }));
    let first = client.post("/api/poll", &keyed).await;
    assert_eq!(first.header("idempotency-key"), "order-7");
    let first = first.expect(200);
    let again = client.post("/api/poll", &keyed).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(200)["poll_id"], first["poll_id"]);
    let header = [("idempotency-key", "\"order-7\"")];
    for same in [&question(json!({})), &keyed] {
        let reply = client.post_with("/api/poll", same, &header).await.expect(200);
        assert_eq!(reply["poll_id"], first["poll_id"]);
    }
    let other = [("idempotency-key", "order-8")];
    let refused = client.post_with("/api/poll", &keyed, &other).await.refused(400);
    assert!(refused.contains("differs from the Idempotency-Key header"), "{refused}");
    for wrong in [json!(7), json!("a\"b"), json!({})] {
        let body = question(json!({ "idempotency_key": wrong }));
        client.post("/api/poll", &body).await.refused(400);
    }
    // The other ways to open a poll.
    let started =
        async |path: &str| client.post(path, &keyed).await.json()["poll_id"].as_str().unwrap().to_owned();
    assert_eq!(started("/api/polls").await, started("/api/polls").await);
    let streamed = client.post("/api/poll/stream", &keyed).await;
    assert_eq!(streamed.header("idempotency-key"), "order-7");
    let nobody = service.anonymous();
    let free = json!({ "question": "Is a hot dog a sandwich?", "idempotency_key": "free-1" });
    let asked = async || nobody.post("/api/poll", &free).await.expect(200)["poll_id"].clone();
    assert_eq!(asked().await, asked().await);
    // A key that exists once is no second argument of an operation that refuses unknown ones.
    let key = json!({ "label": "x", "idempotency_key": "key-1" });
    let made = async || client.post("/api/keys", &key).await.expect(201)["id"].clone();
    assert_eq!(made().await, made().await);
}

#[tokio::test]
async fn an_empty_unknown_argument_does_not_make_another_request() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let key = [("idempotency-key", "one")];
    let first = client.post_with("/api/poll", &question(json!({})), &key).await.expect(200);
    for empty in [json!(null), json!(""), json!([])] {
        let body = question(json!({ "costs": empty, "idempotency_key": empty, "num_models": empty }));
        let again = client.post_with("/api/poll", &body, &key).await.expect(200);
        assert_eq!(again["poll_id"], first["poll_id"], "{empty}");
    }
}

#[tokio::test]
async fn schemas_allow_null_where_it_is_a_value() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let openapi = client.get("/api/openapi.json").await.expect(200);
    let intents = client.get("/api/intents").await.expect(200);
    for (name, path, field, kind) in [
        ("set_webhook", "/api/account/webhook", "url", "string"),
        ("set_confirmation", "/api/account/confirmation", "above_usd", "number"),
    ] {
        let body = &openapi["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        let described = openapi.pointer(&body["$ref"].as_str().unwrap()[1..]).unwrap();
        let intent =
            intents["intents"].as_array().unwrap().iter().find(|intent| intent["operation"] == name).unwrap();
        let input = serde_json::to_value(ep_tools::find(name).unwrap().input()).unwrap();
        for schema in [described, &intent["parameters"], &input] {
            assert_eq!(schema["properties"][field]["type"], json!([kind, "null"]), "{schema}");
            assert_eq!(schema["required"], json!([field]), "{schema}");
            assert!(!schema.to_string().contains("x-nullable"), "{schema}");
        }
    }
}

#[tokio::test]
async fn a_free_poll_says_what_has_no_effect() {
    let models = vec![priced("maker/alone:free", "0", "0")];
    let service = Setup::scripted(Script { models, ..Script::default() }).boot().await;
    let client = service.anonymous();
    let asked = json!({
        "question": "Is a hot dog a sandwich?",
        "num_models": 3,
        "max_cost_usd": 0.01,
        "preset": "free",
        "trace_id": "x",
    });
    let reply = client.post("/api/poll", &asked).await.expect(200);
    let notices = reply["notices"].to_string();
    assert!(
        notices.contains("num_models has no effect") && notices.contains("did you mean models?"),
        "{notices}"
    );
    assert!(notices.contains("max_cost_usd has no effect in a free poll"), "{notices}");
    assert!(!notices.contains("preset has") && !notices.contains("trace_id"), "{notices}");
    let reasoning = reply["reasoning"].as_str().unwrap();
    assert!(reasoning.contains("1 vote"), "{reasoning}");
    let dry = json!({ "question": "Is a hot dog a sandwich?", "num_models": 3, "dry_run": true });
    let dry = client.post("/api/poll", &dry).await.expect(200);
    assert!(dry.to_string().contains("did you mean models?"), "{dry}");
}

/// Sends a message with these data.
async fn message(client: &Client, data: &Value, id: &str) -> Value {
    let message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "data": data }] });
    client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200)
}

#[tokio::test]
async fn an_agent_message_ignores_what_is_empty_and_names_the_right_field() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let empty = question(json!({ "idempotency_key": "", "include": [], "num_models": null }));
    let task = message(&client, &empty, "m-1").await;
    assert_eq!(task["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    let given = question(json!({ "idempotency_key": "k", "include": ["votes"] }));
    let refused = message(&client, &given, "m-2").await["error"].take();
    let text = refused["message"].as_str().unwrap();
    assert!(text.contains("messageId") && text.contains("Idempotency-Key"), "{text}");
    assert!(text.contains("include") && text.contains("leave it out"), "{text}");
}

#[tokio::test]
async fn an_agent_without_money_learns_the_ways_in() {
    let service = Setup::default()
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
        .boot()
        .await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let rest = client.post_with("/api/poll", &question(json!({})), &[("x-machine-client", "true")]).await;
    let expected = rest.expect(402)["recovery_actions"].take();
    assert!(expected.to_string().contains("add_funds"), "{expected}");
    let refused = message(&client, &question(json!({})), "m-1").await["error"].take();
    let info = refused["data"].as_array().unwrap().iter().find(|detail| detail["metadata"].is_object());
    let metadata = &info.unwrap()["metadata"];
    let actions: Value = serde_json::from_str(metadata["recovery_actions"].as_str().unwrap()).unwrap();
    assert_eq!(actions, expected);
    let sent = json!({ "message": { "messageId": "m-2", "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] } });
    let request = client.request(Method::POST, "/api/a2a/message:send").json(&sent);
    let refused = client.send(request).await.json();
    assert!(refused.to_string().contains("add_funds"), "{refused}");
}

#[tokio::test]
async fn a_poll_without_an_id_is_a_fault() {
    let service = Service::start().await;
    let client = service.user().await;
    let read = client.tool("get_poll_result", json!({ "poll_id": "" })).await;
    assert_eq!(read["content"][0]["text"], "the poll id is empty; ids look like EP-20260131-7KQ2M4X9TB");
}
