//! The chain: it alone knows what became of a payment.

use std::sync::Arc;

use ep_kernel::identity::WalletAddress;
use ep_kernel::ports::Payment;
use ep_outgoing::{Node, NodeError, quantity};
use serde_json::{Value, json};

use super::X402Config;

/// `authorizationState(address,bytes32)` of EIP-3009.
const AUTHORIZATION_STATE: &str = "0xe94a0102";
/// The event `AuthorizationUsed(address,bytes32)` of EIP-3009.
const AUTHORIZATION_USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
/// The event `Transfer(address,address,uint256)` of ERC-20.
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The asset's contract, through a node.
pub(super) struct Chain {
    node: Node,
    config: Arc<X402Config>,
}

impl Chain {
    pub(super) const fn new(node: Node, config: Arc<X402Config>) -> Self {
        Self { node, config }
    }

    /// The newest block; `None` if the node cannot say.
    pub(super) async fn position(&self) -> Option<u64> {
        let number = known(self.node.call("eth_blockNumber", json!([])).await)?;
        quantity(&number)
    }

    /// Whether the payment's authorization has been used, or cancelled; `None` if the node cannot say.
    pub(super) async fn is_used(&self, payment: &Payment) -> Option<bool> {
        known(self.node.check_chain().await)?;
        let (payer, nonce) = (word(payment.payer), nonce(payment)?);
        let call = json!({ "to": self.config.asset, "data": format!("{AUTHORIZATION_STATE}{payer}{nonce}") });
        let result = known(self.node.call("eth_call", json!([call, "latest"])).await)?;
        let digits = result.as_str()?.strip_prefix("0x")?;
        (digits.len() == 64).then(|| digits.ends_with('1'))
    }

    /// The transaction that carried the payment out, in a block from `since` on; `None` if there is none, or the
    /// node cannot say.
    pub(super) async fn transaction(&self, payment: &Payment, since: u64) -> Option<String> {
        known(self.node.check_chain().await)?;
        let topics = json!([
            AUTHORIZATION_USED,
            format!("0x{}", word(payment.payer)),
            format!("0x{}", nonce(payment)?)
        ]);
        let filter = json!({
            "address": self.config.asset,
            "topics": topics,
            "fromBlock": format!("{since:#x}"),
            "toBlock": "latest",
        });
        let logs = known(self.node.call("eth_getLogs", json!([filter])).await)?;
        let hash = logs.as_array()?.first()?["transactionHash"].as_str()?.to_ascii_lowercase();
        let receipt = known(self.node.call("eth_getTransactionReceipt", json!([hash])).await)?;
        (receipt["status"] == "0x1" && self.pays(payment, &receipt)).then_some(hash)
    }

    /// Whether a transaction moved the amount from the payer to us.
    fn pays(&self, payment: &Payment, receipt: &Value) -> bool {
        let asset = self.config.asset.lower_case();
        let (from, to) = (format!("0x{}", word(payment.payer)), format!("0x{}", word(self.config.pay_to)));
        let lower = |value: &Value| value.as_str().unwrap_or("").to_ascii_lowercase();
        receipt["logs"].as_array().into_iter().flatten().any(|log| {
            let topic = |place: usize| lower(&log["topics"][place]);
            let amount = lower(&log["data"])
                .strip_prefix("0x")
                .and_then(|digits| u128::from_str_radix(digits, 16).ok());
            lower(&log["address"]) == asset
                && topic(0) == TRANSFER
                && topic(1) == from
                && topic(2) == to
                && amount == u128::try_from(payment.amount.micro()).ok()
        })
    }
}

/// An answer of the node, if it gave one.
fn known<T>(answer: Result<T, NodeError>) -> Option<T> {
    answer
        .map_err(|error| tracing::warn!(error = %error, "the chain could not be asked about a payment"))
        .ok()
}

/// An address as a word of the contract ABI, in hexadecimal.
fn word(address: WalletAddress) -> String {
    format!("{:0>64}", hex::encode(address.bytes()))
}

/// The nonce of a payment's authorization, in hexadecimal: the last part of its reference.
fn nonce(payment: &Payment) -> Option<&str> {
    payment.reference.rsplit_once(":0x").map(|(_, nonce)| nonce)
}
