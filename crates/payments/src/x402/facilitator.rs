//! The facilitator: it verifies payments, and carries them out.

use std::time::Duration;

use ep_kernel::deposits::TransactionHash;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::{NotPaid, Outcome, Transfer, Verdict};
use ep_outgoing::AnswerError;
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How long a verification may take.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long carrying a payment out may take: longer than a block needs to be confirmed.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Longest reason of a facilitator that is a code, in bytes.
const MAX_REASON: usize = 80;

/// A facilitator at a base URL.
pub(super) struct Facilitator {
    client: Client,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    is_valid: bool,
    #[serde(default)]
    invalid_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settled {
    success: bool,
    #[serde(default)]
    error_reason: Option<String>,
    #[serde(default)]
    transaction: Option<String>,
}

impl Facilitator {
    pub(super) fn new(client: Client, url: String) -> Self {
        Self { client, url: url.trim_end_matches('/').to_owned() }
    }

    pub(super) async fn verify(&self, request: &Value) -> Result<Verdict, Fault> {
        match self.post::<Verified>("verify", request, VERIFY_TIMEOUT).await {
            Ok(Some(Verified { is_valid: true, .. })) => Ok(Verdict::Valid),
            Ok(Some(Verified { invalid_reason, .. })) => {
                Ok(Verdict::Refused(refusal(invalid_reason.as_deref()).unwrap_or(NotPaid::NotAccepted)))
            }
            Ok(None) => Err(unavailable()),
            Err(error) => {
                tracing::warn!(error = %error, "the x402 facilitator did not verify a payment");
                Err(unavailable())
            }
        }
    }

    pub(super) async fn settle(&self, request: &Value) -> Outcome {
        match self.post::<Settled>("settle", request, SETTLE_TIMEOUT).await {
            Ok(Some(Settled { success: true, transaction, .. })) => {
                let hash = transaction.and_then(|transaction| transaction.parse::<TransactionHash>().ok());
                // Where a node is configured, the chain is asked for the block.
                hash.map_or(Outcome::Unknown, |hash| {
                    let transaction = hash.as_str().to_owned();
                    Outcome::Moved(Transfer { transaction, block: None, is_final: true })
                })
            }
            Ok(Some(Settled { success: false, error_reason, transaction })) => {
                let sent = transaction.is_some_and(|transaction| !transaction.is_empty());
                // Any other failure may have come after the transaction was sent.
                match refusal(error_reason.as_deref()) {
                    Some(why) if !sent => Outcome::NotMoved(why),
                    _ => Outcome::Unknown,
                }
            }
            Ok(None) => Outcome::Unknown,
            Err(error) => {
                tracing::warn!(error = %error, "nobody knows yet whether the x402 facilitator settled a payment");
                Outcome::Unknown
            }
        }
    }

    /// The answer, whatever its status: a refusal may come with one of an error.
    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &Value,
        timeout: Duration,
    ) -> Result<Option<T>, AnswerError> {
        let request = self.client.post(format!("{}/{path}", self.url)).json(request).timeout(timeout);
        let response = request.send().await.map_err(AnswerError::unreachable)?;
        let body = ep_outgoing::read(response, MAX_ANSWER).await?;
        Ok(serde_json::from_slice(&body).ok())
    }
}

/// A refusal that comes before anything is sent, in our own words: facilitators name the same reasons differently.
/// `None` for any other failure, and for a text that may quote anything.
fn refusal(said: Option<&str>) -> Option<NotPaid> {
    let said = said.filter(|said| said.len() <= MAX_REASON)?;
    let names = |word| said.contains(word);
    if names("insufficient_funds") || names("insufficient_balance") {
        Some(NotPaid::Funds)
    } else if names("signature") {
        Some(NotPaid::Signature)
    } else if names("valid_before") || names("valid_after") || names("expired") {
        Some(NotPaid::Expired)
    } else {
        None
    }
}

/// Nobody can say whether a payment would be carried out; nothing has happened.
pub(super) fn unavailable() -> Fault {
    let text = "payments in USDC cannot be verified right now; nothing was charged; try again in a moment";
    Fault::new(Kind::Unavailable, text).retry_after(Duration::from_secs(5))
}
