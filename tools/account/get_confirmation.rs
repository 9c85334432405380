//! `get_confirmation`: reads the amount above which the account confirms polls.

use ep_polling::Usd;

use super::set_confirmation::Confirmation;
use crate::prelude::*;

/// Reads the amount above which the caller confirms polls.
pub struct GetConfirmation;

impl Tool for GetConfirmation {
    const SPEC: Spec = Spec {
        name: "get_confirmation",
        title: "Get your confirmation limit",
        summary: "Returns the cost above which MCP clients ask you to confirm a poll. Free.",
        manual: "Returns the amount set by `set_confirmation`; null without a limit.\n",
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/account/confirmation")),
        intents: &[
            "when am I asked before spending",
            "which polls do I have to confirm",
            "show my confirmation limit",
            "what is my approval limit",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Confirmation;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Confirmation, Fault> {
        let above = cx.store().confirm_above(cx.account()?).await?;
        Ok(Confirmation { above_usd: above.map(Usd) })
    }
}
