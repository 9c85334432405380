//! CPU per `get_poll_result` over MCP, against a bare rmcp server with one tool that returns the same
//! value, and what of it the database takes: the key's owner is read for every request, which is measured as an
//! estimate with a key against one without.
//!
//! Each server is a process of its own; the bare one is this program again. Rounds take turns.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::process::{self, Server, cpu_of, ep_json};
use futures::future::join_all;
use reqwest::Client;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

const BARE: &str = "EP_BENCH_BARE_MCP";
const CONCURRENT: usize = 16;
const CALLS: usize = 250;
const ROUNDS: usize = 6;

/// What the bare server is to return, where this process is to be one.
pub(crate) fn bare_result() -> Option<Value> {
    std::env::var(BARE).ok().map(|result| serde_json::from_str(&result).expect("JSON"))
}

/// Measures MCP calls.
pub(crate) async fn run() {
    let data = tempfile::tempdir().expect("a folder");
    let user = ep_json(
        &data,
        &["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "5", "--json"],
    );
    let key = user["api_key"].as_str().expect("a key").to_owned();
    let server = Server::start(&data, &[("EP_DEMO_PACE", "0"), ("EP_LOG", "warn,ensemble_poll=info")]);
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let body = json!({ "question": "Which of the two is the better one?", "options": ["Alpha", "Beta"] });
    let poll: Value = client
        .post(format!("{}/api/poll", server.url))
        .bearer_auth(&key)
        .json(&body)
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let arguments = json!({ "poll_id": poll["poll_id"] });
    let ours =
        Target { client: &client, url: format!("{}/api/mcp", server.url), key, arguments, pid: server.pid() };
    let result = ours.call().await["result"]["structuredContent"].clone();
    let bare = BareServer::start(&result);
    let theirs = Target {
        url: bare.url.clone(),
        pid: bare.child.id(),
        key: ours.key.clone(),
        arguments: ours.arguments.clone(),
        ..ours
    };
    assert_eq!(theirs.call().await["result"]["structuredContent"], result);
    let ours = Target {
        url: format!("{}/api/mcp", server.url),
        pid: server.pid(),
        key: theirs.key.clone(),
        arguments: theirs.arguments.clone(),
        ..theirs
    };

    println!(
        "result of {} bytes, {CONCURRENT} at a time, {ROUNDS} rounds of {} calls",
        result.to_string().len(),
        CALLS * CONCURRENT
    );
    let (mut a, mut b, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    let estimate = format!("{}/api/poll/estimate", server.url);
    for round in 0..=ROUNDS {
        let (bare, ours) = (theirs.round().await, ours.round().await);
        let anonymous =
            cpu_of_calls(server.pid(), || async { drop(get(&client, &estimate, None).await) }).await;
        let identified =
            cpu_of_calls(server.pid(), || async { drop(get(&client, &estimate, Some(&theirs.key)).await) })
                .await;
        // The first round warms up.
        if round > 0 {
            println!(
                "  bare rmcp {:>6.1} µs   ep {:>6.1} µs   ×{:.2}",
                micros(bare),
                micros(ours),
                micros(ours) / micros(bare)
            );
            a.push(bare);
            b.push(ours);
            reads.push(identified.saturating_sub(anonymous));
        }
    }
    let (bare, ours) = (micros(process::median(a)), micros(process::median(b)));
    println!("median      {bare:>6.1} µs      {ours:>6.1} µs   ×{:.2} CPU per request", ours / bare);
    let read = micros(process::median(reads));
    println!(
        "of which the database takes {read:.1} µs; above it and the bare server {:.1} µs",
        ours - read - bare
    );
}

async fn get(client: &Client, url: &str, key: Option<&str>) -> axum::body::Bytes {
    let mut request = client.get(url);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    answer.bytes().await.expect("a body")
}

/// CPU of a process for each of many calls.
async fn cpu_of_calls<F: Future<Output = ()>>(pid: u32, call: impl Fn() -> F) -> Duration {
    let (cpu, began) = (cpu_of(pid), Instant::now());
    join_all((0..CONCURRENT).map(|_| async {
        for _ in 0..CALLS {
            call().await;
        }
    }))
    .await;
    assert!(began.elapsed() < Duration::from_mins(2));
    cpu_of(pid).saturating_sub(cpu) / (CALLS * CONCURRENT) as u32
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

struct Target<'a> {
    client: &'a Client,
    url: String,
    key: String,
    arguments: Value,
    pid: u32,
}

impl Target<'_> {
    async fn call(&self) -> Value {
        let params = json!({ "name": "get_poll_result", "arguments": self.arguments });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let sent = self
            .client
            .post(&self.url)
            .bearer_auth(&self.key)
            .header("accept", "application/json, text/event-stream")
            .json(&request);
        sent.send().await.expect("an answer").json().await.expect("JSON")
    }

    /// CPU per request in the server's process.
    async fn round(&self) -> Duration {
        cpu_of_calls(self.pid, || async {
            let answer = self.call().await;
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        })
        .await
    }
}

struct BareServer {
    child: Child,
    url: String,
}

impl BareServer {
    fn start(result: &Value) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child =
            Command::new(program).env(BARE, result.to_string()).stdout(Stdio::piped()).spawn().expect("runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("its address");
        Self { child, url: line.trim().to_owned() }
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[derive(Clone)]
struct Bare {
    tool: Tool,
    result: Arc<Value>,
}

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }
    fn get_tool(&self, _: &str) -> Option<Tool> {
        Some(self.tool.clone())
    }
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured((*self.result).clone()).into())
    }
}

/// Serves one tool with nothing but rmcp.
pub(crate) async fn serve_bare(result: Value) {
    let schema = json!({ "type": "object", "properties": { "poll_id": { "type": "string" } } });
    let tool =
        Tool::new_with_raw("get_poll_result", None, Arc::new(schema.as_object().expect("an object").clone()));
    let bare = Bare { tool, result: Arc::new(result) };
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(bare.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}/mcp", listener.local_addr().expect("an address"));
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await.expect("serves");
}
