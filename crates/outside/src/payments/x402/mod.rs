//! Payments by x402, versions 1 and 2, with the scheme `exact`: the payer signs an authorization to transfer
//! USDC (EIP-3009), and a facilitator settles it. One endpoint serves clients of both versions.

mod chain;
mod deposits;
mod facilitator;
mod logs;
mod offer;
mod payload;
mod transfers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{Fault, PaymentNetwork, Presence, TransferOutcome, Verification};
use ep_outgoing::Node;
use ep_polling::Timestamp;
use ep_store::{Payment, StoredDeposit, WalletAddress};
use reqwest::Client;
use serde_json::{Value, json};

use self::chain::Chain;
pub use self::deposits::Usdc;
use self::facilitator::Facilitator;
pub use self::offer::Offer;
pub use self::payload::{PayloadError, PaymentMismatch};

/// Maximum time between signing and paying, in seconds.
const MAX_TIMEOUT_S: u32 = 300;
/// Extra validity of a payment that is accepted beyond this time.
const SLACK: Duration = Duration::from_mins(10);
/// Blocks before the latest one in which the search for a payment starts.
const BLOCKS_BEFORE: u64 = 50;
/// Maximum number of look-ups on the chain after a settlement with a lost response, before the caller has to
/// retry.
const LOOK_UPS: u32 = 3;
/// The delay between look-ups.
const BETWEEN_LOOK_UPS: Duration = Duration::from_secs(1);

/// The requirements of payments.
#[derive(Debug, Clone)]
pub struct X402Config {
    /// The facilitator's base URL.
    pub facilitator_url: String,
    /// The chain id (EIP-155).
    pub chain_id: u64,
    /// The USDC contract on this chain.
    pub asset: WalletAddress,
    /// The name of its EIP-712 domain.
    pub asset_name: String,
    /// The version of its EIP-712 domain.
    pub asset_version: String,
    /// The payee's address. Use it for nothing else, because a payment to it is valid for every service that
    /// uses the address.
    pub pay_to: WalletAddress,
    /// The URL of the paid endpoint.
    pub resource: String,
    /// Number of confirmations after which a transfer is final.
    pub confirmations: u64,
}

/// The x402 payment network.
pub struct X402 {
    config: Arc<X402Config>,
    facilitator: Facilitator,
    chain: Option<Chain>,
}

impl X402Config {
    /// Returns the chain's name in version 2 (CAIP-2).
    fn network(&self) -> String {
        format!("eip155:{}", self.chain_id)
    }

    /// Returns the prefix of the references of all payments in this asset.
    fn reference_prefix(&self) -> String {
        format!("{}:{}:", self.network(), self.asset.lower_case())
    }

    /// Returns the chain's name in version 1, if it has one.
    const fn legacy_network(&self) -> Option<&'static str> {
        match self.chain_id {
            8453 => Some("base"),
            84532 => Some("base-sepolia"),
            _ => None,
        }
    }
}

impl X402 {
    /// Creates a payment network with this facilitator. With a node, the chain decides the outcome of
    /// payments.
    pub fn new(config: X402Config, client: Client, node: Option<Node>) -> Self {
        let config = Arc::new(config);
        let facilitator = Facilitator::new(client, config.facilitator_url.clone());
        let chain = node.map(|node| Chain::new(node, Arc::clone(&config)));
        Self { config, facilitator, chain }
    }

    /// Returns the chain's name (CAIP-2).
    pub fn network(&self) -> String {
        self.config.network()
    }

    /// Returns the payment requirements for this amount, in both versions.
    pub fn offer(&self, cents: u32, error: &str) -> Offer {
        Offer::new(&self.config, cents, error)
    }

    /// Parses the header of a payment of this amount.
    pub fn payment(&self, header: &str, cents: u32, now: Timestamp) -> Result<Payment, PayloadError> {
        payload::read(&self.config, header, cents, now)
    }

    /// Parses a payment of this amount from a JSON body.
    pub fn payment_of(&self, body: Value, cents: u32, now: Timestamp) -> Result<Payment, PayloadError> {
        payload::parse(&self.config, body, cents, now)
    }

    /// Builds a request with this service's own requirements; those sent by the payer are ignored.
    fn request(&self, payment: &Payment) -> Value {
        let body: Value = serde_json::from_str(&payment.body).unwrap_or_default();
        let version = body["x402Version"].as_u64().unwrap_or_default();
        let amount = payment.amount.micro().to_string();
        let requirements = match version {
            1 => offer::legacy(&self.config, &amount),
            _ => Some(offer::current(&self.config, &amount)),
        };
        json!({ "x402Version": version, "paymentPayload": body, "paymentRequirements": requirements })
    }
}

#[async_trait]
impl PaymentNetwork for X402 {
    async fn verify(&self, payment: &Payment) -> Result<Verification, Fault> {
        self.facilitator.verify(&self.request(payment)).await
    }

    fn repeats(&self, stored: &Payment, given: &Payment) -> bool {
        stored.amount == given.amount && payload::is_same(stored, given)
    }

    fn has_node(&self) -> bool {
        self.chain.is_some()
    }

    async fn position(&self) -> Result<u64, Fault> {
        let Some(chain) = &self.chain else { return Ok(0) };
        let newest = chain.position().await.ok_or_else(facilitator::unavailable)?;
        // Another party may have settled the payment since it was verified.
        Ok(newest.saturating_sub(BLOCKS_BEFORE))
    }

    async fn settle(&self, payment: &Payment, since: u64) -> TransferOutcome {
        let response = self.facilitator.settle(&self.request(payment)).await;
        let Some(chain) = &self.chain else { return response };
        match response {
            // Check the facilitator's response against the chain.
            TransferOutcome::Moved(_) | TransferOutcome::Unused { .. } | TransferOutcome::Unknown => {
                for attempt in 0..LOOK_UPS {
                    if attempt > 0 {
                        tokio::time::sleep(BETWEEN_LOOK_UPS).await;
                    }
                    let outcome = chain.look_up(payment, since).await;
                    if let TransferOutcome::Moved(_) | TransferOutcome::NotMoved(_) = outcome {
                        return outcome;
                    }
                }
                TransferOutcome::Unknown
            }
            // Another party may have settled the payment.
            TransferOutcome::NotMoved(why) => match chain.look_up(payment, since).await {
                TransferOutcome::Unused { .. } => TransferOutcome::NotMoved(why),
                outcome => outcome,
            },
        }
    }

    async fn look_up(&self, payment: &Payment, since: u64) -> TransferOutcome {
        match &self.chain {
            Some(chain) => chain.look_up(payment, since).await,
            None => TransferOutcome::Unused { at: None },
        }
    }

    async fn check_transaction(&self, payment: &Payment, transaction: &str) -> TransferOutcome {
        match &self.chain {
            Some(chain) => chain.check_transaction(payment, transaction).await,
            None => TransferOutcome::Unknown,
        }
    }

    async fn presence(&self, deposits: &[StoredDeposit]) -> Vec<Presence> {
        match &self.chain {
            Some(chain) => chain.presence(deposits).await,
            None => vec![Presence::Unknown; deposits.len()],
        }
    }
}
