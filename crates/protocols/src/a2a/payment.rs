//! Payments for tasks: the extension a2a-x402, version 0.2, in its standalone flow.
//!
//! If the balance is too low, a client with the active extension gets a task that waits for a payment. The
//! payment is an ordinary deposit into the client's account, credited once; the account then pays for the poll.

use ep_kernel::deposits::confirming;
use ep_kernel::{DepositOutcome, DepositStatus, Fault, PaymentRejection};
use ep_outside::payments::{PayloadError, PaymentMismatch};
use ep_site::deposit::DEPOSITS;
use serde_json::{Value, json};

use super::errors::{Answer, Refusal};
use super::fields::invalid;
use super::payments::{Payments, STATUS};
use super::request::AgentRequest;

const PAYLOAD: &str = "x402.payment.payload";
/// Micro-USD per cent.
const CENT: i64 = 10_000;

/// Returns the amount due for a rejected poll, in cents; `None` if a payment does not help or the client does not
/// support payments.
pub(super) fn due(agent: &AgentRequest, fault: &Fault) -> Option<u32> {
    if !agent.payments.is_active() {
        return None;
    }
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
    pub(super) fn of(message: &Value) -> Answer<Option<Self>> {
        let Some(metadata) = message.get("metadata") else { return Ok(None) };
        let Some(status) = metadata.get(STATUS) else { return Ok(None) };
        match status.as_str() {
            Some("payment-submitted") => {
                let payload = metadata.get(PAYLOAD).filter(|payload| payload.is_object());
                let missing = || invalid(&metadata_field(PAYLOAD), "must be the signed payment, an object");
                Ok(Some(Self::Submitted(payload.ok_or_else(missing)?.clone())))
            }
            Some("payment-rejected") => Ok(Some(Self::Rejected)),
            _ => Err(invalid(&metadata_field(STATUS), "must be payment-submitted or payment-rejected")),
        }
    }
}

fn metadata_field(name: &str) -> String {
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

/// Processes a payment message. A payment is credited once, however often it is sent. Fails while the outcome
/// is unknown.
pub(super) async fn take(
    payments: &mut Payments,
    agent: &AgentRequest,
    step: PaymentMessage,
) -> Answer<PaymentOutcome> {
    let PaymentMessage::Submitted(payment) = step else {
        payments.decline();
        return Ok(PaymentOutcome::Rejected);
    };
    let (Some(usdc), Some(cents)) = (agent.payments.usdc().cloned(), payments.due()) else {
        return Err(Refusal::Unsupported("payments are not accepted here; send a new message".to_owned()));
    };
    let named = payment.get("network").or_else(|| payment.pointer("/accepted/network"));
    let network = named.and_then(Value::as_str).map_or_else(|| usdc.x402.network(), str::to_owned);
    let parsed = match usdc.x402.payment_of(payment, cents, agent.now()) {
        Ok(parsed) => parsed,
        Err(PayloadError::Mismatch(why)) => {
            return Ok(refuse(payments, code(why), &why.to_string(), &network));
        }
        Err(error) => return Err(invalid(&metadata_field(PAYLOAD), &error.to_string())),
    };
    let caller = agent.admission.caller.clone();
    match usdc.take(&agent.state.app.tasks, parsed, caller).await? {
        DepositOutcome::Deposited(deposited) if Some(deposited.user) != agent.admission.caller.user() => {
            let why = "the payment was made to another account";
            Ok(refuse(payments, "DUPLICATE_NONCE", why, &network))
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
            payments.credit(receipt);
            Ok(PaymentOutcome::Credited)
        }
        DepositOutcome::Rejected(why) => Ok(refuse(payments, code_of(why), &why.to_string(), &network)),
    }
}

fn refuse(payments: &mut Payments, code: &'static str, why: &str, network: &str) -> PaymentOutcome {
    payments.fail(why, network);
    PaymentOutcome::Failed(code, why.to_owned())
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
