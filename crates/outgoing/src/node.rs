//! A client of an Ethereum node, by JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::responses::{self, ResponseError};

/// The time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum length of a response, in bytes. The logs of a crowded block have several megabytes.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// The error code of a reverted execution (geth and compatible nodes).
const REVERTED: i64 = 3;

/// A client of an Ethereum node.
#[derive(Clone)]
pub struct Node {
    client: Client,
    /// The node's URL. It may contain a key of the node's operator.
    url: SecretString,
    chain_id: u64,
    /// Set once the node has confirmed that it serves this chain.
    checked: Arc<OnceCell<()>>,
}

/// The error of a call. It contains no text of the node, which may include the node's URL.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node is unreachable, or its response is too long.
    #[error(transparent)]
    Transport(#[from] ResponseError),
    /// The response has an unexpected form.
    #[error("the node's response is not the expected JSON-RPC")]
    Unreadable,
    /// The call ran and was reverted.
    #[error("the call was reverted")]
    Reverted,
    /// The node rejected the call.
    #[error("the node rejected the call with code {0}")]
    Rejected(i64),
    /// The node serves another chain.
    #[error("the node serves chain {0}, which is not the configured chain")]
    OtherChain(u64),
}

#[derive(Deserialize)]
struct RpcResponse {
    #[serde(default)]
    result: Value,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
}

impl Node {
    /// Creates a client of the node at this URL, which must serve this chain (EIP-155).
    pub fn new(client: Client, url: SecretString, chain_id: u64) -> Self {
        Self { client, url, chain_id, checked: Arc::default() }
    }

    /// Fails unless the node serves the configured chain. Asks the node until it has confirmed the chain
    /// once.
    pub async fn check_chain(&self) -> Result<(), NodeError> {
        let ask = async || {
            let served = self.call("eth_chainId", json!([])).await?;
            match quantity(&served).ok_or(NodeError::Unreadable)? {
                served if served == self.chain_id => Ok(()),
                served => Err(NodeError::OtherChain(served)),
            }
        };
        self.checked.get_or_try_init(ask).await.copied()
    }

    /// Runs a call and returns its result.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, NodeError> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let send = self.client.post(self.url.expose_secret()).timeout(TIMEOUT).json(&request).send();
        let response = send.await.map_err(ResponseError::unreachable)?;
        let body = responses::read(response, MAX_RESPONSE).await?;
        match serde_json::from_slice(&body) {
            Ok(RpcResponse { error: Some(error), .. })
                if error.code == REVERTED || error.message.contains("revert") =>
            {
                Err(NodeError::Reverted)
            }
            Ok(RpcResponse { error: Some(error), .. }) => Err(NodeError::Rejected(error.code)),
            Ok(RpcResponse { result, error: None }) => Ok(result),
            Err(_) => Err(NodeError::Unreadable),
        }
    }
}

/// Parses a JSON-RPC number: `0x…`.
pub fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
