//! Amounts of payments, and requests and responses of deposits by x402.

use ep_kernel::caller::{DepositId, UserId};
use ep_kernel::identity::WalletAddress;
use ep_polling::money::Usd;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Smallest and largest payment, in US cents.
pub const DEPOSITS: std::ops::RangeInclusive<u32> = 100..=100_000;

/// Amounts that pages offer, in US dollars.
pub const PRESETS: [u32; 3] = [5, 10, 25];

/// The range of amounts as an instruction.
pub fn amount_rule() -> String {
    let dollars = |cents: u32| match cents / 100 {
        whole @ 1000.. => format!("${},{:03}", whole / 1000, whole % 1000),
        whole => format!("${whole}"),
    };
    format!("Enter an amount from {} to {}", dollars(*DEPOSITS.start()), dollars(*DEPOSITS.end()))
}

/// Parses dollars as cents: a plain decimal number with at most two decimals.
pub fn cents_of(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 7 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    let cents: u32 = format!("{decimals:0<2}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(cents)
}

/// Body of a deposit request.
#[derive(Debug, JsonSchema)]
#[expect(
    dead_code,
    reason = "the amount is read from the text of the number: the handler checks its decimals"
)]
pub struct DepositRequest {
    /// In US dollars, with at most two decimals.
    #[schemars(range(min = 1, max = 1000), extend("multipleOf" = 0.01))]
    amount_usd: f64,
}

/// A deposit whose transfer is on the chain.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DepositReceipt {
    /// Its id.
    pub deposit_id: DepositId,
    /// `confirming` until the transfer has enough confirmations, then `settled`. The amount can be spent once it is
    /// settled. Send the same request with the same payment to read the status again; do not sign another payment.
    pub status: ReceiptStatus,
    /// The amount in US dollars.
    pub amount_usd: Usd,
    /// The amount in cents.
    pub amount_cents: i64,
    /// The transaction on the chain.
    pub tx_hash: String,
    /// The payer's address.
    pub payer: WalletAddress,
    /// The account. Left out when a payment is repeated without that account's credential: a payment is public on the
    /// chain, so anyone can repeat it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "UserId")]
    pub user_id: Option<UserId>,
    /// True if the account is new.
    pub is_new_user: bool,
    /// The first API key of a new account, returned only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub api_key: Option<String>,
}

/// Spendability of a deposit.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "descriptions of variants would change the schema")]
pub enum ReceiptStatus {
    Confirming,
    Settled,
}

/// The payment required for a deposit (x402, version 1).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    x402_version: u8,
    /// The reason that the deposit was not made.
    error: String,
    /// The ways to pay.
    accepts: Vec<serde_json::Map<String, Value>>,
}
