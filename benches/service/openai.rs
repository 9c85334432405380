//! Measures `POST /v1/chat/completions` beside `POST /api/poll`: CPU of the service for a poll of a small panel without
//! latency, and resident memory of a request that waits for a poll of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ep_upstream::testing::{Script, ScriptedUpstream};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::{Server, ep_json, median};

const ROUNDS: usize = 15;
const REQUESTS: u32 = 100;
const STREAMS: usize = 500;

/// Measures the endpoints.
pub(crate) async fn run() {
    let data = tempfile::tempdir().expect("a folder");
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "500", "--json"];
    let key = ep_json(&data, &user)["api_key"].as_str().expect("a key").to_owned();
    let variables = [("EP_DEMO_PACE", "0"), ("EP_LOG", "warn,ensemble_poll::app::server=info")];
    let server = Server::start(&data, &variables);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let kinds = [Kind::Poll, Kind::IdempotentPoll, Kind::Chat];
    let mut used = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        for (kind, used) in kinds.iter().zip(&mut used) {
            let cpu = server.cpu();
            for _ in 0..REQUESTS {
                send(&client, &server, *kind, &key).await;
            }
            // The first round is a warm-up.
            if round > 0 {
                used.push(server.cpu().saturating_sub(cpu) / REQUESTS);
            }
        }
    }
    println!("\nCPU of the service for a poll of the preset budget, median of {ROUNDS} rounds of {REQUESTS}");
    let medians = used.map(|times| median(times).as_secs_f64() * 1e3);
    for (kind, ms) in kinds.iter().zip(medians) {
        println!("  {:<44} {ms:>7.3} ms   {:>+7.3} ms", kind.name(), ms - medians[0]);
    }
    drop(server);
    println!("\n{STREAMS} requests that wait, each for a poll of its own: resident memory of the service");
    for chat in [false, true] {
        let name = if chat { "/v1/chat/completions, stream" } else { "/api/poll/stream" };
        println!("  {name:<44} {:>7.1} KiB each", memory(chat).await);
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// `POST /api/poll`.
    Poll,
    /// The same with a fresh Idempotency-Key.
    IdempotentPoll,
    /// `POST /v1/chat/completions`, which always has a key.
    Chat,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Poll => "POST /api/poll",
            Self::IdempotentPoll => "POST /api/poll, Idempotency-Key",
            Self::Chat => "POST /v1/chat/completions",
        }
    }
}

fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn question() -> String {
    format!("Which of the two is the better one in case {}?", number())
}

fn chat(stream: bool) -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "reasoning": { "type": "string" }, "side": { "enum": ["Alpha", "Beta"] } },
        "required": ["reasoning", "side"],
        "additionalProperties": false,
    });
    json!({
        "model": "budget",
        "messages": [{ "role": "user", "content": question() }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "side", "schema": schema } },
        "stream": stream,
    })
}

fn poll() -> Value {
    json!({ "question": question(), "options": ["Alpha", "Beta"], "preset": "budget" })
}

async fn send(client: &Client, server: &Server, kind: Kind, key: &str) {
    let request =
        |path: &str, body: &Value| client.post(format!("{}{path}", server.url)).bearer_auth(key).json(body);
    let request: RequestBuilder = match kind {
        Kind::Poll => request("/api/poll", &poll()),
        Kind::IdempotentPoll => {
            request("/api/poll", &poll()).header("idempotency-key", format!("bench-{}", number()))
        }
        Kind::Chat => request("/v1/chat/completions", &chat(false)),
    };
    let response = request.send().await.expect("a response");
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap_or_default());
    response.bytes().await.expect("a body");
}

async fn memory(is_chat: bool) -> f64 {
    let mut script = Script { keep_requests: false, ..Script::divided_panel(5) };
    script.default.latency = Duration::from_hours(1);
    let upstream = ScriptedUpstream::start(script).expect("an upstream");
    let data = tempfile::tempdir().expect("a folder");
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "5000", "--json"];
    let key = ep_json(&data, &user)["api_key"].as_str().expect("a key").to_owned();
    let url = upstream.base_url();
    let variables = [
        ("EP_UPSTREAM_URL", url.as_str()),
        ("EP_LOG", "warn,ensemble_poll::app::server=info"),
        ("EP_MAX_CONNECTIONS", "0"),
        ("EP_POLLS_RUNNING", "2000"),
    ];
    let server = Server::start(&data, &variables);
    let address = server.url.strip_prefix("http://").expect("http");
    let mut streams = Vec::with_capacity(STREAMS);
    let (mut before, warm_up) = (0.0, STREAMS / 10);
    for number in 0..STREAMS + warm_up {
        if number == warm_up {
            before = server.resident_mib();
        }
        let (path, body) = if is_chat {
            let mut body = chat(true);
            body["model"] = "poll".into();
            ("/v1/chat/completions", body)
        } else {
            ("/api/poll/stream", json!({ "question": question(), "options": ["Alpha", "Beta"] }))
        };
        streams.push(open(address, path, &key, &body.to_string()).await);
    }
    (server.resident_mib() - before) * 1024.0 / STREAMS as f64
}

/// Opens a stream and reads the beginning of its response.
async fn open(address: &str, path: &str, key: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         accept: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut response = [0; 12];
    stream.read_exact(&mut response).await.expect("a response");
    assert_eq!(&response, b"HTTP/1.1 200");
    stream
}
