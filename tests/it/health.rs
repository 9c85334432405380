//! Health: true, and in time.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use crate::harness::{Client, Service, Setup};

/// What health says of the database. A probe that takes seconds counts as no answer.
async fn database(client: &Client) -> String {
    let asked = tokio::time::timeout(Duration::from_secs(4), client.get("/api/health")).await;
    asked.expect("health waits for the database").expect(200)["db"].as_str().unwrap().to_owned()
}

/// Waits until health says this: it repeats its answers for a second.
async fn becomes(client: &Client, state: &str) {
    for _ in 0..100 {
        if database(client).await == state {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("health does not say {state}");
}

fn file(service: &Service) -> std::path::PathBuf {
    service.data.path().join("ensemble-poll.db")
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_no_reason_to_wait() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    becomes(&user, "ok").await;
    let mut other = SqliteConnection::connect(file(&service).to_str().unwrap()).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    becomes(&user, "error").await;
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    becomes(&user, "ok").await;
}

#[tokio::test]
async fn a_deleted_database_stops_the_polls_and_not_the_service() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    user.poll(json!({})).await.expect(200);
    std::fs::remove_file(file(&service)).unwrap();
    becomes(&user, "error").await;
    assert!(user.poll(json!({})).await.refused(503).contains("database"));
    let card = user.request(Method::GET, "/.well-known/agent-card.json");
    assert_eq!(user.send(card).await.status, 200);
}
