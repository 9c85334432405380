//! An MCP client over stdio.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A running `ep mcp` with the demo roster, already initialized by the client.
pub struct StdioServer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl StdioServer {
    /// Starts `ep mcp` with these arguments. `pace` multiplies the latency of its models.
    pub async fn start(data: &Path, arguments: &[&str], pace: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ep"))
            .arg("mcp")
            .args(arguments)
            .env_clear()
            .env("EP_DATA_DIR", data)
            .env("EP_DEMO_PACE", pace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self { child, stdin, lines };
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        server.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
        server.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        server
    }

    /// Sends a message.
    pub async fn send(&mut self, message: Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a tool call.
    pub async fn call(&mut self, id: u32, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    /// Returns the next line of its output, within 20 seconds.
    pub async fn line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(20), self.lines.next_line());
        line.await.unwrap().unwrap().unwrap()
    }

    /// Closes its input and waits up to 10 seconds for it to exit.
    pub async fn close(mut self) -> ExitStatus {
        drop(self.stdin);
        tokio::time::timeout(Duration::from_secs(10), self.child.wait()).await.unwrap().unwrap()
    }
}
