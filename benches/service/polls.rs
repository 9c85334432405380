//! Measures whole polls through `POST /api/poll`, with authentication, SQLite and billing, beside a bare
//! client that makes the same fifty calls.
//!
//! The scripted upstream responds after 50 ms. All fifty models are asked, because the threshold is 1, the
//! votes are split and the pace is fast. Rounds of both kinds alternate, so that machine noise affects both.

use std::time::{Duration, Instant};

use crate::process::{Server, ep_json, median};
use ep_upstream::testing::{Script, ScriptedUpstream};
use futures::future::join_all;
use reqwest::Client;
use serde_json::{Value, json};

const MODELS: usize = 50;
const ROUNDS: usize = 60;
const CONCURRENT: usize = 32;
/// Polls that each concurrent client opens in sequence.
const EACH: usize = 20;

/// Measures whole polls.
pub(crate) async fn run() {
    let upstream = upstream();
    let data = tempfile::tempdir().expect("a folder");
    let user = ep_json(
        &data,
        &["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "100", "--json"],
    );
    let base_url = upstream.base_url();
    let variables = [("EP_UPSTREAM_URL", base_url.as_str()), ("EP_LOG", "warn,ensemble_poll=info")];
    drop(Server::start(&data, &variables));
    let server = Server::start(&data, &variables);
    println!("start on an existing database   {:>8.1} ms", server.started_in.as_secs_f64() * 1e3);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let healthy = Instant::now();
    client.get(format!("{}/api/health", server.url)).send().await.expect("healthy");
    println!("first health check              {:>8.1} ms", healthy.elapsed().as_secs_f64() * 1e3);
    println!("resident when idle              {:>8.1} MiB", server.resident_mib());

    let poll = Poll {
        client: &client,
        url: format!("{}/api/poll", server.url),
        key: user["api_key"].as_str().expect("a key").to_owned(),
    };
    let bare = Bare { client: &client, url: format!("{base_url}/chat/completions") };
    for _ in 0..5 {
        bare.fifty_calls().await;
        poll.ask().await;
    }
    let (mut by_bare, mut by_service) = (Vec::new(), Vec::new());
    let cpu = server.cpu();
    for _ in 0..ROUNDS {
        by_bare.push(bare.fifty_calls().await);
        by_service.push(poll.ask().await);
    }
    let per_poll = server.cpu().saturating_sub(cpu) / ROUNDS as u32;
    let (bare_ms, service_ms) = (median(by_bare).as_secs_f64() * 1e3, median(by_service).as_secs_f64() * 1e3);
    println!("\none after the other, median of {ROUNDS}");
    println!("  bare client, the same calls   {bare_ms:>8.2} ms");
    println!("  POST /api/poll                {service_ms:>8.2} ms   ×{:.3}", service_ms / bare_ms);
    println!("  CPU in the service per poll   {:>8.2} ms", per_poll.as_secs_f64() * 1e3);

    let (began, cpu) = (Instant::now(), server.cpu());
    let latencies = many(&[&poll]).await;
    let (took, polls) = (began.elapsed().as_secs_f64(), latencies.len());
    println!("\n{CONCURRENT} at a time, {polls} polls");
    println!("  polls per second              {:>8.1}", polls as f64 / took);
    println!("  median                        {:>8.1} ms", median(latencies).as_secs_f64() * 1e3);
    println!(
        "  CPU in the service per poll   {:>8.2} ms",
        server.cpu().saturating_sub(cpu).as_secs_f64() * 1e3 / polls as f64
    );
    println!("  resident                      {:>8.1} MiB", server.resident_mib());
    let audit = ep_json(&data, &["admin", "audit", "--json"]);
    assert_eq!(audit["clean"], true, "{audit}");
}

/// Starts an upstream of fifty models that respond after 50 ms.
pub(crate) fn upstream() -> ScriptedUpstream {
    let mut script = Script { keep_requests: false, ..Script::divided_panel(MODELS) };
    script.default.latency = Duration::from_millis(50);
    ScriptedUpstream::start(script).expect("an upstream")
}

/// Opens many polls at a time, on these services in turn. Returns the duration of each poll.
pub(crate) async fn many(services: &[&Poll<'_>]) -> Vec<Duration> {
    let calls = (0..CONCURRENT).map(|n| async move {
        let mut times = Vec::new();
        for _ in 0..EACH {
            times.push(services[n % services.len()].ask().await);
        }
        times
    });
    join_all(calls).await.concat()
}

/// A client of the service.
pub(crate) struct Poll<'a> {
    pub(crate) client: &'a Client,
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Poll<'_> {
    async fn ask(&self) -> Duration {
        let body = json!({
            "question": "Which of the two is the better one?",
            "options": ["Alpha", "Beta"],
            "confidence_threshold": 1,
            "pace": "fast"
        });
        let began = Instant::now();
        let response =
            self.client.post(&self.url).bearer_auth(&self.key).json(&body).send().await.expect("a response");
        let poll: Value = response.json().await.expect("JSON");
        let took = began.elapsed();
        assert_eq!(poll["votes"].as_array().map(Vec::len), Some(MODELS), "{poll}");
        assert_eq!((&poll["is_tie"], &poll["status"]), (&json!(true), &json!("success")));
        took
    }
}

/// A client that calls fifty models and parses their tool calls.
struct Bare<'a> {
    client: &'a Client,
    url: String,
}

impl Bare<'_> {
    async fn fifty_calls(&self) -> Duration {
        let began = Instant::now();
        let votes = join_all((0..MODELS).map(|n| self.call(n))).await;
        assert_eq!(votes.len(), MODELS);
        began.elapsed()
    }

    async fn call(&self, n: usize) -> String {
        let body = json!({
            "model": format!("maker{}/line-{n}", n % 10),
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
        let response = self.client.post(&self.url).json(&body).send().await.expect("a response");
        let response: Value = response.json().await.expect("JSON");
        response["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .expect("a call")
            .to_owned()
    }
}
