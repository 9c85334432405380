//! Payments by x402, versions 1 and 2, with the scheme `exact`: the payer signs an authorization to transfer USDC
//! (EIP-3009), and a facilitator carries it out. One endpoint serves clients of both versions.

mod chain;
mod facilitator;
mod offer;
mod payload;
mod transfers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::fault::Fault;
use ep_kernel::identity::WalletAddress;
use ep_kernel::ports::{Outcome, Payment, PaymentNetwork, Presence, StoredDeposit, Verdict};
use ep_outgoing::Node;
use ep_polling::time::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};

use self::chain::Chain;
use self::facilitator::Facilitator;
pub use self::offer::Offer;
pub use self::payload::{PayloadError, PaymentRefused};

/// How long a payer may take between signing and paying, in seconds.
const MAX_TIMEOUT_S: u32 = 300;
/// How much longer than that a payment may be valid.
const SLACK: Duration = Duration::from_mins(10);
/// How many blocks before the newest one a payment is looked for.
const BLOCKS_BEFORE: u64 = 50;
/// Look-ups on the chain before the caller of a settlement with a lost response has to retry.
const LOOKS: u32 = 3;
/// The time between two of these look-ups.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// What payments must be.
#[derive(Debug, Clone)]
pub struct X402Config {
    /// The facilitator's base URL.
    pub facilitator_url: String,
    /// The chain (EIP-155).
    pub chain_id: u64,
    /// The contract of USDC there.
    pub asset: WalletAddress,
    /// The name of its EIP-712 domain.
    pub asset_name: String,
    /// The version of its EIP-712 domain.
    pub asset_version: String,
    /// Who is paid: an address used for nothing else, because a payment to it fits any service that it is used for.
    pub pay_to: WalletAddress,
    /// The address of the endpoint that is paid for.
    pub resource: String,
    /// Blocks on top of a transfer's block after which it is final.
    pub confirmations: u64,
}

/// Payments by x402.
pub struct X402 {
    config: Arc<X402Config>,
    facilitator: Facilitator,
    chain: Option<Chain>,
}

impl X402Config {
    /// The chain's name in version 2 (CAIP-2).
    fn network(&self) -> String {
        format!("eip155:{}", self.chain_id)
    }

    /// The beginning of the references of all payments in this asset.
    fn reference_prefix(&self) -> String {
        format!("{}:{}:", self.network(), self.asset.lower_case())
    }

    /// The chain's name in version 1, where it has one.
    const fn legacy_network(&self) -> Option<&'static str> {
        match self.chain_id {
            8453 => Some("base"),
            84532 => Some("base-sepolia"),
            _ => None,
        }
    }
}

impl X402 {
    /// Payments over this facilitator. With a node, the chain decides what became of a payment.
    pub fn new(config: X402Config, client: Client, node: Option<Node>) -> Self {
        let config = Arc::new(config);
        let facilitator = Facilitator::new(client, config.facilitator_url.clone());
        let chain = node.map(|node| Chain::new(node, Arc::clone(&config)));
        Self { config, facilitator, chain }
    }

    /// The chain (CAIP-2).
    pub fn network(&self) -> String {
        self.config.network()
    }

    /// What has to be paid for this amount, in both versions.
    pub fn offer(&self, cents: u32, error: &str) -> Offer {
        Offer::new(&self.config, cents, error)
    }

    /// Reads the header of a payment of this amount.
    pub fn payment(&self, header: &str, cents: u32, now: Timestamp) -> Result<Payment, PayloadError> {
        payload::read(&self.config, header, cents, now)
    }

    /// Reads a payment of this amount that is no header.
    pub fn payment_of(&self, body: Value, cents: u32, now: Timestamp) -> Result<Payment, PayloadError> {
        payload::parse(&self.config, body, cents, now)
    }

    /// The requirements that a payment is checked against: always our own, whatever its payer echoes.
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
    async fn verify(&self, payment: &Payment) -> Result<Verdict, Fault> {
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
        // Somebody may have carried the payment out since it was verified.
        Ok(newest.saturating_sub(BLOCKS_BEFORE))
    }

    async fn settle(&self, payment: &Payment, since: u64) -> Outcome {
        let said = self.facilitator.settle(&self.request(payment)).await;
        let Some(chain) = &self.chain else { return said };
        match said {
            // The facilitator's word is checked: the chain knows.
            Outcome::Moved(_) | Outcome::Unused { .. } | Outcome::Unknown => {
                for look in 0..LOOKS {
                    if look > 0 {
                        tokio::time::sleep(BETWEEN_LOOKS).await;
                    }
                    let outcome = chain.look_up(payment, since).await;
                    if let Outcome::Moved(_) | Outcome::NotMoved(_) = outcome {
                        return outcome;
                    }
                }
                Outcome::Unknown
            }
            // Somebody else may have carried it out.
            Outcome::NotMoved(why) => match chain.look_up(payment, since).await {
                Outcome::Unused { .. } => Outcome::NotMoved(why),
                outcome => outcome,
            },
        }
    }

    async fn look_up(&self, payment: &Payment, since: u64) -> Outcome {
        match &self.chain {
            Some(chain) => chain.look_up(payment, since).await,
            None => Outcome::Unused { at: None },
        }
    }

    async fn check_transaction(&self, payment: &Payment, transaction: &str) -> Outcome {
        match &self.chain {
            Some(chain) => chain.check_transaction(payment, transaction).await,
            None => Outcome::Unknown,
        }
    }

    async fn presence(&self, deposits: &[StoredDeposit]) -> Vec<Presence> {
        match &self.chain {
            Some(chain) => chain.presence(deposits).await,
            None => vec![Presence::Unknown; deposits.len()],
        }
    }
}
