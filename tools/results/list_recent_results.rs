//! `list_recent_results`: lists the caller's latest polls.

use ep_polling::{PollId, Timestamp};
use ep_store::PastPoll;

use super::list_results::ListedOutcome;
use crate::prelude::*;

/// Lists the caller's latest polls.
pub struct ListRecentResults;

/// The latest polls of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecentList {
    /// The polls, newest first.
    pub results: Vec<RecentResult>,
}

/// A poll of the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentResult {
    /// The poll's id, for `get_poll_result`.
    pub result_id: PollId,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: ListedOutcome,
    /// The time the poll was accepted.
    pub created_at: Timestamp,
}

impl ToolOutput for RecentList {}

/// Number of polls in the list.
const RECENT: u32 = 5;

impl Tool for ListRecentResults {
    const SPEC: Spec = Spec {
        name: "list_recent_results",
        title: "List your latest polls",
        summary: "Lists the five latest polls of your account with their outcomes. Free.",
        manual: include_str!("list_recent_results.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/results/recent").field("results").keys_by_setting()),
        intents: &[
            "what were my last polls",
            "my latest five results",
            "recent polls and results",
            "what did I poll recently",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = RecentList;

    async fn call(cx: &Ctx, _: Nothing) -> Result<RecentList, Fault> {
        let polls = cx.store().polls_of(cx.account()?, RECENT, 0).await?;
        let listed = |poll: PastPoll| RecentResult {
            outcome: ListedOutcome::of(&poll),
            result_id: poll.id,
            created_at: poll.created_at,
        };
        Ok(RecentList { results: polls.into_iter().map(listed).collect() })
    }
}
