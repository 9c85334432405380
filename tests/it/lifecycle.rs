//! The lifecycle of polls: started, read, watched, listed and cancelled.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Billing, Script};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Setup, question, until};

/// Models with this latency and a price.
fn models(count: usize, latency_ms: u64) -> Script {
    let mut script = Script::divided_panel(count);
    script.default.latency = Duration::from_millis(latency_ms);
    script.default.billing = Billing::Cost(120, 12, 0.000_01);
    script
}

/// Returns the path of an absolute URL.
fn path(url: &Value) -> String {
    let url = url.as_str().unwrap();
    url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap()
}

async fn start(client: &Client, members: Value) -> Value {
    let started = client.post("/api/polls", &question(members)).await;
    let (location, wait) = (started.header("location").to_owned(), started.header("retry-after").to_owned());
    let started = started.expect(202);
    assert_eq!((location.as_str(), wait.as_str()), (started["status_url"].as_str().unwrap(), "2"));
    started
}

async fn ended(client: &Client, started: &Value) -> Value {
    let read = async || client.get(&path(&started["status_url"])).await.expect(200);
    until("the poll has ended", read, |status| !status["ended_at"].is_null()).await
}

async fn poll_is_started_and_read_by_its_owner(engine: Engine) {
    let service = Setup::scripted(models(12, 300)).on(engine).boot().await;
    let (_, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let started = start(&client, json!({ "confidence_threshold": 1, "pace": "fast" })).await;
    let running = client.get(&path(&started["result_url"])).await;
    assert_eq!(running.header("retry-after"), "2");
    assert_eq!(running.expect(202)["poll_id"], started["poll_id"]);
    let status = client.get(&path(&started["status_url"])).await.expect(200);
    assert_eq!((&status["status"], &status["roster_size"]), (&json!("running"), &json!(12)));

    let status = ended(&client, &started).await;
    assert_eq!((&status["answered"], &status["cancelled"]), (&json!(12), &json!(false)));
    let result = client.get(&path(&started["result_url"])).await.expect(200);
    assert_eq!((&result["outcome"], &result["tally"]), (&status["outcome"], &status["tally"]));
    assert_eq!(result["costs"]["total_estimated_cost"].as_f64(), Some(0.000_12));

    // The same request returns the same poll, and other accounts cannot find it.
    let keyed = [("idempotency-key", "once")];
    let one = client.post_with("/api/polls", &question(json!({})), &keyed).await.expect(202);
    let again = client.post_with("/api/polls", &question(json!({})), &keyed).await.expect(202);
    assert_eq!(one["poll_id"], again["poll_id"]);
    let other = service.user().await;
    for member in ["status_url", "result_url", "events_url"] {
        other.get(&path(&started[member])).await.refused(404);
        service.anonymous().get(&path(&started[member])).await.refused(401);
    }
    let cancel = format!("/api/polls/{}/cancel", started["poll_id"].as_str().unwrap());
    other.post(&cancel, &json!({})).await.refused(404);
    assert!(client.post(&cancel, &json!({})).await.refused(409).contains("ended already"));
    client.post("/api/polls", &question(json!({ "dry_run": true }))).await.refused(400);
    client.post("/api/polls", &json!({ "question": "short" })).await.refused(400);
    for unknown in ["EP-20260131-7KQ2M4X9TB", "nothing", "%00"] {
        client.get(&format!("/api/polls/{unknown}/status")).await.refused(404);
    }
}

#[tokio::test]
async fn poll_is_started_and_read_by_its_owner_on_sqlite() {
    poll_is_started_and_read_by_its_owner(Engine::Sqlite).await;
}

#[tokio::test]
async fn poll_is_started_and_read_by_its_owner_on_postgres() {
    poll_is_started_and_read_by_its_owner(Engine::Postgres).await;
}

async fn cancelled_poll_ends_with_its_votes_so_far(engine: Engine) {
    // Two calls at a time, so most models are never called.
    let service =
        Setup::scripted(models(40, 250)).on(engine).with("EP_UPSTREAM_MAX_CONCURRENT", "2").boot().await;
    let (user, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let started = start(&client, json!({ "confidence_threshold": 1, "pace": "thrifty" })).await;
    let id = started["poll_id"].as_str().unwrap();
    let read = async || client.get(&path(&started["status_url"])).await.expect(200);
    until("a model has responded", read, |status| status["answered"] != 0).await;
    let cancel = format!("/api/polls/{id}/cancel");
    let status = client.post(&cancel, &json!({})).await.expect(200);
    assert_eq!(
        (&status["cancelled"], &status["termination_reason"]),
        (&json!(true), &json!(null)),
        "{status}"
    );
    let calls = service.upstream().total_calls();
    assert_eq!(client.post(&cancel, &json!({})).await.expect(200)["cancelled"], true);
    let spent = service.settled_cost(user).await;
    assert!(!spent.is_zero());
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(service.upstream().total_calls(), calls, "nobody was asked any more");
    let result = client.get(&path(&started["result_url"])).await.expect(200);
    assert_eq!((&result["termination_reason"], &result["status"]), (&json!(null), &status["status"]));
    assert_eq!(result["status"], "partial", "models were not asked: {result}");
    let number = |name: &str| result[name].as_u64().unwrap();
    let (succeeded, unused) = (number("models_succeeded"), number("models_unused"));
    assert_eq!(number("models_requested"), succeeded + number("models_failed") + unused, "{result}");
    assert_eq!(number("models_requested") + number("models_skipped"), 40, "{result}");
    let listed = client.get("/api/results").await.expect(200)[0].clone();
    assert_eq!(
        (&listed["status"], &listed["modelsRequested"]),
        (&result["status"], &result["models_requested"])
    );
    assert_eq!(result["costs"]["total_estimated_cost"].as_f64(), Some(spent.as_usd()));
    // A read-only key cannot cancel.
    let read = client.post("/api/keys", &json!({ "scope": "read" })).await.expect(201);
    client.with_key(read["key"].as_str().unwrap()).post(&cancel, &json!({})).await.refused(403);
}

#[tokio::test]
async fn cancelled_poll_ends_with_its_votes_so_far_on_sqlite() {
    cancelled_poll_ends_with_its_votes_so_far(Engine::Sqlite).await;
}

#[tokio::test]
async fn cancelled_poll_ends_with_its_votes_so_far_on_postgres() {
    cancelled_poll_ends_with_its_votes_so_far(Engine::Postgres).await;
}

/// Returns name and id of each event.
async fn events(client: &Client, path: &str, last: Option<&str>) -> Vec<(String, Option<u64>)> {
    let request = client.request(Method::GET, path);
    let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    blocks
        .map(|block| (field(block, "event:").unwrap(), field(block, "id:").and_then(|id| id.parse().ok())))
        .collect()
}

#[tokio::test]
async fn reconnecting_watcher_gets_the_remaining_events() {
    let service = Setup::scripted(models(12, 100)).boot().await;
    let client = service.user().await;
    let started = start(&client, json!({ "confidence_threshold": 1, "pace": "fast" })).await;
    let watched = path(&started["events_url"]);
    let numbers =
        |events: &[(String, Option<u64>)]| events.iter().filter_map(|(_, id)| *id).collect::<Vec<_>>();
    let all = events(&client, &watched, None).await;
    assert_eq!((all[0].0.as_str(), all.last().unwrap().0.as_str()), ("started", "complete"));
    assert_eq!(numbers(&all), (0..=12).collect::<Vec<_>>());
    let rest = events(&client, &watched, Some("7")).await;
    assert_eq!(numbers(&rest), (8..=12).collect::<Vec<_>>());
    assert_eq!(rest.last().unwrap().0, "complete");
    let none = events(&client, &watched, Some("12")).await;
    assert_eq!(none, [("complete".to_owned(), None)]);
    assert_eq!(events(&client, &format!("{watched}?after=11"), None).await.len(), 2);
    for future in ["13", "4000000000", "-1", "x", "99999999999999999999"] {
        let reply = client.send(client.request(Method::GET, &watched).header("last-event-id", future)).await;
        assert!(reply.refused(400).contains("must be"), "{future}");
    }
}

#[tokio::test]
async fn polls_are_listed_in_pages() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let poll = client.poll(json!({ "preset": "free" })).await.expect(200);
        ids.insert(0, poll["poll_id"].clone());
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/polls?limit=2{cursor}")).await.expect(200);
        listed.extend(page["polls"].as_array().unwrap().iter().map(|poll| poll["poll_id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(listed, ids);
    let call = json!({ "name": "list_polls", "arguments": { "limit": 1 } });
    let by_mcp = client.rpc("/api/mcp?toolsets=all", "tools/call", call).await.expect(200);
    assert_eq!(by_mcp["result"]["structuredContent"]["polls"][0]["poll_id"], ids[0]);
    for wrong in ["limit=0", "limit=101", "cursor=1", "cursor=x.EP-20260131-7KQ2M4X9TB", "cursor=1.x"] {
        client.get(&format!("/api/polls?{wrong}")).await.refused(400);
    }
    service.anonymous().get("/api/polls").await.refused(401);
    assert_eq!(service.user().await.get("/api/polls").await.expect(200)["polls"], json!([]));
}
