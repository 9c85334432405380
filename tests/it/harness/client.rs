//! An HTTP client for tests.

use std::sync::atomic::{AtomicU32, Ordering};

use ep_kernel::{Entry, Rest};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

/// An HTTP client, with or without a key.
#[derive(Clone)]
pub struct Client {
    pub url: String,
    pub key: Option<String>,
    http: reqwest::Client,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {}: {}", self.status, self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the cookie that the response sets, in the format of a request.
    pub fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    /// Asserts the status and returns the JSON.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// Asserts an error in the interface's format and returns its message.
    #[track_caller]
    pub fn refused(self, status: u16) -> String {
        let body = self.expect(status);
        let members = body.as_object().unwrap();
        assert_eq!(members.len(), 1, "the error body has the one member error: {body}");
        members["error"].as_str().unwrap().to_owned()
    }
}

impl Reply {
    /// Asserts an error in the format of the MCP endpoint and returns its message.
    #[track_caller]
    pub fn rpc_refused(self, status: u16) -> String {
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.expect(status);
        assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &Value::Null), "{body}");
        assert_eq!(body["error"]["data"]["status"], status, "{body}");
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub fn new(url: &str, key: Option<String>) -> Self {
        // Like the binary. Only the first call of many succeeds.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { url: url.to_owned(), key, http }
    }

    /// Returns the same client with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub async fn send(&self, request: RequestBuilder) -> Reply {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Reply { status, headers, text: response.text().await.unwrap() }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// Posts with extra headers.
    pub async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Reply {
        let request = self.request(Method::POST, path).json(body);
        self.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    /// Polls the default question.
    pub async fn poll(&self, members: Value) -> Reply {
        self.post("/api/poll", &question(members)).await
    }

    /// Makes a JSON-RPC call.
    pub async fn rpc(&self, path: &str, method: &str, params: Value) -> Reply {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post_with(path, &body, &[("accept", "application/json, text/event-stream")]).await
    }

    /// Sends a message with this input to a skill of A2A.
    pub async fn skill(&self, skill: &str, data: &Value) -> Value {
        let id = MESSAGES.fetch_add(1, Ordering::Relaxed).to_string();
        let message = json!({
            "messageId": id,
            "role": "ROLE_USER",
            "parts": [{ "data": data }],
            "metadata": { "skillId": skill },
        });
        self.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200)
    }

    /// Makes a stateless MCP request, which carries these client capabilities.
    pub async fn mcp(&self, capabilities: Value, method: &str, name: Option<&str>, params: Value) -> Reply {
        self.send(self.mcp_request("/api/mcp", capabilities, method, name, params)).await
    }

    /// Builds a stateless MCP request without sending it.
    pub fn mcp_request(
        &self,
        path: &str,
        capabilities: Value,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> RequestBuilder {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = MCP_VERSION.into();
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        let body = json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params });
        let request = self
            .request(Method::POST, path)
            .json(&body)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", MCP_VERSION)
            .header("mcp-method", method);
        name.into_iter().fold(request, |request, name| request.header("mcp-name", name))
    }

    /// Calls an MCP tool in the `initialize` era and returns its result.
    pub async fn tool(&self, name: &str, arguments: Value) -> Value {
        let reply = self.rpc("/api/mcp", "tools/call", json!({ "name": name, "arguments": arguments })).await;
        reply.expect(200)["result"].clone()
    }
}

/// Numbers the messages of A2A, because a repeated message gets its earlier response.
static MESSAGES: AtomicU32 = AtomicU32::new(0);

/// The protocol version of stateless MCP.
pub const MCP_VERSION: &str = "2026-07-28";

/// Returns the default question with extra fields.
pub fn question(members: Value) -> Value {
    let mut body = json!({ "question": "Which of the two is the better one?", "options": ["Alpha", "Beta"] });
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Returns the example of an operation's input.
pub fn example(entry: &Entry) -> Value {
    serde_json::from_str(entry.spec.example).unwrap_or_else(|error| panic!("{}: {error}", entry.spec.name))
}

/// Calls an operation through its REST binding.
pub async fn by_rest(client: &Client, rest: Rest, input: &Value) -> Reply {
    let mut path = rest.path.to_owned();
    let mut members = input.as_object().unwrap().clone();
    for (name, value) in input.as_object().unwrap() {
        let placeholder = format!("{{{name}}}");
        if path.contains(&placeholder) {
            path = path.replace(&placeholder, value.as_str().unwrap());
            members.remove(name);
        }
    }
    if rest.method == ep_kernel::method::Method::Post {
        client.post(&path, &Value::Object(members)).await
    } else {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let query: Vec<(String, String)> =
            members.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let method: Method = rest.method.as_str().parse().unwrap();
        client.send(client.request(method, &path).query(&query)).await
    }
}

/// Fields with measured durations, in milliseconds.
const DURATIONS: [&str; 5] = ["at_ms", "latency_ms", "gather_ms", "total_ms", "typical_vote_ms"];

/// Sets measured durations to zero.
pub fn without_durations(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if DURATIONS.contains(&name.as_str()) && member.is_number() {
                    *member = json!(0);
                }
                without_durations(member);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_durations),
        _ => {}
    }
}
