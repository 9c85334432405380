//! Measures the overhead of authentication, rate limiting and an Idempotency-Key: CPU of the service, in
//! alternating rounds. On PostgreSQL, the database's own CPU is not included.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ep_store::testing::Postgres;
use reqwest::{Client, RequestBuilder};
use serde_json::json;

use crate::process::{Server, ep_json_with, median};

const ROUNDS: usize = 15;
const REQUESTS: u32 = 200;

/// Measures requests.
pub(crate) async fn run() {
    measure("sqlite", &[]).await;
    let database = Postgres::start().expect("a server").database().await.expect("a database");
    measure("postgres", &[("EP_DATABASE_URL", database.url())]).await;
}

/// The kind of request to send.
#[derive(Clone, Copy)]
enum Sent {
    /// An anonymous estimate.
    Anonymous,
    /// A dry run with a key.
    WithKey,
    /// A dry run with a key and a fresh Idempotency-Key.
    Idempotent,
}

async fn measure(engine: &str, variables: &[(&str, &str)]) {
    let data = tempfile::tempdir().expect("a folder");
    let user = ["admin", "create-user", "--email", "bench@example.com", "--json"];
    let key = ep_json_with(&data, &user, variables)["api_key"].as_str().expect("a key").to_owned();
    let mut limited = vec![
        ("EP_LOG", "warn,ensemble_poll::app::server=info"),
        ("EP_RATE_LIMIT_PER_MINUTE", "1000000"),
        ("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "1000000"),
    ];
    limited.extend(variables);
    let mut unlimited = vec![("EP_LOG", "warn,ensemble_poll::app::server=info")];
    unlimited.extend(variables);
    let (limited, unlimited) = (Server::start(&data, &limited), Server::start(&data, &unlimited));
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let cases = [
        ("an anonymous estimate", &unlimited, Sent::Anonymous),
        ("key", &unlimited, Sent::WithKey),
        ("key, counted", &limited, Sent::WithKey),
        ("key, Idempotency-Key", &unlimited, Sent::Idempotent),
        ("key, counted, Idempotency-Key", &limited, Sent::Idempotent),
    ];
    let mut used = [const { Vec::new() }; 5];
    for round in 0..=ROUNDS {
        for ((_, server, sent), used) in cases.iter().zip(&mut used) {
            let cpu = server.cpu();
            for _ in 0..REQUESTS {
                send(&client, server, *sent, &key).await;
            }
            // The first round is a warm-up.
            if round > 0 {
                used.push(server.cpu().saturating_sub(cpu) / REQUESTS);
            }
        }
    }
    println!("{engine}: CPU of the service for a dry run, median of {ROUNDS} rounds of {REQUESTS}");
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let medians = used.map(|times| millis(median(times)));
    for ((name, ..), ms) in cases.iter().zip(medians) {
        println!("  {name:<32} {ms:>7.3} ms   {:>+7.3} ms", ms - medians[1]);
    }
}

async fn send(client: &Client, server: &Server, sent: Sent, key: &str) {
    let body = json!({ "question": "Which of the two is the better one?", "options": ["Alpha", "Beta"] });
    let request = |path: &str| client.post(format!("{}{path}", server.url)).json(&body);
    let request: RequestBuilder = match sent {
        Sent::Anonymous => client.get(format!("{}/api/poll/estimate", server.url)),
        Sent::WithKey => request("/api/poll/dry-run").bearer_auth(key),
        Sent::Idempotent => {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let unique = format!("bench-{}", NEXT.fetch_add(1, Ordering::Relaxed));
            request("/api/poll/dry-run").bearer_auth(key).header("idempotency-key", unique)
        }
    };
    let response = request.send().await.expect("a response");
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap_or_default());
    response.bytes().await.expect("a body");
}
