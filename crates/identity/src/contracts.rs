//! Contract wallets: a node of their chain says whether they accept a signature.

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_outgoing::AnswerError;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

/// The validator of EIP-6492 as it is deployed for one call: it takes an address, a hash and a signature, and gives 1
/// if the signature is valid for a deployed wallet (EIP-1271), one that is not deployed yet, or a key.
const VALIDATOR: &str = include_str!("eip6492_validator.hex");

/// How long the node may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer of the node, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// The code of an execution that was reverted (geth and those that follow it).
const REVERTED: i64 = 3;

/// Asks a node (Ethereum JSON-RPC) about contract wallets.
pub struct ContractWallets {
    client: Client,
    /// It may hold a key of the node's operator.
    rpc_url: SecretString,
}

#[derive(Deserialize)]
struct Answer {
    result: Option<String>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
}

/// Why the node gave no answer. Nothing of its text is shown: it may name the node's URL.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error(transparent)]
    Unread(#[from] AnswerError),
    #[error("the node's answer is no JSON-RPC")]
    Unreadable,
    #[error("the node refused the call with code {0}")]
    Refused(i64),
    #[error("the node serves chain {0}, another one than the service is set to")]
    OtherChain(u64),
}

impl ContractWallets {
    /// Wallets on the chain of this node.
    pub fn new(client: Client, rpc_url: SecretString) -> Self {
        Self { client, rpc_url }
    }

    /// Whether the wallet at this address accepts a signature of this hash. Fails if the node cannot say.
    pub(crate) async fn accepts(
        &self,
        chain_id: u64,
        address: [u8; 20],
        hash: [u8; 32],
        signature: &[u8],
    ) -> Result<bool, Fault> {
        self.ask(chain_id, address, hash, signature).await.map_err(|cause| {
            tracing::warn!(error = %cause, "a contract wallet could not be checked");
            Fault::new(
                Kind::Unavailable,
                "signatures of contract wallets cannot be checked right now; try again in a moment",
            )
            .retry_after(TIMEOUT)
            .caused_by(Box::new(cause))
        })
    }

    async fn ask(
        &self,
        chain_id: u64,
        address: [u8; 20],
        hash: [u8; 32],
        signature: &[u8],
    ) -> Result<bool, NoAnswer> {
        let served = quantity(&self.call("eth_chainId", json!([])).await?).ok_or(NoAnswer::Unreadable)?;
        if served != chain_id {
            return Err(NoAnswer::OtherChain(served));
        }
        let data = format!("0x{VALIDATOR}{}", hex::encode(arguments(address, hash, signature)));
        match self.call("eth_call", json!([{ "data": data }, "latest"])).await {
            Ok(result) => Ok(result.strip_prefix("0x").is_some_and(|digits| digits.ends_with("01"))),
            Err(NoAnswer::Refused(REVERTED)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    async fn call(&self, method: &str, params: Value) -> Result<String, NoAnswer> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let send = self.client.post(self.rpc_url.expose_secret()).timeout(TIMEOUT).json(&request).send();
        let response = send.await.map_err(AnswerError::unreachable)?;
        let body = ep_outgoing::read(response, MAX_ANSWER).await?;
        match serde_json::from_slice(&body) {
            Ok(Answer { error: Some(error), .. }) if error.message.contains("revert") => {
                Err(NoAnswer::Refused(REVERTED))
            }
            Ok(Answer { error: Some(error), .. }) => Err(NoAnswer::Refused(error.code)),
            Ok(Answer { result: Some(result), .. }) => Ok(result),
            Ok(Answer { .. }) | Err(_) => Err(NoAnswer::Unreadable),
        }
    }
}

/// The arguments `(address, bytes32, bytes)` in the contract ABI.
fn arguments(address: [u8; 20], hash: [u8; 32], signature: &[u8]) -> Vec<u8> {
    let number = |value: usize| {
        let mut word = [0; 32];
        word[24..].copy_from_slice(&(value as u64).to_be_bytes());
        word
    };
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address);
    // The third argument is of any length: its place, 96 bytes from the start; there its length and its bytes.
    let mut encoded = [word, hash, number(96), number(signature.len())].concat();
    encoded.extend_from_slice(signature);
    encoded.resize(encoded.len().next_multiple_of(32), 0);
    encoded
}

/// A number as JSON-RPC writes it: `0x…`.
fn quantity(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
