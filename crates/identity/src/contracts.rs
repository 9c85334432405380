//! Contract wallets: a node of their chain says whether they accept a signature.

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_outgoing::{Node, NodeError};
use serde_json::{Value, json};

/// The validator of EIP-6492 as it is deployed for one call: it takes an address, a hash and a signature, and gives 1
/// if the signature is valid for a deployed wallet (EIP-1271), one that is not deployed yet, or a key.
const VALIDATOR: &str = include_str!("eip6492_validator.hex");

/// When to try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Asks a node about contract wallets.
pub struct ContractWallets(Node);

impl ContractWallets {
    /// Wallets on the chain of this node.
    pub const fn new(node: Node) -> Self {
        Self(node)
    }

    /// Whether the wallet at this address accepts a signature of this hash. Fails if the node cannot say.
    pub(crate) async fn accepts(
        &self,
        address: [u8; 20],
        hash: [u8; 32],
        signature: &[u8],
    ) -> Result<bool, Fault> {
        self.ask(address, hash, signature).await.map_err(|cause| {
            tracing::warn!(error = %cause, "a contract wallet could not be checked");
            let text = "signatures of contract wallets cannot be checked right now; try again in a moment";
            Fault::new(Kind::Unavailable, text).retry_after(RETRY_AFTER).caused_by(Box::new(cause))
        })
    }

    async fn ask(&self, address: [u8; 20], hash: [u8; 32], signature: &[u8]) -> Result<bool, NodeError> {
        self.0.check_chain().await?;
        let data = format!("0x{VALIDATOR}{}", hex::encode(arguments(address, hash, signature)));
        match self.0.call("eth_call", json!([{ "data": data }, "latest"])).await {
            Ok(Value::String(result)) => {
                Ok(result.strip_prefix("0x").is_some_and(|digits| digits.ends_with("01")))
            }
            Ok(_) => Err(NodeError::Unreadable),
            Err(NodeError::Reverted) => Ok(false),
            Err(other) => Err(other),
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
