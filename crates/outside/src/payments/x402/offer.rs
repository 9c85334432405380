//! Payment requirements for clients of both versions.

use serde_json::{Value, json};

use super::{MAX_TIMEOUT_S, X402Config};

const DESCRIPTION: &str = "Credit for Ensemble Poll";
const MEDIA_TYPE: &str = "application/json";

/// The requirements of one payment.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The body of the 402 response: version 1, if that version has a name for the chain.
    pub body: Value,
    /// The `PAYMENT-REQUIRED` header before base64 encoding: version 2.
    pub header: Value,
}

impl Offer {
    /// Returns the requirements in the earliest version that has a name for the chain.
    pub fn earliest(self) -> Value {
        let has_name = self.body["accepts"].as_array().is_some_and(|accepts| !accepts.is_empty());
        if has_name { self.body } else { self.header }
    }

    pub(super) fn new(config: &X402Config, cents: u32, error: &str) -> Self {
        let amount = (u64::from(cents) * 10_000).to_string();
        let accepts: Vec<Value> = legacy(config, &amount).into_iter().collect();
        Self {
            body: json!({ "x402Version": 1, "error": error, "accepts": accepts }),
            header: json!({
                "x402Version": 2,
                "error": error,
                "resource": { "url": config.resource, "description": DESCRIPTION, "mimeType": MEDIA_TYPE },
                "accepts": [current(config, &amount)],
            }),
        }
    }
}

/// Builds the requirements of version 1. `outputSchema` is omitted, because null breaks clients.
pub(super) fn legacy(config: &X402Config, amount: &str) -> Option<Value> {
    Some(json!({
        "scheme": "exact",
        "network": config.legacy_network()?,
        "maxAmountRequired": amount,
        "asset": config.asset,
        "payTo": config.pay_to,
        "resource": config.resource,
        "description": DESCRIPTION,
        "mimeType": MEDIA_TYPE,
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": { "name": config.asset_name, "version": config.asset_version },
    }))
}

/// Builds the requirements of version 2.
pub(super) fn current(config: &X402Config, amount: &str) -> Value {
    json!({
        "scheme": "exact",
        "network": config.network(),
        "amount": amount,
        "asset": config.asset,
        "payTo": config.pay_to,
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": { "name": config.asset_name, "version": config.asset_version },
    })
}
