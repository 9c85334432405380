//! Payments, repeated requests and command-line polls when processes are killed, stopped or paused. `rounds` has
//! rounds of `kill -9` under full load.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ep_upstream::testing::{Behaviour, Billing, Script, ScriptedUpstream, VoteFor};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::{Client, Setup, Stripe, WalletLibraries, question, until};
use crate::rounds::stored::Stored;

/// Starts `ep serve` as a process and returns its address.
async fn serve(data: &Path, upstream: &ScriptedUpstream, database: Option<&str>) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear();
    started(command, data, upstream, database, 1500).await
}

/// Starts a command with its listener, further settings and this lease duration in milliseconds.
pub async fn started(
    mut command: Command,
    data: &Path,
    upstream: &ScriptedUpstream,
    database: Option<&str>,
    lease_ms: u32,
) -> (Child, String) {
    command.env("EP_DATA_DIR", data);
    command
        .env("EP_UPSTREAM_URL", upstream.base_url())
        .env("EP_LOG_FORMAT", "json")
        .env("EP_RATE_LIMIT_PER_MINUTE", "0");
    command.env("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "0").env("EP_LEASE_MS", lease_ms.to_string());
    // Other tests and builds keep the disk busy.
    command.env("EP_STALLED_AFTER_MS", "15000");
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

pub async fn admin(data: &Path, database: Option<&str>, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.arg("admin").args(arguments).env_clear().env("EP_DATA_DIR", data).current_dir(data);
    if let Some(url) = database {
        command.env("EP_DATABASE_URL", url);
    }
    let output = command.output().await.unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Kills the process repeatedly while card payments are reported. Like the processor, the test repeats every
/// report until it is acknowledged.
async fn kill_during_payment_reports(database: Option<&str>) {
    const PAYMENTS: usize = 24;
    let data = tempfile::tempdir().unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(5)).unwrap();
    let (_, url) = Setup::default().at_known_address();
    let stripe = Stripe::start(&url, &["whsec_of_the_tests"]).await;
    let serve = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.arg("serve").args(["--listen", url.strip_prefix("http://").unwrap()]).env_clear();
        command
            .env("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
            .env("EP_STRIPE_WEBHOOK_SECRET", "whsec_of_the_tests")
            .env("EP_STRIPE_API_URL", &stripe.api_url)
            .env("EP_STARTER_CREDIT_USD", "0");
        started(command, data.path(), &upstream, database, 1500)
    };
    let (mut child, _) = serve().await;
    let client = Client::new(&url, None);
    let libraries = WalletLibraries::start();
    let wallet = libraries.wallet().await;
    let signed_in = libraries.sign_in(&client, &wallet, &[]).await;
    let cookie = signed_in.cookie();
    let user = signed_in.expect(200)["user_id"].as_str().unwrap().to_owned();

    let mut events = Vec::new();
    for _ in 0..PAYMENTS {
        let page =
            client.post_with("/api/checkout", &json!({ "amount_cents": 100 }), &[("cookie", &cookie)]).await;
        let page = page.expect(200)["url"].as_str().unwrap().to_owned();
        let session = page.rsplit('/').next().unwrap();
        let paid = stripe.control("pay", json!({ "session": session, "deliver": false })).await;
        events.push(paid["event"]["id"].clone());
    }
    let mut waiting = events.clone();
    for round in 0..20 {
        let report = async |event: &Value| {
            let sent = stripe.control("deliver", json!({ "event": event, "times": 2 })).await;
            sent["deliveries"].as_array().unwrap().iter().all(|sent| sent["status"] == 200)
        };
        let kill = async {
            tokio::time::sleep(Duration::from_millis(4 << (round / 2))).await;
            child.kill().await.unwrap();
        };
        let (acknowledged, ()) =
            futures::future::join(futures::future::join_all(waiting.iter().map(report)), kill).await;
        let mut acknowledged = acknowledged.into_iter();
        waiting.retain(|_| !acknowledged.next().unwrap());
        (child, _) = serve().await;
        if waiting.is_empty() {
            break;
        }
    }
    assert!(waiting.is_empty(), "{} payments could not be reported in twenty attempts", waiting.len());
    child.kill().await.unwrap();
    let audit = admin(data.path(), database, &["audit", "--json"]).await;
    assert_eq!((&audit["clean"], &audit["transfers"]), (&json!(true), &json!(PAYMENTS)), "{audit}");
    let balance = admin(data.path(), database, &["balance", "--user", &user, "--json"]).await;
    assert_eq!(balance["available_usd"].as_f64(), Some(PAYMENTS as f64), "{balance}");
}

#[tokio::test]
async fn kill_during_payment_reports_on_sqlite() {
    kill_during_payment_reports(None).await;
}

#[tokio::test]
async fn kill_during_payment_reports_on_postgres() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    kill_during_payment_reports(Some(database.url())).await;
}

#[tokio::test]
async fn graceful_stop_finishes_requests_and_loses_nothing() {
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

pub async fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().unwrap().to_string()]).status().await.unwrap();
    assert!(sent.success());
}

/// Returns the result of a poll after it has ended.
async fn ended(client: &Client, id: &str) -> Value {
    let read = async || client.get(&format!("/api/results/{id}")).await.expect(200);
    until("the poll has ended", read, |result| {
        !["queued", "running"].contains(&result["status"].as_str().unwrap())
    })
    .await
}

/// A replica paused for longer than its lease finds its poll on another replica and makes no more calls.
#[tokio::test]
async fn paused_replica_leaves_its_poll_to_the_other() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    let url = Some(database.url());
    let data = tempfile::tempdir().unwrap();
    let mut script = Script { votes_for: VoteFor::Hash, ..Script::panel(40) };
    (script.default.latency, script.default.jitter) =
        (Duration::from_millis(300), Duration::from_millis(600));
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
    let key = admin(data.path(), url, &user).await["api_key"].as_str().unwrap().to_owned();
    let (mut paused, first) = serve(data.path(), &upstream, url).await;
    let (mut other, second) = serve(data.path(), &upstream, url).await;
    let client = Client::new(&first, Some(key.clone()));
    let body = question(json!({ "confidence_threshold": 1, "pace": "thrifty", "wait_ms": 1 }));
    let poll = client.post("/api/poll", &body).await.expect(202);
    let id = poll["poll_id"].as_str().unwrap();
    let path = format!("/api/results/{id}");
    let answered = async |client: &Client| client.get(&path).await.json()["answered"].as_u64().unwrap();
    until("three models have responded", async || answered(&client).await, |answered| *answered >= 3).await;
    let client = Client::new(&second, Some(key));
    let pause = async || {
        signal(&paused, "-STOP").await;
        let in_flight = upstream.total_calls() - answered(&client).await as usize;
        if in_flight == 0 {
            // Paused between two waves of calls.
            signal(&paused, "-CONT").await;
        }
        in_flight
    };
    let in_flight = until("it is paused with calls in flight", pause, |in_flight| *in_flight > 0).await;
    // It resumes when the other replica makes its first call, before any result is recorded.
    let before = upstream.total_calls();
    until("the other replica calls a model", async || upstream.total_calls(), |calls| *calls > before).await;
    signal(&paused, "-CONT").await;
    let result = ended(&client, id).await;
    // It finishes what it had begun before the pause.
    signal(&paused, "-TERM").await;
    until("the paused process has exited", async || paused.try_wait().unwrap(), Option::is_some).await;
    let calls = upstream.total_calls();
    assert!(calls <= 40 + in_flight, "{calls} calls for 40 models, {in_flight} were in flight at the pause");
    assert_eq!(client.get(&path).await.expect(200)["votes"], result["votes"]);
    other.kill().await.unwrap();
    assert_eq!(admin(data.path(), url, &["audit", "--json"]).await["clean"], true);
}

/// A single process paused for longer than its lease uses the responses that arrived meanwhile. It repeats no
/// call and charges no estimate.
#[tokio::test]
async fn paused_single_process_uses_the_responses_that_arrived() {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script::divided_panel(40);
    // The responses arrive one after the other, most of them during the pause.
    for n in 0..40 {
        let (billing, latency) = (Billing::Cost(120, 12, 0.0001), Duration::from_millis(130 * (n + 1)));
        let model = format!("maker{}/line-{n}", n % 10);
        script = script.with(&model, Behaviour { billing, latency, ..Behaviour::default() });
    }
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
    let user = admin(data.path(), None, &user).await;
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(user["api_key"].as_str().unwrap().to_owned()));
    let body = question(json!({ "confidence_threshold": 1, "pace": "fast", "wait_ms": 1 }));
    let poll = client.post("/api/poll", &body).await.expect(202);
    let id = poll["poll_id"].as_str().unwrap();
    let path = format!("/api/results/{id}");
    let read = async || client.get(&path).await.json()["answered"].as_u64().unwrap();
    let answered = until("five models have responded", read, |answered| *answered >= 5).await;
    signal(&child, "-STOP").await;
    assert!(answered < 40 && upstream.total_calls() == 40, "{answered} of 40 have answered");
    let stored = Stored(format!("sqlite://{}/ensemble-poll.db", data.path().display()));
    let leased = "SELECT count(*) FROM polls, clock WHERE lease_until > clock.now";
    until("the lease has ended", async || stored.number(leased).await, |leased| *leased == 0).await;
    signal(&child, "-CONT").await;
    let result = ended(&client, id).await;
    assert_eq!((&result["models_succeeded"], upstream.total_calls()), (&json!(40), 40), "{result}");
    child.kill().await.unwrap();
    assert_eq!(admin(data.path(), None, &["audit", "--json"]).await["clean"], true);
    let balance = ["balance", "--user", user["user_id"].as_str().unwrap(), "--json"];
    let balance = admin(data.path(), None, &balance).await;
    assert_eq!(balance["available_usd"].as_f64(), Some(1.0 - 40.0 * 0.0001), "{balance}");
}

/// A poll written by a newer version of the program is left to that version.
#[tokio::test]
async fn poll_in_an_unknown_format_is_never_resumed() {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script::divided_panel(8);
    script.default.latency = Duration::from_millis(700);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
    let key = admin(data.path(), None, &user).await["api_key"].as_str().unwrap().to_owned();
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(key.clone()));
    let open = async |text: &str| {
        let body = question(json!({ "question": text, "confidence_threshold": 1, "wait_ms": 1 }));
        client.post("/api/poll", &body).await.expect(202)["poll_id"].as_str().unwrap().to_owned()
    };
    let (newer, known) = ("Which of the two is newer?", "Which of the two is known?");
    let ids = [open(newer).await, open(known).await];
    let id = ids[0].as_str();
    let calls = |text: &str| {
        let received = upstream.all_received();
        received.iter().filter(|request| request.body.to_string().contains(text)).count()
    };
    until("both polls call models", async || [newer, known].map(calls), |calls| !calls.contains(&0)).await;
    child.kill().await.unwrap();
    let stored = Stored(format!("sqlite://{}/ensemble-poll.db", data.path().display()));
    stored.execute("UPDATE polls SET form = 99 WHERE number = (SELECT min(number) FROM polls)").await;
    stored.execute("UPDATE polls SET lease_until = 0").await;
    let before = calls(newer);
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(key));
    for path in ["/api/results/ID", "/api/polls/ID/status", "/api/polls/ID/result", "/api/polls/ID/events"] {
        let reply = client.get(&path.replace("ID", id)).await;
        assert_eq!(reply.header("retry-after"), "5", "{path}");
        assert!(reply.refused(503).contains("a newer version of this program"), "{path}");
    }
    let tool = client.tool("get_poll_result", json!({ "poll_id": id })).await;
    assert!(tool["isError"] == true && tool.to_string().contains("a newer version"), "{tool}");
    client.post(&format!("/api/polls/{id}/cancel"), &json!({})).await.refused(503);
    // The scan that resumes the other poll finds this one as well.
    assert_eq!(ended(&client, &ids[1]).await["models_succeeded"], 8);
    assert_eq!(calls(newer), before, "no model was asked");
    stored.execute("UPDATE polls SET form = 1").await;
    let result = ended(&client, id).await;
    assert_eq!(result["models_succeeded"], 8, "{result}");
    child.kill().await.unwrap();
}

/// A request interrupted by a crash can be repeated when the lease of its process has expired.
#[tokio::test]
async fn request_can_be_repeated_after_a_crash() {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script { votes_for: VoteFor::Hash, ..Script::panel(40) };
    script.default.latency = Duration::from_millis(100);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let user = ["create-user", "--email", "a@example.com", "--credit-usd", "1", "--json"];
    let key = admin(data.path(), None, &user).await["api_key"].as_str().unwrap().to_owned();
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(key.clone()));
    let body = question(json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    let keyed = [("idempotency-key", "order-1")];
    let cut_off = tokio::spawn({
        let body = body.clone();
        let request = client
            .request(reqwest::Method::POST, "/api/poll")
            .json(&body)
            .header("idempotency-key", "order-1");
        async move { request.send().await.and_then(reqwest::Response::error_for_status) }
    });
    let repeat = async || client.post_with("/api/poll", &body, &keyed).await.json()["poll_id"].clone();
    let id = until("the poll is open", repeat, Value::is_string).await;
    child.kill().await.unwrap();
    assert!(cut_off.await.unwrap().is_err());
    let (mut child, url) = serve(data.path(), &upstream, None).await;
    let client = Client::new(&url, Some(key));
    let repeat = async || client.post_with("/api/poll", &body, &keyed).await;
    let again = until("the request is repeated", repeat, |reply| reply.status != 409).await;
    assert_eq!(again.expect(200)["poll_id"], id);
    child.kill().await.unwrap();
}

/// `ep poll` keeps its poll while it runs, even if a server on the same database looks for abandoned polls.
#[tokio::test]
async fn running_command_line_poll_is_not_adopted() {
    let data = tempfile::tempdir().unwrap();
    let mut script = Script { votes_for: VoteFor::Hash, ..Script::panel(40) };
    script.default.latency = Duration::from_millis(900);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let (mut server, _) = serve(data.path(), &upstream, None).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.args(["poll", "Which of the two is better?", "-o", "Alpha", "-o", "Beta", "--json"]);
    command.args(["--threshold", "1", "--pace", "thrifty"]).env_clear().env("EP_DATA_DIR", data.path());
    command.env("EP_UPSTREAM_URL", upstream.base_url()).env("EP_LEASE_MS", "1500").current_dir(data.path());
    let output = command.output().await.unwrap();
    let poll: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let answered = poll["votes"].as_array().unwrap().len();
    assert!(answered > 20, "{answered}");
    assert!(upstream.total_calls() <= 40, "{} calls for 40 models", upstream.total_calls());
    server.kill().await.unwrap();
}
