//! Two replicas on one PostgreSQL database share their state.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use ep_store::testing::{Database, Postgres};
use ep_upstream::testing::{Script, ScriptedUpstream};
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::crash::{admin, signal, started};
use crate::harness::{Client, question};

/// Two processes with one database, one upstream and one account. Their leases are so long that no test waits for
/// one to expire.
struct Replicas {
    first: (Child, Client),
    second: (Child, Client),
    data: TempDir,
    upstream: ScriptedUpstream,
    database: Database,
}

impl Replicas {
    async fn start(models: usize, latency_ms: u64) -> Self {
        let database = Postgres::start().unwrap().database().await.unwrap();
        let url = Some(database.url());
        let data = tempfile::tempdir().unwrap();
        let mut script = Script::divided_panel(models);
        script.default.latency = Duration::from_millis(latency_ms);
        let upstream = ScriptedUpstream::start(script).unwrap();
        let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
        let key = admin(data.path(), url, &user).await["api_key"].as_str().unwrap().to_owned();
        let serve = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
            command.args(["serve", "--listen", "127.0.0.1:0"]).env_clear().stdout(Stdio::null());
            command.envs(HashMap::from([("EP_SHUTDOWN_GRACE_S", "1"), ("EP_UPSTREAM_MAX_CONCURRENT", "2")]));
            started(command, data.path(), &upstream, url, 60_000)
        };
        let (first, second) = tokio::join!(serve(), serve());
        let with_client = |(child, url): (Child, String)| (child, Client::new(&url, Some(key.clone())));
        let (first, second) = (with_client(first), with_client(second));
        Self { first, second, data, upstream, database }
    }

    /// Starts a poll of all models on the first replica.
    async fn poll(&self) -> String {
        let members = json!({ "confidence_threshold": 1, "pace": "thrifty" });
        let started = self.first.1.post("/api/polls", &question(members)).await.expect(202);
        started["poll_id"].as_str().unwrap().to_owned()
    }

    async fn audit(&self) {
        let audit = admin(self.data.path(), Some(self.database.url()), &["audit", "--json"]).await;
        assert_eq!(audit["clean"], true, "{audit}");
    }
}

/// The events of a poll, read one at a time.
struct Events {
    body: futures::stream::BoxStream<'static, Vec<u8>>,
    read: String,
}

impl Events {
    async fn of(client: &Client, poll: &str) -> Self {
        let response =
            client.request(Method::GET, &format!("/api/polls/{poll}/events")).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body = response.bytes_stream().map(|bytes| bytes.unwrap().to_vec()).boxed();
        Self { body, read: String::new() }
    }

    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some(end) = self.read.find("\n\n") {
                let event: String = self.read.drain(..end + 2).collect();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let named = field("event: ").map(str::to_owned);
                let data = field("data: ").map(|data| serde_json::from_str(data).unwrap());
                if let (Some(name), Some(data)) = (named, data) {
                    return (name, data);
                }
                continue;
            }
            let bytes = tokio::time::timeout(Duration::from_secs(20), self.body.next()).await.unwrap();
            self.read.push_str(std::str::from_utf8(&bytes.expect("the stream has ended")).unwrap());
        }
    }
}

#[tokio::test]
async fn poll_is_watched_and_cancelled_on_another_replica() {
    let replicas = Replicas::start(40, 200).await;
    let id = replicas.poll().await;
    let mut events = Events::of(&replicas.second.1, &id).await;
    assert_eq!(events.next().await.0, "started");
    for seq in 1..=4 {
        let (name, vote) = events.next().await;
        assert_eq!((name.as_str(), &vote["seq"]), ("vote", &json!(seq)));
    }
    let cancelled = replicas.second.1.post(&format!("/api/polls/{id}/cancel"), &json!({})).await.expect(200);
    assert_eq!(cancelled["cancelled"], true);
    let last = loop {
        let (name, data) = events.next().await;
        if name != "vote" {
            assert_eq!(name, "complete");
            break data;
        }
    };
    assert_eq!(last["termination_reason"], json!(null));
    let calls = replicas.upstream.total_calls();
    assert!(calls < 40, "{calls}");
    replicas.audit().await;
}

#[tokio::test]
async fn stopping_replica_hands_over_its_polls() {
    let mut replicas = Replicas::start(30, 300).await;
    let id = replicas.poll().await;
    let mut events = Events::of(&replicas.second.1, &id).await;
    assert_eq!(events.next().await.0, "started");
    assert_eq!(events.next().await.0, "vote");
    signal(&replicas.first.0, "-TERM").await;
    let mut votes = vec![1];
    let result = loop {
        let (name, data) = events.next().await;
        match name.as_str() {
            "vote" => votes.push(data["seq"].as_u64().unwrap()),
            "complete" => break data,
            other => panic!("{other}: {data}"),
        }
    };
    assert_eq!(votes, (1..=30).collect::<Vec<_>>(), "each vote is seen once");
    assert_eq!((&result["status"], &result["poll_id"]), (&json!("success"), &json!(id)));
    assert!(replicas.first.0.wait().await.unwrap().success());
    replicas.audit().await;
}
