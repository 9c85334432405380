//! Logs of the asset's contract, as a node returns them.

use ep_outgoing::NodeError;
use ep_store::WalletAddress;
use serde_json::Value;

/// The event `Transfer(address,address,uint256)` of ERC-20.
pub(super) const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// Blocks per search, because nodes limit the range.
pub(super) const BLOCKS_PER_SEARCH: u64 = 2000;

/// Parses the amount of a transfer's log.
pub(super) fn amount_of(log: &Value) -> Option<u128> {
    u128::from_str_radix(lower(&log["data"]).strip_prefix("0x")?, 16).ok()
}

/// Returns a string in lower case, or an empty string for other values.
pub(super) fn lower(value: &Value) -> String {
    value.as_str().unwrap_or("").to_ascii_lowercase()
}

/// Returns the node's result, or logs its error and returns `None`.
pub(super) fn known<T>(answer: Result<T, NodeError>) -> Option<T> {
    answer.map_err(|error| tracing::warn!(error = %error, "failed to query the chain about a payment")).ok()
}

/// Formats an address as a word of the contract ABI, in hexadecimal.
pub(super) fn word(address: WalletAddress) -> String {
    format!("{:0>64}", hex::encode(address.bytes()))
}
