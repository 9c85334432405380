//! The opening of polls: one, or several together.

use std::sync::Arc;
use std::time::Duration;

use super::lease::HeldLease;
use super::slots::Reservation;
use super::work::{Job, RETRY_AFTER};
use super::{Billing, OPEN_CHECK_TIMEOUT, Opener, PollExecutor, busy};
use crate::fault::{Fault, Kind, Result};
use ep_polling::{MicroUsd, Plan, PollId};
use ep_store::{Epoch, NewPoll, Opened, PollRecord, StoreError};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;

/// Interval at which a waiting call reads whether the database is stalled.
const STALL_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Retry delay while the database does not respond in time.
const RETRY_STALLED: Duration = Duration::from_secs(5);

/// Returns the fault for a database that does not respond in time.
pub(crate) fn stalled() -> Fault {
    Fault::new(Kind::Unavailable, "the database takes too long; try again in a few seconds")
        .retry_after(RETRY_STALLED)
}

/// A poll being inserted into the database.
struct Opening {
    /// Time of the insertion. The lease and the deadline count from it.
    begun: Instant,
    reservation: Reservation,
    poll: NewPoll,
}

/// Returns the reference of the poll with this place among those of a request.
pub(super) fn numbered(request: String, place: usize) -> String {
    match place {
        0 => request,
        place => format!("{request}#{place}"),
    }
}

impl PollExecutor {
    /// Opens a poll and starts it, now or when its turn comes. Each `request_ref` opens only one poll.
    /// [`Kind::Busy`] if too many polls are running and waiting.
    pub async fn open(&self, plan: Plan, opener: Opener) -> Result<PollId> {
        let opened = self.open_all(vec![plan], opener).await?;
        opened.into_iter().next().ok_or_else(|| Fault::internal("no poll was opened"))
    }

    /// True if the database has been stalled for longer than a caller waits ([`PollLimits::stalled_after`]).
    ///
    /// [`PollLimits::stalled_after`]: super::PollLimits::stalled_after
    pub fn is_stalled(&self) -> bool {
        self.0.polls.stalled_for() >= self.0.stalled_after
    }

    /// Returns the result of work, or the fault of a stalled database once it has been stalled for longer than a caller waits.
    pub async fn unless_stalled<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let stalls = async {
            while !self.is_stalled() {
                tokio::time::sleep(STALL_CHECK_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = stalls => Err(stalled()),
        }
    }

    /// Opens several polls like [`open`](Self::open), all or none. Their money is set aside together. Callers of a stalled
    /// database are refused; only rows of batches wait for it.
    pub async fn open_all(&self, plans: Vec<Plan>, opener: Opener) -> Result<Vec<PollId>> {
        let inner = &self.0;
        let mut openings = Vec::with_capacity(plans.len());
        for (number, plan) in plans.into_iter().enumerate() {
            openings.push(self.opening(plan, &opener, number)?);
        }
        let polls: Vec<NewPoll> = openings.iter().map(|opening| opening.poll.clone()).collect();
        let mut ids = Vec::with_capacity(openings.len());
        let (store, lease) = (Arc::clone(&inner.polls), inner.lease());
        let mut storing = async move { store.open_all(&polls, &lease).await }.boxed();
        let stored = if opener.batch.is_some() {
            storing.await
        } else {
            match self.unless_stalled(&mut storing).await {
                Ok(stored) => stored,
                Err(refused) => {
                    self.complete_refused(openings, storing);
                    return Err(refused);
                }
            }
        };
        match stored {
            Ok(opened) => {
                for (opening, opened) in std::iter::zip(openings, opened) {
                    match opened {
                        Opened::Existing(id) => ids.push(id),
                        Opened::New { held, notifies } => {
                            ids.push(opening.poll.id.clone());
                            self.begin_opened(opening, held, notifies, false);
                        }
                    }
                }
            }
            // The response can be lost after the commit.
            Err(error @ StoreError::Failed(_)) => {
                let mut found = Vec::with_capacity(openings.len());
                let mut all = true;
                for opening in openings {
                    let record =
                        if all { self.found(&opening.poll.id, OPEN_CHECK_TIMEOUT).await } else { None };
                    all &= record.is_some();
                    found.push((opening, record));
                }
                for (opening, record) in found {
                    let Some(record) = record else {
                        self.watch_for(opening);
                        continue;
                    };
                    ids.push(record.id);
                    // Nobody waits for some of the polls, unless a repeated request can find them.
                    let cancelled = !all && opening.poll.request_ref.is_none();
                    // It is unknown whether a notification is stored. The periodic check finds it.
                    self.begin_opened(opening, record.held, false, cancelled);
                }
                if !all {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(ids)
    }

    /// Reserves a slot for a poll and names it. `number` counts the polls of a request.
    fn opening(&self, plan: Plan, opener: &Opener, number: usize) -> Result<Opening> {
        let Opener { owner, billing, request_ref, notify, batch } = opener.clone();
        let inner = &self.0;
        let slots = if batch.is_some() { &inner.batch_slots } else { &inner.slots };
        let reservation = slots.take(owner).ok_or_else(busy)?;
        let created_at = inner.clock.now();
        let id = PollId::new(created_at, inner.entropy.bytes());
        let (billed, capped) = match billing {
            Billing::None => (false, None),
            Billing::Owner => (true, None),
            Billing::Capped(key) => (true, Some(key)),
        };
        let request_ref = request_ref.map(|request| numbered(request, number));
        let hold = billed.then(|| plan.hold(Self::first_wave(&plan)));
        if let Some(user) = owner.filter(|_| billed && plan.is_free()) {
            inner.free_questions.count(user, &plan, created_at)?;
        }
        let time = reservation.ticket().is_none().then(|| Duration::from_millis(plan.deadline_ms));
        let poll = NewPoll { id, owner, plan, created_at, request_ref, hold, capped, notify, batch, time };
        Ok(Opening { begun: Instant::now(), reservation, poll })
    }

    /// Runs a poll opened by this process.
    fn begin_opened(&self, opening: Opening, held: Option<MicroUsd>, notifies: bool, cancelled: bool) {
        let Opening { begun, reservation, poll } = opening;
        let NewPoll { id, owner, plan, created_at, time, batch, .. } = poll;
        metrics::counter!("ep_polls_opened_total", "preset" => plan.preset.clone().unwrap_or_else(|| "named".to_owned())).increment(1);
        let record =
            PollRecord { id, owner, plan, created_at, held, decided: None, closing: None, settled: false };
        let lease = HeldLease::new(Epoch::FIRST, begun + self.0.lease);
        let deadline = time.map(|time| begun + time);
        let (prior, of_batch) = (Vec::new(), batch.is_some());
        self.begin(Job { record, prior, lease, reservation, deadline, notifies, cancelled, of_batch });
    }

    /// Looks for a poll that may have been opened, until `within` has passed.
    async fn found(&self, id: &PollId, within: Duration) -> Option<PollRecord> {
        let looking = async {
            loop {
                match self.0.polls.poll(id).await {
                    Ok(Some(record)) => return record,
                    Ok(None) | Err(_) => tokio::time::sleep(RETRY_AFTER / 4).await,
                }
            }
        };
        tokio::time::timeout(within, looking).await.ok()
    }

    /// Waits for the rest of an opening after its callers were refused.
    fn complete_refused(
        &self,
        openings: Vec<Opening>,
        storing: BoxFuture<'static, Result<Vec<Opened>, StoreError>>,
    ) {
        let this = self.clone();
        self.0.tasks.spawn(async move {
            match storing.await {
                Ok(opened) => {
                    for (opening, opened) in std::iter::zip(openings, opened) {
                        if let Opened::New { held, notifies } = opened {
                            this.begin_refused(opening, held, notifies);
                        }
                    }
                }
                Err(StoreError::Failed(_)) => {
                    for opening in openings {
                        this.watch_for(opening);
                    }
                }
                Err(_) => {}
            }
        });
    }

    /// Begins a poll that was opened after its caller received an error: it is closed without a call to any model, unless
    /// a repeated request can find it.
    fn begin_refused(&self, opening: Opening, held: Option<MicroUsd>, notifies: bool) {
        let cancelled = opening.poll.request_ref.is_none();
        tracing::warn!(poll = %opening.poll.id, cancelled, "poll was opened despite a database failure");
        self.begin_opened(opening, held, notifies, cancelled);
    }

    /// Keeps looking for a poll after its caller received an error. If it is found only after its lease has ended, it is
    /// adopted as usual.
    fn watch_for(&self, opening: Opening) {
        let (this, stopping) = (self.clone(), self.0.tasks.token());
        self.0.tasks.spawn(async move {
            let found = tokio::select! {
                found = this.found(&opening.poll.id, this.0.lease) => found,
                () = stopping.cancelled() => None,
            };
            if let Some(record) = found {
                this.begin_refused(opening, record.held, false);
            }
        });
    }
}
