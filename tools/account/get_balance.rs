//! `get_balance`: reads the available balance.

use crate::prelude::*;

/// Reads the caller's balance.
pub struct GetBalance;

/// The balance of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BalanceReply {
    /// The amount available to a new poll, in whole cents, rounded down.
    pub balance_cents: i64,
    /// `balance_cents` formatted as dollars.
    pub balance: String,
    /// The total spent so far, in whole cents, rounded down.
    pub usage_cents: i64,
    /// The amount held for running polls, in whole cents, rounded down.
    pub held_cents: i64,
}

impl ToolOutput for BalanceReply {
    fn presentation(&self) -> Presentation {
        Presentation::default().summary(format!("{} is left on your account for polls.", self.balance))
    }
}

impl Tool for GetBalance {
    const SPEC: Spec = Spec {
        name: "get_balance",
        title: "Get your balance",
        summary: "Reads what is left on your account to spend on polls. Free.",
        manual: include_str!("get_balance.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/balance").keys_by_setting()),
        agents: Agents::Core,
        intents: &[
            "how much credit is left",
            "what is my balance",
            "what is in my wallet",
            "show the account balance",
            "am I out of credit",
            "how much money do I have left",
            "how much money is in my account",
            "remaining credits on my account",
            "can I afford another poll",
            "how much budget is left",
            "do I have enough money for a poll",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = BalanceReply;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, _: Nothing) -> Result<BalanceReply, Fault> {
        let found = cx.store().balance(cx.account()?).await?;
        let balance = found.ok_or_else(|| Fault::new(Kind::NotFound, "this account no longer exists"))?;
        let cents = balance.available().floor_cents();
        Ok(BalanceReply {
            balance_cents: cents,
            balance: format!("${}.{:02}", cents / 100, cents % 100),
            usage_cents: balance.used.floor_cents(),
            held_cents: balance.held.floor_cents(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn a_new_account_has_its_starter_credit_and_anonymous_callers_have_no_balance() {
        let service = Service::start().await;
        let user = service.user().await;
        let balance = service.call::<GetBalance>(&user, json!({})).await.unwrap().value;
        assert_eq!(
            balance,
            json!({ "balance_cents": 100, "balance": "$1.00", "usage_cents": 0, "held_cents": 0 })
        );
        let refused = service.call::<GetBalance>(&Service::anonymous(), json!({})).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unauthenticated);
    }
}
