//! Verification of contract wallets' signatures by a node of their chain.

use std::time::Duration;

use ep_kernel::{Fault, Kind};
use ep_outgoing::{Node, NodeError};
use serde_json::{Value, json};

/// The validator of EIP-6492, deployed for a single call. It takes an address, a hash and a signature. It
/// returns 1 if the signature is valid for a deployed wallet (EIP-1271), an undeployed wallet, or a key.
const VALIDATOR: &str = include_str!("eip6492_validator.hex");

/// The retry delay after a failed check.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A verifier of contract wallets' signatures.
pub struct ContractWallets(Node);

impl ContractWallets {
    /// Creates a verifier for wallets on the chain of this node.
    pub const fn new(node: Node) -> Self {
        Self(node)
    }

    /// Returns true if the wallet at this address accepts a signature of this hash. Fails if the node does
    /// not respond.
    pub(crate) async fn accepts(
        &self,
        address: [u8; 20],
        hash: [u8; 32],
        signature: &[u8],
    ) -> Result<bool, Fault> {
        self.ask(address, hash, signature).await.map_err(|cause| {
            tracing::warn!(error = %cause, "failed to verify a contract wallet's signature");
            let text = "signatures of contract wallets cannot be verified right now; try again in a moment";
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

/// Encodes the arguments `(address, bytes32, bytes)` for the contract ABI.
fn arguments(address: [u8; 20], hash: [u8; 32], signature: &[u8]) -> Vec<u8> {
    let number = |value: usize| {
        let mut word = [0; 32];
        word[24..].copy_from_slice(&(value as u64).to_be_bytes());
        word
    };
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address);
    // The third argument has a variable length. Its slot contains its offset, 96 bytes, where its length and
    // bytes follow.
    let mut encoded = [word, hash, number(96), number(signature.len())].concat();
    encoded.extend_from_slice(signature);
    encoded.resize(encoded.len().next_multiple_of(32), 0);
    encoded
}
