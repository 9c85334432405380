//! Measures whole polls through `POST /api/poll`, with authentication, storage and billing, beside a bare
//! reqwest client in a process of its own that makes the same calls and stores nothing.
//!
//! The scripted upstream responds after 50 ms. All models are asked, because the threshold is 1, the votes are
//! split and the pace is fast. Rounds of both kinds alternate, so that machine noise affects both.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Bare, Server, bare_command, cpu_of, ep_json_with, median};
use ep_store::testing::Postgres;
use ep_upstream::testing::{Script, ScriptedUpstream};
use futures::future::join_all;
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

const MODELS: usize = 50;
const CONCURRENT: usize = 32;
/// Polls that each concurrent client opens in sequence.
const EACH: usize = 20;
const ROUNDS: usize = 5;

/// A load of polls: this many clients, each of which opens this many polls of this many models in sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) models: usize,
    pub(crate) clients: usize,
    pub(crate) each: usize,
}

/// One poll of fifty models after the other.
const LONE: Load = Load { models: MODELS, clients: 1, each: 30 };
const MANY: Load = Load { models: MODELS, clients: CONCURRENT, each: EACH };
/// Polls of three models, as for labels.
const SMALL: Load = Load { models: 3, clients: CONCURRENT, each: 4 * EACH };

/// The result of a load.
pub(crate) struct Measured {
    median: Duration,
    per_second: f64,
    /// CPU time per poll.
    pub(crate) cpu: Duration,
}

/// Measures polls on a SQLite file.
pub(crate) async fn run() {
    let upstream = upstream();
    let data = tempfile::tempdir().expect("a folder");
    let server = serve("SQLite", &data, &upstream, None).await;
    println!("resident after the polls        {:>8.1} MiB", server.resident_mib());
}

/// Measures polls on PostgreSQL.
pub(crate) async fn run_on_postgres() {
    let database = Postgres::start().expect("a server").database().await.expect("a database");
    let upstream = upstream();
    let data = tempfile::tempdir().expect("a folder");
    serve("PostgreSQL", &data, &upstream, Some(database.url())).await;
}

/// Starts a service on this database and measures it.
async fn serve(engine: &str, data: &TempDir, upstream: &ScriptedUpstream, database: Option<&str>) -> Server {
    let base_url = upstream.base_url();
    let mut variables = vec![("EP_UPSTREAM_URL", base_url.as_str()), ("EP_LOG", "warn,ensemble_poll=info")];
    variables.extend(database.map(|url| ("EP_DATABASE_URL", url)));
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "1000", "--json"];
    let user = ep_json_with(data, &user, &variables);
    drop(Server::start(data, &variables));
    let server = Server::start(data, &variables);
    println!("\n{engine}");
    println!("start on an existing database   {:>8.1} ms", server.started_in.as_secs_f64() * 1e3);
    let client = client();
    let healthy = Instant::now();
    client.get(format!("{}/api/health", server.url)).send().await.expect("healthy");
    println!("first health check              {:>8.1} ms", healthy.elapsed().as_secs_f64() * 1e3);
    println!("resident when idle              {:>8.1} MiB", server.resident_mib());

    let poll = Poll {
        client: &client,
        url: format!("{}/api/poll", server.url),
        key: user["api_key"].as_str().expect("a key").to_owned(),
    };
    let mut bare = BareClient::start(&base_url);
    println!("medians of {ROUNDS} rounds           bare client      ep   ratio");
    for (name, load) in
        [("one at a time", LONE), ("32 at a time", MANY), ("32 at a time, of three models", SMALL)]
    {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        // The first round is a warm-up.
        for round in 0..=ROUNDS {
            let (client, service) = (bare.run(load), measure(&server, &poll, load).await);
            if round > 0 {
                theirs.push(client);
                ours.push(service);
            }
        }
        println!("  {name}");
        let shown = |what: &str, of: fn(&Measured) -> f64| {
            let middle = |all: &[Measured]| {
                let mut figures: Vec<f64> = all.iter().map(of).collect();
                figures.sort_by(f64::total_cmp);
                figures[figures.len() / 2]
            };
            let (bare, ep) = (middle(&theirs), middle(&ours));
            println!("    {what:<28}{bare:>11.2}{ep:>11.2}   ×{:.3}", ep / bare);
        };
        shown("a poll, ms", |all| all.median.as_secs_f64() * 1e3);
        shown("polls per second", |all| all.per_second);
        shown("CPU per poll, ms", |all| all.cpu.as_secs_f64() * 1e3);
    }
    let audit = ep_json_with(data, &["admin", "audit", "--json"], &variables);
    assert_eq!(audit["clean"], true, "{audit}");
    server
}

async fn measure(server: &Server, poll: &Poll<'_>, load: Load) -> Measured {
    let (began, cpu) = (Instant::now(), server.cpu());
    let latencies = asked(&[poll], load).await;
    Measured::new(latencies, began.elapsed(), server.cpu().saturating_sub(cpu))
}

impl Measured {
    fn new(latencies: Vec<Duration>, took: Duration, cpu: Duration) -> Self {
        let polls = latencies.len();
        Self {
            median: median(latencies),
            per_second: polls as f64 / took.as_secs_f64(),
            cpu: cpu / polls as u32,
        }
    }
}

/// Starts an upstream of fifty models that respond after 50 ms.
pub(crate) fn upstream() -> ScriptedUpstream {
    let mut script = Script { keep_requests: false, ..Script::divided_panel(MODELS) };
    script.default.latency = Duration::from_millis(50);
    ScriptedUpstream::start(script).expect("an upstream")
}

/// Opens many polls at a time, on these services in turn. Returns the duration of each poll.
pub(crate) async fn many(services: &[&Poll<'_>]) -> Vec<Duration> {
    asked(services, MANY).await
}

async fn asked(services: &[&Poll<'_>], load: Load) -> Vec<Duration> {
    let calls = (0..load.clients).map(|n| async move {
        let mut times = Vec::new();
        for _ in 0..load.each {
            times.push(services[n % services.len()].ask(load.models).await);
        }
        times
    });
    join_all(calls).await.concat()
}

/// Creates a client.
pub(crate) fn client() -> Client {
    Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client")
}

/// A client of the service.
pub(crate) struct Poll<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Poll<'_> {
    /// Asks this many models, or all of them.
    async fn ask(&self, models: usize) -> Duration {
        self.ask_about("Which of the two is the better one?", models).await
    }

    /// Asks this many models this question.
    pub(crate) async fn ask_about(&self, question: &str, models: usize) -> Duration {
        let mut body = json!({
            "question": question,
            "options": ["Alpha", "Beta"],
            "confidence_threshold": 1,
            "pace": "fast"
        });
        if models < MODELS {
            body["models"] = (0..models).map(model).collect();
        }
        let began = Instant::now();
        let response =
            self.client.post(&self.url).bearer_auth(&self.key).json(&body).send().await.expect("a response");
        let poll: Value = response.json().await.expect("JSON");
        let took = began.elapsed();
        let votes = poll["votes"].as_array().map_or(0, Vec::len);
        // A poll of three can be decided by the first two votes, if the third comes later.
        assert!(votes == models || (models == 3 && votes == 2), "{poll}");
        if models == MODELS {
            assert_eq!((&poll["is_tie"], &poll["status"]), (&json!(true), &json!("success")));
        }
        took
    }
}

/// Returns the id of a model of the upstream.
pub(crate) fn model(n: usize) -> String {
    format!("maker{}/line-{n}", n % 10)
}

/// A process with a client that makes the calls of polls.
pub(crate) struct BareClient(Child);

impl BareClient {
    pub(crate) fn start(base_url: &str) -> Self {
        let mut command: Command = bare_command(Bare::Client, &format!("{base_url}/chat/completions"));
        Self(command.stdin(Stdio::piped()).spawn().expect("runs"))
    }

    /// Runs a load. Blocks, because the process needs both processors as the service does.
    pub(crate) fn run(&mut self, load: Load) -> Measured {
        let Load { models, clients, each } = load;
        let cpu = cpu_of(self.0.id());
        let input = self.0.stdin.as_mut().expect("piped");
        writeln!(input, "{models} {clients} {each}").expect("written");
        let mut line = String::new();
        let output = self.0.stdout.as_mut().expect("piped");
        // One line answers one line, so nothing is left in the buffer.
        BufReader::new(output).read_line(&mut line).expect("read");
        let cpu = cpu_of(self.0.id()).saturating_sub(cpu);
        let micros: Vec<u64> = serde_json::from_str(&line).expect("times");
        let (took, latencies) = micros.split_first().expect("a time");
        let latencies = latencies.iter().copied().map(Duration::from_micros).collect();
        Measured::new(latencies, Duration::from_micros(*took), cpu)
    }
}

impl Drop for BareClient {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs the loads that its standard input names. Prints the time of each load, and of each poll in it.
pub(crate) async fn bare(url: String) {
    let client = client();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let numbers: Vec<usize> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
        let [models, clients, each] = numbers[..] else { panic!("not a load: {line}") };
        let began = Instant::now();
        let polls = (0..clients).map(|_| {
            let (client, url) = (client.clone(), url.clone());
            async move {
                let mut times = Vec::new();
                for _ in 0..each {
                    let began = Instant::now();
                    let votes = join_all((0..models).map(|n| call(&client, &url, n))).await;
                    assert_eq!(votes.len(), models);
                    times.push(began.elapsed());
                }
                times
            }
        });
        #[expect(clippy::disallowed_methods, reason = "the loop waits for them")]
        let polls = polls.map(tokio::spawn).collect::<Vec<_>>();
        let times = join_all(polls).await.into_iter().flat_map(|times| times.expect("no panic"));
        let all = [began.elapsed()].into_iter().chain(times).map(|time| time.as_micros() as u64);
        println!("{}", json!(all.collect::<Vec<_>>()));
    }
}

async fn call(client: &Client, url: &str, n: usize) -> String {
    let body = json!({
        "model": model(n),
        "messages": [
            { "role": "system", "content": "Choose one option." },
            { "role": "user", "content": "Which of the two is the better one?\n[XQ] Alpha\n[KV] Beta" }
        ],
        "tools": [{ "type": "function", "function": {
            "name": "vote",
            "parameters": {
                "type": "object",
                "properties": { "option": { "type": "string", "enum": ["XQ", "KV"] } },
                "required": ["option"]
            }
        }}],
        "tool_choice": "required",
        "max_tokens": 256
    });
    let response = client.post(url).json(&body).send().await.expect("a response");
    let response: Value = response.json().await.expect("JSON");
    response["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
        .as_str()
        .expect("a call")
        .to_owned()
}
