//! kill −9 in the middle of polls: nothing acknowledged is lost, no model whose answer was stored is asked
//! again, and the ledger is consistent.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ep_upstream::testing::{Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::{Client, question};

/// `ep serve` in a process of its own, and its address.
async fn serve(data: &Path, upstream: &ScriptedUpstream, database: Option<&str>) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear().env("EP_DATA_DIR", data);
    command
        .env("EP_UPSTREAM_URL", upstream.base_url())
        .env("EP_LOG_FORMAT", "json")
        .env("EP_RATE_LIMIT_PER_MINUTE", "0");
    command.env("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "0").env("EP_LEASE_MS", "1500");
    if let Some(url) = database {
        command.env("EP_DATABASE_URL", url);
    }
    let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).current_dir(data).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = loop {
        let line =
            tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap().unwrap();
        if let Ok(log) = serde_json::from_str::<Value>(&line)
            && log["fields"]["message"] == "listening"
        {
            break log["fields"]["address"].as_str().unwrap().to_owned();
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, format!("http://{address}"))
}

async fn admin(data: &Path, database: Option<&str>, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("admin").args(arguments).env_clear().env("EP_DATA_DIR", data).current_dir(data);
    if let Some(url) = database {
        command.env("EP_DATABASE_URL", url);
    }
    let output = command.output().await.unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

async fn killed_and_resumed(database: Option<&str>) {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script { votes_for: VoteFor::Hash, ..Script::panel(40) };
    script.default.latency = Duration::from_millis(60);
    script.default.jitter = Duration::from_millis(60);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = admin(
        data.path(),
        database,
        &["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"],
    )
    .await;
    let key = user["api_key"].as_str().unwrap().to_owned();
    let (mut child, url) = serve(data.path(), &upstream, database).await;
    let client = Client::new(&url, Some(key.clone()));

    // Three polls of forty calls, one after the other in flight: a second and more of work each.
    let body = question(json!({ "confidence_threshold": 1, "pace": "thrifty", "wait_ms": 1 }));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.post("/api/poll", &body).await.expect(202)["poll_id"].as_str().unwrap().to_owned());
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut acknowledged: HashMap<String, u64> = HashMap::new();
    for id in &ids {
        let running = client.get(&format!("/api/results/{id}")).await.json();
        acknowledged.insert(id.clone(), running["answered"].as_u64().unwrap_or(0));
    }
    child.kill().await.unwrap();
    assert!(acknowledged.values().sum::<u64>() > 0, "killed too early: {acknowledged:?}");

    let (mut child, url) = serve(data.path(), &upstream, database).await;
    let client = Client::new(&url, Some(key));
    for id in &ids {
        let first = client.get(&format!("/api/results/{id}")).await;
        let found = first.json();
        let kept =
            found["answered"].as_u64().or_else(|| Some(found["votes"].as_array()?.len() as u64)).unwrap();
        assert!(kept >= acknowledged[id], "{id}: {kept} of {} acknowledged ballots", acknowledged[id]);
        let result = loop {
            let result = client.get(&format!("/api/results/{id}")).await.expect(200);
            if result["status"] != "running" {
                break result;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let models: Vec<&str> = result["votes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|vote| vote["model_id"].as_str().unwrap())
            .collect();
        let mut distinct = models.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), models.len(), "a model voted twice in {id}");
    }
    child.kill().await.unwrap();
    let audit = admin(data.path(), database, &["audit", "--json"]).await;
    assert_eq!(audit["clean"], true, "{audit}");
    let balance = admin(data.path(), database, &["balance", "--email", "a@example.com", "--json"]).await;
    assert_eq!(balance["held_usd"].as_f64(), Some(0.0), "{balance}");
    assert!(balance["used_usd"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn killed_and_resumed_on_sqlite() {
    killed_and_resumed(None).await;
}

#[tokio::test]
async fn killed_and_resumed_on_postgres() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    killed_and_resumed(Some(database.url())).await;
}

#[tokio::test]
async fn a_graceful_stop_lets_requests_end_and_loses_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(40) };
    script.default.latency = Duration::from_millis(400);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user =
        admin(data.path(), None, &["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"])
            .await;
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(user["api_key"].as_str().unwrap().to_owned()));
    let asked = tokio::spawn(async move { client.poll(json!({})).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stopped =
        Command::new("kill").args(["-TERM", &child.id().unwrap().to_string()]).status().await.unwrap();
    assert!(stopped.success());
    assert_eq!(asked.await.unwrap().expect(200)["winning_option"], "Beta");
    let status = tokio::time::timeout(Duration::from_secs(15), child.wait()).await.unwrap().unwrap();
    assert!(status.success());
    assert_eq!(admin(data.path(), None, &["audit", "--json"]).await["clean"], true);
}
