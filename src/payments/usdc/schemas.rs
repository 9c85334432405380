//! Requests and responses of deposits by x402.

use ep_polling::Usd;
use ep_store::{DepositId, UserId, WalletAddress};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Body of a deposit request.
#[derive(Debug, JsonSchema)]
#[expect(
    dead_code,
    reason = "the amount is read from the text of the number: the handler checks its decimals"
)]
pub(super) struct DepositRequest {
    /// In US dollars, with at most two decimals.
    #[schemars(range(min = 1, max = 1000), extend("multipleOf" = 0.01))]
    amount_usd: f64,
}

/// A deposit whose transfer is on the chain.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DepositReceipt {
    /// Its id.
    pub(super) deposit_id: DepositId,
    /// `confirming` until the transfer has enough confirmations, then `settled`. The amount can be spent once it is
    /// settled. Send the same request with the same payment to read the status again; do not sign another payment.
    pub(super) status: ReceiptStatus,
    /// The amount in US dollars.
    pub(super) amount_usd: Usd,
    /// The amount in cents.
    pub(super) amount_cents: i64,
    /// The transaction on the chain.
    pub(super) tx_hash: String,
    /// The payer's address.
    pub(super) payer: WalletAddress,
    /// The account. Left out when a payment is repeated without that account's credential: a payment is public on the
    /// chain, so anyone can repeat it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "UserId")]
    pub(super) user_id: Option<UserId>,
    /// True if the account is new.
    pub(super) is_new_user: bool,
    /// The first API key of a new account, returned only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) api_key: Option<String>,
}

/// Spendability of a deposit.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReceiptStatus {
    Confirming,
    Settled,
}

/// The payment required for a deposit (x402, version 1).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PaymentRequired {
    x402_version: u8,
    /// The reason that the deposit was not made.
    error: String,
    /// The ways to pay.
    accepts: Vec<serde_json::Map<String, Value>>,
}
