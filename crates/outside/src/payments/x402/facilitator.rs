//! The facilitator, which verifies and settles payments.

use std::time::Duration;

use ep_kernel::{Fault, Kind, PaymentRejection, TransactionHash, TransferOutcome, Verification};
use ep_outgoing::ResponseError;
use ep_store::Transfer;
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Timeout of a verification.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a settlement: longer than the confirmation of a block.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of a response, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// Maximum length of an error code from a facilitator, in bytes.
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

    pub(super) async fn verify(&self, request: &Value) -> Result<Verification, Fault> {
        match self.post::<Verified>("verify", request, VERIFY_TIMEOUT).await {
            Ok(Some(Verified { is_valid: true, .. })) => Ok(Verification::Valid),
            Ok(Some(Verified { invalid_reason, .. })) => Ok(Verification::Rejected(
                refusal(invalid_reason.as_deref()).unwrap_or(PaymentRejection::NotAccepted),
            )),
            Ok(None) => Err(unavailable()),
            Err(error) => {
                tracing::warn!(error = %error, "failed to verify a payment with the x402 facilitator");
                Err(unavailable())
            }
        }
    }

    pub(super) async fn settle(&self, request: &Value) -> TransferOutcome {
        match self.post::<Settled>("settle", request, SETTLE_TIMEOUT).await {
            Ok(Some(Settled { success: true, transaction, .. })) => {
                let hash = transaction.and_then(|transaction| transaction.parse::<TransactionHash>().ok());
                // If a node is configured, the caller reads the block from the chain.
                hash.map_or(TransferOutcome::Unknown, |hash| {
                    let transaction = hash.as_str().to_owned();
                    TransferOutcome::Moved(Transfer { transaction, block: None, is_final: true })
                })
            }
            Ok(Some(Settled { success: false, error_reason, transaction })) => {
                let sent = transaction.is_some_and(|transaction| !transaction.is_empty());
                // After any other failure, the transaction may have been sent.
                match refusal(error_reason.as_deref()) {
                    Some(why) if !sent => TransferOutcome::NotMoved(why),
                    _ => TransferOutcome::Unknown,
                }
            }
            Ok(None) => TransferOutcome::Unknown,
            Err(error) => {
                tracing::warn!(error = %error, "the x402 facilitator's settlement has an unknown outcome");
                TransferOutcome::Unknown
            }
        }
    }

    /// Sends a request and parses the response with any status, because rejections may have an error status.
    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &Value,
        timeout: Duration,
    ) -> Result<Option<T>, ResponseError> {
        let request = self.client.post(format!("{}/{path}", self.url)).json(request).timeout(timeout);
        let response = request.send().await.map_err(ResponseError::unreachable)?;
        let body = ep_outgoing::read(response, MAX_RESPONSE).await?;
        Ok(serde_json::from_slice(&body).ok())
    }
}

/// Maps a facilitator's error code to a rejection that happens before anything is sent, because facilitators
/// use different codes. Returns `None` for other failures, and for free text.
fn refusal(reason: Option<&str>) -> Option<PaymentRejection> {
    let reason = reason.filter(|reason| reason.len() <= MAX_REASON)?;
    let names = |word| reason.contains(word);
    if names("insufficient_funds") || names("insufficient_balance") {
        Some(PaymentRejection::Funds)
    } else if names("signature") {
        Some(PaymentRejection::Signature)
    } else if names("valid_before") || names("valid_after") || names("expired") {
        Some(PaymentRejection::Expired)
    } else {
        None
    }
}

/// Builds the error for a facilitator that does not respond. No payment was made.
pub(super) fn unavailable() -> Fault {
    let text = "payments in USDC cannot be verified right now; nothing was charged; try again in a moment";
    Fault::new(Kind::Unavailable, text).retry_after(Duration::from_secs(5))
}
