//! `fund_key`: moves money onto a pre-funded key.

use ep_kernel::Keys;
use ep_polling::Usd;
use ep_store::KeyId;

use crate::amount::Amount;
use crate::prelude::*;

/// Moves money onto a pre-funded key.
pub struct FundKey;

/// A transfer to a key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct KeyToFund {
    /// Its id, as `list_keys` shows it.
    #[schemars(with = "KeyId")]
    pub key_id: String,
    /// The amount to move from your account, in USD.
    pub amount_usd: Amount,
}

/// The funds of a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FundedKey {
    /// The key's id.
    pub key_id: KeyId,
    /// The amount it can spend now, in USD.
    #[schemars(with = "f64")]
    pub funds_usd: Usd,
}

impl ToolOutput for FundedKey {}

impl Tool for FundKey {
    const SPEC: Spec = Spec {
        name: "fund_key",
        title: "Top up a pre-funded key",
        summary: "Moves an amount from your account onto one of your pre-funded API keys.",
        manual: include_str!("fund_key.md"),
        example: r#"{ "key_id": "3f2b8c1e-5d4a-4f6b-9a7c-8e1d2f3a4b5c", "amount_usd": 5 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: false },
        rest: Some(Rest::post("/api/keys/{key_id}/funds")),
        intents: &[
            "top up a pre-funded key",
            "top up the key of an agent",
            "put more money on a key",
            "move funds from my account to a key",
            "add dollars to a key",
            "increase or raise the budget of a key",
            "load or transfer money onto a key",
        ],
        faults: &[Kind::NotFound, Kind::InsufficientBalance, Kind::AccountFrozen],
        ..Spec::PLAIN
    };
    type Input = KeyToFund;
    type Output = FundedKey;

    async fn call(cx: &Ctx, input: KeyToFund) -> Result<FundedKey, Fault> {
        let owner = cx.account()?;
        let key_id = input.key_id.parse().map_err(|_| Keys::not_found())?;
        let Amount(amount) = input.amount_usd;
        let funds = cx.keys().fund(owner, key_id, amount, cx.request_ref.as_deref()).await?;
        Ok(FundedKey { key_id, funds_usd: Usd(funds.available) })
    }
}
