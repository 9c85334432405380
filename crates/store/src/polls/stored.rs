//! The decoding of polls.

use std::sync::Arc;

use ep_polling::{Explanation, Member, MicroUsd, PollId, Timestamp};

use crate::error::failed;
use crate::ids::UserId;
use crate::polls::plans::StoredPlan;
use crate::polls::{Closing, PollProgress, PollRecord};
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::Result;
use crate::value::json;

/// A poll whose roster is not read yet.
pub(crate) struct StoredPoll {
    id: PollId,
    owner: Option<UserId>,
    created_at: Timestamp,
    billed: bool,
    settled: bool,
    held: Option<MicroUsd>,
    unused_cost: Option<MicroUsd>,
    /// JSON, like the plan: read only if the form is known.
    closing: Option<String>,
    decided: Option<String>,
    explanations: Option<String>,
    pub(crate) plan: StoredPlan,
}

from_row!(StoredPoll {
    id,
    owner,
    created_at,
    billed,
    settled,
    held,
    unused_cost,
    closing,
    decided,
    explanations,
    plan,
});

impl StoredPoll {
    /// Decodes the poll. `members` are those of its stored roster.
    pub(crate) fn record(self, members: Arc<[Member]>) -> Result<PollRecord> {
        let plan = self.plan.decode(members)?;
        let explanations = explanations(self.explanations.as_deref())?;
        Ok(PollRecord {
            id: self.id,
            owner: self.owner,
            plan,
            created_at: self.created_at,
            held: self.billed.then(|| self.held.unwrap_or_default()),
            decided: closing(self.decided.as_deref(), None, explanations.clone())?,
            closing: closing(self.closing.as_deref(), self.unused_cost, explanations)?,
            settled: self.settled,
        })
    }
}

impl FromRow for PollProgress {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (text, unused_cost, explained): (Option<String>, _, Option<String>) = columns.get()?;
        let explanations = explanations(explained.as_deref())?;
        Ok(Self {
            closing: closing(text.as_deref(), unused_cost, explanations)?,
            settled: columns.get()?,
            ballots: columns.get()?,
        })
    }
}

/// Decodes the closing of a poll from its columns.
fn closing(
    text: Option<&str>,
    unused_calls_cost: Option<MicroUsd>,
    explanations: Vec<Explanation>,
) -> Result<Option<Closing>> {
    let Some(text) = text else { return Ok(None) };
    let closing = serde_json::from_str(text).map_err(failed)?;
    Ok(Some(Closing { unused_calls_cost, explanations, ..closing }))
}

/// Decodes explanations; none for a poll without them.
fn explanations(text: Option<&str>) -> Result<Vec<Explanation>> {
    text.map(serde_json::from_str).transpose().map(Option::unwrap_or_default).map_err(failed)
}

/// Serialises the explanations of a closing; `None` without any.
pub(crate) fn explanations_json(closing: &Closing) -> Result<Option<String>> {
    let explanations = &closing.explanations;
    if explanations.is_empty() { Ok(None) } else { json(explanations).map(Some) }
}

/// Serialises a closing without the cost of the unused calls, which becomes known later.
pub(crate) fn closing_json(closing: &Closing) -> Result<String> {
    json(&Closing { unused_calls_cost: None, ..closing.clone() })
}
