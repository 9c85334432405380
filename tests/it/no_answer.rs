//! Polls without an answer: one judgement on every surface.

use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Script, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::harness::{Client, Service, Setup, question};

/// A service on which all models but so many give a truncated response.
async fn service(voters: usize) -> (Service, Client) {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    let obeys = script.default.clone();
    script.default = Behaviour::of([Action::Ends(String::new(), "length")]);
    for n in 0..voters {
        script.behaviours.insert(format!("maker{}/line-{n}", n % 10), obeys.clone());
    }
    let service = Setup::scripted(script).boot().await;
    let client = service.user_with(MicroUsd::new(50_000_000)).await.1;
    (service, client)
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "side": { "enum": ["Alpha", "Beta"] } }, "required": ["side"] })
}

fn chat() -> Value {
    json!({
        "messages": [{ "role": "user", "content": "Which of the two is the better one?" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "side", "schema": schema() } },
    })
}

fn response() -> Value {
    let format = json!({ "type": "json_schema", "name": "side", "schema": schema() });
    json!({ "input": "Which of the two is the better one?", "text": { "format": format } })
}

/// Checks the evidence beside a refusal.
fn assert_unsupported(evidence: &Value) {
    assert_eq!(
        (&evidence["outcome"], &evidence["votes"], &evidence["panel"], &evidence["confidence"]),
        (&json!("unsupported"), &json!(1), &json!(50), &Value::Null),
        "{evidence}"
    );
}

#[tokio::test]
async fn one_vote_of_fifty_is_a_refusal_in_each_dialect() {
    let (_service, client) = service(1).await;

    let whole = client.post("/v1/chat/completions", &chat()).await;
    assert_eq!(whole.header("poll-outcome"), "unsupported");
    assert_eq!(whole.header("poll-confidence"), "");
    let body = whole.expect(200);
    let message = &body["choices"][0]["message"];
    assert_eq!(message["content"], Value::Null, "{body}");
    let refusal = message["refusal"].as_str().unwrap();
    assert!(
        refusal.contains("too few votes for an answer: 1 vote from 50 AI models (1 vote ·")
            && refusal.contains("49 failed calls"),
        "{refusal}"
    );
    assert_unsupported(&body["poll"]);

    let mut call = chat();
    call["tools"] = json!([{ "type": "function", "function": { "name": "judge", "parameters": schema() } }]);
    call["tool_choice"] = "required".into();
    let body = client.post("/v1/chat/completions", &call).await.expect(200);
    let message = &body["choices"][0]["message"];
    assert!(message["refusal"].is_string() && message.get("tool_calls").is_none(), "{body}");

    let mut streamed = chat();
    streamed["stream"] = true.into();
    let events = client.post("/v1/chat/completions", &streamed).await;
    assert!(
        events.text.contains("\"refusal\":\"") && !events.text.contains("\"content\":\""),
        "{}",
        events.text
    );

    let body = client.post("/v1/responses", &response()).await.expect(200);
    let part = &body["output"][0]["content"][0];
    assert!(part["type"] == "refusal" && part["refusal"].is_string(), "{body}");
    assert_unsupported(&body["poll"]);

    // Choices, predicates and scores.
    let kinds = [
        json!({ "type": "choice", "choices": [{ "value": "Alpha" }, { "value": "Beta" }] }),
        json!({ "type": "predicate", "instructions": "Is it Beta?" }),
        json!({ "type": "score", "levels": [{ "label": "Alpha" }, { "label": "Beta" }] }),
    ];
    for mut kind in kinds {
        kind["name"] = "q".into();
        let body =
            client.post("/v1/decisions", &json!({ "input": "x", "questions": [kind] })).await.expect(200);
        assert_eq!(body["answers"], json!([{ "type": "refusal", "name": "q" }]), "{body}");
        assert_eq!(body["poll"]["outcome"], "unsupported", "{body}");
    }

    let choice =
        json!({ "type": "choice", "instructions": "Which?", "criteria": { "Alpha": null, "Beta": null } });
    let one = client.post("/v1/systemone", &json!({ "state": "x", "questions": { "q": choice } })).await;
    assert_eq!((one.status, &one.json()["error"]["code"]), (422, &json!("no_votes")), "{}", one.text);
    let gemini = json!({ "model": "poll", "input": "x", "questions": { "q": choice } });
    let body = client.post("/v1beta/decisions", &gemini).await.expect(200);
    assert!(body["prompt_feedback"]["block_reason"] == "other" && body.get("answers").is_none(), "{body}");
}

const SENTENCE: &str = "Too few votes for an answer: “Beta” won 1 of 1 vote.";

#[tokio::test]
async fn pages_and_the_command_line_name_no_answer() {
    let (service, client) = service(1).await;
    let poll = client.poll(json!({ "private": false })).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap();
    let anyone = service.anonymous();
    let markdown = anyone.get(&format!("/results/{id}.md")).await.text.replace(['\u{2068}', '\u{2069}'], "");
    assert!(markdown.contains(SENTENCE), "{markdown}");
    for path in [format!("/results/{id}"), format!("/embed/{id}"), format!("/results/{id}.svg")] {
        let page = anyone.get(&path).await.text;
        assert!(page.contains("Too few votes") && page.contains("1 from 50 AI models"), "{path}: {page}");
    }

    let diagram = anyone.get(&format!("/api/graph/mermaid/{id}")).await.text;
    assert!(diagram.contains("Too few votes for an answer"), "{diagram}");

    let data = tempfile::tempdir().unwrap();
    let (folder, url, id) = (data.path().to_owned(), service.url.clone(), id.to_owned());
    let shown = move || ep(&folder, &["show", &id, "--server", &url], &[]);
    let output = tokio::task::spawn_blocking(shown).await.unwrap();
    let shown = stdout(&output, 4);
    assert!(shown.contains(SENTENCE), "{shown}");
}

/// Waits for the end of a batch, and returns its rows.
async fn rows_of(client: &Client, id: &str) -> Vec<Value> {
    let batch = crate::batches::ended(client, id).await;
    assert_eq!(batch["status"], "completed", "{batch}");
    crate::batches::lines(client, &batch["output_file_id"]).await
}

#[tokio::test]
async fn operations_and_batches_judge_alike() {
    let (service, client) = service(1).await;
    let poll = client.poll(json!({})).await.expect(200);
    assert_eq!(
        (&poll["status"], &poll["confidence"], &poll["no_answer"]),
        (&json!("partial"), &json!(0.0), &json!("unsupported"))
    );
    let id = poll["poll_id"].as_str().unwrap();
    let result = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result["no_answer"], "unsupported");
    let tool = client.tool("poll_question", question(json!({}))).await;
    assert_eq!(tool["structuredContent"]["no_answer"], "unsupported");
    assert!(tool["content"][0]["text"].as_str().unwrap().starts_with(SENTENCE), "{tool}");
    let asked = json!({ "questions": [question(json!({}))] });
    let decided = client.post("/api/decide", &asked).await.expect(200);
    assert_eq!(decided["results"][0]["no_answer"], "unsupported", "{decided}");

    for (endpoint, body) in
        [("/v1/chat/completions", chat()), ("/v1/responses", response()), ("/api/poll", question(json!({})))]
    {
        let row = json!({ "custom_id": "a", "method": "POST", "url": endpoint, "body": body });
        let file = crate::batches::upload(&client, &format!("{row}\n")).await;
        let request = json!({ "input_file_id": file, "endpoint": endpoint, "completion_window": "24h" });
        let batch = client.post("/v1/batches", &request).await.expect(200);
        let batch = batch["id"].as_str().unwrap();
        let rows = rows_of(&client, batch).await;
        let body = &rows[0]["response"]["body"];
        match endpoint {
            "/v1/chat/completions" => assert!(body["choices"][0]["message"]["refusal"].is_string(), "{body}"),
            "/v1/responses" => assert_eq!(body["output"][0]["content"][0]["type"], "refusal", "{body}"),
            _ => assert_eq!(body["no_answer"], "unsupported", "{body}"),
        }
        // The row has no answer to review.
        let review = client.get(&format!("/api/batches/{batch}/review")).await.expect(200);
        assert!(review["rows"][0]["answer"].is_null(), "{review}");
    }
}

#[tokio::test]
async fn enough_votes_are_an_answer_despite_failed_calls() {
    let (_service, client) = service(40).await;
    let poll = client.poll(json!({ "complete": true })).await.expect(200);
    assert_eq!((&poll["status"], &poll["confidence"]), (&json!("partial"), &json!(1.0)));
    assert!(poll.get("no_answer").is_none(), "{poll}");
    let body = client.post("/v1/chat/completions", &chat()).await.expect(200);
    assert_eq!(body["choices"][0]["message"]["content"], "{\"side\":\"Beta\"}", "{body}");
    assert_eq!(body["poll"]["outcome"], "decided");
}
