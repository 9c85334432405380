//! `set_confirmation`: sets the amount above which the account confirms polls.

use ep_kernel::schema::nullable;
use ep_polling::Usd;

use crate::amount::Amount;
use crate::prelude::*;

/// Sets the amount above which the caller confirms polls.
pub struct SetConfirmation;

/// The amount to set.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ConfirmationToSet {
    /// Ask before a poll that can cost more than this, in USD; null for never.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required, transform = nullable)]
    pub above_usd: Option<Amount>,
}

/// The amount above which polls need confirmation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Confirmation {
    /// Your client asks you before a poll that can cost more than this, in USD; null to never ask.
    pub above_usd: Option<Usd>,
}

impl ToolOutput for Confirmation {}

impl Tool for SetConfirmation {
    const SPEC: Spec = Spec {
        name: "set_confirmation",
        title: "Set your confirmation limit",
        summary: "Sets the cost above which MCP clients ask you to confirm a poll. Free.",
        manual: include_str!("set_confirmation.md"),
        example: r#"{ "above_usd": 0.5 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/account/confirmation")),
        intents: &[
            "ask me before spending more than",
            "confirm polls that cost more than an amount",
            "require approval of polls above ten dollars",
            "do not ask me to confirm cheap polls",
            "change the confirmation limit",
            "always ask before you spend my money",
        ],
        ..Spec::PLAIN
    };
    type Input = ConfirmationToSet;
    type Output = Confirmation;

    async fn call(cx: &Ctx, input: ConfirmationToSet) -> Result<Confirmation, Fault> {
        let above = input.above_usd.map(|Amount(above)| above);
        cx.store().set_confirm_above(cx.account()?, above).await?;
        Ok(Confirmation { above_usd: above.map(Usd) })
    }
}
