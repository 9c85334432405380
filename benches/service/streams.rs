//! Measures the resident memory per open stream on one poll without responses, beside idle connections.

use std::time::Duration;

use ep_upstream::testing::{Script, ScriptedUpstream};
use reqwest::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::{Server, ep_json};

const STREAMS: usize = 10_000;

/// Measures streams.
pub(crate) async fn run() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("more open files");
    let mut script = Script { keep_requests: false, ..Script::divided_panel(20) };
    script.default.latency = Duration::from_hours(1);
    let upstream = ScriptedUpstream::start(script).expect("an upstream");
    println!("\n{STREAMS} open streams on one poll, resident memory of the service");
    for kind in [Kind::Connection, Kind::Events, Kind::Mcp, Kind::Agent] {
        println!("  {:<30}{:>8.1} KiB each", kind.name(), measure(&upstream.base_url(), kind).await);
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A connection after one completed request.
    Connection,
    /// `GET /api/polls/{id}/events`.
    Events,
    /// `get_poll_result` over MCP, with progress.
    Mcp,
    /// `SubscribeToTask` of A2A.
    Agent,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Connection => "a connection without a request",
            Self::Events => "server-sent events",
            Self::Mcp => "MCP with progress",
            Self::Agent => "A2A",
        }
    }

    fn request(self, task: &str, key: &str) -> String {
        let (head, body) = match self {
            Self::Connection => ("GET /api/health".to_owned(), String::new()),
            Self::Events => (format!("GET /api/polls/{task}/events"), String::new()),
            Self::Mcp => {
                let arguments = json!({ "poll_id": task, "wait_ms": 60_000 });
                let meta = json!({ "progressToken": 1 });
                let params = json!({ "name": "get_poll_result", "arguments": arguments, "_meta": meta });
                ("POST /api/mcp".to_owned(), rpc("tools/call", &params))
            }
            Self::Agent => ("POST /api/a2a".to_owned(), rpc("SubscribeToTask", &json!({ "id": task }))),
        };
        format!(
            "{head} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

fn rpc(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

async fn measure(upstream: &str, kind: Kind) -> f64 {
    let data = tempfile::tempdir().expect("a folder");
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "5", "--json"];
    let key = ep_json(&data, &user)["api_key"].as_str().expect("a key").to_owned();
    let variables = [
        ("EP_UPSTREAM_URL", upstream),
        ("EP_LOG", "warn,ensemble_poll::app::server=info"),
        ("EP_MAX_CONNECTIONS", "0"),
        ("EP_RATE_LIMIT_PUBLIC_PER_MINUTE", "0"),
    ];
    let server = Server::start(&data, &variables);
    let task = begin(&server, &key).await;
    let address = server.url.strip_prefix("http://").expect("http");
    let request = kind.request(&task, &key);
    let mut streams = Vec::with_capacity(STREAMS);
    let (mut before, warm_up) = (0.0, STREAMS / 20);
    for number in 0..STREAMS + warm_up {
        if number == warm_up {
            before = server.resident_mib();
        }
        streams.push(open(address, &request).await);
    }
    (server.resident_mib() - before) * 1024.0 / STREAMS as f64
}

/// Opens a stream and reads the beginning of its response.
async fn open(address: &str, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut response = [0; 12];
    stream.read_exact(&mut response).await.expect("a response");
    assert_eq!(&response, b"HTTP/1.1 200");
    stream
}

/// Opens a poll that stays open, as a task. Returns the task's id.
async fn begin(server: &Server, key: &str) -> String {
    let question = json!({
        "question": "Which of the two is the better one?",
        "options": ["Alpha", "Beta"],
        "preset": "generalist",
        "confidence_threshold": 1,
    });
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": question }] });
    let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
    let client = Client::builder().no_proxy().build().expect("a client");
    let sent = client.post(format!("{}/api/a2a", server.url)).bearer_auth(key);
    let sent = sent.header("content-type", "application/json").body(rpc("SendMessage", &params));
    let response: Value = sent.send().await.expect("a response").json().await.expect("JSON");
    response["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}
