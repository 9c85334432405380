//! `list_spending`: lists the account's spending by day.

use std::time::Duration;

use ep_polling::{MicroUsd, Timestamp, Usd};

use crate::prelude::*;

/// Lists the account's spending by day.
pub struct ListSpending;

/// Number of days in the list, including today.
const DAYS: i64 = 30;
const DAY: Duration = Duration::from_hours(24);

/// The spending of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Spending {
    /// Each of the last 30 days (UTC), oldest first.
    pub days: Vec<SpendingOfDay>,
    /// The total of these days, in USD.
    #[schemars(with = "f64")]
    pub total_usd: Usd,
}

/// The spending of one day.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SpendingOfDay {
    /// The day (UTC), for example 2026-01-31.
    #[schemars(extend("format" = "date"))]
    pub day: String,
    /// Number of polls that were accepted on this day and have ended, without rows of batches.
    pub polls: u32,
    /// Number of polls of rows of batches that were accepted on this day and have ended.
    pub batch_rows: u32,
    /// The cost of both, in USD.
    #[schemars(with = "f64")]
    pub cost_usd: Usd,
}

impl ToolOutput for Spending {}

impl Tool for ListSpending {
    const SPEC: Spec = Spec {
        name: "list_spending",
        title: "List your spending by day",
        summary: "Lists the cost of your account's polls on each of the last 30 days. Free.",
        manual: include_str!("list_spending.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/spending").keys_by_setting()),
        intents: &[
            "my spending by day",
            "how much did I spend each day",
            "daily spending of the last month",
            "spending over time",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Spending;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Spending, Fault> {
        let length = DAY.as_millis() as i64;
        let today = cx.clock().now().millis().div_euclid(length);
        let first = today - DAYS + 1;
        let since = Timestamp::from_millis(first * length);
        let spent = cx.store().spending(cx.account()?, since).await?;
        let days = (first..=today).map(|day| {
            let day = Timestamp::from_millis(day * length);
            let of_day = spent.iter().find(|spent| spent.day == day);
            SpendingOfDay {
                day: day.calendar().strftime("%Y-%m-%d").to_string(),
                polls: of_day.map_or(0, |spent| spent.polls),
                batch_rows: of_day.map_or(0, |spent| spent.batch_rows),
                cost_usd: Usd(of_day.map_or(MicroUsd::ZERO, |spent| spent.cost)),
            }
        });
        let total = spent.iter().map(|spent| spent.cost).sum::<MicroUsd>();
        Ok(Spending { days: days.collect(), total_usd: Usd(total) })
    }
}
