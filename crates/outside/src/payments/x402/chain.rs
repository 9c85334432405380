//! The chain, which decides the outcome of payments.

use std::sync::Arc;

use ep_kernel::{PaymentRejection, Presence, TransferOutcome};
use ep_outgoing::{Node, quantity};
use ep_polling::Timestamp;
use ep_store::{Payment, StoredDeposit, Transfer, WalletAddress};
use serde_json::{Value, json};

use super::logs::{BLOCKS_PER_SEARCH, TRANSFER, amount_of, known, lower, word};
use super::transfers::{Transfers, block_of};
use super::{MAX_TIMEOUT_S, SLACK, X402Config, payload};

/// `authorizationState(address,bytes32)` of EIP-3009.
const AUTHORIZATION_STATE: &str = "0xe94a0102";
/// The event `AuthorizationUsed(address,bytes32)` of EIP-3009.
const AUTHORIZATION_USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
/// The event `AuthorizationCanceled(address,bytes32)` of EIP-3009.
const AUTHORIZATION_CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
/// Maximum number of searches per payment. An authorization is valid for minutes, on chains with up to a
/// dozen blocks a second.
const SEARCHES: u32 = 6;

/// A block: its number, its hash, and its timestamp in seconds since the epoch.
#[derive(Debug, Clone)]
struct Block {
    number: u64,
    hash: String,
    seconds: u64,
}

impl Block {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.seconds).unwrap_or(i64::MAX).saturating_mul(1000))
    }
}

/// The asset's contract, accessed through a node. Methods return `None` if the node's response is missing or
/// invalid.
pub(super) struct Chain {
    node: Node,
    config: Arc<X402Config>,
}

impl Chain {
    pub(super) const fn new(node: Node, config: Arc<X402Config>) -> Self {
        Self { node, config }
    }

    /// Returns the number of the latest block.
    pub(super) async fn position(&self) -> Option<u64> {
        let number = known(self.node.call("eth_blockNumber", json!([])).await)?;
        quantity(&number)
    }

    /// Looks up a payment in the blocks from `since` on.
    pub(super) async fn look_up(&self, payment: &Payment, since: u64) -> TransferOutcome {
        self.outcome(payment, since).await.unwrap_or(TransferOutcome::Unknown)
    }

    async fn outcome(&self, payment: &Payment, since: u64) -> Option<TransferOutcome> {
        let latest = self.latest_for(payment).await?;
        if self.is_used(payment, &latest).await? {
            return self.search(payment, since, latest.number).await;
        }
        // A lagging node has not seen the last blocks that may contain the payment. Blocks that are not final
        // can be replaced by blocks with earlier times.
        let last_final = match self.config.confirmations {
            0 => latest.clone(),
            depth => self.block(&format!("{:#x}", latest.number.saturating_sub(depth))).await?,
        };
        Some(if last_final.at() > payment.valid_before {
            TransferOutcome::NotMoved(PaymentRejection::ExpiredUnused)
        } else {
            TransferOutcome::Unused { at: Some(latest.number) }
        })
    }

    /// Checks whether this transaction settled a payment.
    pub(super) async fn check_transaction(&self, payment: &Payment, transaction: &str) -> TransferOutcome {
        self.outcome_of(payment, transaction).await.unwrap_or(TransferOutcome::Unknown)
    }

    async fn outcome_of(&self, payment: &Payment, transaction: &str) -> Option<TransferOutcome> {
        let latest = self.latest_for(payment).await?;
        let found = known(self.node.call("eth_getTransactionByHash", json!([transaction])).await)?;
        let logs = self.logs_of_payer(payment, &found["blockHash"]).await?;
        let block = quantity(&found["blockNumber"])?;
        self.judge(payment, transaction, block, &logs, latest.number)
    }

    /// Looks up settled deposits. Returns one entry per deposit, in the given order.
    pub(super) async fn presence(&self, deposits: &[StoredDeposit]) -> Vec<Presence> {
        let mut presence = vec![Presence::Unknown; deposits.len()];
        let Some(latest) = self.position().await else { return presence };
        let mut transfers = Transfers::new(&self.node, self.config.asset, latest, deposits);
        let mut by_block: Vec<usize> = (0..deposits.len()).collect();
        by_block.sort_by_key(|index| block_of(&deposits[*index]));
        for index in by_block {
            let deposit = &deposits[index];
            let is_here = self.is_of_this_chain(&deposit.deposit.payment);
            presence[index] = if is_here && transfers.take(deposit).await {
                Presence::Found
            } else {
                self.presence_of(deposit).await
            };
        }
        presence
    }

    /// Looks up a deposit that has no transfer in its block.
    async fn presence_of(&self, known: &StoredDeposit) -> Presence {
        let block = block_of(known);
        match self.look_up(&known.deposit.payment, known.deposit.since).await {
            TransferOutcome::Moved(_) => Presence::Found,
            TransferOutcome::NotMoved(_) => Presence::Missing,
            TransferOutcome::Unused { at } if block.is_some() && at > block => Presence::Missing,
            TransferOutcome::Unused { .. } | TransferOutcome::Unknown => Presence::Unknown,
        }
    }

    /// Returns the latest block, or `None` if the payment is of another chain or asset.
    async fn latest_for(&self, payment: &Payment) -> Option<Block> {
        known(self.node.check_chain().await)?;
        if !self.is_of_this_chain(payment) {
            tracing::warn!(reference = payment.reference, "a payment has another chain or asset");
            return None;
        }
        self.block("latest").await
    }

    /// Returns false for a payment of an earlier configuration.
    fn is_of_this_chain(&self, payment: &Payment) -> bool {
        payment.reference.starts_with(&self.config.reference_prefix())
    }

    async fn block(&self, which: &str) -> Option<Block> {
        let block = known(self.node.call("eth_getBlockByNumber", json!([which, false])).await)?;
        let hash = block["hash"].as_str()?.to_owned();
        Some(Block { number: quantity(&block["number"])?, hash, seconds: quantity(&block["timestamp"])? })
    }

    /// Returns true if the payment's authorization was used or cancelled up to this block. Asks by its hash (EIP-1898): behind one
    /// URL, another node can have another block with the same number, or none yet.
    async fn is_used(&self, payment: &Payment, latest: &Block) -> Option<bool> {
        let (payer, nonce) = (word(payment.payer), nonce(payment)?);
        let call = json!({ "to": self.config.asset, "data": format!("{AUTHORIZATION_STATE}{payer}{nonce}") });
        let at = json!({ "blockHash": latest.hash, "requireCanonical": true });
        let result = known(self.node.call("eth_call", json!([call, at])).await)?;
        let digits = result.as_str()?.strip_prefix("0x")?;
        (digits.len() == 64).then(|| digits.ends_with('1'))
    }

    /// Finds the use of a payment's authorization.
    async fn search(&self, payment: &Payment, since: u64, latest: u64) -> Option<TransferOutcome> {
        let payer = format!("0x{}", word(payment.payer));
        let topics =
            json!([[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], payer, format!("0x{}", nonce(payment)?)]);
        // Deposits that began without a node have no start block.
        let mut from = if since == 0 { self.first_block(payment, latest).await? } else { since };
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
                let transaction = lower(&log["transactionHash"]);
                let logs = self.logs_of_payer(payment, &log["blockHash"]).await?;
                return self.judge(payment, &transaction, quantity(&log["blockNumber"])?, &logs, latest);
            }
            if to == latest {
                break;
            }
            from = to + 1;
        }
        None
    }

    /// Finds, by bisection, the first block that may contain a payment.
    async fn first_block(&self, payment: &Payment, latest: u64) -> Option<u64> {
        let lifetime = std::time::Duration::from_secs(MAX_TIMEOUT_S.into()) + SLACK;
        let earliest = payment.valid_before.before(lifetime);
        let (mut low, mut high) = (0, latest);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.block(&format!("{middle:#x}")).await?.at() < earliest {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// Returns the asset's logs of a payer in a block. A receipt would also contain the logs of others in the
    /// transaction.
    async fn logs_of_payer(&self, payment: &Payment, block_hash: &Value) -> Option<Vec<Value>> {
        let payer = format!("0x{}", word(payment.payer));
        let filter = json!({
            "address": self.config.asset,
            "blockHash": block_hash.as_str()?,
            "topics": [[AUTHORIZATION_USED, TRANSFER], payer],
        });
        let Value::Array(mut logs) = known(self.node.call("eth_getLogs", json!([filter])).await)? else {
            return None;
        };
        logs.sort_by_key(|log| quantity(&log["logIndex"]));
        Some(logs)
    }

    /// Decides the outcome from the payer's logs of a block. Another use of the authorization counts once it
    /// is final.
    fn judge(
        &self,
        payment: &Payment,
        transaction: &str,
        block: u64,
        logs: &[Value],
        latest: u64,
    ) -> Option<TransferOutcome> {
        let is_final = latest >= block.saturating_add(self.config.confirmations);
        let logs: Vec<&Value> =
            logs.iter().filter(|log| lower(&log["transactionHash"]) == transaction).collect();
        if pays(payment, payload::payee(payment)?, &logs)? {
            let transaction = transaction.to_owned();
            return Some(TransferOutcome::Moved(Transfer { transaction, block: Some(block), is_final }));
        }
        Some(if is_final {
            TransferOutcome::NotMoved(PaymentRejection::Used)
        } else {
            TransferOutcome::Unknown
        })
    }
}

/// Returns true if the payer's logs of a transaction show that it used this payment's authorization for the
/// requested transfer. The contract logs the use of an authorization directly before its transfer. Another
/// transfer of the same amount in the transaction does not count.
fn pays(payment: &Payment, payee: WalletAddress, logs: &[&Value]) -> Option<bool> {
    let (from, to) = (format!("0x{}", word(payment.payer)), format!("0x{}", word(payee)));
    let nonce = format!("0x{}", nonce(payment)?);
    let topic = |log: &Value, position: usize| lower(&log["topics"][position]);
    let used = logs.iter().position(|log| {
        topic(log, 0) == AUTHORIZATION_USED && topic(log, 1) == from && topic(log, 2) == nonce
    });
    let Some(transfer) = used.and_then(|used| logs.get(used + 1)) else { return Some(false) };
    Some(
        topic(transfer, 0) == TRANSFER
            && topic(transfer, 1) == from
            && topic(transfer, 2) == to
            && amount_of(transfer) == u128::try_from(payment.amount.micro()).ok(),
    )
}

/// Returns the nonce of a payment's authorization, in hexadecimal: the last part of its reference.
fn nonce(payment: &Payment) -> Option<&str> {
    payment.reference.rsplit_once(":0x").map(|(_, nonce)| nonce)
}

#[cfg(test)]
mod tests {
    use ep_polling::{MicroUsd, Timestamp};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const PAYER: WalletAddress = WalletAddress::new([0xaa; 20]);
    const PAY_TO: WalletAddress = WalletAddress::new([0xbb; 20]);

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
        json!({ "topics": [AUTHORIZATION_USED, format!("0x{}", word(PAYER)), nonce], "data": "0x" })
    }

    fn transfer(to: WalletAddress, amount: u64) -> Value {
        let topics = [TRANSFER.to_owned(), format!("0x{}", word(PAYER)), format!("0x{}", word(to))];
        json!({ "topics": topics, "data": format!("{amount:#066x}") })
    }

    #[test]
    fn a_transfer_pays_only_for_the_authorization_logged_directly_before_it() {
        let pays = |nonce, logs: &[Value]| {
            super::pays(&payment(nonce), PAY_TO, &logs.iter().collect::<Vec<_>>()).unwrap()
        };
        let paid = transfer(PAY_TO, 5_000_000);
        assert!(pays('1', &[used('1'), paid.clone()]));

        // Three authorizations in one transaction; only the last one pays.
        let nothing = transfer(PAY_TO, 0);
        let batch = [used('1'), nothing.clone(), used('2'), nothing, used('3'), paid.clone()];
        assert_eq!(['1', '2', '3', '4'].map(|nonce| pays(nonce, &batch)), [false, false, true, false]);
        assert!(!pays('1', &[paid.clone(), used('1')]));
        assert!(!pays('1', &[used('1'), used('2'), paid]));
        for wrong in [transfer(PAY_TO, 4_999_999), transfer(WalletAddress::new([0xee; 20]), 5_000_000)] {
            assert!(!pays('1', &[used('1'), wrong]));
        }
        assert!(!pays('1', &[]));
    }

    /// The hash of the block that the first node names as the latest one.
    const LATEST: &str = "0xabcd";

    /// Answers calls like nodes behind one URL, of which the one that answers `eth_call` has `block` at the latest number.
    async fn answer(nodes: &TcpListener, block: &str) -> std::io::Result<()> {
        loop {
            let (mut stream, _) = nodes.accept().await?;
            let mut received = Vec::new();
            let call: Value = loop {
                let mut part = [0; 4096];
                let length = stream.read(&mut part).await?;
                received.extend_from_slice(&part[..length]);
                let text = String::from_utf8_lossy(&received).into_owned();
                let body = text.split_once("\r\n\r\n").map(|(_, body)| serde_json::from_str(body));
                if let Some(Ok(call)) = body {
                    break call;
                }
                assert!(length > 0, "{text}");
            };
            let unused = || json!({ "result": format!("0x{}", "0".repeat(64)) });
            let at = &call["params"][1];
            let answer = match call["method"].as_str().unwrap() {
                "eth_chainId" => json!({ "result": "0x1" }),
                "eth_getBlockByNumber" => {
                    json!({ "result": { "number": "0x9", "hash": LATEST, "timestamp": "0xff" } })
                }
                "eth_call" if at.is_string() || at["blockHash"] == block => unused(),
                _ => json!({ "error": { "code": -32_000, "message": "header not found" } }),
            };
            let body = answer.to_string();
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            stream.write_all((head + &body).as_bytes()).await?;
        }
    }

    /// Looks up an expired payment.
    async fn expired(block: &str) -> TransferOutcome {
        let nodes = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = X402Config {
            facilitator_url: String::new(),
            chain_id: 1,
            asset: PAYER,
            asset_name: String::new(),
            asset_version: String::new(),
            pay_to: PAY_TO,
            resource: String::new(),
            confirmations: 0,
        };
        let url = format!("http://{}", nodes.local_addr().unwrap());
        let node = Node::new(ep_outgoing::client_builder().build().unwrap(), url.into(), 1);
        let reference = format!("{}0xaa:0x{}", config.reference_prefix(), "1".repeat(64));
        let payment = Payment { reference, ..payment('1') };
        let chain = Chain::new(node, Arc::new(config));
        tokio::select! {
            outcome = chain.look_up(&payment, 1) => outcome,
            ended = answer(&nodes, block) => panic!("{ended:?}"),
        }
    }

    #[tokio::test]
    async fn a_node_with_another_latest_block_proves_nothing() {
        let unused = TransferOutcome::NotMoved(PaymentRejection::ExpiredUnused);
        assert_eq!(expired(LATEST).await, unused);
        assert_eq!(expired("0x1234").await, TransferOutcome::Unknown);
    }
}
