//! OpenAI's API: panels as models, decisions as chat completions, retries, money and errors.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Script, bare};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Reply, Service, Setup, until};

const CHAT: &str = "/v1/chat/completions";

/// A request for a grade, as a JSON Schema.
fn graded() -> Value {
    let grade = json!({ "type": "string", "enum": ["pass", "fail"], "description": "The verdict." });
    let schema = json!({
        "type": "object",
        "properties": { "reasoning": { "type": "string" }, "grade": grade },
        "required": ["reasoning", "grade"],
        "additionalProperties": false,
    });
    json!({
        "model": "poll",
        "messages": [{ "role": "user", "content": "Does \"4\" answer \"2 + 2\"?" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "grade", "strict": true, "schema": schema } },
        "temperature": 0,
    })
}

fn content(reply: &Reply) -> Value {
    let body = reply.json();
    serde_json::from_str(body["choices"][0]["message"]["content"].as_str().unwrap()).unwrap()
}

async fn user(service: &Service) -> Client {
    service.user_with(MicroUsd::new(5_000_000)).await.1
}

#[tokio::test]
async fn panels_are_models() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let list = client.get("/v1/models").await.expect(200);
    let names: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert!(names[0] == "poll" && names.contains(&"free") && list["object"] == "list", "{names:?}");
    assert_eq!(list["models"].as_array().unwrap().len(), names.len());
    for name in &names {
        assert_eq!(client.get(&format!("/v1/models/{name}")).await.expect(200)["object"], "model");
    }
    for (status, code, reply) in [
        (404, "model_not_found", client.get("/v1/models/gpt-4o").await),
        (404, "unknown_url", client.post("/v1/embeddings", &json!({})).await),
        (405, "method_not_allowed", client.get(CHAT).await),
    ] {
        assert_eq!(reply.status, status, "{}", reply.text);
        let error = &reply.json()["error"];
        assert!(
            error["code"] == code && error["message"].is_string() && error["type"] == "invalid_request_error",
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_preset_without_models_is_not_listed() {
    let models = (0..4).map(|n| bare(&format!("local{n}:7b"))).collect();
    let local = Setup::scripted(Script { models, ..Script::default() }).boot().await;
    let away = Setup { script: None, ..Setup::default() }.with("EP_DEMO", "off").boot().await;
    // Without a list of models, every configured preset is listed.
    for (service, lists_free) in [(local, false), (away, true)] {
        let list = service.anonymous().get("/v1/models").await.expect(200);
        let has = |name: &str| list["data"].as_array().unwrap().iter().any(|model| model["id"] == name);
        assert!(has("poll") && has("fast_and_cheap") && has("free") == lists_free, "{list}");
    }
}

#[tokio::test]
async fn names_of_other_models_are_aliases_by_choice_of_the_operator() {
    let service = Setup::demo().with("EP_OPENAI_ALIASES", "gpt-4o-mini=poll, judge = free").boot().await;
    let client = service.anonymous();
    for model in ["gpt-4o-mini", "judge"] {
        assert_eq!(client.get(&format!("/v1/models/{model}")).await.expect(200)["id"], model);
        let mut request = graded();
        request["model"] = model.into();
        assert_eq!(client.post(CHAT, &request).await.expect(200)["model"], model);
    }
}

#[tokio::test]
async fn a_decision_is_a_private_poll_with_its_evidence() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let reply = client.post(CHAT, &graded()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let (answer, body) = (content(&reply), reply.json());
    assert!(["pass", "fail"].contains(&answer["grade"].as_str().unwrap()));
    let poll = &body["poll"];
    let id = poll["poll_id"].as_str().unwrap();
    assert_eq!(
        (body["id"].as_str().unwrap(), reply.header("poll-id")),
        (format!("chatcmpl-{id}").as_str(), id)
    );
    assert!(
        answer["reasoning"].as_str().unwrap().contains("votes of simulated voters; agreement is not proof")
    );
    assert_eq!(
        (reply.header("poll-outcome"), &body["choices"][0]["finish_reason"]),
        ("decided", &json!("stop"))
    );
    let shares: f64 =
        poll["shares"].as_array().unwrap().iter().map(|share| share["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9 && poll["cost_usd"].as_f64().unwrap() > 0.0, "{poll}");
    let result = client.get(&format!("/api/results/{id}")).await.expect(200);
    let question = result["question"].as_str().unwrap();
    assert!(question.ends_with("Choose the value of \"grade\": The verdict."), "{question}");
    service.anonymous().get(&format!("/api/results/{id}")).await.refused(404);

    let published =
        client.post_with(CHAT, &graded(), &[("poll-private", "false"), ("poll-max-cost-usd", "0.5")]).await;
    let result =
        service.anonymous().get(&format!("/api/results/{}", published.header("poll-id"))).await.expect(200);
    assert_eq!(result["max_cost_usd"], 0.5);
}

#[tokio::test]
async fn functions_and_scores_are_decided_together() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let parameters = json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" }, "score": { "type": "integer", "minimum": 0, "maximum": 10 } },
        "required": ["ok", "score"],
    });
    let function = json!({ "name": "judge", "description": "Judges an answer.", "parameters": parameters });
    let mut request = json!({
        "messages": [{ "role": "system", "content": "You judge." }, { "role": "user", "content": [{ "type": "text", "text": "2 + 2 = 4" }] }],
        "tools": [{ "type": "function", "function": function }],
        "tool_choice": "required",
    });
    let body = client.post(CHAT, &request).await.expect(200);
    let message = &body["choices"][0]["message"];
    let call = &message["tool_calls"][0];
    assert!(
        message["content"].is_null() && call["type"] == "function" && call["function"]["name"] == "judge",
        "{message}"
    );
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["ok"].is_boolean() && arguments["score"].is_u64(), "{arguments}");
    let score = &body["poll"][1];
    assert_eq!(score["termination_reason"], "roster_exhausted", "a score asks the whole panel");
    // The lower median of the votes.
    let mut levels = Vec::new();
    for share in score["shares"].as_array().unwrap() {
        levels.extend(vec![share["value"].as_u64().unwrap(); share["votes"].as_u64().unwrap() as usize]);
    }
    assert_eq!(arguments["score"], levels[(levels.len() - 1) / 2]);

    // The same as events, and in the older form.
    request["stream"] = true.into();
    request["stream_options"] = json!({ "include_usage": true });
    let events = client.post(CHAT, &request).await;
    assert_eq!(events.header("content-type"), "text/event-stream");
    let chunks: Vec<&str> = events.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, chunks) = chunks.split_last().unwrap();
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    assert_eq!((*last, chunks.len()), ("[DONE]", 4));
    assert_eq!(chunks[1]["choices"][0]["delta"]["tool_calls"][0]["index"], 0);
    assert_eq!(
        (&chunks[2]["choices"][0]["finish_reason"], &chunks[3]["choices"]),
        (&json!("tool_calls"), &json!([]))
    );
    let older = json!({
        "messages": [{ "role": "user", "content": "2 + 2 = 4" }],
        "functions": [function],
        "function_call": { "name": "judge" },
    });
    let body = client.post(CHAT, &older).await.expect(200);
    assert_eq!(body["choices"][0]["message"]["function_call"]["name"], "judge");
    assert_eq!(body["choices"][0]["finish_reason"], "function_call");
}

#[tokio::test]
async fn a_schema_in_the_prompt_is_answered_in_its_form() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let schema = json!({ "properties": { "verdict": { "enum": [1, 0] } }, "required": ["verdict"] });
    let text = format!("Is {{this}} right? Answer with a JSON object of this schema: {schema}");
    let mut request = json!({ "messages": [{ "role": "user", "content": text }] });
    let fenced = client.post(CHAT, &request).await.expect(200);
    let fenced = fenced["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(fenced.starts_with("```json\n{\"verdict\":") && fenced.ends_with("\n```"), "{fenced}");
    request["response_format"] = json!({ "type": "json_object" });
    assert!(content(&client.post(CHAT, &request).await)["verdict"].is_u64());
}

#[tokio::test]
async fn requests_that_are_no_decision_are_refused_by_name() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let with = |name: &str, value: Value| {
        let mut request = graded();
        request[name] = value;
        request
    };
    let image =
        json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "x" } }] }]);
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } });
    for (request, code, param) in [
        (with("response_format", Value::Null), "no_decision_field", "response_format"),
        (with("n", json!(2)), "unsupported_value", "n"),
        (with("logprobs", json!(true)), "unsupported_value", "logprobs"),
        (with("messages", image), "unsupported_value", "messages[0].content[0]"),
        (with("messages", json!([])), "unsupported_value", "messages"),
        (with("model", json!("gpt-4o")), "model_not_found", "model"),
        (
            json!({ "messages": [{ "role": "user", "content": "x" }], "tools": [tool("a"), tool("b")], "tool_choice": "required" }),
            "unsupported_value",
            "tool_choice",
        ),
        (json!([]), "unsupported_value", "body"),
    ] {
        let reply = client.post(CHAT, &request).await;
        let error = reply.json()["error"].clone();
        assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)), "{}", reply.text);
        assert!(
            [400, 404].contains(&reply.status) && error["type"] == "invalid_request_error",
            "{}",
            reply.text
        );
    }
    let cheap = client.post_with(CHAT, &graded(), &[("poll-max-cost-usd", "0.000001")]).await;
    assert_eq!(cheap.json()["error"]["param"], "poll-max-cost-usd", "{}", cheap.text);
    for (path, status) in [("/v1", 405), ("/v1/embeddings", 404)] {
        let refused = client.post(path, &json!({})).await;
        let message = refused.json()["error"]["message"].clone();
        assert!(refused.status == status && message.as_str().unwrap().contains("POST /v1/chat/completions"));
    }
    let malformed = client.request(Method::POST, CHAT).header("content-type", "application/json").body("{");
    assert_eq!(client.send(malformed).await.json()["error"]["code"], "malformed_json");
    let poor = service.user_with(MicroUsd::ZERO).await.1;
    let refused = poor.post(CHAT, &graded()).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (402, &json!("insufficient_credit")),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("the model free") && !refused.text.contains("preset"), "{}", refused.text);
}

#[tokio::test]
async fn callers_without_an_account_get_the_free_models() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for client in [client.with_key("free"), service.anonymous()] {
        let reply = client.post(CHAT, &graded()).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(
            service.anonymous().get(&format!("/api/results/{}", reply.header("poll-id"))).await.status == 200
        );
    }
    let wrong = client.with_key("sk-another").post(CHAT, &graded()).await;
    let error = wrong.json()["error"].clone();
    assert!(wrong.status == 401 && error["code"] == "invalid_api_key", "{error}");
    assert!(error["message"].as_str().unwrap().contains("send the key free"), "{error}");
    let mut paid = graded();
    paid["model"] = "generalist".into();
    assert_eq!(client.post(CHAT, &paid).await.status, 401);
    let mut long = graded();
    long["messages"][0]["content"] = "x".repeat(1001).into();
    let refused = client.post(CHAT, &long).await;
    assert!(refused.status == 400 && refused.text.contains("1000"), "{}", refused.text);
    assert_eq!(refused.json()["error"]["param"], "messages");
    let mut many = graded();
    many["response_format"]["json_schema"]["schema"]["properties"]["grade"]["enum"] =
        json!(["a", "b", "c", "d", "e", "f"]);
    assert_eq!(client.post(CHAT, &many).await.json()["error"]["code"], "too_many_choices");
}

#[tokio::test]
async fn errors_of_transport_and_limits_are_error_objects() {
    let service = Setup::demo().with("EP_RATE_LIMIT_FREE_PER_MINUTE", "1").boot().await;
    let client = service.anonymous();
    let mut large = graded();
    large["messages"][0]["content"] = "x".repeat(1024 * 1024).into();
    let form = client.request(Method::POST, CHAT).header("content-type", "text/plain").body("{}");
    client.post(CHAT, &graded()).await.expect(200);
    for (reply, status, code, kind) in [
        (client.post(CHAT, &large).await, 413, "payload_too_large", "invalid_request_error"),
        (client.send(form).await, 415, "unsupported_media_type", "invalid_request_error"),
        (client.post(CHAT, &graded()).await, 429, "rate_limited", "rate_limit_error"),
    ] {
        let error = reply.json()["error"].clone();
        assert_eq!(
            (reply.status, &error["code"], &error["type"]),
            (status, &json!(code), &json!(kind)),
            "{error}"
        );
        assert_eq!(!reply.header("retry-after").is_empty(), status == 429);
    }
}

#[tokio::test]
async fn a_tie_is_a_refusal() {
    let service = Setup::scripted(Script::divided_panel(40)).boot().await;
    let client = user(&service).await;
    let mut request = graded();
    request["response_format"]["json_schema"]["schema"]["properties"]["grade"]["enum"] =
        json!(["Alpha", "Beta"]);
    let body = client.post_with(CHAT, &request, &[("poll-confidence-threshold", "1")]).await.expect(200);
    let message = &body["choices"][0]["message"];
    assert!(
        message["content"].is_null() && message["refusal"].as_str().unwrap().contains("tie"),
        "{message}"
    );
    assert_eq!(
        (&body["choices"][0]["finish_reason"], &body["poll"]["outcome"]),
        (&json!("stop"), &json!("tie"))
    );
    assert!(body["poll"]["confidence"].is_null(), "no value has won");
}

#[tokio::test]
async fn retries_never_pay_twice() {
    let script = Script { held: true, ..Script::divided_panel(10) };
    let service = Setup::scripted(script).boot().await;
    let client = user(&service).await;
    let upstream = service.upstream();
    // The client gives up before the response, and sends the request again.
    let first = client.request(Method::POST, CHAT).json(&graded()).timeout(Duration::from_secs(2));
    assert!(first.send().await.unwrap_err().is_timeout());
    let request = graded();
    let retry = client.post_with(CHAT, &request, &[("x-stainless-retry-count", "1")]);
    let (retry, ()) = tokio::join!(retry, async {
        until("the retry has come", async || service.requests.to(CHAT), |requests| *requests == 2).await;
        upstream.release(10_000);
    });
    assert_eq!(retry.status, 200, "{}", retry.text);
    let polls = client.get("/api/polls").await.expect(200);
    assert_eq!(polls["polls"].as_array().unwrap().len(), 1, "{polls}");
    // A retry whose response was lost gets the same one.
    let again = client.post_with(CHAT, &graded(), &[("x-stainless-retry-count", "2")]).await;
    assert_eq!(again.json(), retry.json());
    // Another account has polls of its own, whatever it says about retries.
    let stranger = user(&service).await;
    let theirs = stranger.post_with(CHAT, &graded(), &[("x-stainless-retry-count", "1")]).await;
    assert_ne!(theirs.header("poll-id"), retry.header("poll-id"));
    // The same question asked anew is another poll.
    let other = client.post(CHAT, &graded()).await;
    assert_ne!(other.header("poll-id"), retry.header("poll-id"));
}

/// Readers have a budget of work, so that a body costs no more than its length.
#[tokio::test]
async fn bodies_that_are_much_work_to_read_are_refused() {
    let service = Setup::demo().boot().await;
    // The enum admits values from `least` on: none, or the last one, so that all fields are read.
    let of = |fields: usize, values: usize, least: f64| {
        let properties: serde_json::Map<String, Value> =
            (0..fields).map(|n| (format!("f{n}"), json!({ "$ref": "#/$defs/e" }))).collect();
        let names: Vec<&String> = properties.keys().collect();
        let values: Vec<usize> = (0..values).collect();
        json!({
            "$defs": { "e": { "enum": values, "minimum": least } }, "properties": properties, "required": names,
        })
    };
    let rejecting = |values: usize| of(1, values, 1e17);
    let repeated = of(2000, 32_000, 31_999.0);
    let formatted = |schema: &Value| {
        let format = json!({ "type": "json_schema", "json_schema": { "name": "a", "schema": schema } });
        json!({ "model": "free", "messages": [{ "role": "user", "content": "Which?" }], "response_format": format })
    };
    let user = service.user().await;
    let refused = |reply: Reply, text: &str| {
        assert_eq!(reply.status, 400, "{}", reply.text);
        assert!(reply.text.contains(text), "{}", reply.text);
    };
    refused(user.post("/v1/chat/completions", &formatted(&rejecting(80_000))).await, "allows no value");
    refused(user.post("/v1/chat/completions", &formatted(&repeated)).await, "too much work");
    let text = json!({ "format": { "type": "json_schema", "name": "a", "schema": repeated } });
    let response = json!({ "model": "budget", "input": "Which?", "text": text });
    refused(user.post("/v1/responses", &response).await, "too much work");
    let asked = |schema: Value| {
        let prompt = format!("Answer in the form {schema}");
        json!({ "model": "budget", "messages": [{ "role": "user", "content": prompt }] })
    };
    let short = of(600, 4_000, 3_999.0);
    refused(user.post("/v1/chat/completions", &asked(short)).await, "too much work");
    refused(user.post("/v1/chat/completions", &asked(repeated)).await, "more than 65536 bytes");
    let begun = format!("{}\"{}", "{\"a\":".repeat(64), "x".repeat(200_000));
    let asked = json!({ "model": "budget", "messages": [{ "role": "user", "content": begun }] });
    refused(user.post("/v1/chat/completions", &asked).await, "do not end");
    // Without an account, bodies are short.
    let anonymous = service.anonymous().with_key("free");
    let reply = anonymous.post("/v1/chat/completions", &formatted(&rejecting(80_000))).await;
    assert_eq!(reply.status, 413, "{}", reply.text);
    refused(anonymous.post("/v1/chat/completions", &formatted(&rejecting(8_000))).await, "allows no value");
    assert_eq!(service.anonymous().get("/healthz").await.status, 200);
}
