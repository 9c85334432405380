//! Health checks are correct and fast.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use rusqlite::Connection;
use serde_json::json;

use crate::harness::{Client, Service, Setup, question, until};

/// Returns the database state of the health response. Fails if the probe takes seconds.
async fn database(client: &Client) -> String {
    let asked = tokio::time::timeout(Duration::from_secs(4), client.get("/api/health")).await;
    asked.expect("health waits for the database").expect(200)["db"].as_str().unwrap().to_owned()
}

/// Waits until health reports this state. Health responses are cached for a second.
async fn becomes(client: &Client, state: &str) {
    until(&format!("health says {state}"), async || database(client).await, |said| said == state).await;
}

fn file(service: &Service) -> std::path::PathBuf {
    service.data.path().join("ensemble-poll.db")
}

#[tokio::test]
async fn health_does_not_wait_for_a_blocked_database() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    becomes(&user, "ok").await;
    let other = Connection::open(file(&service)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    becomes(&user, "error").await;
    other.execute_batch("ROLLBACK").unwrap();
    becomes(&user, "ok").await;
}

/// Without the check, the call waits for the time limits of the database, and then says that it is not available.
#[tokio::test]
async fn new_polls_are_refused_at_once_while_the_database_is_stalled() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    becomes(&user, "ok").await;
    let other = Connection::open(file(&service)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    becomes(&user, "error").await;
    // The first attempts wait for the database, until it counts as stalled.
    let mut refused = user.post("/api/poll", &question(json!({}))).await;
    for _ in 0..5 {
        if refused.text.contains("the database takes too long") {
            break;
        }
        refused = user.post("/api/poll", &question(json!({}))).await;
    }
    assert_eq!(refused.header("retry-after"), "5", "{}", refused.text);
    assert!(refused.refused(503).contains("the database takes too long"));
    let decide = json!({ "questions": [question(json!({}))] });
    assert!(user.post("/api/decide", &decide).await.refused(503).contains("the database takes too long"));
    let refused = user.tool("poll_question", question(json!({}))).await;
    assert!(refused.to_string().contains("the database takes too long"), "{refused}");
    assert!(
        service
            .anonymous()
            .post("/api/poll", &question(json!({})))
            .await
            .refused(503)
            .contains("takes too long")
    );
    other.execute_batch("ROLLBACK").unwrap();
    becomes(&user, "ok").await;
    user.post("/api/poll", &question(json!({}))).await.expect(200);
}

/// No health check has run before: the call that waits finds out by itself.
#[tokio::test]
async fn a_call_that_waits_for_a_stalled_database_is_refused() {
    let service = Setup::scripted(Script::panel(3)).with("EP_STALLED_AFTER_MS", "1000").boot().await;
    let (id, user) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let ask = json!({ "models": ["maker*"], "confidence_threshold": 1 });
    user.poll(ask.clone()).await.expect(200);
    let (spent, calls) = (service.settled_cost(id).await, service.upstream().total_calls());
    let other = Connection::open(file(&service)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (key, body) = ([("idempotency-key", "once")], question(ask.clone()));
    let (plain, keyed) = tokio::join!(user.poll(ask.clone()), user.post_with("/api/poll", &body, &key));
    for refused in [plain, keyed] {
        assert_eq!(refused.header("retry-after"), "5", "{}", refused.text);
        assert!(refused.text.contains("the database takes too long"), "{}", refused.text);
        refused.refused(503);
    }
    other.execute_batch("ROLLBACK").unwrap();
    becomes(&user, "ok").await;
    // The refused poll was not opened, or was closed without a call. The repetition of the other one succeeds.
    let repeat = async || user.post_with("/api/poll", &body, &key).await.status;
    until("the repetition succeeds", repeat, |status| *status == 200).await;
    assert_eq!(service.settled_cost(id).await.micro(), 2 * spent.micro());
    assert_eq!(service.upstream().total_calls(), 2 * calls);
}

#[tokio::test]
async fn readiness_depends_on_the_database_and_liveness_does_not() {
    let service = Setup::demo().with("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "1").boot().await;
    let client = service.anonymous();
    for path in ["/readyz", "/healthz", "/readyz", "/healthz"] {
        let probed = client.with_key("ep_k_wrong").get(path).await;
        assert_eq!(probed.header("cache-control"), "no-store");
        assert!(probed.expect(200)["status"].is_string(), "neither limited nor refused");
    }
    let other = Connection::open(file(&service)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    becomes(&client, "error").await;
    assert!(client.get("/readyz").await.refused(503).contains("database"));
    assert_eq!(client.get("/healthz").await.expect(200)["status"], "ok");
    let asked = ["call", "get_health", "--server", &service.url];
    let mut ep = tokio::process::Command::new(env!("CARGO_BIN_EXE_ep"));
    let ep = ep.args(asked).env_clear().env("EP_DATA_DIR", service.data.path().join("other"));
    let called = ep.output().await.unwrap();
    let health: serde_json::Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!((&health["db"], called.status.code()), (&json!("error"), Some(9)));
    other.execute_batch("ROLLBACK").unwrap();
    becomes(&client, "ok").await;
    client.get("/readyz").await.expect(200);
    let mut healthy = false;
    for _ in 0..20 {
        // On a busy machine, one probe of the database may time out.
        healthy |= ep.output().await.unwrap().status.code() == Some(0);
        if healthy {
            break;
        }
    }
    assert!(healthy);
}

#[tokio::test]
async fn deleted_database_stops_polls_but_not_the_service() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    user.poll(json!({})).await.expect(200);
    let nobody = service.anonymous();
    std::fs::remove_file(file(&service)).unwrap();
    // The very first request fails, before any health check has run.
    assert!(nobody.poll(json!({})).await.refused(503).contains("database"));
    for _ in 0..3 {
        assert!(user.poll(json!({})).await.refused(503).contains("database"));
        assert!(nobody.poll(json!({})).await.refused(503).contains("database"));
    }
    becomes(&user, "error").await;
    assert!(service.app.ports.health.check().await.is_err(), "whatever asks the same check sees it");
    let card = user.request(Method::GET, "/.well-known/agent-card.json");
    assert_eq!(user.send(card).await.status, 200);
}
