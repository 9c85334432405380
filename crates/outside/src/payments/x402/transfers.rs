//! Transfers to this service's addresses, read from the chain in ranges of blocks.

use std::collections::BTreeMap;

use ep_outgoing::{Node, NodeError, ResponseError};
use ep_store::{Received, StoredDeposit, WalletAddress};
use serde_json::{Value, json};

use super::logs::{BLOCKS_PER_SEARCH, TRANSFER, amount_of, known, lower, word};
use super::payload;

/// A transfer's transaction, payer topic and amount.
type Key = (String, String, u128);

/// The transfers of the range of blocks that was read last. Deposits must be looked up in block order, so
/// that each range is read once.
pub(super) struct Transfers<'a> {
    node: &'a Node,
    asset: WalletAddress,
    /// The node's latest block.
    latest: u64,
    /// Topics of the addresses that received the deposits.
    payees: Vec<String>,
    /// The last block of the range.
    until: Option<u64>,
    /// Number of transfers without a matching deposit, per key.
    unmatched: BTreeMap<Key, usize>,
}

impl<'a> Transfers<'a> {
    pub(super) fn new(node: &'a Node, asset: WalletAddress, latest: u64, deposits: &[StoredDeposit]) -> Self {
        let payees = deposits.iter().filter_map(|known| payload::payee(&known.deposit.payment));
        let mut payees: Vec<String> = payees.map(|payee| format!("0x{}", word(payee))).collect();
        payees.sort_unstable();
        payees.dedup();
        Self { node, asset, latest, payees, until: None, unmatched: BTreeMap::new() }
    }

    /// Matches a deposit with a transfer, which is used up. Returns false if there is none, or the node does
    /// not respond.
    pub(super) async fn take(&mut self, known: &StoredDeposit) -> bool {
        let Some(Received { block: Some(block), transaction, .. }) = known.state.received() else {
            return false;
        };
        if self.until.is_none_or(|until| *block > until) && self.read(*block).await.is_none() {
            return false;
        }
        let payment = &known.deposit.payment;
        let Ok(amount) = u128::try_from(payment.amount.micro()) else { return false };
        let key = (transaction.to_ascii_lowercase(), format!("0x{}", word(payment.payer)), amount);
        match self.unmatched.get_mut(&key) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    /// Reads a range that begins with this block. The range is halved while the node rejects the number of
    /// logs.
    async fn read(&mut self, from: u64) -> Option<()> {
        (self.until, self.unmatched) = (None, BTreeMap::new());
        if from > self.latest {
            return None;
        }
        let mut blocks = BLOCKS_PER_SEARCH;
        let (until, logs) = loop {
            let until = self.latest.min(from + blocks - 1);
            let filter = json!({
                "address": self.asset,
                "topics": [TRANSFER, Value::Null, self.payees],
                "fromBlock": format!("{from:#x}"),
                "toBlock": format!("{until:#x}"),
            });
            match self.node.call("eth_getLogs", json!([filter])).await {
                Err(NodeError::Rejected(_) | NodeError::Transport(ResponseError::TooLong(_)))
                    if blocks > 1 =>
                {
                    blocks /= 2;
                }
                answer => break (until, known(answer)?),
            }
        };
        for log in logs.as_array()? {
            let key = (lower(&log["transactionHash"]), lower(&log["topics"][1]), amount_of(log)?);
            *self.unmatched.entry(key).or_default() += 1;
        }
        self.until = Some(until);
        Some(())
    }
}

/// Returns the block of a deposit's transfer.
pub(super) fn block_of(known: &StoredDeposit) -> Option<u64> {
    known.state.received()?.block
}
