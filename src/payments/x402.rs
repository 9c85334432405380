//! USDC deposits by x402. The payment is in request headers, the amount in the JSON body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ep_kernel::caller::{Caller, UserId};
use ep_kernel::deposits::{DepositOutcome, DepositStatus, Deposited, Deposits, pending};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use ep_kernel::idempotency::check_key;
use ep_kernel::ports::Payment;
use ep_kernel::tasks::Tasks;
use ep_payments::{Offer, PayloadError, X402};
use ep_polling::money::Usd;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::http;
use crate::http::{Exchange, malformed_body, read_body};
use crate::site::deposit::{DEPOSITS, DepositReceipt, ReceiptStatus};

/// Request headers for the payment (version 2, version 1).
const PAYMENT: [&str; 2] = ["payment-signature", "x-payment"];
/// Response header for the payment requirements (version 2).
const REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// Response headers for the outcome of the payment, for both versions.
const RESPONSE: [HeaderName; 2] =
    [HeaderName::from_static("payment-response"), HeaderName::from_static("x-payment-response")];
/// Maximum wait before the client is asked to retry. It is shorter than the route's deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(80);
#[derive(Deserialize)]
struct DepositBody<'a> {
    #[serde(borrow)]
    amount_usd: &'a RawValue,
}

/// Returns the payment requirements, or settles the payment.
pub(crate) fn handle(
    exchange: Exchange,
    admission: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        // The payment itself identifies a repetition: the idempotency key is only echoed.
        head.idempotency_key.as_deref().map(check_key).transpose()?;
        let (parts, body) = request.into_parts();
        let body = read_body(&parts.headers, body).await?;
        let cents = amount(&body)?;
        let offered = state.usdc.filter(|_| state.site.settings.offer.usdc.is_some());
        let usdc = offered.ok_or_else(usdc_not_configured)?;
        let Some(header) = payment_header(&parts.headers) else {
            return Ok(required(&usdc.x402.offer(cents, "Payment required"), None));
        };
        let payment = match usdc.x402.payment(header, cents, state.app.ports.clock.now()) {
            Ok(payment) => payment,
            Err(PayloadError::Mismatch(why)) => return Ok(refused(&usdc.x402, cents, &why.to_string())),
            Err(error) => return Err(Fault::invalid("", error.to_string())),
        };
        let account = admission.caller.user();
        match usdc.take(&state.app.tasks, payment, admission.caller).await? {
            DepositOutcome::Deposited(deposited) => Ok(received(&deposited, account, &usdc.x402.network())),
            DepositOutcome::Rejected(why) => Ok(refused(&usdc.x402, cents, &why.to_string())),
        }
    }
    .boxed()
}

/// Configured USDC deposits.
#[derive(Clone)]
pub struct Usdc {
    /// The protocol.
    pub x402: Arc<X402>,
    /// The deposit service.
    pub deposits: Arc<Deposits>,
}

impl Usdc {
    /// Settles a payment, even if its client disconnects.
    pub async fn take(
        &self,
        tasks: &Tasks,
        payment: Payment,
        caller: Caller,
    ) -> Result<DepositOutcome, Fault> {
        let (sender, answered) = oneshot::channel();
        let deposits = Arc::clone(&self.deposits);
        tasks.spawn(async move {
            let outcome = deposits.take(payment, &caller).await;
            drop(sender.send(outcome));
        });
        // After a timeout the client must retry the same payment, not sign a new one.
        let answered = tokio::time::timeout(LONGEST_WAIT, answered).await;
        if let Ok(Ok(outcome)) = answered { outcome } else { Err(pending()) }
    }
}

/// Parses the amount in the body as cents: a plain decimal number with at most two decimals.
fn amount(body: &[u8]) -> Result<u32, Fault> {
    let rule = || {
        let rule =
            "must be a number of US dollars from 1 to 1000 with at most two decimals, for example 5 or 12.50";
        Fault::invalid("amount_usd", rule)
    };
    let DepositBody { amount_usd } =
        serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => rule(),
            _ => malformed_body(&error),
        })?;
    cents_of(amount_usd.get()).filter(|cents| DEPOSITS.contains(cents)).ok_or_else(rule)
}

/// Parses dollars as cents: a plain decimal number with at most two decimals.
pub(crate) fn cents_of(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 7 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    let cents: u32 = format!("{decimals:0<2}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(cents)
}

fn payment_header(headers: &HeaderMap) -> Option<&str> {
    PAYMENT.iter().find_map(|name| headers.get(*name)).map(|value| value.to_str().unwrap_or(""))
}

/// Returns the payment requirements: in the body for version 1, in a header for version 2.
fn required(offer: &Offer, failure: Option<Value>) -> Response<Body> {
    let mut response = http::json(StatusCode::PAYMENT_REQUIRED.as_u16(), &offer.body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut response, REQUIRED, &offer.header);
    if let Some(failure) = failure {
        for name in RESPONSE {
            set(&mut response, name, &failure);
        }
    }
    response
}

fn refused(x402: &X402, cents: u32, why: &str) -> Response<Body> {
    let failure = json!({ "success": false, "errorReason": why, "transaction": "" });
    required(&x402.offer(cents, why), Some(failure))
}

fn received(deposited: &Deposited, account: Option<UserId>, network: &str) -> Response<Body> {
    let Deposited { id, status, amount, transaction, payer, user, is_repeat, is_new_user, key } = deposited;
    let body = DepositReceipt {
        deposit_id: *id,
        status: match status {
            DepositStatus::Confirming => ReceiptStatus::Confirming,
            DepositStatus::Settled => ReceiptStatus::Settled,
        },
        amount_usd: Usd(*amount),
        amount_cents: amount.floor_cents(),
        tx_hash: transaction.clone(),
        payer: *payer,
        user_id: (!is_repeat || account == Some(*user)).then_some(*user),
        is_new_user: *is_new_user,
        api_key: key.as_ref().map(|issued| issued.key.reveal().to_owned()),
    };
    let mut response = http::json(200, &body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let settled = json!({ "success": true, "transaction": transaction, "network": network, "payer": payer });
    for name in RESPONSE {
        set(&mut response, name, &settled);
    }
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &Value) {
    if let Ok(value) = HeaderValue::try_from(STANDARD.encode(value.to_string())) {
        response.headers_mut().insert(name, value);
    }
}

/// Returns the fault for USDC deposits that are not configured.
pub fn usdc_not_configured() -> Fault {
    let text =
        "deposits in USDC are not configured: the operator sets EP_X402_FACILITATOR_URL and EP_X402_PAY_TO";
    Fault::new(Kind::NotConfigured, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_plain_dollars_and_cents() {
        let read = |text: &str| amount(format!(r#"{{ "amount_usd": {text} }}"#).as_bytes()).ok();
        for (text, cents) in
            [("1", 100), ("1000", 100_000), ("5.5", 550), ("12.50", 1250), ("999.99", 99_999), ("1.0", 100)]
        {
            assert_eq!(read(text), Some(cents), "{text}");
        }
        for text in [
            "0",
            "0.99",
            "1000.01",
            "1001",
            "-5",
            "5.001",
            "5.000",
            "1e2",
            "5E0",
            "\"5\"",
            "null",
            "[5]",
            "{}",
            "true",
            "99999999999999999999",
            "1.999999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(amount(b"{}").unwrap_err().kind(), Kind::InvalidInput);
        assert_eq!(amount(b"{").unwrap_err().kind(), Kind::MalformedJson);
        assert_eq!(amount(b"").unwrap_err().kind(), Kind::MalformedJson);
    }
}
