//! The numbers of models of a poll are the same on every surface.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Behaviour, Billing, Script, VoteFor};
use serde_json::{Value, json};

use crate::command_line::{ep, stdout};
use crate::harness::{Client, Service, Setup, question};

const ROSTER: u64 = 50;
/// Models that respond long after the poll has ended.
const SLOW: u64 = 20;

/// A service with a roster on which some models are slow.
async fn service() -> Service {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(ROSTER as usize) };
    for n in 0..SLOW {
        let slow = Behaviour { latency: Duration::from_millis(1500), ..script.default.clone() };
        script.behaviours.insert(format!("maker{}/line-{n}", n % 10), slow);
    }
    Setup::scripted(script).boot().await
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// Checks the equations, and returns the numbers of requested, succeeded, failed, unused and skipped models.
fn checked(poll: &Value) -> [u64; 5] {
    let numbers = ["requested", "succeeded", "failed", "unused", "skipped"]
        .map(|name| number(poll, &format!("models_{name}")));
    let [requested, succeeded, failed, unused, skipped] = numbers;
    assert_eq!((requested, requested + skipped), (succeeded + failed + unused, ROSTER), "{poll}");
    let is_complete = succeeded + failed == ROSTER;
    assert_eq!(poll["early_terminated"], !is_complete, "{poll}");
    assert_eq!(poll["status"], "success", "models that did not count do not matter: {poll}");
    numbers
}

/// Polls the whole roster at once. The poll ends before the slow models respond.
async fn asked(client: &Client) -> Value {
    client.poll(json!({ "pace": "fast", "private": false })).await.expect(200)
}

#[tokio::test]
async fn a_poll_that_stops_early_has_the_same_numbers_everywhere() {
    let service = service().await;
    let (client, anyone) = (service.user().await, service.anonymous());
    let poll = asked(&client).await;
    let numbers @ [requested, succeeded, failed, unused, skipped] = checked(&poll);
    assert!(unused >= SLOW && (requested, skipped) == (ROSTER, 0), "every model was asked: {poll}");
    let id = poll["poll_id"].as_str().unwrap();

    // The result, for anyone, by REST and by MCP, and in lists.
    let path = format!("/api/results/{id}");
    assert_eq!(checked(&anyone.get(&path).await.expect(200)), numbers);
    let tool = client.tool("get_poll_result", json!({ "poll_id": id })).await;
    let shortened = ["requested", "failed", "unused", "skipped"]
        .map(|name| number(&tool["structuredContent"], &format!("models_{name}")));
    assert_eq!(shortened, [requested, failed, unused, skipped]);
    let listed = client.get("/api/results").await.expect(200)[0].clone();
    let status = client.get(&format!("/api/polls/{id}/status")).await.expect(200);
    assert_eq!((number(&status, "answered"), number(&status, "roster_size")), (succeeded, ROSTER));
    for listed in [listed, client.get("/api/results/recent").await.expect(200)[0].clone()] {
        assert_eq!(
            (number(&listed, "modelsRequested"), number(&listed, "modelsSucceeded")),
            (requested, succeeded)
        );
    }

    // Pages, Markdown and the diagram.
    let counts = format!("{succeeded} votes · {unused} not needed");
    let page = anyone.get(&format!("/results/{id}")).await;
    assert!(page.text.contains(&counts), "{counts} in {}", page.text);
    assert!(
        page.text.contains(&format!("{unused} not needed")) && !page.text.contains("whole panel was asked")
    );
    assert_eq!(
        page.text.matches("class=\"seat pale\"").count() as u64,
        unused + 1,
        "the seats and their legend"
    );
    let markdown = anyone.get(&format!("/results/{id}.md")).await;
    assert!(markdown.text.contains(&counts), "{}", markdown.text);
    let diagram = anyone.get(&format!("/api/graph/mermaid/{id}")).await;
    assert!(diagram.text.contains(&format!("{succeeded} of {ROSTER} models counted")), "{}", diagram.text);
    assert!(!markdown.text.contains("Complete: every model"), "{}", markdown.text);

    // The command line.
    let data = tempfile::tempdir().unwrap();
    let (folder, url, id) = (data.path().to_owned(), service.url.clone(), id.to_owned());
    let input = json!({ "poll_id": id }).to_string();
    let run = move || ep(&folder, &["call", "get_poll_result", &input, "--server", &url], &[]);
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(checked(&serde_json::from_str(&stdout(&output, 0)).unwrap()), numbers);
}

#[tokio::test]
async fn calls_by_other_protocols_have_the_equations_too() {
    let service = service().await;
    let client = service.user_with(MicroUsd::new(5_000_000)).await.1;

    // An event stream ends with the poll.
    let events = client.post("/api/poll/stream", &question(json!({ "pace": "fast" }))).await;
    let complete = events.text.split("event: complete").nth(1).unwrap();
    let complete = complete.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
    checked(&serde_json::from_str(complete).unwrap());

    // MCP shortens the response.
    let tool = client.tool("poll_question", question(json!({ "pace": "fast" }))).await;
    let poll = &tool["structuredContent"];
    assert_eq!(number(poll, "models_requested") + number(poll, "models_skipped"), ROSTER, "{tool}");
    let text = tool["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("the whole panel of {ROSTER} models")), "{text}");

    // A2A.
    let data = question(json!({ "pace": "fast" }));
    let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "data": data }] });
    let task = client.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
    checked(&task["result"]["task"]["artifacts"][0]["parts"][0]["data"]);

    // OpenAI's endpoints name the size of the panel.
    let question =
        json!({ "type": "choice", "instructions": "Which?", "criteria": { "Alpha": null, "Beta": null } });
    let reply = client.post("/v1/systemone", &json!({ "state": "x", "questions": { "q": question } })).await;
    let votes = reply.header("poll-votes").to_owned();
    let body = reply.expect(200);
    assert_eq!(number(&body["poll"], "panel"), ROSTER, "{body}");
    assert_eq!(votes, format!("{}/{ROSTER}", body["poll"]["votes"]));
    assert!(number(&body["poll"], "votes") < ROSTER, "{body}");
}

#[tokio::test]
async fn a_poll_of_every_pace_keeps_the_equations() {
    let service = service().await;
    let client = service.user().await;
    for (pace, threshold) in [("thrifty", 0.8), ("balanced", 0.95), ("fast", 0.5)] {
        let poll = client.poll(json!({ "pace": pace, "confidence_threshold": threshold })).await.expect(200);
        let [requested, .., skipped] = checked(&poll);
        assert!(pace == "fast" || (requested < ROSTER && skipped > 0), "{poll}");
    }
    let complete = client.poll(json!({ "complete": true })).await.expect(200);
    assert_eq!(checked(&complete), [ROSTER, ROSTER, 0, 0, 0]);

    // Each call costs as much as it may, so the budget ends the poll before its roster.
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(ROSTER as usize) };
    script.default.billing = Billing::Cost(120, 12, 0.001);
    let service = Setup::scripted(script).boot().await;
    let most = json!({ "max_cost_usd": 0.0063, "pace": "thrifty", "confidence_threshold": 1 });
    let cheap = service.user().await.poll(most).await.expect(200);
    assert_eq!(cheap["termination_reason"], "budget", "{cheap}");
    let [_, _, _, unused, skipped] = checked(&cheap);
    assert!(unused == 0 && skipped > 0, "{cheap}");
}
