//! Measures the CPU per `get_poll_result` over MCP, beside a bare rmcp server with one tool that reads the key from
//! the same SQLite file, as the service does for every request, and returns the same value.
//!
//! Each server runs in its own process; the bare one is this program again. Rounds alternate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::process::{self, Bare, BareServer, CALLS, CONCURRENT, Server, cpu_of_calls, ep_json, micros};
use axum::Router;
use reqwest::Client;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

const ROUNDS: usize = 6;

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
        .expect("a response")
        .json()
        .await
        .expect("JSON");
    let arguments = json!({ "poll_id": poll["poll_id"] });
    let ours =
        Target { client: &client, url: format!("{}/api/mcp", server.url), key, arguments, pid: server.pid() };
    let result = ours.call().await["result"]["structuredContent"].clone();
    let content = json!({ "result": result, "file": data.path().join("ensemble-poll.db") });
    let bare = BareServer::start(Bare::Mcp, &content.to_string());
    let theirs = Target {
        url: format!("{}/mcp", bare.url),
        pid: bare.pid(),
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
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (bare, ours) = (theirs.round().await, ours.round().await);
        // The first round is a warm-up.
        if round > 0 {
            println!(
                "  bare rmcp {:>6.1} µs   ep {:>6.1} µs   ×{:.2}",
                micros(bare),
                micros(ours),
                micros(ours) / micros(bare)
            );
            a.push(bare);
            b.push(ours);
        }
    }
    let (bare, ours) = (micros(process::median(a)), micros(process::median(b)));
    println!("median      {bare:>6.1} µs      {ours:>6.1} µs   ×{:.2} CPU per request", ours / bare);
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
        sent.send().await.expect("a response").json().await.expect("JSON")
    }

    /// Measures the CPU per request in the server's process.
    async fn round(&self) -> Duration {
        cpu_of_calls(self.pid, || async {
            let response = self.call().await;
            assert_eq!(response["result"]["isError"], false, "{response}");
        })
        .await
    }
}

#[derive(Clone)]
struct OneTool {
    tool: Tool,
    result: Arc<Value>,
    database: Arc<Mutex<Connection>>,
}

impl ServerHandler for OneTool {
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
        let database = Arc::clone(&self.database);
        let read = tokio::task::spawn_blocking(move || {
            let database = database.lock().expect("a connection");
            let mut statement = database.prepare_cached(KEY).expect("a statement");
            statement.query_row([], |row| row.get::<_, String>(0)).expect("a key")
        });
        read.await.expect("read");
        Ok(CallToolResult::structured((*self.result).clone()).into())
    }
}

/// Query of the service for every request, with a key from the file.
const KEY: &str = "SELECT user_id FROM api_keys JOIN accounts ON accounts.id = user_id \
     WHERE hash = (SELECT hash FROM api_keys LIMIT 1)";

/// A bare rmcp server with one tool that reads from a file and returns JSON.
pub(crate) fn bare(content: &str) -> Router {
    let content: Value = serde_json::from_str(content).expect("JSON");
    let file = content["file"].as_str().expect("a path");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(file, flags).expect("opens");
    let schema = json!({ "type": "object", "properties": { "poll_id": { "type": "string" } } });
    let tool =
        Tool::new_with_raw("get_poll_result", None, Arc::new(schema.as_object().expect("an object").clone()));
    let bare = OneTool {
        tool,
        result: Arc::new(content["result"].clone()),
        database: Arc::new(Mutex::new(database)),
    };
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(bare.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().route_service("/mcp", service)
}
