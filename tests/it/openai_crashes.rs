//! Retries of OpenAI's clients when the process that serves the first attempt is killed or paused.

use std::path::Path;
use std::time::Duration;

use ep_upstream::testing::{Script, ScriptedUpstream};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::crash::{admin, started};
use crate::harness::{Client, until};

const PATH: &str = "/v1/chat/completions";

/// A decision with two fields: two polls under one budget.
fn decision() -> Value {
    let side = json!({ "enum": ["Alpha", "Beta"] });
    let schema =
        json!({ "type": "object", "properties": { "one": side, "two": side }, "required": ["one", "two"] });
    json!({
        "messages": [{ "role": "user", "content": "Alpha or Beta?" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "sides", "schema": schema } },
    })
}

async fn serve(data: &Path, upstream: &ScriptedUpstream, database: Option<&str>) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear();
    started(command, data, upstream, database, 1500).await
}

async fn key(data: &Path, database: Option<&str>) -> String {
    let arguments = ["create-user", "--email", "a@example.com", "--credit-usd", "5", "--json"];
    admin(data, database, &arguments).await["api_key"].as_str().unwrap().to_owned()
}

/// Sends the decision and gives up while its polls wait for votes.
async fn lose(client: &Client) {
    let request = client.request(Method::POST, PATH).json(&decision()).timeout(Duration::from_secs(1));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_eq!(client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().len(), 2);
}

/// Checks that the answer came from the two polls of the first attempt, and that all money is right.
async fn assert_paid_once(client: &Client, body: &Value, data: &Path, database: Option<&str>) {
    let evidence = body["poll"].as_array().unwrap();
    let listed = client.get("/api/polls").await.expect(200);
    let listed = listed["polls"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for poll in evidence {
        assert!(listed.iter().any(|known| known["poll_id"] == poll["poll_id"]), "{poll}");
    }
    let audit = admin(data, database, &["audit", "--json"]).await;
    assert_eq!(audit["clean"], true, "{audit}");
}

#[tokio::test]
async fn a_retry_after_a_kill_gets_the_first_polls() {
    let data = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script { held: true, ..Script::divided_panel(9) }).unwrap();
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let key = key(data.path(), None).await;
    lose(&Client::new(&url, Some(key.clone()))).await;
    child.kill().await.unwrap();
    let (_child, url) = serve(data.path(), &upstream, None).await;
    upstream.release(10_000);
    let client = Client::new(&url, Some(key));
    let polls = async || client.get("/api/polls").await.expect(200)["polls"].clone();
    until("the next process has ended the polls", polls, |polls| {
        polls.as_array().unwrap().iter().all(|poll| poll["status"] != "running" && poll["status"] != "queued")
    })
    .await;
    // A client that does not count its retries.
    let body = client.post(PATH, &decision()).await.expect(200);
    assert_paid_once(&client, &body, data.path(), None).await;
    let again = client.post_with(PATH, &decision(), &[("x-stainless-retry-count", "1")]).await.expect(200);
    assert_eq!(again, body);
}

#[tokio::test]
async fn a_retry_on_another_replica_does_not_wait_for_a_paused_process() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    let data = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script { held: true, ..Script::divided_panel(9) }).unwrap();
    let (mut first, url) = serve(data.path(), &upstream, Some(database.url())).await;
    let (_second, elsewhere) = serve(data.path(), &upstream, Some(database.url())).await;
    let key = key(data.path(), Some(database.url())).await;
    lose(&Client::new(&url, Some(key.clone()))).await;
    let process = rustix::process::Pid::from_raw(first.id().unwrap() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    upstream.release(10_000);
    let client = Client::new(&elsewhere, Some(key));
    let body = client.post_with(PATH, &decision(), &[("x-stainless-retry-count", "1")]).await.expect(200);
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    // It finishes what it had begun before the pause.
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    until("the paused process has exited", async || first.try_wait().unwrap(), Option::is_some).await;
    assert_paid_once(&client, &body, data.path(), Some(database.url())).await;
}
