//! The polls of an account.

use ep_polling::{MicroUsd, ModelCounts, PollId, Tally, Timestamp};

use crate::batches::BatchId;
use crate::error::{UnexpectedData, failed};
use crate::handles::Store;
use crate::ids::UserId;
use crate::polls::sql::{of_batch, polls_with_plans};
use crate::polls::sql::{postgres_explanations_cost, sqlite_explanations_cost};
use crate::polls::{Closing, plans};
use crate::row::{Columns, FromRow, from_row};
use crate::statement::{Statement, statement};
use crate::store_error::Result;
use crate::value::{DAY_MS, json, values};

/// A poll in a list, without its roster and its single votes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPoll {
    /// The poll's id.
    pub id: PollId,
    /// The time of acceptance.
    pub created_at: Timestamp,
    /// The question.
    pub question: String,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// True if only the owner can read the poll.
    pub private: bool,
    /// Votes per option, so far or at the end.
    pub tally: Tally,
    /// The numbers of the models that were asked. A list does not read the roster, so none is skipped.
    pub models: ModelCounts,
    /// The end; `None` while the poll runs.
    pub end: Option<PastEnd>,
}

/// The end of a listed poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastEnd {
    /// True if a rule ended the poll; false if it was cancelled, or no process continued it in time.
    pub by_rule: bool,
    /// Time from acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// The charge to the owner. Until the poll is settled, and for unbilled polls, the known cost of its
    /// calls.
    pub cost: MicroUsd,
}

/// The totals of ended polls accepted on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpending {
    /// Start of the day (UTC).
    pub day: Timestamp,
    /// Number of polls without rows of batches.
    pub polls: u32,
    /// Number of polls that are rows of batches.
    pub batch_rows: u32,
    /// The total cost of both: see [`PastEnd::cost`].
    pub cost: MicroUsd,
}

/// The polls of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollScope {
    /// Polls that are no rows of batches.
    Asked,
    /// Polls of the rows of this batch.
    Batch(BatchId),
    /// All polls.
    All,
}

/// A search among the polls of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollSearch<'a> {
    /// Words that the question must contain, ignoring case.
    pub words: &'a [&'a str],
    /// True to find only running polls.
    pub running: bool,
    /// The batch of the polls; `None` for polls that are no rows of batches.
    pub batch: Option<BatchId>,
}

impl FromRow for DaySpending {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let day: i64 = columns.get()?;
        Ok(Self {
            day: Timestamp::from_millis(day * DAY_MS),
            polls: columns.get()?,
            batch_rows: columns.get()?,
            cost: columns.get()?,
        })
    }
}

/// A page of an account's polls with their votes counted: a row for each choice of each poll. The page is
/// selected from the index before other columns are read. `$only` is a part of [`statement!`].
macro_rules! polls_of_user {
    ($owner:expr, $only:tt, $offset:literal) => {
        statement!(
            "WITH page AS MATERIALIZED (SELECT id, number FROM polls WHERE ",
            $owner,
            " = $1 AND deleted_at IS NULL ",
            $only,
            " ORDER BY created_at DESC, id DESC LIMIT $2 ",
            $offset,
            "), \
             listed AS MATERIALIZED (SELECT id, form, created_at, closing, question, options, ",
            (
                "COALESCE(plans.rules ->> 'private', 0)",
                "CAST(COALESCE(CAST(plans.rules AS json) ->> 'private', 'false') = 'true' AS int)::bigint"
            ),
            " AS private, ",
            (sqlite_explanations_cost!(), postgres_explanations_cost!()),
            " + COALESCE(unused_cost, 0) AS other_cost, \
                 (SELECT captured FROM holds WHERE ref = polls.id AND status <> 'open') AS captured \
                 FROM ",
            polls_with_plans!(),
            " WHERE id IN (SELECT id FROM page)), \
             counts AS (SELECT id AS poll_id, choice, count(*) AS answers, CAST(SUM(cost) AS BIGINT) AS cost \
                 FROM page JOIN votes ON poll = page.number GROUP BY id, choice) \
             SELECT listed.id AS id, form, created_at, closing, other_cost, question, options, private, captured, \
                 CAST(choice AS BIGINT) AS choice, COALESCE(answers, 0) AS answers, COALESCE(counts.cost, 0) AS cost \
             FROM listed LEFT JOIN counts ON counts.poll_id = listed.id \
             ORDER BY created_at DESC, listed.id DESC"
        )
    };
}

/// The page after a given poll.
macro_rules! polls_after {
    ($owner:expr) => {
        polls_of_user!($owner, "AND (created_at, id) < ($3, $4)", "")
    };
}

/// The page of polls with matching questions: for each inner array, the question contains at least one
/// of its texts. Letters beyond ASCII are compared unchanged.
macro_rules! find_polls {
    ($owner:expr) => {
        polls_of_user!(
            $owner,
            (
                "AND NOT EXISTS (SELECT 1 FROM json_each($4) AS word \
                 WHERE NOT EXISTS (SELECT 1 FROM json_each(word.value) AS form WHERE instr(lower( \
                     (SELECT question FROM plans WHERE plans.number = polls.number)), form.value) > 0)) ",
                "AND NOT EXISTS (SELECT 1 FROM json_array_elements($4::json) AS word (value) \
                 WHERE NOT EXISTS (SELECT 1 FROM json_array_elements_text(word.value) AS form (value) WHERE strpos(lower( \
                     (SELECT question FROM plans WHERE plans.number = polls.number) COLLATE \"C\"), form.value) > 0)) "
            ),
            "OFFSET $3"
        )
    };
}

/// Polls that are no rows of batches. Equal to the condition of an index.
macro_rules! asked {
    () => {
        "COALESCE(substr(request_ref, 1, 6), '') <> 'batch_' AND "
    };
}

/// Reads the index of unsettled polls, because few polls run and an account may have many.
macro_rules! running {
    () => {
        "settled = 0 AND closing IS NULL AND owner || ''"
    };
}

/// Lists an account's polls.
pub(crate) const POLLS_OF_USER: Statement = polls_of_user!(concat!(asked!(), "owner"), "", "OFFSET $3");
/// Lists an account's polls after a given one.
pub(crate) const POLLS_AFTER: Statement = polls_after!(concat!(asked!(), "owner"));
/// Lists an account's polls after a given one, including rows of batches.
pub(crate) const ALL_POLLS_AFTER: Statement = polls_after!("owner");
/// Lists the polls of a batch after a given one.
pub(crate) const POLLS_OF_BATCH_AFTER: Statement = polls_after!(concat!(of_batch!("$5"), "owner"));
/// Lists an account's polls with given words in their questions.
pub(crate) const FIND_POLLS: Statement = find_polls!(concat!(asked!(), "owner"));
/// Lists the polls of a batch with given words in their questions.
pub(crate) const FIND_IN_BATCH: Statement = find_polls!(concat!(of_batch!("$5"), "owner"));
/// Lists an account's running polls with given words in their questions.
const FIND_RUNNING: Statement = find_polls!(concat!(asked!(), running!()));
/// Lists the running polls of a batch with given words in their questions.
pub(crate) const FIND_RUNNING_IN_BATCH: Statement = find_polls!(concat!(of_batch!("$5"), running!()));
/// The ended polls of an account and their cost, by day; the rows of batches apart.
pub(crate) const SPENDING_BY_DAY: Statement = statement!(
    "SELECT day, CAST(SUM(1 - is_row) AS BIGINT) AS polls, CAST(SUM(is_row) AS BIGINT) AS batch_rows, \
         CAST(SUM(cost) AS BIGINT) AS cost FROM \
     (SELECT created_at / 86400000 AS day, \
         CASE WHEN substr(request_ref, 1, 6) = 'batch_' THEN 1 ELSE 0 END AS is_row, COALESCE( \
         (SELECT captured FROM holds WHERE ref = polls.id AND status <> 'open'), \
         (SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM votes WHERE poll = polls.number) \
             + COALESCE(unused_cost, 0) + ",
    (sqlite_explanations_cost!(), postgres_explanations_cost!()),
    ") AS cost \
     FROM polls WHERE owner = $1 AND created_at >= $2 AND closing IS NOT NULL) AS ended GROUP BY day ORDER BY day"
);

/// Lists polls.
impl Store {
    /// Returns up to `limit` polls of this user without rows of batches, newest first, after `offset` newer ones.
    pub async fn polls_of(&self, user: UserId, limit: u32, offset: u32) -> Result<Vec<PastPoll>> {
        past_polls(self.0.fetch_all(POLLS_OF_USER, values![user, limit, offset]).await?)
    }

    /// Returns up to `limit` polls of this user, newest first, after this one in the list, or from the
    /// newest.
    pub async fn polls_after(
        &self,
        user: UserId,
        scope: PollScope,
        limit: u32,
        after: Option<(Timestamp, &PollId)>,
    ) -> Result<Vec<PastPoll>> {
        let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
        let page = values![user, limit, at, id];
        past_polls(match scope {
            PollScope::Asked => self.0.fetch_all(POLLS_AFTER, page).await?,
            PollScope::All => self.0.fetch_all(ALL_POLLS_AFTER, page).await?,
            PollScope::Batch(batch) => {
                self.0.fetch_all(POLLS_OF_BATCH_AFTER, values![user, limit, at, id, batch]).await?
            }
        })
    }

    /// Returns up to `limit` polls of this user that match the search, newest first, after `offset` newer ones.
    pub async fn find_polls(
        &self,
        user: UserId,
        search: PollSearch<'_>,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<PastPoll>> {
        let PollSearch { words, running, batch } = search;
        let spellings: Vec<Vec<String>> = words.iter().map(|word| spellings(word)).collect();
        let spellings = json(&spellings)?;
        past_polls(if let Some(batch) = batch {
            let find = if running { FIND_RUNNING_IN_BATCH } else { FIND_IN_BATCH };
            self.0.fetch_all(find, values![user, limit, offset, &*spellings, batch]).await?
        } else {
            let find = if running { FIND_RUNNING } else { FIND_POLLS };
            self.0.fetch_all(find, values![user, limit, offset, &*spellings]).await?
        })
    }

    /// Returns this user's totals per day of ended polls accepted since then, oldest first. Days without
    /// polls are omitted.
    pub async fn spending(&self, user: UserId, since: Timestamp) -> Result<Vec<DaySpending>> {
        self.0.fetch_all(SPENDING_BY_DAY, values![user, since.millis()]).await
    }
}

/// Returns the spellings under which a word can match a question, in lower case. The engines agree only on
/// the case of ASCII letters.
fn spellings(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    let mut rest = lower.chars();
    let capitalized = rest.next().map(|first| first.to_uppercase().chain(rest).collect::<String>());
    let spellings = [word.to_owned(), word.to_uppercase(), lower].into_iter().chain(capitalized);
    let mut spellings: Vec<String> = spellings.map(|spelling| spelling.to_ascii_lowercase()).collect();
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

/// The number of votes for one choice in a listed poll.
struct PollChoice {
    id: PollId,
    form: i64,
    created_at: Timestamp,
    /// JSON, which only a program that knows the form can read.
    closing: Option<String>,
    other_cost: MicroUsd,
    question: String,
    options: String,
    private: bool,
    captured: Option<MicroUsd>,
    /// The number of the option; `None` without a vote.
    choice: Option<i64>,
    answers: u32,
    cost: MicroUsd,
}

from_row!(PollChoice {
    id,
    form,
    created_at,
    closing,
    other_cost,
    question,
    options,
    private,
    captured,
    choice,
    answers,
    cost,
});

/// Returns a listed poll from its choices.
fn past_poll(choices: &[PollChoice]) -> Result<PastPoll> {
    let [first, ..] = choices else { return Err(failed(UnexpectedData::MissingRow)) };
    plans::is_known(first.form)?;
    let options: Vec<String> = serde_json::from_str(&first.options).map_err(failed)?;
    let votes = choices.iter().flat_map(|choice| {
        let option = choice.choice.and_then(|option| usize::try_from(option).ok());
        std::iter::repeat_n(option, choice.answers as usize)
    });
    let tally = Tally::of(options.len(), votes);
    let cost = choices.iter().map(|choice| choice.cost).sum::<MicroUsd>().plus(first.other_cost);
    let closing: Option<Closing> =
        first.closing.as_deref().map(serde_json::from_str).transpose().map_err(failed)?;
    let ballots = choices.iter().map(|choice| choice.answers).sum::<u32>();
    let unused = closing.as_ref().map_or(0, |closing| closing.unused_calls);
    let models = ModelCounts::new(ballots.saturating_add(unused), ballots, tally.votes(), unused);
    Ok(PastPoll {
        id: first.id.clone(),
        created_at: first.created_at,
        tally,
        models,
        question: first.question.clone(),
        options,
        private: first.private,
        end: closing.map(|closing| PastEnd {
            by_rule: closing.reason.is_some(),
            total_ms: closing.total_ms,
            cost: first.captured.unwrap_or(cost),
        }),
    })
}

fn past_polls(rows: Vec<PollChoice>) -> Result<Vec<PastPoll>> {
    rows.chunk_by(|a, b| a.id == b.id).map(past_poll).collect()
}
