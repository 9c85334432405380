//! `list_polls`: lists the polls of an account, in pages.

use ep_polling::{NamedTally, PollId, Timestamp, Usd};
use ep_store::{BatchId, PastPoll, PollScope};

use super::summary::{Status, outcome_text};
use crate::paging::{self, MAX_LIMIT, PollCursor, batch_of, check_limit, default_limit};
use crate::prelude::*;

/// Lists an account's polls.
pub struct ListPolls;

/// The page to list.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollPage {
    /// Maximum number of polls.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
    /// `next_cursor` of the page before.
    #[schemars(transform = PollCursor::describe)]
    pub cursor: Option<String>,
    /// Id of a batch: lists the polls of its rows, which are left out otherwise.
    #[schemars(with = "Option<BatchId>")]
    pub batch_id: Option<String>,
}

/// A page of an account's polls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollList {
    /// The polls, newest first.
    pub polls: Vec<ListedPoll>,
    /// Cursor of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// A poll of the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedPoll {
    /// Its id.
    pub poll_id: PollId,
    /// The status: `running`; then all, some or none of the models that counted voted.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`; null while it runs.
    pub outcome: Option<String>,
    /// Votes per option, so far.
    pub tally: NamedTally,
    /// Its cost, including unused calls, in USD; null while it runs.
    #[schemars(with = "Option<f64>")]
    pub cost_usd: Option<Usd>,
    /// The time it was accepted.
    pub created_at: Timestamp,
}

impl ToolOutput for PollList {}

impl Tool for ListPolls {
    const SPEC: Spec = Spec {
        name: "list_polls",
        title: "List your polls",
        summary: "Lists your polls with their outcomes and costs, newest first. Free.",
        manual: include_str!("list_polls.md"),
        example: r#"{ "limit": 10 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/polls")),
        agents: Agents::Set(ToolSet::Polls),
        task: Task::List,
        intents: &[
            "list my polls",
            "what have I asked before",
            "which of my polls are running",
            "which polls are still running",
            "show the polls that I have asked or run",
            "all polls of my account, newest first",
            "see all questions I have asked",
            "show my polls",
        ],
        ..Spec::PLAIN
    };
    type Input = PollPage;
    type Output = PollList;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, page: PollPage) -> Result<PollList, Fault> {
        check_limit(page.limit)?;
        let after: Option<PollCursor> = page.cursor.map(|cursor| cursor.parse()).transpose()?;
        let after = after.as_ref().map(|after| (after.at, &after.id));
        let scope = batch_of(page.batch_id.as_deref())?.map_or(PollScope::Asked, PollScope::Batch);
        let found = cx.store().polls_after(cx.account()?, scope, page.limit + 1, after).await?;
        let cursor = |poll: &PastPoll| PollCursor { at: poll.created_at, id: poll.id.clone() };
        let (found, next_cursor) = paging::page(found, page.limit, cursor);
        let listed = |poll: PastPoll| ListedPoll {
            status: Status::of_listed(&poll),
            outcome: poll.end.map(|_| outcome_text(poll.tally.outcome(), &poll.options)),
            tally: poll.tally.named(&poll.options),
            cost_usd: poll.end.map(|end| Usd(end.cost)),
            poll_id: poll.id,
            created_at: poll.created_at,
        };
        Ok(PollList { polls: found.into_iter().map(listed).collect(), next_cursor })
    }
}
