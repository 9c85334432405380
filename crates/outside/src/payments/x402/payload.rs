//! Parsing and validation of a payment header.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ep_polling::{MicroUsd, Timestamp};
use ep_store::{Cents, Payment, WalletAddress};
use serde::Deserialize;
use serde_json::Value;

use super::{MAX_TIMEOUT_S, SLACK, X402Config};

/// Maximum length of a payment, in bytes: in base64 in a header, or as JSON.
const MAX_PAYMENT: usize = 16 * 1024;

/// The reason for rejecting a payment header before verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The payment is not valid base64 or JSON, or its version is unknown.
    #[error(
        "the payment must be one of x402, version 1 or 2, scheme exact; in a header, as base64 of its JSON"
    )]
    Malformed,
    /// The payment does not meet the requirements.
    #[error(transparent)]
    Mismatch(#[from] PaymentMismatch),
}

/// The mismatch between a payment and its requirements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentMismatch {
    /// The chain differs.
    #[error("the payment is for another network")]
    Network,
    /// The amount differs.
    #[error("the payment has another amount")]
    Amount,
    /// The payee differs.
    #[error("the payment goes to another address")]
    Payee,
    /// The asset differs.
    #[error("the payment is in another asset")]
    Asset,
    /// The payment is valid for longer than requested, which is too long to wait for its expiry.
    #[error("the payment is valid for longer than maxTimeoutSeconds")]
    Lifetime,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    x402_version: u64,
    scheme: Option<String>,
    network: Option<String>,
    accepted: Option<Accepted>,
    payload: Authorized,
}

/// The requirements that the payer accepts (version 2). The fields come in any order.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    scheme: String,
    network: String,
    amount: String,
    asset: String,
    pay_to: String,
}

#[derive(PartialEq, Deserialize)]
struct Authorized {
    signature: String,
    authorization: Authorization,
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authorization {
    from: String,
    to: String,
    value: String,
    valid_after: String,
    valid_before: String,
    nonce: String,
}

/// Parses a payment and checks it against the requirements. The facilitator verifies its signature.
pub(super) fn read(
    config: &X402Config,
    header: &str,
    cents: u32,
    now: Timestamp,
) -> Result<Payment, PayloadError> {
    let bytes = decode(header).ok_or(PayloadError::Malformed)?;
    let body: Value = serde_json::from_slice(&bytes).map_err(|_| PayloadError::Malformed)?;
    parse(config, body, cents, now)
}

/// Parses a payment in plain JSON and checks it against the requirements.
pub(super) fn parse(
    config: &X402Config,
    body: Value,
    cents: u32,
    now: Timestamp,
) -> Result<Payment, PayloadError> {
    let text = body.to_string();
    if text.len() > MAX_PAYMENT {
        return Err(PayloadError::Malformed);
    }
    let envelope: Envelope = serde_json::from_value(body).map_err(|_| PayloadError::Malformed)?;
    let Envelope { x402_version, scheme, network, accepted, payload } = envelope;
    let Authorized { signature, authorization } = payload;
    let amount = MicroUsd::from(Cents(cents));
    let is = |text: &str, address: WalletAddress| address_of(text) == Some(address);
    match (x402_version, accepted) {
        (1, _) if scheme.as_deref() != Some("exact") => return Err(PayloadError::Malformed),
        (1, _) if network.is_none() || network.as_deref() != config.legacy_network() => {
            return Err(PaymentMismatch::Network.into());
        }
        (2, Some(accepted)) => {
            if accepted.scheme != "exact" {
                return Err(PayloadError::Malformed);
            }
            if accepted.network != config.network() {
                return Err(PaymentMismatch::Network.into());
            }
            if !is(&accepted.asset, config.asset) {
                return Err(PaymentMismatch::Asset.into());
            }
            if !is(&accepted.pay_to, config.pay_to) {
                return Err(PaymentMismatch::Payee.into());
            }
            if accepted.amount != amount.micro().to_string() {
                return Err(PaymentMismatch::Amount.into());
            }
        }
        (1, _) => {}
        _ => return Err(PayloadError::Malformed),
    }
    let Authorization { from, to, value, valid_after, valid_before, nonce } = authorization;
    let payer = address_of(&from).ok_or(PayloadError::Malformed)?;
    let seconds: i64 = valid_before.parse().map_err(|_| PayloadError::Malformed)?;
    let _: i64 = valid_after.parse().map_err(|_| PayloadError::Malformed)?;
    let nonce = bytes_of(&nonce).filter(|nonce| nonce.len() == 32).ok_or(PayloadError::Malformed)?;
    bytes_of(&signature).filter(|bytes| !bytes.is_empty()).ok_or(PayloadError::Malformed)?;
    if address_of(&to).ok_or(PayloadError::Malformed)? != config.pay_to {
        return Err(PaymentMismatch::Payee.into());
    }
    if value != amount.micro().to_string() {
        return Err(PaymentMismatch::Amount.into());
    }
    let valid_before = Timestamp::from_millis(seconds.saturating_mul(1000));
    if valid_before > now.after(Duration::from_secs(MAX_TIMEOUT_S.into()) + SLACK) {
        return Err(PaymentMismatch::Lifetime.into());
    }
    Ok(Payment {
        reference: format!("{}{}:0x{}", config.reference_prefix(), payer.lower_case(), hex::encode(nonce)),
        payer,
        amount,
        valid_before,
        body: text,
    })
}

/// Returns true if two payments have the same authorization and the same signature.
pub(super) fn is_same(one: &Payment, other: &Payment) -> bool {
    match (authorized(one), authorized(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Returns the address that receives a payment.
pub(super) fn payee(payment: &Payment) -> Option<WalletAddress> {
    address_of(&authorized(payment)?.authorization.to)
}

/// Returns the authorization and signature of a payment, with hexadecimal digits in lower case.
fn authorized(payment: &Payment) -> Option<Authorized> {
    let Envelope { payload, .. } = serde_json::from_str(&payment.body).ok()?;
    let Authorization { from, to, value, valid_after, valid_before, nonce } = payload.authorization;
    Some(Authorized {
        signature: payload.signature.to_ascii_lowercase(),
        authorization: Authorization {
            from: from.to_ascii_lowercase(),
            to: to.to_ascii_lowercase(),
            value,
            valid_after,
            valid_before,
            nonce: nonce.to_ascii_lowercase(),
        },
    })
}

/// Decodes base64 with or without padding, in either alphabet, because clients differ.
fn decode(header: &str) -> Option<Vec<u8>> {
    let header = header.trim();
    if header.len() > MAX_PAYMENT {
        return None;
    }
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
        .iter()
        .find_map(|engine| engine.decode(header).ok())
}

/// Parses an address in any case, without checking its checksum.
fn address_of(text: &str) -> Option<WalletAddress> {
    text.to_ascii_lowercase().parse().ok()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix("0x")?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_payments_are_rejected() {
        let address = |byte: u8| WalletAddress::new([byte; 20]);
        let config = X402Config {
            facilitator_url: String::new(),
            chain_id: 8453,
            asset: address(1),
            asset_name: String::new(),
            asset_version: String::new(),
            pay_to: address(2),
            resource: String::new(),
            confirmations: 1,
        };
        let payment = |note: &str| {
            let (asset, payee) = (address(1).lower_case(), address(2).lower_case());
            json!({
                "x402Version": 2,
                "accepted": { "scheme": "exact", "network": "eip155:8453", "amount": "5000000", "asset": asset, "payTo": payee },
                "payload": {
                    "signature": "0x01",
                    "authorization": {
                        "from": address(3).lower_case(), "to": payee, "value": "5000000",
                        "validAfter": "0", "validBefore": "60", "nonce": format!("0x{}", "00".repeat(32)),
                    },
                },
                "extensions": { "note": note },
            })
        };
        let parse = |body: Value| parse(&config, body, 500, Timestamp::from_millis(0));
        assert!(parse(payment("x")).is_ok());
        assert_eq!(parse(payment(&"x".repeat(MAX_PAYMENT))).unwrap_err(), PayloadError::Malformed);
    }
}
