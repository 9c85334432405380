//! Polls as stored.

use std::sync::Arc;

use ep_polling::explanation::Explanation;
use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use ep_polling::roster::Member;
use ep_polling::time::Timestamp;

use crate::ids::UserId;
use crate::polls::plans::StoredPlan;
use crate::polls::{Closing, PollProgress, PollRecord};
use crate::row::{Columns, FromRow, Json, from_row};
use crate::store_error::StoreError;
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
    closing: Option<Json<Closing>>,
    decided: Option<Json<Closing>>,
    explanations: Option<Json<Vec<Explanation>>>,
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
    pub(crate) fn record(self, members: Arc<[Member]>) -> Result<PollRecord, StoreError> {
        let explanations = self.explanations.map(|Json(explanations)| explanations).unwrap_or_default();
        Ok(PollRecord {
            id: self.id,
            owner: self.owner,
            plan: self.plan.decode(members)?,
            created_at: self.created_at,
            held: self.billed.then(|| self.held.unwrap_or_default()),
            decided: self.decided.map(|decided| complete(decided, None, explanations.clone())),
            closing: self.closing.map(|closing| complete(closing, self.unused_cost, explanations)),
            settled: self.settled,
        })
    }
}

impl FromRow for PollProgress {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        let (closing, unused_cost, explanations) = columns.get()?;
        let explanations: Option<Json<Vec<Explanation>>> = explanations;
        let explanations = explanations.map(|Json(explanations)| explanations).unwrap_or_default();
        let closing: Option<Json<Closing>> = closing;
        Ok(Self {
            closing: closing.map(|closing| complete(closing, unused_cost, explanations)),
            settled: columns.get()?,
            ballots: columns.get()?,
        })
    }
}

/// Adds to a closing what has columns of its own.
fn complete(
    Json(closing): Json<Closing>,
    unused_calls_cost: Option<MicroUsd>,
    explanations: Vec<Explanation>,
) -> Closing {
    Closing { unused_calls_cost, explanations, ..closing }
}

/// Serialises the explanations of a closing; `None` without any.
pub(crate) fn explanations_json(closing: &Closing) -> Result<Option<String>, StoreError> {
    let explanations = &closing.explanations;
    if explanations.is_empty() { Ok(None) } else { json(explanations).map(Some) }
}

/// Serialises a closing without the cost of the unused calls, which becomes known later.
pub(crate) fn closing_json(closing: &Closing) -> Result<String, StoreError> {
    json(&Closing { unused_calls_cost: None, ..closing.clone() })
}
