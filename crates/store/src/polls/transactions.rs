//! The store of polls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_polling::plan::FORM;
use ep_polling::{Ballot, Explanation, Member, MicroUsd, PollId, Settlement, Timestamp};

use super::sql;
use crate::connection::{Connection, Durability};
use crate::database::Database;
use crate::error::failed;
use crate::handles::Runtime;
use crate::ids::UserId;
use crate::lease::Lease;
use crate::ledger::holds;
use crate::polls::plans::StoredPlan;
use crate::polls::rosters::{ROSTER, RosterHash};
use crate::polls::{
    AdoptedPoll, Closing, Epoch, NewPoll, Opened, PollDeletion, PollOpening, PollProgress, PollRecord,
    PollStore, plans,
};
use crate::reputation::transactions as reputation;
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::{Result, StoreError};
use crate::tasks::endings as tasks;
use crate::value::{json, values};
use crate::webhooks::WebhookUrl;

#[async_trait]
impl PollStore for Database {
    async fn open_all(&self, polls: &[NewPoll], lease: &Lease) -> Result<Vec<Opened>> {
        let lease = lease.clone();
        let mut planned = Vec::with_capacity(polls.len());
        for poll in polls {
            let members = poll.plan.roster.in_registry_order(poll.plan.seed);
            planned.push((poll.clone(), self.rosters.hash(&members)?, members));
        }
        transact!(self, PowerLoss, |db| {
            let mut opened = Vec::with_capacity(planned.len());
            for (poll, hash, members) in &planned {
                opened.push(open(db, poll, &lease, members, hash).await?);
            }
            Ok(opened)
        })
    }

    async fn start(&self, poll: &PollId, epoch: Epoch, time: Duration) -> Result<()> {
        let values = values![poll, epoch, time];
        match self.engine.execute(Durability::ProcessCrash, sql::START_POLL, values).await? {
            1 => Ok(()),
            _ => Err(StoreError::NotFound("running poll")),
        }
    }

    async fn record(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<()> {
        if ballots.is_empty() { Ok(()) } else { self.engine.insert_ballots(poll, epoch, ballots).await }
    }

    async fn decide(&self, poll: &PollId, epoch: Epoch, last: &[Ballot], decided: &Closing) -> Result<()> {
        let (poll, last, decided) = (poll.clone(), last.to_vec(), decided.clone());
        transact!(self, ProcessCrash, |db| {
            let explanations = explanations_json(&decided)?;
            let row = values![&poll, epoch, closing_json(&decided)?, explanations.as_deref()];
            let updated = db.fetch_optional(sql::DECIDE_POLL, row).await?;
            add_last(db, updated, &last).await
        })
    }

    async fn close(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<()> {
        let (poll, last, closing) = (poll.clone(), last.to_vec(), closing.clone());
        transact!(self, PowerLoss, |db| {
            let settled = settlement != Settlement::Later;
            let explanations = explanations_json(&closing)?;
            let json = closing_json(&closing)?;
            let row =
                values![&poll, epoch, json, closing.unused_calls_cost, settled, explanations.as_deref()];
            let closed = db.fetch_optional(sql::CLOSE_POLL, row).await?;
            add_last(db, closed, &last).await?;
            tasks::end(db, &poll, &closing).await?;
            match settlement {
                Settlement::Capture(amount) => holds::capture(db, &poll, amount, closing.closed_at).await,
                Settlement::Later => Ok(()),
            }
        })
    }

    async fn settle(
        &self,
        poll: &PollId,
        epoch: Epoch,
        capture: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool> {
        let poll = poll.clone();
        transact!(self, PowerLoss, |db| {
            if db.execute(sql::SETTLE_POLL, values![&poll, epoch, unused]).await? == 1 {
                holds::capture(db, &poll, capture, at).await?;
                return Ok(true);
            }
            match db.fetch_optional(sql::POLL_IS_SETTLED, values![&poll]).await? {
                Some(true) => Ok(false),
                _ => Err(StoreError::NotFound("closed poll")),
            }
        })
    }

    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>> {
        let poll: Option<StoredPoll> = self.engine.fetch_by_key(sql::POLL, values![id]).await?;
        let Some(poll) = poll else { return Ok(None) };
        let members = self.members(poll.plan.roster).await?;
        poll.record(members).map(Some)
    }

    async fn progress(&self, id: &PollId) -> Result<Option<PollProgress>> {
        self.engine.fetch_optional(sql::POLL_PROGRESS, values![id]).await
    }

    async fn opened_by(&self, request_ref: &str) -> Result<Option<PollOpening>> {
        self.engine.fetch_by_key(sql::POLL_BY_REQUEST, values![request_ref]).await
    }

    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>> {
        self.engine.fetch_all(sql::BALLOTS, values![id, after]).await
    }

    async fn adopt(&self, lease: &Lease, ago: Duration, limit: u32) -> Result<Vec<AdoptedPoll>> {
        // Leases lost in a power loss are claimed again.
        let values = values![&*lease.worker, lease.lasts, ago, limit, Lease::longest(lease.lasts)];
        self.engine.fetch_changed(Durability::ProcessCrash, sql::ADOPT_POLLS, values).await
    }

    async fn renew(&self, held: &[(PollId, Epoch)], lasts: Duration) -> Result<Vec<PollId>> {
        let held: Vec<(&str, i64)> = held.iter().map(|(id, epoch)| (id.as_str(), epoch.number())).collect();
        let held = json(&held)?;
        self.engine.fetch_changed(Durability::ProcessCrash, sql::RENEW_LEASES, values![held, lasts]).await
    }

    async fn cancel(&self, id: &PollId, at: Timestamp) -> Result<bool> {
        let added = self.engine.execute(Durability::PowerLoss, sql::CANCEL_POLL, values![id, at]).await?;
        Ok(added == 1 || self.is_cancelled(id).await?)
    }

    async fn is_cancelled(&self, id: &PollId) -> Result<bool> {
        let cancelled: Option<PollId> = self.engine.fetch_optional(sql::IS_CANCELLED, values![id]).await?;
        Ok(cancelled.is_some())
    }

    async fn cancelled_of(&self, worker: &str) -> Result<Vec<PollId>> {
        self.engine.fetch_all(sql::CANCELLED_OF, values![worker]).await
    }

    async fn delete(&self, id: &PollId, at: Timestamp, reply: &str) -> Result<PollDeletion> {
        reputation::delete_poll(self, id, at, reply).await
    }

    fn stalled_for(&self) -> Duration {
        self.engine.stalled_for()
    }

    async fn ping(&self) -> Result<()> {
        self.engine.ping().await
    }
}

impl Database {
    /// Returns the members of the roster with this number; none without a number.
    async fn members(&self, roster: Option<i64>) -> Result<Arc<[Member]>> {
        match self.rosters.known(roster) {
            Ok(members) => Ok(members),
            Err(id) => self.rosters.add(id, self.engine.fetch_optional(ROSTER, values![id]).await?),
        }
    }
}

impl Runtime {
    /// Deletes cancellation requests of settled polls, because their closings record the cancellation.
    /// Returns their number.
    pub async fn delete_cancellations(&self) -> Result<u64> {
        self.database.execute(Durability::ProcessCrash, sql::DELETE_OLD_CANCELLATIONS, values![]).await
    }
}

async fn open(
    db: &mut Connection<'_>,
    poll: &NewPoll,
    lease: &Lease,
    members: &[Member],
    hash: &RosterHash,
) -> Result<Opened> {
    let NewPoll { id, owner, plan, created_at, request_ref, hold, notify, time, batch, .. } = poll;
    let (request_ref, billed) = (request_ref.as_deref(), hold.is_some());
    let (worker, lasts) = (&*lease.worker, lease.lasts);
    let number = plans::add(db, plan, members, hash).await?;
    let row = values![
        id,
        *owner,
        *created_at,
        billed,
        lasts,
        worker,
        request_ref,
        Epoch::FIRST,
        *time,
        FORM,
        number
    ];
    if db.execute(sql::OPEN_POLL, row).await? == 0 {
        db.execute(sql::DELETE_PLAN, values![number]).await?;
        let existing: PollOpening = db.fetch_one(sql::POLL_BY_REQUEST, values![request_ref]).await?;
        return Ok(Opened::Existing(existing.id));
    }
    let notifies = match owner {
        // The end of a batch is notified once, not the end of each of its polls.
        Some(owner) if batch.is_none() => {
            let url = notify.as_ref().map(WebhookUrl::as_str);
            db.execute(sql::ADD_NOTIFICATION, values![id, *owner, url, *created_at]).await? == 1
        }
        _ => false,
    };
    let held = match (hold, batch) {
        (Some(hold), Some(batch)) => Some(holds::draw_from_batch(db, poll, *batch, *hold).await?),
        (Some(hold), None) => Some(holds::reserve(db, poll, *hold).await?),
        (None, _) => None,
    };
    Ok(Opened::New { held, notifies })
}

/// Adds the last ballots of a poll; `updated` is the number of the poll if it runs in this epoch.
async fn add_last(db: &mut Connection<'_>, updated: Option<i64>, last: &[Ballot]) -> Result<()> {
    let number = updated.ok_or(StoreError::NotFound("running poll"))?;
    if last.is_empty() {
        return Ok(());
    }
    db.insert_ballots(number, last).await
}

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
