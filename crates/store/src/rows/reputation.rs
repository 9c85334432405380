//! Rows of feedback and of ballot statistics.

use std::sync::Arc;

use ep_polling::ballot::Ballot;
use ep_polling::calibration::{AgreementLevel, CalibrationGroup};
use ep_polling::money::MicroUsd;
use ep_polling::plan::Plan;
use ep_polling::poll_id::PollId;
use ep_polling::reputation::{CalibrationSums, EndedPoll, Judgements, ModelSums, ServiceSums, Sums};
use ep_polling::roster::Member;
use ep_polling::time::Timestamp;

use super::{PlanRow, poll_id, unreadable};
use crate::error::failed;
use crate::records::{Closing, FeedbackEntry, Heartbeats, OwnFeedback, StoreError};

row! {
    /// An ended poll with its counted state, if it has one, and its current judgements.
    EndedPollRow {
        id: String,
        closing: String,
        unused_cost: Option<i64>,
        revision: Option<i64>,
        counted_revision: Option<i64>,
        correct: Option<i64>,
        incorrect: Option<i64>,
        now_correct: i64,
        now_incorrect: i64,
        ..plan: PlanRow,
    }
}

row! {
    /// [`ServiceSums`].
    ServiceSumsRow { polls: i64, cancelled: i64, free: i64, answered: i64, total_ms: i64, cost: i64 }
}

row! {
    /// The polls whose votes this version of the reader has read.
    ReaderSumsRow { reader: i64, polls: i64 }
}

row! {
    /// [`ModelSums`].
    ModelSumsRow {
        model: String,
        calls: i64,
        votes: i64,
        refused: i64,
        unreadable: i64,
        latency_ms: i64,
        priced: i64,
        cost: i64,
        decided: i64,
        with_outcome: i64,
        judged: i64,
        agreed: i64,
    }
}

row! {
    /// Votes of a model for one ballot position.
    SlotSumsRow { model: String, options: i64, slot: i64, votes: i64 }
}

row! {
    /// Judged polls of a panel with one level of agreement.
    CalibrationSumsRow { panel: String, level: String, judged: i64, correct: i64 }
}

row! {
    /// Minutes with a running service.
    HeartbeatsRow { first: Option<i64>, recent: i64, more: i64 }
}

row! {
    /// The feedback counts of a poll.
    FeedbackCountRow { total: i64, correct: i64, incorrect: i64 }
}

row! {
    /// Feedback of an account on a poll.
    FeedbackRow {
        poll_id: String,
        outcome_correct: Option<i64>,
        confidence: Option<f64>,
        notes: Option<String>,
        created_at: i64,
    }
}

/// The counted state of a poll that waits for counting, or has judgements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedState {
    pub(crate) revision: i64,
    /// Zero for a poll that was never counted.
    pub(crate) counted_revision: i64,
}

/// A decoded ended poll.
pub(crate) struct CountedPoll {
    pub(crate) id: PollId,
    pub(crate) plan: Plan,
    /// `None` for a poll that is counted and has no judgements.
    pub(crate) state: Option<CountedState>,
    /// The judgements included in the sums.
    pub(crate) counted: Judgements,
    /// The current judgements.
    pub(crate) judged: Judgements,
    closing: Closing,
    unused_cost: MicroUsd,
}

impl CountedPoll {
    /// True if the poll is included in the sums.
    pub(crate) fn is_counted(&self) -> bool {
        self.state.is_none_or(|state| state.counted_revision > 0)
    }

    /// Returns what the sums contain of a counted poll.
    pub(crate) fn counted_sums(&self, ballots: &[Ballot]) -> Sums {
        self.sums(ballots, self.counted)
    }

    /// Returns the statistics of the poll with these judgements.
    pub(crate) fn sums(&self, ballots: &[Ballot], judged: Judgements) -> Sums {
        let poll = EndedPoll {
            plan: &self.plan,
            ballots,
            by_rule: self.closing.reason.is_some(),
            cancelled: self.closing.cancelled,
            total_ms: self.closing.total_ms,
            reader: self.closing.reader,
            unused_cost: self.unused_cost,
        };
        Sums::of(&poll, judged)
    }
}

impl EndedPollRow {
    /// Decodes the poll. `members` are those of its stored roster.
    pub(crate) fn decode(self, members: Arc<[Member]>) -> Result<CountedPoll, StoreError> {
        let count = |count: i64| u32::try_from(count).map_err(|_| unreadable("a count of feedback"));
        let judgements = |correct: Option<i64>, incorrect: Option<i64>| {
            let judged = |number: Option<i64>| number.map_or(Ok(0), count);
            Ok::<_, StoreError>(Judgements { correct: judged(correct)?, incorrect: judged(incorrect)? })
        };
        let state = self.revision.zip(self.counted_revision);
        Ok(CountedPoll {
            id: poll_id(&self.id)?,
            plan: self.plan.decode(members)?,
            state: state.map(|(revision, counted_revision)| CountedState { revision, counted_revision }),
            counted: judgements(self.correct, self.incorrect)?,
            judged: judgements(Some(self.now_correct), Some(self.now_incorrect))?,
            closing: serde_json::from_str(&self.closing).map_err(failed)?,
            unused_cost: MicroUsd::new(self.unused_cost.unwrap_or_default()),
        })
    }
}

impl From<ServiceSumsRow> for ServiceSums {
    fn from(row: ServiceSumsRow) -> Self {
        let ServiceSumsRow { polls, cancelled, free, answered, total_ms, cost } = row;
        Self { polls, cancelled, free, answered, total_ms, cost }
    }
}

impl TryFrom<CalibrationSumsRow> for (CalibrationGroup, CalibrationSums) {
    type Error = StoreError;

    fn try_from(row: CalibrationSumsRow) -> Result<Self, StoreError> {
        let level = AgreementLevel::from_name(&row.level);
        let level = level.ok_or_else(|| unreadable("a level of agreement"))?;
        let sums = CalibrationSums { judged: row.judged, right: row.correct };
        Ok((CalibrationGroup { panel: row.panel, level }, sums))
    }
}

impl ModelSumsRow {
    pub(crate) const fn sums(&self) -> ModelSums {
        ModelSums {
            calls: self.calls,
            votes: self.votes,
            refused: self.refused,
            unreadable: self.unreadable,
            latency_ms: self.latency_ms,
            priced: self.priced,
            cost: self.cost,
            decided: self.decided,
            with_outcome: self.with_outcome,
            judged: self.judged,
            agreed: self.agreed,
        }
    }
}

impl From<HeartbeatsRow> for Heartbeats {
    fn from(row: HeartbeatsRow) -> Self {
        Self { first: row.first, counts: [row.recent, row.more].map(i64::unsigned_abs) }
    }
}

impl From<FeedbackRow> for FeedbackEntry {
    fn from(row: FeedbackRow) -> Self {
        Self {
            outcome_correct: row.outcome_correct.map(|correct| correct != 0),
            confidence: row.confidence,
            notes: row.notes,
            created_at: Timestamp::from_millis(row.created_at),
        }
    }
}

impl TryFrom<FeedbackRow> for OwnFeedback {
    type Error = StoreError;

    fn try_from(row: FeedbackRow) -> Result<Self, StoreError> {
        Ok(Self { poll_id: poll_id(&row.poll_id)?, entry: row.into() })
    }
}
