//! Payments for tasks: the extension a2a-x402, version 0.2, in its standalone flow.
//!
//! If the balance is too low, a client with the active extension gets a task that waits for a payment. The
//! payment is an ordinary deposit into the client's account, credited once; the account then pays for the poll.

use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};
use ep_kernel::deposits::{DepositOutcome, DepositStatus, confirming};
use ep_kernel::fault::Fault;
use ep_kernel::ports::PaymentRejection;
use ep_payments::{PayloadError, PaymentMismatch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::errors::Refusal;
use super::message::invalid;
use super::request::AgentRequest;
use crate::documents::PAYMENTS_EXTENSION;
use crate::site::deposit::DEPOSITS;

/// Headers that activate extensions, in 1.0 and in 0.3.
const HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];
const STATUS: &str = "x402.payment.status";
const PAYLOAD: &str = "x402.payment.payload";
const RECEIPTS: &str = "x402.payment.receipts";
/// Micro-USD per cent.
const CENT: i64 = 10_000;

/// True if a request activates the extension.
pub(super) fn asks(headers: &HeaderMap) -> bool {
    HEADERS.iter().any(|name| names_extension(headers, name))
}

fn names_extension(headers: &HeaderMap, name: &HeaderName) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|uri| uri.trim() == PAYMENTS_EXTENSION)
}

/// Confirms the active extension in a response, under the names from the request.
pub(super) fn confirm<B>(agent: &AgentRequest, request: &HeaderMap, response: &mut Response<B>) {
    for name in HEADERS.iter().filter(|name| agent.payments.is_some() && names_extension(request, name)) {
        response.headers_mut().insert(name, HeaderValue::from_static(PAYMENTS_EXTENSION));
    }
}

/// Returns the amount due for a rejected poll, in cents; `None` if a payment does not help or the client does not
/// support payments.
pub(super) fn due(agent: &AgentRequest, fault: &Fault) -> Option<u32> {
    agent.payments.as_ref()?;
    let cents = fault.lacks()?.micro().saturating_add(CENT - 1) / CENT;
    let cents = u32::try_from(cents).unwrap_or(u32::MAX);
    Some(cents.clamp(*DEPOSITS.start(), *DEPOSITS.end()))
}

/// A message's payment metadata.
pub(super) enum PaymentMessage {
    /// A signed payment.
    Submitted(Value),
    /// The client declines to pay.
    Rejected,
}

impl PaymentMessage {
    /// Reads a message's payment metadata; `None` if it has none.
    pub(super) fn of(message: &Value) -> Result<Option<Self>, Refusal> {
        let Some(metadata) = message.get("metadata") else { return Ok(None) };
        let Some(status) = metadata.get(STATUS) else { return Ok(None) };
        match status.as_str() {
            Some("payment-submitted") => {
                let payload = metadata.get(PAYLOAD).filter(|payload| payload.is_object());
                let missing = || invalid(&member(PAYLOAD), "must be the signed payment, an object");
                Ok(Some(Self::Submitted(payload.ok_or_else(missing)?.clone())))
            }
            Some("payment-rejected") => Ok(Some(Self::Rejected)),
            _ => Err(invalid(&member(STATUS), "must be payment-submitted or payment-rejected")),
        }
    }
}

fn member(name: &str) -> String {
    format!("message.metadata.{name}")
}

/// Outcome of a payment message.
pub(super) enum PaymentOutcome {
    /// The account has been credited.
    Credited,
    /// The payment failed: error code and reason.
    Failed(&'static str, String),
    /// The client declined to pay.
    Rejected,
}

/// The payments of a task, as stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Payments {
    /// Amount due before the poll is opened, in cents.
    due: Option<u32>,
    /// Receipts of all payments.
    receipts: Vec<Value>,
    /// True if the client has declined to pay.
    rejected: bool,
}

impl Payments {
    /// True if no payment was ever requested.
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_none() && self.receipts.is_empty() && !self.rejected
    }

    /// True if the poll waits for a payment.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Clears the amount due after the poll has been opened.
    pub(super) fn settle(&mut self) {
        self.due = None;
    }

    /// Returns a payment request, as text and as metadata for programs.
    pub(super) fn ask(&mut self, agent: &AgentRequest, cents: u32) -> Option<(String, Value)> {
        self.due = Some(cents);
        let text = format!(
            "The balance is too low: pay ${}.{:02} in USDC with a message to this task.",
            cents / 100,
            cents % 100
        );
        let metadata = self.required(agent, "payment-required", &text)?;
        Some((text, metadata))
    }

    /// Returns the failure of a payment and a new payment request.
    pub(super) fn failed(&self, agent: &AgentRequest, code: &str, why: &str) -> Option<(String, Value)> {
        let mut metadata = self.required(agent, "payment-failed", why)?;
        metadata["x402.payment.error"] = code.into();
        Some((format!("The payment failed: {why}. You may send another one."), metadata))
    }

    fn required(&self, agent: &AgentRequest, status: &str, why: &str) -> Option<Value> {
        let offer = agent.state.usdc.as_ref()?.x402.offer(self.due?, why).earliest();
        let mut metadata = json!({ STATUS: status, "x402.payment.required": offer });
        if !self.receipts.is_empty() {
            metadata[RECEIPTS] = self.receipts.clone().into();
        }
        Some(metadata)
    }

    /// Returns payment metadata for the status of a task that no longer waits for a payment.
    pub(super) fn metadata(&self) -> Option<Value> {
        let paid = self.receipts.iter().any(|receipt| receipt["success"] == true);
        let status = match (self.rejected, paid) {
            (true, _) => "payment-rejected",
            (false, true) => "payment-completed",
            (false, false) if self.receipts.is_empty() => return None,
            (false, false) => "payment-failed",
        };
        Some(json!({ STATUS: status, RECEIPTS: self.receipts }))
    }

    /// Processes a payment message. A payment is credited once, however often it is sent. Fails while the outcome
    /// is unknown.
    pub(super) async fn take(
        &mut self,
        agent: &AgentRequest,
        step: PaymentMessage,
    ) -> Result<PaymentOutcome, Refusal> {
        let PaymentMessage::Submitted(payment) = step else {
            (self.rejected, self.due) = (true, None);
            return Ok(PaymentOutcome::Rejected);
        };
        let (Some(usdc), Some(cents)) = (agent.state.usdc.clone(), self.due) else {
            return Err(Refusal::Unsupported(
                "payments are not accepted here; send a new message".to_owned(),
            ));
        };
        let named = payment.get("network").or_else(|| payment.pointer("/accepted/network"));
        let network = named.and_then(Value::as_str).map_or_else(|| usdc.x402.network(), str::to_owned);
        let parsed = match usdc.x402.payment_of(payment, cents, agent.now()) {
            Ok(parsed) => parsed,
            Err(PayloadError::Mismatch(why)) => {
                return Ok(self.refuse(code(why), &why.to_string(), &network));
            }
            Err(error) => return Err(invalid(&member(PAYLOAD), &error.to_string())),
        };
        let caller = agent.admission.caller.clone();
        match usdc.take(&agent.state.app.tasks, parsed, caller).await? {
            DepositOutcome::Deposited(deposited) if Some(deposited.user) != agent.admission.caller.user() => {
                let why = "the payment was made to another account";
                Ok(self.refuse("DUPLICATE_NONCE", why, &network))
            }
            // The poll is charged to the account, so the deposit must be credited first.
            DepositOutcome::Deposited(deposited) if deposited.status == DepositStatus::Confirming => {
                Err(confirming().into())
            }
            DepositOutcome::Deposited(deposited) => {
                let receipt = json!({
                    "success": true,
                    "transaction": deposited.transaction,
                    "network": network,
                    "payer": deposited.payer,
                });
                if !self.receipts.contains(&receipt) {
                    self.receipts.push(receipt);
                }
                Ok(PaymentOutcome::Credited)
            }
            DepositOutcome::Rejected(why) => Ok(self.refuse(code_of(why), &why.to_string(), &network)),
        }
    }

    fn refuse(&mut self, code: &'static str, why: &str, network: &str) -> PaymentOutcome {
        let receipt = json!({ "success": false, "errorReason": why, "network": network, "transaction": "" });
        self.receipts.push(receipt);
        PaymentOutcome::Failed(code, why.to_owned())
    }
}

/// Error codes of section 9.1 of the extension.
const fn code_of(why: PaymentRejection) -> &'static str {
    match why {
        PaymentRejection::Funds => "INSUFFICIENT_FUNDS",
        PaymentRejection::Signature => "INVALID_SIGNATURE",
        PaymentRejection::Expired | PaymentRejection::ExpiredUnused => "EXPIRED_PAYMENT",
        PaymentRejection::Used => "DUPLICATE_NONCE",
        PaymentRejection::NotAccepted => "SETTLEMENT_FAILED",
    }
}

const fn code(why: PaymentMismatch) -> &'static str {
    match why {
        PaymentMismatch::Network => "NETWORK_MISMATCH",
        PaymentMismatch::Amount => "INVALID_AMOUNT",
        PaymentMismatch::Payee | PaymentMismatch::Asset | PaymentMismatch::Lifetime => "INVALID_PAYMENT",
    }
}
