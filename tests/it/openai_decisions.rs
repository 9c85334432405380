//! OpenAI's newer API, the decision APIs, and the forms of judges that have no schema.

use std::collections::HashSet;
use std::time::Duration;

use ep_polling::MicroUsd;
use ep_store::testing::Postgres;
use ep_upstream::testing::{Action, Behaviour, Script};
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, until};

async fn user(service: &Service) -> Client {
    service.user_with(MicroUsd::new(5_000_000)).await.1
}

fn probabilities(answer: &Value) -> Vec<f64> {
    let of = |value: &Value| value.as_f64().or_else(|| value["probability"].as_f64()).unwrap();
    match &answer["probabilities"] {
        Value::Array(list) => list.iter().map(of).collect(),
        Value::Object(map) => map.values().map(of).collect(),
        other => panic!("{other}"),
    }
}

/// Checks the arithmetic of an answer, as clients do: the AI SDK refuses other answers.
fn assert_consistent(answer: &Value, of_greatest: fn(f64, f64) -> f64) {
    let shares = probabilities(answer);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{answer}");
    let greatest = shares.iter().copied().fold(0.0, f64::max);
    let confidence = of_greatest(greatest, 1.0 / shares.len() as f64);
    assert!((answer["confidence"].as_f64().unwrap() - confidence).abs() < 1e-9, "{answer}");
    if answer["type"] == "score" {
        let mean: f64 = shares.iter().enumerate().map(|(level, share)| level as f64 * share).sum();
        assert!((answer["score"].as_f64().unwrap() - mean).abs() < 1e-9, "{answer}");
    }
}

fn concentration(greatest: f64, equal: f64) -> f64 {
    (greatest - equal) / (1.0 - equal)
}

#[tokio::test]
async fn responses_are_the_same_decisions() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let schema = json!({ "type": "object", "properties": { "grade": { "enum": ["pass", "fail"] } }, "required": ["grade"] });
    let mut request = json!({
        "model": "poll",
        "instructions": "You judge.",
        "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "Does 4 answer 2 + 2?" }] },
            { "type": "function_call", "call_id": "a", "name": "add", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": "4" },
        ],
        "text": { "format": { "type": "json_schema", "name": "grade", "schema": schema } },
        "store": true,
    });
    let body = client.post("/v1/responses", &request).await.expect(200);
    assert_eq!((&body["object"], &body["status"]), (&json!("response"), &json!("completed")));
    let part = &body["output"][0]["content"][0];
    let answer: Value = serde_json::from_str(part["text"].as_str().unwrap()).unwrap();
    assert!(["pass", "fail"].contains(&answer["grade"].as_str().unwrap()), "{body}");
    let usage = &body["usage"];
    let of = |name: &str| usage[name].as_u64().unwrap();
    assert!(of("input_tokens") > 100 && of("total_tokens") == of("input_tokens") + of("output_tokens"));

    request["stream"] = true.into();
    let events = client.post("/v1/responses", &request).await;
    let named: Vec<&str> = events.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let data: Vec<Value> = events
        .text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    assert_eq!(named.first().zip(named.last()), Some((&"response.created", &"response.completed")));
    for (index, (name, event)) in named.iter().zip(&data).enumerate() {
        assert_eq!((&event["type"], &event["sequence_number"]), (&json!(name), &json!(index)));
    }
    let delta = data.iter().find(|event| event["type"] == "response.output_text.delta").unwrap();
    assert_eq!(delta["delta"], data.last().unwrap()["response"]["output"][0]["content"][0]["text"]);

    // A function, and parameters that would change the meaning.
    let parameters =
        json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    let function = json!({
        "input": "Is 4 right?",
        "tools": [{ "type": "function", "name": "judge", "parameters": parameters, "strict": true }],
        "tool_choice": { "type": "function", "name": "judge" },
    });
    let body = client.post("/v1/responses", &function).await.expect(200);
    let call = &body["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("judge")));
    assert!(call["arguments"].as_str().unwrap().starts_with("{\"ok\":"));
    for name in ["previous_response_id", "conversation"] {
        let mut request = function.clone();
        request[name] = "resp_1".into();
        let refused = client.post("/v1/responses", &request).await;
        assert_eq!((refused.status, refused.json()["error"]["param"].as_str()), (400, Some(name)));
    }
}

#[tokio::test]
async fn failures_before_the_first_event_have_their_status() {
    let service = Setup::demo().boot().await;
    let poor = service.user_with(MicroUsd::ZERO).await.1;
    let format = json!({ "type": "json_schema", "name": "a", "schema": { "enum": ["a", "b"] } });
    let response = json!({ "input": "a or b?", "text": { "format": format }, "stream": true });
    let format = json!({ "type": "json_schema", "json_schema": format });
    let chat = json!({
        "messages": [{ "role": "user", "content": "a or b?" }],
        "response_format": format,
        "stream": true,
    });
    for (path, request) in [("/v1/responses", response), ("/v1/chat/completions", chat)] {
        let refused = poor.post(path, &request).await;
        assert_eq!(refused.status, 402, "{}", refused.text);
        assert_eq!(refused.json()["error"]["code"], "insufficient_credit");
    }
}

#[tokio::test]
async fn decisions_answer_with_shares_of_the_whole_panel() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let request = json!({
        "model": "poll",
        "input": "I was charged twice",
        "questions": [
            { "type": "choice", "name": "team", "instructions": "Which team?", "choices": [
                { "value": "billing", "description": "Refunds" }, { "value": true }, { "value": "true" },
            ] },
            { "type": "predicate", "name": "refund", "instructions": "A refund is asked for." },
            { "type": "score", "instructions": "How urgent?", "levels": [{ "label": "low" }, { "label": "high", "description": "today" }] },
        ],
    });
    let reply = client.post("/v1/decisions", &request).await;
    let body = reply.expect(200);
    let [choice, predicate, score] = body["answers"].as_array().unwrap().as_slice() else { panic!("{body}") };
    assert_eq!(
        (&choice["name"], &predicate["name"], &score["name"]),
        (&json!("team"), &json!("refund"), &Value::Null)
    );
    assert_consistent(choice, concentration);
    assert_consistent(score, concentration);
    let values: Vec<&Value> =
        choice["probabilities"].as_array().unwrap().iter().map(|p| &p["value"]).collect();
    assert_eq!(values, [&json!("billing"), &json!(true), &json!("true")], "with their types");
    assert!(predicate["probability"].as_f64().unwrap() > 0.0);
    assert_eq!(predicate["poll"]["termination_reason"], "roster_exhausted", "an early stop biases shares");
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() > 1000);
    let question = client.get(&format!("/api/results/{}", choice["poll"]["poll_id"].as_str().unwrap())).await;
    let question = question.expect(200)["question"].clone();
    assert_eq!(question, "I was charged twice\n\nWhich team?\n\"billing\": Refunds");
    let scored =
        client.get(&format!("/api/results/{}", score["poll"]["poll_id"].as_str().unwrap())).await.expect(200);
    assert!(["low", "high"].contains(&scored["scale"]["median"].as_str().unwrap()), "{scored}");

    for (change, code, param) in [
        (json!({ "questions": [] }), "unsupported_value", "questions"),
        (
            json!({ "questions": vec![request["questions"][1].clone(); 9] }),
            "too_many_decision_fields",
            "questions",
        ),
        (json!({ "questions": [{ "type": "box" }] }), "unsupported_value", "questions[0].type"),
        (
            json!({ "questions": [{ "type": "score", "levels": vec![json!({ "label": "x" }); 12] }] }),
            "too_many_choices",
            "questions[0].levels",
        ),
        (
            json!({ "input": [{ "type": "message", "role": "user", "content": [{ "type": "input_image" }] }] }),
            "unsupported_value",
            "input[0].content[0]",
        ),
    ] {
        let mut request = request.clone();
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = client.post("/v1/decisions", &request).await;
        let error = refused.json()["error"].clone();
        assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)), "{}", refused.text);
    }
}

#[tokio::test]
async fn system_one_and_gemini_ask_the_same_questions() {
    let service = Setup::demo().boot().await;
    let client = user(&service).await;
    let questions = json!({
        "refund": { "type": "noul", "instructions": "Is a refund asked for?" },
        "team": { "type": "choice", "criteria": { "billing": "Refunds", "technical": null } },
        "urgency": { "type": "score", "instructions": "How urgent?", "criteria": ["low", "middle", "high"] },
    });
    let request = json!({ "state": { "text": "I was charged twice" }, "questions": questions });
    let body = client.post("/v1/systemone", &request).await.expect(200);
    let answers = &body["answers"];
    assert!(answers["refund"]["noul"].as_f64().unwrap() > 0.0 && body["model"] == "poll");
    for name in ["team", "urgency"] {
        assert_consistent(&answers[name], concentration);
    }
    assert_eq!(answers["urgency"]["legend"], json!({ "0": "low", "1": "middle", "2": "high" }));
    let id = answers["refund"]["poll"]["poll_id"].as_str().unwrap();
    let poll = client.get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(poll["question"], "{\"text\":\"I was charged twice\"}\n\nIs a refund asked for?");

    let request = json!({ "model": "models/poll", "input": "I was charged twice", "questions": questions });
    let body = client.post("/v1beta/decisions", &request).await.expect(200);
    let refund = &body["answers"]["refund"];
    let share = refund["noul"].as_f64().unwrap();
    assert_eq!(refund["confidence"].as_f64().unwrap(), share.max(1.0 - share));
    for name in ["team", "urgency"] {
        assert_consistent(&body["answers"][name], |greatest, _| greatest);
    }
    // Google's client uses the path of OpenAI.
    let body = client.post("/v1/decisions", &request).await.expect(200);
    assert!(body["answers"]["refund"]["noul"].is_number(), "{body}");
    // Google's header for keys, its errors, and the errors of System One.
    let request = json!({ "model": "models/poll", "input": "x", "questions": {} });
    let anonymous = service.anonymous();
    let wrong = anonymous.post_with("/v1beta/decisions", &request, &[("x-goog-api-key", "wrong")]).await;
    assert_eq!((wrong.status, &wrong.json()["error"]["status"]), (401, &json!("UNAUTHENTICATED")));
    let empty = anonymous.post_with("/v1beta/decisions", &request, &[("x-goog-api-key", "free")]).await;
    assert_eq!((empty.status, &empty.json()["error"]["status"]), (400, &json!("INVALID_ARGUMENT")));
    let refused =
        anonymous.post("/v1/systemone", &json!({ "questions": { "a": { "type": "box" } } })).await.json();
    assert_eq!(refused["detail"], refused["error"]["message"]);
}

#[tokio::test]
async fn a_panel_without_votes_declines() {
    let service = Setup::scripted(Script {
        default: Behaviour::of([Action::Says("I decline.".to_owned())]),
        ..Script::panel(5)
    })
    .boot()
    .await;
    let client = user(&service).await;
    let question = json!({ "type": "noul", "instructions": "Refund?" });
    let one = client.post("/v1/systemone", &json!({ "state": "x", "questions": { "q": question } })).await;
    assert_eq!((one.status, &one.json()["error"]["code"]), (422, &json!("no_votes")), "{}", one.text);
    assert!(one.text.contains("no vote: 5 unparsable"), "{}", one.text);
    let gemini = json!({ "model": "poll", "input": "x", "questions": { "q": question } });
    let body = client.post("/v1beta/decisions", &gemini).await.expect(200);
    assert!(body["prompt_feedback"]["block_reason"] == "other" && body.get("answers").is_none(), "{body}");
    let question = json!({ "type": "predicate", "name": "q", "instructions": "Refund." });
    let body =
        client.post("/v1/decisions", &json!({ "input": "x", "questions": [question] })).await.expect(200);
    assert_eq!(body["answers"], json!([{ "type": "refusal", "name": "q" }]));
}

#[tokio::test]
async fn judges_without_a_schema_have_forms_of_their_own() {
    let service = Setup::demo().with("EP_OPENAI_ALIASES", "gpt-4.1=poll:0-10").boot().await;
    let client = user(&service).await;
    let path = "/v1/chat/completions";
    // G-Eval computes the mean of the levels from log-probabilities.
    let request = json!({
        "model": "gpt-4.1",
        "messages": [{ "role": "user", "content": "Return a JSON object with \"score\" and \"reason\"." }],
        "logprobs": true,
        "top_logprobs": 20,
    });
    let body = client.post(path, &request).await.expect(200);
    let choice = &body["choices"][0];
    let content = choice["message"]["content"].as_str().unwrap();
    let answer: Value = serde_json::from_str(content).unwrap();
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let text: String = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(text, content);
    let score = answer["score"].to_string();
    let level = tokens.iter().rfind(|token| token["token"] == score.as_str()).unwrap();
    let mean: f64 = level["top_logprobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|top| {
            top["token"].as_str().unwrap().parse::<f64>().unwrap() * top["logprob"].as_f64().unwrap().exp()
        })
        .sum();
    let votes = |share: &Value| (share["value"].as_f64().unwrap(), share["votes"].as_f64().unwrap());
    let votes: Vec<(f64, f64)> = body["poll"]["shares"].as_array().unwrap().iter().map(votes).collect();
    let all: f64 = votes.iter().map(|(_, votes)| votes).sum();
    let expected = votes.iter().map(|(level, votes)| level * votes).sum::<f64>() / all;
    assert!((mean - expected).abs() < 1e-9, "{mean} {expected}");

    // A choice has no levels, so it has no log-probabilities.
    let choice = json!({ "properties": { "side": { "enum": ["a", "b"] } }, "required": ["side"] });
    let mut other = request.clone();
    other["response_format"] =
        json!({ "type": "json_schema", "json_schema": { "name": "side", "schema": choice } });
    let refused = client.post(path, &other).await;
    assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("logprobs")));

    // promptfoo asks for the index of the best text.
    let text = "Compare.\n<Text index=\"0\">\na\n</Text>\n<Text index=\"1\">\nb\n</Text>\n\nOutput the index of the text that best \
                fits the criteria. You must output a single integer.";
    let request = json!({ "model": "poll", "messages": [{ "role": "system", "content": text }] });
    let body = client.post(path, &request).await.expect(200);
    assert!(["0", "1"].contains(&body["choices"][0]["message"]["content"].as_str().unwrap()), "{body}");

    // A schema in the prompt is no part of the question.
    let schema = json!({ "properties": { "verdict": { "enum": [1, 0] } }, "required": ["verdict"] });
    let text = format!("Is 4 right? Answer with JSON of this schema:\n{schema}\nThanks.");
    let request = json!({ "messages": [{ "role": "user", "content": text }] });
    let id = client.post(path, &request).await.expect(200)["poll"]["poll_id"].clone();
    let poll = client.get(&format!("/api/results/{}", id.as_str().unwrap())).await.expect(200);
    let question = poll["question"].as_str().unwrap();
    assert!(
        question.contains("of this schema:\n\nThanks.") && !question.contains("verdict\":"),
        "{question}"
    );
}

/// A decision with two possible values.
fn alpha_or_beta() -> Value {
    let schema = json!({ "properties": { "side": { "enum": ["Alpha", "Beta"] } }, "required": ["side"] });
    json!({
        "model": "poll",
        "messages": [{ "role": "user", "content": "Alpha or Beta?" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "side", "schema": schema } },
    })
}

#[tokio::test]
async fn a_retry_reaches_the_polls_of_another_replica() {
    let database = Postgres::start().unwrap().database().await.unwrap();
    let setup = || {
        Setup::scripted(Script { held: true, ..Script::panel(10) })
            .with("EP_DATABASE_URL", database.url())
            .with("EP_SECRET_KEY", "5a".repeat(32))
            .with("EP_BASE_URL", "https://polls.example.com")
    };
    let (first, second) = tokio::join!(setup().boot(), setup().boot());
    let client = user(&first).await;
    let elsewhere = second.anonymous().with_key(client.key.as_ref().unwrap());
    let path = "/v1/chat/completions";
    let lost =
        client.request(reqwest::Method::POST, path).json(&alpha_or_beta()).timeout(Duration::from_secs(2));
    assert!(lost.send().await.unwrap_err().is_timeout());
    let request = alpha_or_beta();
    let retry = elsewhere.post_with(path, &request, &[("x-stainless-retry-count", "1")]);
    let (retry, ()) = tokio::join!(retry, async {
        until("the retry has come", async || second.requests.to(path), |requests| *requests == 1).await;
        first.upstream().release(10_000);
        second.upstream().release(10_000);
    });
    assert_eq!(retry.status, 200, "{}", retry.text);
    let polls = client.get("/api/polls").await.expect(200);
    assert_eq!(polls["polls"].as_array().unwrap().len(), 1, "{polls}");
    // The reply is stored for both.
    let again = client.post_with(path, &request, &[("x-stainless-retry-count", "2")]).await;
    assert_eq!(again.json(), retry.json());
    // The same question asked anew is another poll, on either replica.
    let (here, there) = (client.post(path, &request).await, elsewhere.post(path, &request).await);
    let ids = [&retry, &here, &there].map(|reply| reply.header("poll-id").to_owned());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn equal_requests_at_once_are_polls_of_their_own() {
    let service = Setup::scripted(Script::panel(10)).boot().await;
    let client = user(&service).await;
    let request = alpha_or_beta();
    let replies =
        futures::future::join_all((0..5).map(|_| client.post("/v1/chat/completions", &request))).await;
    let ids: HashSet<&str> = replies.iter().map(|reply| reply.header("poll-id")).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[tokio::test]
async fn compressed_bodies_are_read_within_the_limit() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    // {"state":"I was charged twice","questions":{"q":{"type":"noul","instructions":"Refund?"}}} with zstd.
    let request = json!({ "state": "I was charged twice", "questions": { "q": { "type": "noul", "instructions": "Refund?" } } });
    let plain = request.to_string();
    let send = async |body: Vec<u8>, encoding: &str| {
        let sent = client
            .request(reqwest::Method::POST, "/v1/systemone")
            .header("content-type", "application/json")
            .header("content-encoding", encoding);
        client.send(sent.body(body)).await
    };
    assert_eq!(send(raw_zstd(plain.as_bytes()), "zstd").await.status, 200);
    assert_eq!(send(plain.clone().into_bytes(), "identity").await.status, 200);
    assert_eq!(send(plain.clone().into_bytes(), "zstd").await.status, 400);
    assert_eq!(send(plain.into_bytes(), "br").await.status, 415);
    // A block of one repeated byte: 2 MiB from 30 bytes.
    assert_eq!(send(repeated_zstd(), "zstd").await.status, 413);
}

/// Returns a zstd frame with a raw block (RFC 8878 §3.1.1).
fn raw_zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58];
    let header = (bytes.len() as u32) << 3 | 1;
    frame.extend_from_slice(&header.to_le_bytes()[..3]);
    frame.extend_from_slice(bytes);
    frame
}

/// Returns a zstd frame with blocks of one repeated byte.
fn repeated_zstd() -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58];
    for block in 0..16_u32 {
        let last = u32::from(block == 15);
        let header = (128 * 1024) << 3 | 1 << 1 | last;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    frame
}
