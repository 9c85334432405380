//! `list_results`: lists the polls of the caller's account.

use std::borrow::Cow;

use ep_kernel::ToolPorts;
use ep_polling::{MicroUsd, Outcome, PollId, Timestamp};
use ep_store::{BatchId, PastPoll, PollSearch, UserId};

use crate::paging::{MAX_LIMIT, batch_of, check_limit, default_limit};
use crate::polls::summary::{Status, winning_option};
use crate::prelude::*;

/// Lists the caller's polls.
pub struct ListResults;

/// A query for polls of the account.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Page {
    /// Maximum number of polls.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
    /// Number of newer polls to skip.
    #[serde(default)]
    pub offset: u32,
    /// Words that the question must contain, in any order and case.
    #[schemars(length(max = MAX_SEARCH))]
    pub search: Option<String>,
    /// Lists running polls only.
    #[serde(default)]
    pub running: bool,
    /// Id of a batch: lists the polls of its rows, which are left out otherwise.
    #[schemars(with = "Option<BatchId>")]
    pub batch_id: Option<String>,
}

/// Maximum length of a search, in characters.
const MAX_SEARCH: usize = 200;
/// Maximum number of words in a search.
const MAX_WORDS: usize = 16;

/// The polls of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResultList {
    /// The polls, newest first.
    pub results: Vec<HistoryResult>,
}

/// A poll of the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryResult {
    /// The poll's id, for `get_poll_result`.
    pub result_id: PollId,
    /// The question.
    pub question: String,
    /// The status: `running`; then all, some or none of the models that counted voted.
    pub status: Status,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: ListedOutcome,
    /// The poll's cost, including unused calls, in USD; null while it runs.
    pub total_cost_usd: Option<String>,
    /// From acceptance to the end, in milliseconds; null while it runs.
    pub total_ms: Option<u64>,
    /// The time the poll was accepted.
    pub created_at: Timestamp,
}

/// The outcome of a listed poll.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedOutcome {
    /// Always `fptp`: first past the post.
    pub poll_type: Cow<'static, str>,
    /// The option with the most votes; null on a tie, without votes, and while the poll runs.
    pub winning_option: Option<String>,
    /// True if two or more options share the highest count; false while the poll runs.
    pub is_tie: bool,
    /// Number of models that were asked.
    pub models_requested: u32,
    /// Number of models that voted.
    pub models_succeeded: u32,
}

impl ToolOutput for ResultList {}

impl From<PastPoll> for HistoryResult {
    fn from(poll: PastPoll) -> Self {
        Self {
            status: Status::of_listed(&poll),
            outcome: ListedOutcome::of(&poll),
            total_cost_usd: poll.end.map(|end| dollars(end.cost)),
            total_ms: poll.end.map(|end| end.total_ms),
            result_id: poll.id,
            question: poll.question,
            created_at: poll.created_at,
        }
    }
}

impl ListedOutcome {
    /// Returns the outcome of this poll.
    pub fn of(poll: &PastPoll) -> Self {
        let outcome = poll.end.map(|_| poll.tally.outcome());
        Self {
            poll_type: "fptp".into(),
            winning_option: outcome.and_then(|outcome| winning_option(outcome, &poll.options)),
            is_tie: outcome == Some(Outcome::Tie),
            models_requested: poll.models.requested(),
            models_succeeded: poll.models.succeeded(),
        }
    }
}

/// Formats an amount as decimal text without a currency sign.
fn dollars(amount: MicroUsd) -> String {
    amount.to_string().trim_start_matches('$').to_owned()
}

impl Tool for ListResults {
    const SPEC: Spec = Spec {
        name: "list_results",
        title: "Search your polls",
        summary: "Lists the polls of your account with their outcomes and costs, newest first. Free.",
        manual: include_str!("list_results.md"),
        example: r#"{ "limit": 10 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/results").field("results").keys_by_setting()),
        intents: &[
            "which polls have I asked",
            "what did my polls cost",
            "history of my polls with their costs",
            "show older results",
            "search my polls for a word",
            "list past results of my account",
        ],
        ..Spec::PLAIN
    };
    type Input = Page;
    type Output = ResultList;

    async fn call(cx: &Ctx, page: Page) -> Result<ResultList, Fault> {
        let polls = past_polls(cx.ports(), cx.account()?, &page).await?;
        Ok(ResultList { results: polls.into_iter().map(Into::into).collect() })
    }
}

/// Returns a page of an account's polls, newest first. The tool and the account page share this function.
pub async fn past_polls(ports: &ToolPorts, user: UserId, page: &Page) -> Result<Vec<PastPoll>, Fault> {
    check_limit(page.limit)?;
    let search = page.search.as_deref().unwrap_or_default();
    if search.chars().count() > MAX_SEARCH {
        return Err(Fault::invalid("search", format!("must have at most {MAX_SEARCH} characters")));
    }
    let words: Vec<&str> = search.split_whitespace().take(MAX_WORDS).collect();
    let batch = batch_of(page.batch_id.as_deref())?;
    Ok(if words.is_empty() && !page.running && batch.is_none() {
        ports.store.polls_of(user, page.limit, page.offset).await?
    } else {
        let search = PollSearch { words: &words, running: page.running, batch };
        ports.store.find_polls(user, search, page.limit, page.offset).await?
    })
}
