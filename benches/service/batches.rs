//! Measures batches: the wait of a person's poll beside a batch, and the rows that one and two replicas answer per second of
//! CPU.

use std::time::{Duration, Instant};

use ep_store::testing::Postgres;
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::polls::{Poll, client, upstream};
use crate::process::{Server, ep_json_with, median};

const ROUNDS: usize = 5;
/// Rows of a batch that runs beside polls: more than are asked meanwhile.
const BESIDE: usize = 1000;
/// Polls in a round, one after the other.
const POLLS: usize = 20;
/// Rows of a batch that is timed.
const TIMED: usize = 400;
/// Rows that a replica asks at once: few, so that two replicas together leave some CPU. A busy machine handles more events
/// for each wake-up, and the comparison would be one of machines.
const AT_ONCE: &str = "10";
/// Interval of reading the state of a batch.
const INTERVAL: Duration = Duration::from_millis(50);

const QUESTION: &str = "Which of the two is the better one?";

/// An account of a service.
struct Account<'a> {
    client: &'a Client,
    url: String,
    key: String,
}

/// Measures polls beside a batch on a SQLite file.
pub(crate) async fn run() {
    let (upstream, data) = (upstream(), tempfile::tempdir().expect("a folder"));
    let base_url = upstream.base_url();
    let variables = [("EP_UPSTREAM_URL", base_url.as_str()), ("EP_LOG", "warn,ensemble_poll=info")];
    let (person, labels) = (key(&data, "person", &variables), key(&data, "labels", &variables));
    let server = Server::start(&data, &variables);
    let client = client();
    let poll = Poll { client: &client, url: format!("{}/api/poll", server.url), key: person };
    let batches = Account { client: &client, url: server.url.clone(), key: labels };
    let mut waits = [const { Vec::new() }; 2];
    // The first round is a warm-up.
    for round in 0..=ROUNDS {
        for (beside, waits) in [false, true].into_iter().zip(&mut waits) {
            let batch = if beside { Some(batches.started(BESIDE).await) } else { None };
            let mut polls = Vec::new();
            for _ in 0..POLLS {
                polls.push(poll.ask_about(QUESTION, 3).await);
            }
            if let Some(batch) = batch {
                assert_eq!(batches.state(&batch).await["status"], "in_progress", "the batch ended too early");
                batches.cancel(&batch).await;
            }
            if round > 0 {
                waits.extend(polls);
            }
        }
    }
    let longest = waits.clone().map(|waits| waits.into_iter().max().unwrap_or_default());
    let [alone, beside] = waits.map(|waits| median(waits).as_secs_f64() * 1e3);
    println!(
        "\na person's poll of three models that respond after 50 ms, {ROUNDS} rounds of {POLLS} in turns"
    );
    let [alone_most, beside_most] = longest.map(|longest| longest.as_secs_f64() * 1e3);
    println!("  alone                         {alone:>8.1} ms, at most {alone_most:.1}");
    println!(
        "  beside a batch                {beside:>8.1} ms, at most {beside_most:.1}   ×{:.2}",
        beside / alone
    );
    println!("resident after the batches      {:>8.1} MiB", server.resident_mib());
}

/// Replicas on a PostgreSQL database of their own.
struct Deployment {
    data: TempDir,
    servers: Vec<Server>,
    key: String,
    /// CPU per row of each round.
    per_row: Vec<Duration>,
}

impl Deployment {
    /// Starts this number of replicas.
    fn start(database: &str, upstream: &str, replicas: usize) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let variables = [
            ("EP_DATABASE_URL", database),
            ("EP_UPSTREAM_URL", upstream),
            ("EP_BATCH_ROWS", AT_ONCE),
            ("EP_LOG", "warn,ensemble_poll=info"),
        ];
        let key = key(&data, "labels", &variables);
        let servers = (0..replicas).map(|_| Server::start(&data, &variables)).collect();
        Self { data, servers, key, per_row: Vec::new() }
    }

    /// Asks a batch, and returns the CPU of all replicas per row.
    async fn asked(&self, client: &Client) -> Duration {
        let url = self.servers.first().expect("a server").url.clone();
        let account = Account { client, url, key: self.key.clone() };
        let used = || self.servers.iter().map(Server::cpu).sum::<Duration>();
        let before = used();
        let batch = account.started(TIMED).await;
        account.ended(&batch).await;
        used().saturating_sub(before) / TIMED as u32
    }
}

/// Measures one and two replicas. They run through all rounds, because every process reads its models and fills its caches
/// once.
pub(crate) async fn run_on_replicas() {
    let (postgres, upstream) = (Postgres::start().expect("a server"), upstream());
    let base_url = upstream.base_url();
    let databases =
        [postgres.database().await.expect("a database"), postgres.database().await.expect("a database")];
    let client = client();
    let mut deployments =
        [1, 2].map(|replicas| Deployment::start(databases[replicas - 1].url(), &base_url, replicas));
    for round in 0..=ROUNDS {
        for deployment in &mut deployments {
            let used = deployment.asked(&client).await;
            // The first round is a warm-up.
            if round > 0 {
                deployment.per_row.push(used);
            }
        }
    }
    for (deployment, database) in deployments.iter().zip(&databases) {
        let variables = [("EP_DATABASE_URL", database.url())];
        let audit = ep_json_with(&deployment.data, &["admin", "audit", "--json"], &variables);
        assert_eq!(audit["clean"], true, "{audit}");
    }
    let [one, two] = deployments.map(|deployment| median(deployment.per_row).as_secs_f64());
    println!(
        "\nrows of batches on PostgreSQL, CPU of the services per row of three models, {ROUNDS} rounds in turns"
    );
    println!(
        "  one replica                   {:>8.2} ms   {:>6.0} rows per second of CPU",
        one * 1e3,
        1.0 / one
    );
    println!(
        "  two replicas                  {:>8.2} ms   {:>6.0}   ×{:.2}",
        two * 1e3,
        1.0 / two,
        one / two
    );
}

fn key(data: &TempDir, name: &str, variables: &[(&str, &str)]) -> String {
    let email = format!("{name}@example.com");
    let user = ["admin", "create-user", "--email", &email, "--credit-usd", "1000", "--json"];
    ep_json_with(data, &user, variables)["api_key"].as_str().expect("a key").to_owned()
}

impl Account<'_> {
    /// Creates a batch, and waits until its rows are asked. Returns its id.
    async fn started(&self, rows: usize) -> String {
        let row =
            |number| json!({ "question": format!("{QUESTION} {number}"), "options": ["Alpha", "Beta"] });
        let models = ["maker0/line-0", "maker1/line-1", "maker2/line-2"];
        let body =
            json!({ "rows": (0..rows).map(row).collect::<Vec<_>>(), "models": models, "complete": true });
        let created =
            self.client.post(format!("{}/api/batches", self.url)).bearer_auth(&self.key).json(&body);
        let created: Value = created.send().await.expect("a response").json().await.expect("JSON");
        let id = created["batch_id"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
        while self.state(&id).await["rows"]["completed"] == 0 {
            tokio::time::sleep(INTERVAL).await;
        }
        id
    }

    async fn state(&self, id: &str) -> Value {
        let state = self.client.get(format!("{}/api/batches/{id}", self.url)).bearer_auth(&self.key);
        state.send().await.expect("a response").json().await.expect("JSON")
    }

    async fn cancel(&self, id: &str) {
        let cancel = self.client.post(format!("{}/api/batches/{id}/cancel", self.url)).bearer_auth(&self.key);
        cancel.send().await.expect("a response");
        self.ended(id).await;
    }

    /// Waits for the end of a batch.
    async fn ended(&self, id: &str) {
        let began = Instant::now();
        while self.state(id).await["ended_at"].is_null() {
            assert!(began.elapsed() < Duration::from_mins(2), "{id} does not end");
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
