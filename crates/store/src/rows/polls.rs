//! Rows of polls.

use std::sync::Arc;
use std::time::Duration;

use ep_polling::explanation::Explanation;
use ep_polling::model_counts::ModelCounts;
use ep_polling::money::MicroUsd;
use ep_polling::order::Seed;
use ep_polling::plan::{FORM, Plan};
use ep_polling::roster::Member;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;

use super::{json, poll_id, unreadable, user_id};
use crate::error::{UnexpectedData, failed};
use crate::records::{AdoptedPoll, Closing, Epoch, PastEnd, PastPoll, PollProgress, PollRecord, StoreError};

row! {
    /// A poll.
    PollRow {
        id: String,
        owner: Option<String>,
        created_at: i64,
        billed: i64,
        settled: i64,
        held: Option<i64>,
        unused_cost: Option<i64>,
        closing: Option<String>,
        decided: Option<String>,
        explanations: Option<String>,
        ..plan: PlanRow,
    }
}

row! {
    /// The plan of a poll; only its form if it is deleted.
    PlanRow {
        form: i64,
        roster: Option<i64>,
        seed: Option<Vec<u8>>,
        question: Option<String>,
        options: Option<String>,
        rules: Option<String>,
    }
}

row! {
    /// A roster.
    RosterRow { members: String }
}

row! {
    /// A number that the database has assigned.
    NumberRow { number: i64 }
}

row! {
    /// The number of votes for one choice in a listed poll.
    PastPollRow {
        id: String,
        form: i64,
        created_at: i64,
        closing: Option<String>,
        other_cost: i64,
        question: String,
        options: String,
        private: i64,
        captured: Option<i64>,
        choice: Option<i64>,
        answers: i64,
        cost: i64,
    }
}

row! {
    /// The polls of one day, counted from 1970.
    DaySpendingRow { day: i64, polls: i64, batch_rows: i64, cost: i64 }
}

row! {
    /// A queued batch, and the last of its polls that are done.
    ErasedBatchRow { batch: String, at: i64, poll: String }
}

row! {
    /// A poll of a queued batch. `settled` is 1 if this program can delete it.
    PollToEraseRow { id: String, created_at: i64, settled: i64 }
}

row! {
    /// A newly adopted poll and its remaining time.
    AdoptedRow { id: String, epoch: i64, left_ms: Option<i64> }
}

row! {
    /// The progress of a poll.
    ProgressRow {
        closing: Option<String>,
        unused_cost: Option<i64>,
        explanations: Option<String>,
        settled: i64,
        ballots: i64,
    }
}

row! {
    /// The `settled` flag of a poll.
    SettledRow { settled: i64 }
}

impl PollRow {
    /// Decodes the poll. `members` are those of its stored roster.
    pub(crate) fn record(self, members: Arc<[Member]>) -> Result<PollRecord, StoreError> {
        let explanations = explanations(self.explanations.as_deref())?;
        Ok(PollRecord {
            id: poll_id(&self.id)?,
            owner: self.owner.as_deref().map(user_id).transpose()?,
            plan: self.plan.decode(members)?,
            created_at: Timestamp::from_millis(self.created_at),
            held: (self.billed != 0).then(|| MicroUsd::new(self.held.unwrap_or_default())),
            decided: closing(self.decided, None, explanations.clone())?,
            closing: closing(self.closing, self.unused_cost, explanations)?,
            settled: self.settled != 0,
        })
    }
}

impl PlanRow {
    /// Decodes the plan. `members` are those of the stored roster.
    pub(crate) fn decode(self, members: Arc<[Member]>) -> Result<Plan, StoreError> {
        is_known(self.form)?;
        let missing = || unreadable("a plan");
        let seed = self.seed.and_then(|seed| seed.try_into().ok()).map(Seed::new);
        let rules = serde_json::from_str(&self.rules.ok_or_else(missing)?).map_err(failed)?;
        let options = serde_json::from_str(&self.options.ok_or_else(missing)?).map_err(failed)?;
        let question = self.question.ok_or_else(missing)?;
        Plan::stored(rules, question, options, members, seed.ok_or_else(missing)?)
            .ok_or(StoreError::UnknownForm)
    }
}

impl TryFrom<ProgressRow> for PollProgress {
    type Error = StoreError;

    fn try_from(row: ProgressRow) -> Result<Self, StoreError> {
        Ok(Self {
            ballots: u32::try_from(row.ballots).map_err(|_| unreadable("a ballot"))?,
            closing: closing(row.closing, row.unused_cost, explanations(row.explanations.as_deref())?)?,
            settled: row.settled != 0,
        })
    }
}

/// Fails for a form that only other releases know.
fn is_known(form: i64) -> Result<(), StoreError> {
    if form == FORM { Ok(()) } else { Err(StoreError::UnknownForm) }
}

/// Decodes the closing of a poll from its columns.
fn closing(
    text: Option<String>,
    unused_cost: Option<i64>,
    explanations: Vec<Explanation>,
) -> Result<Option<Closing>, StoreError> {
    let Some(text) = text else { return Ok(None) };
    let closing = serde_json::from_str(&text).map_err(failed)?;
    Ok(Some(Closing { unused_calls_cost: unused_cost.map(MicroUsd::new), explanations, ..closing }))
}

/// Decodes explanations; none for a poll without them.
fn explanations(text: Option<&str>) -> Result<Vec<Explanation>, StoreError> {
    text.map(serde_json::from_str).transpose().map(Option::unwrap_or_default).map_err(failed)
}

/// Serialises the explanations of a closing; `None` without any.
pub(crate) fn explanations_json(closing: &Closing) -> Result<Option<String>, StoreError> {
    let explanations = &closing.explanations;
    if explanations.is_empty() { Ok(None) } else { json(explanations).map(Some) }
}

/// Converts the rows of a listed poll, one for each choice.
pub(crate) fn past_poll(rows: &[PastPollRow]) -> Result<PastPoll, StoreError> {
    let [first, ..] = rows else { return Err(failed(UnexpectedData::MissingRow)) };
    is_known(first.form)?;
    let options: Vec<String> = serde_json::from_str(&first.options).map_err(failed)?;
    let votes = rows.iter().flat_map(|row| {
        let option = row.choice.and_then(|choice| usize::try_from(choice).ok());
        std::iter::repeat_n(option, usize::try_from(row.answers).unwrap_or(0))
    });
    let tally = Tally::of(options.len(), votes);
    let spent = rows.iter().map(|row| MicroUsd::new(row.cost)).sum::<MicroUsd>();
    let cost = spent.plus(MicroUsd::new(first.other_cost));
    let closing: Option<Closing> =
        first.closing.as_deref().map(serde_json::from_str).transpose().map_err(failed)?;
    let ballots = rows.iter().map(|row| row.answers).sum::<i64>() as u32;
    let unused = closing.as_ref().map_or(0, |closing| closing.unused_calls);
    let models = ModelCounts::new(ballots.saturating_add(unused), ballots, tally.votes(), unused);
    Ok(PastPoll {
        id: poll_id(&first.id)?,
        created_at: Timestamp::from_millis(first.created_at),
        tally,
        models,
        question: first.question.clone(),
        options,
        private: first.private != 0,
        end: closing.map(|closing| PastEnd {
            by_rule: closing.reason.is_some(),
            total_ms: closing.total_ms,
            cost: first.captured.map_or(cost, MicroUsd::new),
        }),
    })
}

impl TryFrom<AdoptedRow> for AdoptedPoll {
    type Error = StoreError;

    fn try_from(row: AdoptedRow) -> Result<Self, StoreError> {
        let left = row.left_ms.map(|left| Duration::from_millis(left.max(0).unsigned_abs()));
        Ok(Self { id: poll_id(&row.id)?, epoch: Epoch::new(row.epoch), left })
    }
}

/// Serialises a closing without the cost of the unused calls, which becomes known later and has a separate
/// column.
pub(crate) fn closing_json(closing: &Closing) -> Result<String, StoreError> {
    json(&Closing { unused_calls_cost: None, ..closing.clone() })
}
