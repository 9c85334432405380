//! Ended polls, and the sums over their ballots, as stored.

use std::sync::Arc;

use ep_polling::reputation::{CalibrationSums, ModelSums, ServiceSums};
use ep_polling::{
    AgreementLevel, Ballot, CalibrationGroup, EndedPoll, Judgements, Member, MicroUsd, Plan, PollId, Sums,
};

use crate::error::{UnexpectedData, failed};
use crate::polls::Closing;
use crate::polls::plans::StoredPlan;
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::Result;

/// An ended poll with its counted state, if it has one, and its current judgements. Its roster is not read yet.
pub(crate) struct StoredEndedPoll {
    id: PollId,
    /// JSON, like the plan: read only if the form is known.
    closing: String,
    unused_cost: Option<MicroUsd>,
    revision: Option<i64>,
    counted_revision: Option<i64>,
    correct: Option<u32>,
    incorrect: Option<u32>,
    now_correct: u32,
    now_incorrect: u32,
    pub(crate) plan: StoredPlan,
}

from_row!(StoredEndedPoll {
    id,
    closing,
    unused_cost,
    revision,
    counted_revision,
    correct,
    incorrect,
    now_correct,
    now_incorrect,
    plan,
});

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

impl StoredEndedPoll {
    /// Decodes the poll. `members` are those of its stored roster.
    pub(crate) fn decode(self, members: Arc<[Member]>) -> Result<CountedPoll> {
        let state = self.revision.zip(self.counted_revision);
        let plan = self.plan.decode(members)?;
        Ok(CountedPoll {
            id: self.id,
            plan,
            state: state.map(|(revision, counted_revision)| CountedState { revision, counted_revision }),
            counted: Judgements {
                correct: self.correct.unwrap_or_default(),
                incorrect: self.incorrect.unwrap_or_default(),
            },
            judged: Judgements { correct: self.now_correct, incorrect: self.now_incorrect },
            closing: serde_json::from_str(&self.closing).map_err(failed)?,
            unused_cost: self.unused_cost.unwrap_or_default(),
        })
    }
}

from_row!(ServiceSums { polls, cancelled, free, answered, total_ms, cost });
from_row!(ModelSums {
    calls,
    votes,
    refused,
    unreadable,
    latency_ms,
    priced,
    cost,
    decided,
    with_outcome,
    judged,
    agreed,
});
from_row!(CalibrationSums { judged, right });

impl FromRow for CalibrationGroup {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (panel, level): (_, String) = columns.get()?;
        let level = AgreementLevel::from_name(&level);
        Ok(Self { panel, level: level.ok_or_else(|| failed(UnexpectedData::Value("a level of agreement")))? })
    }
}
