//! `get_confirmation`: reads the amount above which the account confirms polls.

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Nothing, Rate, Rest, Spec, Task, Tool};
use ep_polling::money::Usd;

use super::set_confirmation::Confirmation;

/// Reads the amount above which the caller confirms polls.
pub struct GetConfirmation;

impl Tool for GetConfirmation {
    const SPEC: Spec = Spec {
        name: "get_confirmation",
        title: "Get your confirmation limit",
        summary: "Returns the cost above which MCP clients ask you to confirm a poll. Free.",
        manual: "Returns the amount set by `set_confirmation`; null without a limit.\n",
        example: "{}",
        access: Access::ACCOUNT,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::get("/api/account/confirmation")),
        stream: None,
        agents: Agents::None,
        task: Task::None,
        intents: &[
            "when am I asked before spending",
            "which polls do I have to confirm",
            "show my confirmation limit",
            "what is my approval limit",
        ],
        faults: &[],
    };
    type Input = Nothing;
    type Output = Confirmation;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Confirmation, Fault> {
        let above = cx.store().confirm_above(cx.account()?).await?;
        Ok(Confirmation { above_usd: above.map(Usd) })
    }
}
