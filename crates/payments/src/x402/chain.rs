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

/// The event `AuthorizationCanceled(address,bytes32)` of EIP-3009.
const AUTHORIZATION_CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
/// Blocks that are searched at once: nodes refuse to search many.
const BLOCKS_PER_SEARCH: u64 = 2000;
/// Searches for one payment: an authorization is valid for minutes, on chains of up to a dozen blocks a second.
const SEARCHES: u32 = 6;

/// What the chain says of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was carried out, in this transaction.
    Paid(String),
    /// Its authorization was used for something else, or cancelled: it can never be carried out.
    Otherwise,
    /// Nothing, or the node cannot say.
    Unknown,
}

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

    /// What the chain says of the payment, in the blocks from `since` on in which it can be.
    pub(super) async fn fate(&self, payment: &Payment, since: u64) -> Fate {
        self.search(payment, since).await.unwrap_or(Fate::Unknown)
    }

    async fn search(&self, payment: &Payment, since: u64) -> Option<Fate> {
        known(self.node.check_chain().await)?;
        let latest = self.position().await?;
        let payer = format!("0x{}", word(payment.payer));
        let topics =
            json!([[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], payer, format!("0x{}", nonce(payment)?)]);
        let mut from = since;
        for _ in 0..SEARCHES {
            let to = latest.min(from + BLOCKS_PER_SEARCH - 1);
            let filter = json!({
                "address": self.config.asset,
                "topics": topics,
                "fromBlock": format!("{from:#x}"),
                "toBlock": format!("{to:#x}"),
            });
            let logs = known(self.node.call("eth_getLogs", json!([filter])).await)?;
            if let Some(log) = logs.as_array()?.first() {
                let hash = log["transactionHash"].as_str()?.to_ascii_lowercase();
                let receipt = known(self.node.call("eth_getTransactionReceipt", json!([hash])).await)?;
                let paid = receipt["status"] == "0x1" && self.pays(payment, &receipt)?;
                return Some(if paid { Fate::Paid(hash) } else { Fate::Otherwise });
            }
            if to == latest {
                break;
            }
            from = to + 1;
        }
        Some(Fate::Unknown)
    }

    /// Whether a transaction used this payment's authorization for the transfer that was asked for. The contract logs
    /// the use of an authorization directly before its transfer; another transfer of the same amount in the same
    /// transaction belongs to another authorization, or to none.
    fn pays(&self, payment: &Payment, receipt: &Value) -> Option<bool> {
        let asset = self.config.asset.lower_case();
        let (from, to) = (format!("0x{}", word(payment.payer)), format!("0x{}", word(self.config.pay_to)));
        let nonce = format!("0x{}", nonce(payment)?);
        let lower = |value: &Value| value.as_str().unwrap_or("").to_ascii_lowercase();
        let logs: Vec<&Value> =
            receipt["logs"].as_array()?.iter().filter(|log| lower(&log["address"]) == asset).collect();
        let topic = |log: &Value, place: usize| lower(&log["topics"][place]);
        let used = logs.iter().position(|log| {
            topic(log, 0) == AUTHORIZATION_USED && topic(log, 1) == from && topic(log, 2) == nonce
        });
        let Some(transfer) = used.and_then(|used| logs.get(used + 1)) else { return Some(false) };
        let amount = lower(&transfer["data"])
            .strip_prefix("0x")
            .and_then(|digits| u128::from_str_radix(digits, 16).ok());
        Some(
            topic(transfer, 0) == TRANSFER
                && topic(transfer, 1) == from
                && topic(transfer, 2) == to
                && amount == u128::try_from(payment.amount.micro()).ok(),
        )
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

#[cfg(test)]
mod tests {
    use ep_polling::money::MicroUsd;
    use ep_polling::time::Timestamp;

    use super::*;

    const PAYER: WalletAddress = WalletAddress::new([0xaa; 20]);
    const PAY_TO: WalletAddress = WalletAddress::new([0xbb; 20]);
    const ASSET: WalletAddress = WalletAddress::new([0xcc; 20]);

    fn chain() -> Chain {
        let config = X402Config {
            facilitator_url: String::new(),
            chain_id: 1,
            asset: ASSET,
            asset_name: String::new(),
            asset_version: String::new(),
            pay_to: PAY_TO,
            resource: String::new(),
        };
        let client = ep_outgoing::client_builder().build().unwrap();
        Chain::new(Node::new(client, "http://127.0.0.1:9".to_owned().into(), 1), Arc::new(config))
    }

    fn payment(nonce: char) -> Payment {
        Payment {
            reference: format!("eip155:1:0xcc:0xaa:0x{}", nonce.to_string().repeat(64)),
            payer: PAYER,
            amount: MicroUsd::new(5_000_000),
            valid_before: Timestamp::from_millis(0),
            body: String::new(),
        }
    }

    fn used(nonce: char) -> Value {
        let nonce = format!("0x{}", nonce.to_string().repeat(64));
        json!({ "address": ASSET, "topics": [AUTHORIZATION_USED, format!("0x{}", word(PAYER)), nonce], "data": "0x" })
    }

    fn transfer(asset: WalletAddress, to: WalletAddress, amount: u64) -> Value {
        let topics = [TRANSFER.to_owned(), format!("0x{}", word(PAYER)), format!("0x{}", word(to))];
        json!({ "address": asset, "topics": topics, "data": format!("{amount:#066x}") })
    }

    #[test]
    fn a_transfer_pays_for_the_authorization_that_it_follows_alone() {
        let chain = chain();
        let pays = |nonce, logs: &[Value]| chain.pays(&payment(nonce), &json!({ "logs": logs })).unwrap();
        let paid = transfer(ASSET, PAY_TO, 5_000_000);
        assert!(pays('1', &[used('1'), paid.clone()]));
        // Another contract's log in between is nobody's business.
        let other = transfer(WalletAddress::new([0xdd; 20]), PAY_TO, 5_000_000);
        assert!(pays('1', &[used('1'), other.clone(), paid.clone()]));

        // One payment, and the nonces of others used for nothing in the same transaction.
        let nothing = transfer(ASSET, PAY_TO, 0);
        let batch = [used('1'), nothing.clone(), used('2'), nothing, used('3'), paid.clone()];
        assert_eq!(['1', '2', '3', '4'].map(|nonce| pays(nonce, &batch)), [false, false, true, false]);
        assert!(!pays('1', &[paid.clone(), used('1')]));
        assert!(!pays('1', &[used('1'), used('2'), paid]));
        assert!(!pays('1', &[used('1'), other]));
        for wrong in
            [transfer(ASSET, PAY_TO, 4_999_999), transfer(ASSET, WalletAddress::new([0xee; 20]), 5_000_000)]
        {
            assert!(!pays('1', &[used('1'), wrong]));
        }
        assert!(!pays('1', &[]));
    }
}
