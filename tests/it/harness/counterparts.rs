//! Third-party programs in Node that the service works with: `tests/counterparts`, installed by
//! `scripts/install`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ep_kernel::testing::until;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, OnceCell};

use super::client::{Client, Reply};

/// A running script. It ends when its standard input is closed or when this value is dropped.
struct Script {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Returns the path of Node; installed from PyPI if the machine's version is too old.
pub fn node() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts/.node/bin/node");
    if own.exists() { own } else { "node".into() }
}

impl Script {
    fn start(name: &str, arguments: &[String]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts");
        let python = match name {
            "payer.py" => Some(".python"),
            "a2a-1.py" => Some(".a2a-1.3.0"),
            "a2a-0-3.py" => Some(".a2a-0.3.26"),
            "a2a-0-2.py" => Some(".a2a-0.2.16"),
            _ => None,
        };
        let program = python.map_or_else(node, |python| folder.join(python).join("bin/python"));
        Self::run(&folder, program, name, arguments)
    }

    fn run(folder: &Path, program: PathBuf, name: &str, arguments: &[String]) -> Self {
        assert!(
            folder.join("node_modules").exists(),
            "{} is not installed: run scripts/install",
            folder.display()
        );
        let mut process = Command::new(program)
            .arg(folder.join(name))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { _process: process, input, output: BufReader::new(output).lines() }
    }

    async fn ask(&mut self, request: Value) -> Value {
        self.input.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let answer = self.read().await;
        assert!(answer["error"].is_null(), "{answer} to {request}");
        answer["ok"].clone()
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_mins(1), self.output.next_line()).await.unwrap();
        serde_json::from_str(&line.unwrap().expect("the script ended")).unwrap()
    }
}

/// The wallets of `viem` and `ethers`, and the messages of `viem` and both `siwe` libraries.
pub struct WalletLibraries(Mutex<Script>);

/// A wallet with its private key.
#[derive(Debug, Clone)]
pub struct Wallet {
    pub private_key: String,
    pub address: String,
}

impl WalletLibraries {
    pub fn start() -> Self {
        Self(Mutex::new(Script::start("wallets.mjs", &[])))
    }

    /// Returns the script's response to a request.
    pub async fn ask(&self, request: Value) -> Value {
        self.0.lock().await.ask(request).await
    }

    pub async fn wallet(&self) -> Wallet {
        let account = self.ask(json!({ "op": "account" })).await;
        Wallet { private_key: text(&account["privateKey"]), address: text(&account["address"]) }
    }

    /// Signs a message with the wallet's key, using this library.
    pub async fn sign_with(&self, library: &str, wallet: &Wallet, message: &str) -> String {
        let request =
            json!({ "op": "sign", "library": library, "privateKey": wallet.private_key, "message": message });
        text(&self.ask(request).await["signature"])
    }

    /// Signs in a wallet with the service's message. The headers are sent with both requests.
    pub async fn sign_in(&self, client: &Client, wallet: &Wallet, headers: &[(&str, &str)]) -> Reply {
        self.sign_in_signed(client, wallet, headers).await.0
    }

    /// Signs in and also returns the signature.
    pub async fn sign_in_signed(
        &self,
        client: &Client,
        wallet: &Wallet,
        headers: &[(&str, &str)],
    ) -> (Reply, String) {
        let path = format!("/api/wallet/challenge?address={}", wallet.address);
        let request = client.request(Method::GET, &path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let challenge = client.send(request).await.expect(200);
        let message = challenge["message"].as_str().unwrap();
        let signature = self.sign(wallet, message).await;
        let body = json!({ "message": message, "signature": signature });
        (client.post_with("/api/wallet/verify", &body, headers).await, signature)
    }

    pub async fn sign(&self, wallet: &Wallet, message: &str) -> String {
        self.sign_with("viem", wallet, message).await
    }
}

/// A separate chain: anvil, with Circle's USDC contract.
pub struct Chain {
    /// The script's facts about the chain: see `chain.mjs`.
    pub facts: Value,
    script: Mutex<Script>,
}

impl Chain {
    pub async fn start(chain_id: u64) -> Self {
        let mut script = Script::start("chain.mjs", &[chain_id.to_string()]);
        Self { facts: script.read().await, script: Mutex::new(script) }
    }

    /// Returns the script's response to a request.
    pub async fn ask(&self, request: Value) -> Value {
        self.script.lock().await.ask(request).await
    }

    /// Returns the USDC balance of an address, in micro-USD.
    pub async fn balance(&self, address: &str) -> u64 {
        let balance = self.ask(json!({ "op": "balance", "address": address })).await;
        text(&balance["amount"]).parse().unwrap()
    }

    pub fn rpc_url(&self) -> String {
        text(&self.facts["rpcUrl"])
    }
}

/// An identity provider: `oidc-provider`.
pub struct IdentityProvider {
    pub issuer: String,
    _script: Script,
}

impl IdentityProvider {
    /// Starts a provider with one client, the service at this URL. A `port` of 0 selects any port.
    pub async fn start(service_url: &str, port: u16) -> Self {
        let client = json!({
            "clientId": "polls",
            "clientSecret": "a secret of the client",
            "redirectUris": [format!("{service_url}/api/auth/callback")],
            "postLogoutRedirectUris": [format!("{service_url}/")],
            "port": port,
        });
        let mut script = Script::start("provider.mjs", &[client.to_string()]);
        let issuer = text(&script.read().await["issuer"]);
        Self { issuer, _script: script }
    }

    /// Sets the signed-in user.
    pub async fn sign_in(&self, subject: &str, email: &str, verified: bool) {
        self.sign_in_with(json!({ "sub": subject, "email": email, "email_verified": verified })).await;
    }

    /// Sets the signed-in user with these claims.
    pub async fn sign_in_with(&self, claims: Value) {
        self.post("/test/account", claims).await;
    }

    /// Sets the grants of people to clients: see `provider.mjs`.
    pub async fn grants(&self, settings: Value) {
        self.control("grants", settings).await;
    }

    /// Returns the scopes that clients have requested since then.
    pub async fn asked(&self) -> Value {
        self.control("seen", json!({})).await["asked"].clone()
    }

    /// Returns the number of key fetches.
    pub async fn key_fetches(&self) -> u64 {
        self.control("seen", json!({})).await["keyFetches"].as_u64().unwrap()
    }

    /// Replaces the signing keys with a new key with this id.
    pub async fn rotate(&self, kid: &str) {
        self.control("rotate", json!({ "kid": kid })).await;
    }

    /// Sets broken responses for these paths.
    pub async fn breaks(&self, paths: Value) {
        self.control("break", paths).await;
    }

    /// Creates an access token with these claims, header fields and key: see `provider.mjs`.
    pub async fn token(&self, making: Value) -> String {
        text(&self.control("token", making).await["token"])
    }

    async fn control(&self, name: &str, body: Value) -> Value {
        let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
        let reply = http.post(format!("{}/test/{name}", self.issuer)).json(&body).send().await.unwrap();
        let (status, text) = (reply.status(), reply.text().await.unwrap());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Makes the next sign-in fail with this error.
    pub async fn refuse_next(&self, error: &str) {
        self.post("/test/refuse", json!({ "error": error })).await;
    }

    async fn post(&self, path: &str, body: Value) {
        let request = ep_outgoing::client_builder().no_proxy().build().unwrap();
        let reply = request.post(format!("{}{path}", self.issuer)).json(&body).send().await.unwrap();
        assert_eq!(reply.status(), 204);
    }
}

/// An x402 facilitator built from the reference libraries, with configurable failures.
pub struct Facilitator {
    pub url: String,
    http: reqwest::Client,
    _script: Script,
}

impl Facilitator {
    pub async fn start(chain: &Chain) -> Self {
        let settings = json!({
            "rpcUrl": chain.facts["rpcUrl"],
            "chainId": chain.facts["chainId"],
            "privateKey": chain.facts["facilitatorPrivateKey"],
        });
        let mut script = Script::start("facilitator.mjs", &[settings.to_string()]);
        let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
        Self { url: text(&script.read().await["url"]), http, _script: script }
    }

    /// Sets the failures of the next calls, in order: see `facilitator.mjs`.
    pub async fn fail(&self, plan: Value) {
        let reply = self.http.post(format!("{}/test/fail", self.url)).json(&plan).send().await.unwrap();
        assert_eq!(reply.status(), 200);
    }
}

/// The paying clients: `@x402/fetch` (version 2), `x402-fetch` (version 1) and Python's `x402` (version 2), and
/// manual signatures.
pub struct Payer {
    node: Mutex<Script>,
    python: OnceCell<Mutex<Script>>,
}

impl Payer {
    pub fn start() -> Self {
        Self { node: Mutex::new(Script::start("payer.mjs", &[])), python: OnceCell::new() }
    }

    /// Returns the script's response to a request.
    pub async fn ask(&self, request: Value) -> Value {
        let script = if request["client"] == "python" {
            self.python.get_or_init(async || Mutex::new(Script::start("payer.py", &[]))).await
        } else {
            &self.node
        };
        script.lock().await.ask(request).await
    }
}

/// A strict fake of Stripe Checkout that the official SDK accepts.
pub struct Stripe {
    pub api_url: String,
    http: reqwest::Client,
    _script: Script,
}

impl Stripe {
    /// Starts a fake that reports payments to the service at this URL, signed with the first of these secrets.
    pub async fn start(service_url: &str, secrets: &[&str]) -> Self {
        let settings = json!({
            "secretKey": "sk_test_of_the_tests",
            "webhookUrl": format!("{service_url}/api/webhooks/stripe"),
            "webhookSecrets": secrets,
        });
        let mut script = Script::start("stripe.mjs", &[settings.to_string()]);
        let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
        Self { api_url: text(&script.read().await["apiUrl"]), http, _script: script }
    }

    /// Calls a control of the fake: see `stripe-control.mjs`.
    pub async fn control(&self, path: &str, body: Value) -> Value {
        let url = format!("{}/test/{path}", self.api_url);
        let reply = self.http.post(url).json(&body).send().await.unwrap();
        let (status, text) = (reply.status(), reply.text().await.unwrap());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Returns the requests that it has received.
    pub async fn requests(&self) -> Vec<Value> {
        let url = format!("{}/test/requests", self.api_url);
        let seen: Value =
            serde_json::from_str(&self.http.get(url).send().await.unwrap().text().await.unwrap()).unwrap();
        seen["requests"].as_array().unwrap().clone()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A program that receives webhooks and verifies them with the `standardwebhooks` library.
pub struct WebhookReceiver {
    pub url: String,
    script: Mutex<Script>,
}

impl WebhookReceiver {
    pub async fn start() -> Self {
        let mut script = Script::start("receiver.mjs", &[]);
        let url = text(&script.read().await["url"]);
        Self { url, script: Mutex::new(script) }
    }

    /// Sets the secret for verifying signatures.
    pub async fn check_with(&self, secret: &str) {
        self.script.lock().await.ask(json!({ "op": "secret", "secret": secret })).await;
    }

    /// Sets the next responses: statuses, objects with status and headers, `drop` or `silence`; then 204.
    pub async fn answer(&self, next: Value) {
        self.script.lock().await.ask(json!({ "op": "answer", "next": next })).await;
    }

    /// Waits for at least this many requests and returns all of them.
    pub async fn received(&self, count: usize) -> Vec<Value> {
        let read = async || {
            let received = self.script.lock().await.ask(json!({ "op": "received" })).await;
            received.as_array().unwrap().clone()
        };
        until(&format!("{count} requests have come"), read, |received| received.len() >= count).await
    }
}

/// A program that uses an A2A agent through one of the official clients.
pub struct AgentClient(Mutex<Script>);

impl AgentClient {
    /// Starts the program with this name: `a2a-1.py`, `a2a-0-3.py`, `a2a-0-2.py` or `a2a-clients.mjs`.
    pub fn start(name: &str) -> Self {
        Self(Mutex::new(Script::start(name, &[])))
    }

    /// Uses every feature of the client and returns its observations.
    pub async fn run(&self, request: Value) -> Value {
        self.0.lock().await.ask(request).await
    }
}

/// A program that uses the MCP endpoint through an official client, which requests its own access tokens.
pub struct OAuthClient(Mutex<Script>);

impl OAuthClient {
    /// Starts the program with this name in `tests/mcp-clients`, in Node or in this Python virtual environment.
    pub fn start(name: &str, python: Option<&str>, url: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-clients");
        let program = python.map_or_else(node, |python| folder.join(python).join("bin/python"));
        Self(Mutex::new(Script::run(&folder, program, name, &[url.to_owned()])))
    }

    /// Calls a tool and returns its structured result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.0.lock().await.ask(json!({ "op": "call", "tool": tool, "arguments": arguments })).await
    }

    /// Makes the Python client treat its access token as expired.
    pub async fn expire(&self) {
        self.0.lock().await.ask(json!({ "op": "expire" })).await;
    }
}
