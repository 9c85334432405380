//! A node of an Ethereum chain, by JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::answers::{self, AnswerError};

/// How long the node may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer of the node, in bytes. The logs of a crowded block have several megabytes.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// The code of an execution that was reverted (geth and those that follow it).
const REVERTED: i64 = 3;

/// Asks a node.
#[derive(Clone)]
pub struct Node {
    client: Client,
    /// It may hold a key of the node's operator.
    url: SecretString,
    chain_id: u64,
    /// Set once the node has said that it serves this chain.
    checked: Arc<OnceCell<()>>,
}

/// Why the node gave no answer. Nothing of its text is shown: it may name the node's URL.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It could not be reached.
    #[error(transparent)]
    Unread(#[from] AnswerError),
    /// It answered something else than was asked.
    #[error("the node's answer is no JSON-RPC of the expected form")]
    Unreadable,
    /// The call was carried out and reverted.
    #[error("the call was reverted")]
    Reverted,
    /// It refused the call.
    #[error("the node refused the call with code {0}")]
    Refused(i64),
    /// It is a node of another chain.
    #[error("the node serves chain {0}, another one than the service is set to")]
    OtherChain(u64),
}

#[derive(Deserialize)]
struct Answer {
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
    /// The node at this URL, which must serve this chain (EIP-155).
    pub fn new(client: Client, url: SecretString, chain_id: u64) -> Self {
        Self { client, url, chain_id, checked: Arc::default() }
    }

    /// Fails unless the node serves the chain that it should. It is asked until it has said so once.
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

    /// Carries out a call, and gives its result.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, NodeError> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let send = self.client.post(self.url.expose_secret()).timeout(TIMEOUT).json(&request).send();
        let response = send.await.map_err(AnswerError::unreachable)?;
        let body = answers::read(response, MAX_ANSWER).await?;
        match serde_json::from_slice(&body) {
            Ok(Answer { error: Some(error), .. })
                if error.code == REVERTED || error.message.contains("revert") =>
            {
                Err(NodeError::Reverted)
            }
            Ok(Answer { error: Some(error), .. }) => Err(NodeError::Refused(error.code)),
            Ok(Answer { result, error: None }) => Ok(result),
            Err(_) => Err(NodeError::Unreadable),
        }
    }
}

/// A number as JSON-RPC writes it: `0x…`.
pub fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
