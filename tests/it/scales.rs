//! Scales: levels decided by their median, with and without a pass mark, on every surface and after a crash.

use std::path::Path;
use std::time::Duration;

use ep_upstream::testing::{Action, Behaviour, Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::command_line::{ep, stdout};
use crate::crash::{admin, started};
use crate::harness::{Client, Service, Setup, until};

/// Returns a panel with a model for each of these votes.
fn panel(votes: &[&str]) -> Script {
    let script = Script::panel(votes.len());
    let ids = script.models.iter().map(|model| model["id"].as_str().unwrap().to_owned());
    let table = ids.zip(votes.iter().map(ToString::to_string)).collect();
    Script { votes_for: VoteFor::ByModel(table), ..script }
}

async fn service(votes: &[&str]) -> (Service, Client) {
    let service = Setup::scripted(panel(votes)).boot().await;
    let client = service.user().await;
    (service, client)
}

/// Returns a question about five levels.
fn rated(pass: Option<&str>, members: Value) -> Value {
    let mut body = json!({
        "question": "How helpful is this answer, from 1 to 5?",
        "scale": { "levels": ["1", "2", "3", "4", "5"] },
        "models": ["maker*"],
    });
    if let Some(pass) = pass {
        body["scale"]["pass"] = pass.into();
    }
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn path_of(poll: &Value) -> String {
    format!("/api/results/{}", poll["poll_id"].as_str().unwrap())
}

#[tokio::test]
async fn a_scale_asks_every_model_and_its_lower_median_stands_beside_the_plurality() {
    let (_service, client) = service(&["1", "1", "3", "4", "5", "5"]).await;
    let poll = client.post("/api/poll", &rated(None, json!({ "confidence_threshold": 0 }))).await.expect(200);
    assert_eq!(poll["scale"], json!({ "median": "3" }));
    assert_eq!(
        (&poll["outcome"], &poll["winning_option"], &poll["is_tie"]),
        (&json!("tie"), &Value::Null, &json!(true))
    );
    assert_eq!(
        (&poll["termination_reason"], &poll["models_skipped"]),
        (&json!("roster_exhausted"), &json!(0))
    );
    assert_eq!((&poll["contested"], poll["options"].as_array().unwrap().len()), (&json!(true), 5));
    let result = client.get(&path_of(&poll)).await.expect(200);
    assert_eq!((&result["scale"], &result["contested"]), (&poll["scale"], &poll["contested"]));
    let page = path_of(&poll).replace("/api/results", "/results");
    let markdown = client.get(&format!("{page}.md")).await;
    let markdown = if markdown.status == 404 { client.get(&page).await } else { markdown };
    assert!(markdown.text.contains("Median of all votes"), "{}", markdown.text);
    let contested = "Contested: Less than two thirds of the votes are for the median level.";
    assert!(markdown.text.contains(contested), "{}", markdown.text);
}

#[tokio::test]
async fn an_exact_tie_fails_and_one_vote_more_passes() {
    let (_service, client) = service(&["1", "2", "4", "5"]).await;
    let complete = json!({ "complete": true });
    let poll = client.post("/api/poll", &rated(Some("4"), complete.clone())).await.expect(200);
    let pass = json!({ "mark": "4", "passed": false, "votes_for": 2, "votes_against": 2 });
    assert_eq!(poll["scale"], json!({ "median": "2", "pass": pass, "bound": 1.0 }));
    assert_eq!(
        (&poll["confidence"], &poll["is_tie"], &poll["contested"]),
        (&json!(1.0), &json!(true), &json!(true))
    );
    let poll = client.post("/api/poll", &rated(Some("2"), complete)).await.expect(200);
    let pass = json!({ "mark": "2", "passed": true, "votes_for": 3, "votes_against": 1 });
    assert_eq!((&poll["scale"]["pass"], &poll["contested"]), (&pass, &json!(false)));
}

#[tokio::test]
async fn a_pass_mark_stops_once_the_models_left_cannot_change_the_pass() {
    // Levels differ, but all pass, so no level is ahead when the pass is certain.
    let votes: Vec<&str> = ["3", "4", "5"].into_iter().cycle().take(30).collect();
    let (_service, client) = service(&votes).await;
    let body = rated(Some("3"), json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    let poll = client.post("/api/poll", &body).await.expect(200);
    assert_eq!(
        (&poll["termination_reason"], &poll["confidence"]),
        (&json!("mathematical_lock"), &json!(1.0))
    );
    let pass = json!({ "mark": "3", "passed": true, "votes_for": 16, "votes_against": 0 });
    assert_eq!((&poll["scale"]["pass"], &poll["scale"]["bound"]), (&pass, &json!(1.0)));
    // Half of the votes are enough to fail.
    let levels = json!({ "levels": ["1", "2", "3", "4", "5", "6"], "pass": "6" });
    let body = rated(None, json!({ "scale": levels, "confidence_threshold": 1, "pace": "thrifty" }));
    let poll = client.post("/api/poll", &body).await.expect(200);
    assert_eq!(poll["scale"]["pass"]["votes_against"], 15, "{poll}");
    // By confidence, fewer are enough; a complete poll asks all of them.
    let body = rated(Some("3"), json!({ "pace": "thrifty" }));
    let early = client.post("/api/poll", &body).await.expect(200);
    assert_eq!(early["termination_reason"], "confidence");
    assert!(
        early["scale"]["bound"].as_f64().unwrap() >= 0.95 && early["scale"]["bound"] == early["confidence"]
    );
    let complete = client.post("/api/poll", &rated(Some("3"), json!({ "complete": true }))).await.expect(200);
    assert_eq!(complete["models_skipped"], 0);
    let text =
        client.get(&format!("{}?wait_ms=0", path_of(&early).replace("/api/results", "/results"))).await;
    assert!(text.text.contains("The median level could still change."), "{}", text.text);
}

#[tokio::test]
async fn failed_calls_count_against_the_leading_side() {
    let failing = Behaviour::of(vec![Action::Status(401, "{\"error\": {\"message\": \"bad key\"}}".into())]);
    let script = panel(&["5", "5", "5", "1", "1"]).with("maker3/line-3", failing.clone());
    let service = Setup::scripted(script.with("maker4/line-4", failing)).boot().await;
    let client = service.user().await;
    let body = rated(Some("3"), json!({ "confidence_threshold": 1 }));
    let poll = client.post("/api/poll", &body).await.expect(200);
    assert_eq!((&poll["scale"]["pass"]["votes_for"], &poll["scale"]["bound"]), (&json!(3), &json!(1.0)));
    let again = rated(Some("3"), json!({ "exclude": ["maker0/line-0"], "confidence_threshold": 1 }));
    // Two votes for, and two that nobody knows: they could be against, and a tie fails.
    let poll = client.post("/api/poll", &again).await.expect(200);
    let scale = &poll["scale"];
    assert_eq!((&scale["pass"]["passed"], &poll["status"]), (&json!(true), &json!("partial")));
    assert!(scale["bound"].as_f64().unwrap() < 1.0, "{poll}");
}

#[tokio::test]
async fn every_surface_asks_a_scale_and_shows_its_pass() {
    let (service, client) = service(&["2", "4", "4", "5", "5"]).await;
    let body = rated(Some("4"), json!({ "complete": true }));
    let pass = json!({ "mark": "4", "passed": true, "votes_for": 4, "votes_against": 1 });
    let scale = json!({ "median": "4", "pass": pass, "bound": 1.0 });

    let events = client.post("/api/poll/stream", &body).await.text;
    let events: Vec<Value> =
        events.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let votes: Vec<&Value> = events.iter().filter(|event| event.get("seq").is_some()).collect();
    assert_eq!((votes.len(), &votes[4]["scale"]["pass"]), (5, &pass));
    assert_eq!(events.last().unwrap()["scale"], scale);

    let arguments = json!({ "name": "poll_question", "arguments": body });
    let called =
        client.rpc("/api/mcp?toolsets=all", "tools/call", arguments).await.expect(200)["result"].clone();
    assert_eq!(called["structuredContent"]["scale"], scale, "{called}");
    let text = called["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("Passed with 4 votes for and 1 against; the median is “4”, the pass mark is “4”."),
        "{text}"
    );

    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": body }] });
    let sent = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
    assert_eq!(sent["result"]["task"]["artifacts"][0]["parts"][0]["data"]["scale"], scale, "{sent}");

    let started = client.post("/api/polls", &body).await.expect(202);
    let id = started["poll_id"].as_str().unwrap();
    let result = client.get(&format!("/api/results/{id}?wait_ms=20000")).await.expect(200);
    let status = client.get(&format!("/api/polls/{id}/status")).await.expect(200);
    assert_eq!((&result["scale"], &status["scale"]), (&scale, &scale));

    let question =
        json!({ "question": "How helpful is it?", "levels": ["1", "2", "3", "4", "5"], "pass": "4" });
    let decided = client.post("/api/decide", &json!({ "questions": [question] })).await.expect(200);
    assert_eq!(decided["results"][0]["scale"]["pass"]["passed"], true);

    let rows = json!([{ "question": body["question"], "scale": body["scale"] }]);
    let batch = json!({ "rows": rows, "models": ["maker*"], "complete": true, "on_tie": "strongest" });
    let batch = client.post("/api/batches", &batch).await.expect(202);
    let path = format!("/api/batches/{}", batch["batch_id"].as_str().unwrap());
    until(
        "the batch is completed",
        async || client.get(&path).await.expect(200),
        |batch| batch["status"] == "completed",
    )
    .await;
    let results = client.get(&format!("{path}/results")).await.expect(200);
    assert!(results.to_string().contains("\"votes_for\":4"), "{results}");
    drop(service);
}

#[tokio::test]
async fn invalid_scales_are_refused() {
    let (_service, client) = service(&["1", "2"]).await;
    let levels = |count: usize| (0..count).map(|level| level.to_string()).collect::<Vec<_>>();
    // Clients that must send options repeat the levels.
    let repeated = json!({ "scale": { "levels": levels(3) }, "options": levels(3) });
    let checked = client.post("/api/poll/dry-run", &rated(None, repeated)).await.expect(200);
    assert_eq!(checked["valid"], true, "{checked}");
    let scale = |levels: Vec<String>, pass: Value| json!({ "scale": { "levels": levels, "pass": pass } });
    for (members, problem) in [
        (scale(levels(12), Value::Null), "2 to 11 are allowed"),
        (scale(levels(1), Value::Null), "add at least one more option"),
        (scale(levels(3), json!("0")), "every vote would pass"),
        (scale(levels(3), json!("7")), "is not one of the levels"),
        (json!({ "options": ["Yes", "No"] }), "send one of the two"),
        (json!({ "scale": null }), "add at least two options"),
        (json!({ "on_tie": "strongest" }), "never tied"),
    ] {
        let refused = client.post("/api/poll", &rated(None, members.clone())).await.refused(400);
        assert!(refused.contains(problem), "{members}: {refused}");
        let checked = client.post("/api/poll/dry-run", &rated(None, members)).await.expect(200);
        assert_eq!(
            (&checked["valid"], checked["errors"].as_array().unwrap().len()),
            (&json!(false), 1),
            "{checked}"
        );
    }
    let eleven = scale(levels(11), json!(""));
    let poll = client.post("/api/poll", &rated(None, eleven)).await.expect(200);
    assert!(poll["scale"].get("pass").is_none());
    // Agents that fill in every argument send empty options.
    client.post("/api/poll", &rated(Some("3"), json!({ "options": [] }))).await.expect(200);
    let both = json!({ "questions": [{ "question": "Go?", "options": ["Yes", "No"], "pass": "Yes" }] });
    assert!(client.post("/api/decide", &both).await.refused(400).contains("needs levels"));
}

#[tokio::test]
async fn estimates_know_that_only_a_pass_mark_stops_early() {
    let (service, client) = service(&["3"; 20]).await;
    let anyone = service.anonymous();
    let estimate = async |query: &str| {
        let path = format!("/api/poll/estimate?models=maker*&{query}");
        anyone.get(&path).await.expect(200)["calls_at_least"].as_u64().unwrap()
    };
    let two_options = estimate("options=2").await;
    assert_eq!((estimate("levels=5").await, estimate("levels=5&pass=true").await), (20, two_options));
    for query in ["levels=12", "levels=5&options=2", "pass=true"] {
        anyone.get(&format!("/api/poll/estimate?{query}")).await.refused(400);
    }
    let dry = client.post("/api/poll/dry-run", &rated(None, json!({}))).await.expect(200);
    assert_eq!((&dry["valid"], &dry["estimates"]["calls_at_least"]), (&json!(true), &json!(20)));
}

#[tokio::test]
async fn free_polls_have_short_scales() {
    let service = Setup::demo().boot().await;
    let anyone = service.anonymous();
    let ask = async |levels: usize| {
        let levels: Vec<String> = (1..=levels).map(|level| level.to_string()).collect();
        let scale = json!({ "levels": levels, "pass": "3" });
        anyone.post("/api/poll", &json!({ "question": "How good is tea?", "scale": scale })).await
    };
    let poll = ask(5).await.expect(200);
    let verdict = if poll["scale"]["pass"]["passed"] == true { "passed with " } else { "not passed, with " };
    assert!(poll["reasoning"].as_str().unwrap().contains(verdict), "{poll}");
    assert!(ask(6).await.refused(400).contains("2 to 5 are allowed"));
    let both = json!({ "poll": "Good? [Yes, No]", "scale": { "levels": ["1", "2"] } });
    assert!(anyone.post("/api/poll", &both).await.refused(400).contains("send one of the two"));
}

#[test]
fn the_command_line_asks_a_scale() {
    let data = tempfile::tempdir().unwrap();
    let ask = ["poll", "How good is tea, from 1 to 5?", "--levels", "1,2,3,4,5", "--pass", "3"];
    let shown = stdout(&ep(data.path(), &ask, &[]), 0);
    assert!(shown.contains("the pass mark is “3”.") && shown.contains("for the whole panel"), "{shown}");
    let body = json!({ "question": "How good is tea, from 1 to 5?", "scale": { "levels": ["1", "2", "3"] } });
    let called = stdout(&ep(data.path(), &["call", "poll_question", &body.to_string()], &[]), 0);
    let poll: Value = serde_json::from_str(&called).unwrap();
    assert!(poll["scale"]["median"].is_string() && poll["models_skipped"] == 0, "{poll}");
}

async fn serve(data: &Path, upstream: &ScriptedUpstream) -> (tokio::process::Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear();
    started(command, data, upstream, None, 1500).await
}

#[tokio::test]
async fn a_poll_resumed_after_a_kill_keeps_its_pass_mark() {
    const MODELS: usize = 40;
    let data = tempfile::tempdir().unwrap();
    // Every level has the same number of votes, so only the pass can be certain before the end.
    let votes: Vec<&str> = ["2", "3", "4", "5"].into_iter().cycle().take(MODELS).collect();
    let mut script = panel(&votes);
    script.default.latency = Duration::from_millis(300);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
    let key = admin(data.path(), None, &user).await["api_key"].as_str().unwrap().to_owned();
    let (mut child, url) = serve(data.path(), &upstream).await;
    let client = Client::new(&url, Some(key.clone()));
    let body = rated(Some("2"), json!({ "confidence_threshold": 1, "pace": "thrifty", "wait_ms": 1 }));
    let poll = client.post("/api/poll", &body).await.expect(202);
    let read = async || client.get(&path_of(&poll)).await.expect(200);
    until("a model has responded", read, |result| result["answered"] != 0).await;
    child.kill().await.unwrap();
    let (mut child, url) = serve(data.path(), &upstream).await;
    let client = Client::new(&url, Some(key));
    let result = loop {
        let result = client.get(&format!("{}?wait_ms=20000", path_of(&poll))).await.expect(200);
        if result["status"] != "running" && result["status"] != "queued" {
            break result;
        }
    };
    let pass = &result["scale"]["pass"];
    assert_eq!(
        (&pass["mark"], &pass["passed"], &result["confidence"]),
        (&json!("2"), &json!(true), &json!(1.0))
    );
    assert_eq!(result["termination_reason"], "mathematical_lock");
    assert!(result["models_skipped"].as_u64().unwrap() > 10, "{result}");
    child.kill().await.unwrap();
}
