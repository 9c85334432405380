//! Event streams.

use std::time::Duration;

use ep_upstream::testing::{Billing, Script, VoteFor};
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, question, until};

/// Returns name, id and data of each event, until the stream ends.
async fn events(client: &Client, body: &Value) -> Vec<(String, Option<u64>, Value)> {
    let response = client.request(Method::POST, "/api/poll/stream").json(body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let text = response.text().await.unwrap();
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    blocks
        .map(|block| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let data = serde_json::from_str(field("data:").unwrap()).unwrap();
            (field("event:").unwrap().to_owned(), field("id:").and_then(|id| id.parse().ok()), data)
        })
        .collect()
}

fn panel(votes_for: VoteFor) -> Script {
    let mut script = Script { votes_for, ..Script::panel(30) };
    script.default.latency = Duration::from_millis(5);
    script
}

#[tokio::test]
async fn started_then_votes_then_one_complete() {
    let service = Setup::scripted(panel(VoteFor::Hash)).boot().await;
    let client = service.user().await;
    let events = events(&client, &question(json!({ "confidence_threshold": 1 }))).await;
    let names: Vec<&str> = events.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("started", "complete"));
    assert!(names[1..names.len() - 1].iter().all(|name| *name == "vote"));
    let ids: Vec<u64> = events.iter().filter_map(|(_, id, _)| *id).collect();
    assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());

    let (_, _, complete) = events.last().unwrap();
    assert_eq!(complete["votes"].as_array().unwrap().len(), ids.len() - 1);
    let (_, _, started) = &events[0];
    assert_eq!((&started["poll_id"], &started["roster_size"]), (&complete["poll_id"], &json!(30)));
    let (_, _, last) = &events[events.len() - 2];
    assert_eq!(last["tally"], complete["tally"]);
    assert_eq!(last["cost_so_far"], complete["costs"]["total_estimated_cost"]);
    for ((_, _, event), vote) in events[1..].iter().zip(complete["votes"].as_array().unwrap()) {
        assert_eq!(
            (&event["model_id"], &event["chosen_option"]),
            (&vote["model_id"], &vote["chosen_option"])
        );
    }
}

#[tokio::test]
async fn replayed_stream_starts_and_ends_like_the_original() {
    let service = Setup::scripted(panel(VoteFor::Hash)).boot().await;
    let client = service.user().await;
    let body = question(json!({}));
    let ask = async || {
        let keyed = client.request(Method::POST, "/api/poll/stream").header("idempotency-key", "stream-1");
        client.send(keyed.json(&body)).await
    };
    let (first, again) = (ask().await, ask().await);
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), ("", "true"));
    let blocks = |text: &str| -> Vec<String> {
        text.split("\n\n").filter(|block| block.contains("event:")).map(ToOwned::to_owned).collect()
    };
    let (first, again) = (blocks(&first.text), blocks(&again.text));
    assert!(first[0].starts_with("event: started") && first.len() > 3, "{first:?}");
    assert_eq!(again, [first[0].clone(), first[first.len() - 1].clone()]);
}

#[tokio::test]
async fn errors_before_the_first_event_are_plain_responses() {
    let service = Setup::scripted(panel(VoteFor::Hash)).boot().await;
    let client = service.user().await;
    client
        .post("/api/poll/stream", &json!({ "question": "short", "options": ["a", "b"] }))
        .await
        .refused(400);
    client.post("/api/poll/stream", &question(json!({ "preset": "nope" }))).await.refused(400);
    client.post("/api/poll/stream", &json!({ "question": "Long enough to be asked?" })).await.refused(400);
    service.anonymous().post("/api/poll/stream", &question(json!({}))).await.refused(401);
}

#[tokio::test]
async fn disconnected_client_does_not_end_its_poll() {
    let mut script = panel(VoteFor::Text("Beta".into()));
    script.default.latency = Duration::from_millis(150);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let response =
        client.request(Method::POST, "/api/poll/stream").json(&question(json!({}))).send().await.unwrap();
    let mut bytes = response.bytes_stream();
    let first = String::from_utf8(bytes.next().await.unwrap().unwrap().to_vec()).unwrap();
    drop(bytes);
    let data: Value =
        serde_json::from_str(first.lines().find_map(|line| line.strip_prefix("data:")).unwrap()).unwrap();
    let path = format!("/api/results/{}", data["poll_id"].as_str().unwrap());
    let read = async || client.get(&path).await.expect(200);
    let result = until("the poll has ended", read, |result| result["status"] != "running").await;
    assert_eq!(result["winning_option"], "Beta");
}

#[tokio::test]
async fn public_poll_can_be_followed_without_its_costs() {
    let mut script = panel(VoteFor::Hash);
    script.default.billing = Billing::Cost(120, 12, 0.000_01);
    let service = Setup::scripted(script).boot().await;
    let (owner, anyone) = (service.user().await, service.anonymous());
    let poll = |members: Value| question(members);
    let started = owner.post("/api/polls", &poll(json!({ "confidence_threshold": 1 }))).await.expect(202);
    let path = format!("/api/results/{}/events", started["poll_id"].as_str().unwrap());
    let all = anyone.get(&path).await;
    assert_eq!((all.status, all.header("content-type")), (200, "text/event-stream"));
    assert!(all.text.starts_with("event: started") && all.text.contains("event: complete"), "{}", all.text);
    assert!(!all.text.contains("cost_so_far") && !all.text.contains("costs"), "{}", all.text);
    let own = owner.get(&format!("/api/polls/{}/events", started["poll_id"].as_str().unwrap())).await;
    assert!(own.text.contains("costs"), "{}", own.text);
    // A reconnecting client gets the later events. The lead can be locked before the last vote.
    let votes = all.text.matches("event: vote").count();
    assert!((29..=30).contains(&votes), "{}", all.text);
    let after = async |id: usize| {
        anyone.send(anyone.request(Method::GET, &path).header("last-event-id", id.to_string())).await
    };
    let rest = after(votes - 2).await;
    assert_eq!(rest.text.matches("event: vote").count(), 2, "{}", rest.text);
    assert!(after(votes + 1).await.refused(400).contains(&format!("there are {votes}")));

    let hidden = owner.post("/api/polls", &poll(json!({ "private": true }))).await.expect(202);
    let path = format!("/api/results/{}/events", hidden["poll_id"].as_str().unwrap());
    anyone.get(&path).await.refused(404);
    assert_eq!(owner.get(&path).await.status, 200);
    anyone.get("/api/results/EP-20260101-0000000000/events").await.refused(404);
}
