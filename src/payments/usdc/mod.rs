//! USDC deposits by x402. The payment is in request headers, the amount in the JSON body.

mod rail;
mod schemas;

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ep_kernel::guard::Admission;
use ep_kernel::idempotency::check_key;
use ep_kernel::reading;
use ep_kernel::{DepositOutcome, DepositStatus, Deposited, Deposits, Fault};
use ep_outside::payments::{Offer, PayloadError, Usdc, X402};
use ep_polling::Usd;
use ep_site::config::ConfigError;
use ep_site::deposit::{DEPOSITS, cents_of};
use ep_site::http::{Exchange, Handler, malformed_body, read_body};
use ep_site::{Rail, http};
use ep_store::UserId;
use futures::FutureExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{PaymentRail, RailParts};
use crate::config;
pub(super) use rail::RAIL;
use schemas::{DepositReceipt, ReceiptStatus};

/// Request headers for the payment (version 2, version 1).
const PAYMENT: [&str; 2] = ["payment-signature", "x-payment"];
/// Response header for the payment requirements (version 2).
const REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// Response headers for the outcome of the payment, for both versions.
const RESPONSE: [HeaderName; 2] =
    [HeaderName::from_static("payment-response"), HeaderName::from_static("x-payment-response")];

/// Deposits in USDC.
pub(super) struct UsdcRail {
    /// `None` without settings.
    pub(super) usdc: Option<Usdc>,
}

impl UsdcRail {
    pub(super) fn new(parts: &RailParts<'_>) -> Result<Self, ConfigError> {
        let settings = config::deposits(parts.config, (parts.url)(RAIL.receiver.name))?;
        let usdc = settings.map(|settings| {
            let x402 = Arc::new(X402::new(settings, parts.client.clone(), parts.node.cloned()));
            let (clock, entropy) = (Arc::clone(parts.clock), Arc::clone(parts.entropy));
            let (network, store) = (Arc::<X402>::clone(&x402), parts.treasury.clone());
            let deposits = Deposits::new(network, store, Arc::clone(parts.sign_ups), clock, entropy);
            Usdc { x402, deposits: Arc::new(deposits) }
        });
        Ok(Self { usdc })
    }
}

#[async_trait]
impl PaymentRail for UsdcRail {
    fn rail(&self) -> &'static Rail {
        &RAIL
    }

    fn handler(&self) -> Handler {
        let usdc = self.usdc.clone();
        Handler::new(move |exchange, admission| deposit(exchange, admission, usdc.clone()).boxed())
    }

    async fn reconcile(&self) -> Result<usize, Fault> {
        match &self.usdc {
            Some(usdc) => usdc.deposits.reconcile().await,
            None => Ok(0),
        }
    }

    async fn reconcile_all(&self) -> Result<usize, Fault> {
        match &self.usdc {
            Some(usdc) => usdc.deposits.reconcile_all().await,
            None => Ok(0),
        }
    }

    fn deposits(&self) -> Option<&Arc<Deposits>> {
        self.usdc.as_ref().map(|usdc| &usdc.deposits)
    }
}

#[derive(Deserialize)]
struct DepositBody<'a> {
    #[serde(borrow)]
    amount_usd: &'a RawValue,
}

/// Returns the payment requirements, or settles the payment.
async fn deposit(
    exchange: Exchange,
    admission: Admission,
    usdc: Option<Usdc>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    // The payment itself identifies a repetition: the idempotency key is only echoed.
    head.idempotency_key.as_deref().map(check_key).transpose()?;
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, max_body).await?;
    let cents = reading::read(body.len(), move || amount(&body)).await??;
    let offered = usdc.filter(|_| state.site.settings.offer.takes(&RAIL));
    let usdc = offered.ok_or_else(|| RAIL.not_configured())?;
    let header = PAYMENT.iter().find_map(|name| parts.headers.get(*name));
    let Some(header) = header.map(|value| value.to_str().unwrap_or("")) else {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ep_kernel::Kind;
    use ep_site::rail::Arrival;

    use super::*;

    #[test]
    fn the_table_of_rails_names_every_header() {
        let Arrival::Proof(proof) = &RAIL.arrival else { panic!("a deposit needs a proof") };
        let named: BTreeSet<String> =
            proof.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        assert_eq!(named, PAYMENT.map(str::to_owned).into());
        let named: BTreeSet<&str> = proof.response_headers.iter().copied().collect();
        let written = [&[REQUIRED][..], &RESPONSE].concat();
        assert_eq!(named, written.iter().map(HeaderName::as_str).collect());
    }

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
