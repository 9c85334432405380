//! Payments by x402, versions 1 and 2, with the scheme `exact`: the payer signs an authorization to transfer USDC
//! (EIP-3009), and a facilitator carries it out. One endpoint serves clients of both versions.

mod chain;
mod facilitator;
mod offer;
mod payload;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::fault::Fault;
use ep_kernel::identity::WalletAddress;
use ep_kernel::ports::{NotPaid, Outcome, Payment, PaymentNetwork, Verdict};
use ep_outgoing::Node;
use ep_polling::time::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};

use self::chain::{Chain, Fate};
use self::facilitator::Facilitator;
pub use self::offer::Offer;
pub use self::payload::{PayloadError, PaymentRefused};

/// How long a payer may take between signing and paying, in seconds.
const MAX_TIMEOUT_S: u32 = 300;
/// How much longer than that a payment may be valid.
const SLACK: Duration = Duration::from_mins(10);
/// How many blocks before the newest one a payment is looked for.
const BLOCKS_BEFORE: u64 = 50;
/// How long after its authorization has expired a payment is looked for.
const GIVE_UP_AFTER: Duration = Duration::from_hours(1);
/// How often a payment whose answer was lost is looked for on the chain before its caller is told to come back.
const LOOKS: u32 = 3;
/// The time between two of these looks.
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
            Outcome::Moved { .. } | Outcome::Unknown => {
                for look in 0..LOOKS {
                    if look > 0 {
                        tokio::time::sleep(BETWEEN_LOOKS).await;
                    }
                    match chain.fate(payment, since).await {
                        Fate::Unknown => {}
                        fate => return outcome(fate),
                    }
                }
                Outcome::Unknown
            }
            // Somebody else may have carried it out.
            Outcome::NotMoved(why) => match chain.is_used(payment).await {
                Some(false) => Outcome::NotMoved(why),
                Some(true) => outcome(chain.fate(payment, since).await),
                None => Outcome::Unknown,
            },
        }
    }

    async fn look_up(&self, payment: &Payment, since: u64, now: Timestamp) -> Outcome {
        let found = match &self.chain {
            // An authorization moves money once, so asking again is safe; a refusal may mean that it has.
            None => match self.facilitator.settle(&self.request(payment)).await {
                Outcome::NotMoved(_) => Outcome::Unknown,
                other => other,
            },
            Some(chain) => match chain.is_used(payment).await {
                Some(true) => outcome(chain.fate(payment, since).await),
                // A minute for blocks that are not known here yet.
                Some(false) if now > payment.valid_before.after(Duration::from_mins(1)) => {
                    Outcome::NotMoved(NotPaid::ExpiredUnused)
                }
                Some(false) => self.settle(payment, since).await,
                None => Outcome::Unknown,
            },
        };
        if found == Outcome::Unknown && now > payment.valid_before.after(GIVE_UP_AFTER) {
            tracing::error!(
                reference = payment.reference,
                "nobody could say whether a payment was carried out, and it cannot be any more: look at it by hand"
            );
            return Outcome::NotMoved(NotPaid::GivenUp);
        }
        found
    }
}

fn outcome(fate: Fate) -> Outcome {
    match fate {
        Fate::Paid(transaction) => Outcome::Moved { transaction },
        Fate::Otherwise => Outcome::NotMoved(NotPaid::Used),
        Fate::Unknown => Outcome::Unknown,
    }
}
