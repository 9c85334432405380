//! Statistics over the ballots of ended polls.
//!
//! The contribution of a poll is computed from its ballots before the transaction, because they no longer
//! change. The transaction marks the poll and changes the sums. It changes nothing if another process has
//! counted the poll, or an account has judged it, since the poll was read.

use ep_polling::reputation;
use ep_polling::reputation::{CalibrationSums, ModelSums, ServiceSums};
use ep_polling::{Ballot, BallotSlot, CalibrationGroup, Judgements, ModelId, PollId, Sums, Timestamp};
use futures::FutureExt;

use super::sql;
use crate::connection::{Connection, Durability, TransactionBody};
use crate::database::{Database, exactly_one};
use crate::handles::Runtime;
use crate::polls::PollDeletion;
use crate::polls::rosters::RosterCache;
use crate::reputation::Heartbeats;
use crate::reputation::ended_polls::{CountedPoll, CountedState, StoredEndedPoll};
use crate::store_error::{Result, StoreError};
use crate::value;
use crate::value::{Value, json, values};

/// Selects the sums of stored polls; `DELETED` selects those of deleted polls.
const STORED: bool = true;
const DELETED: bool = false;
/// The number of polls that an audit reads per query.
const PAGE: u32 = 50;

/// Stores sums over the ballots of counted polls, so that the cost of reading them does not depend on the
/// number of ballots.
impl Runtime {
    /// Adds up to `limit` ended polls, and polls with new feedback, to the sums. Each poll is marked as
    /// counted in the same transaction, so it is counted once despite interruptions and concurrent processes.
    /// Returns the number of polls counted: fewer than `limit` if no more are left, or another process was
    /// counting them.
    pub async fn count_polls(&self, limit: u32) -> Result<u32> {
        let polls = self.database.ended(sql::WAITING_POLLS, values![limit]).await?;
        if polls.is_empty() {
            return Ok(0);
        }
        let mut sums = Sums::default();
        for (poll, ballots) in &polls {
            sums.add(&poll.sums(ballots, poll.judged));
            if poll.is_counted() {
                sums.take(&poll.counted_sums(ballots));
            }
        }
        let (count, sums) = (polls.len() as u32, sums.without_zeros());
        let counted = transact!(self.database, ProcessCrash, |db| {
            lock(db).await?;
            for (poll, _) in &polls {
                mark(db, poll).await?;
            }
            change(db, &sums, STORED).await
        });
        unless_conflicting(counted, count)
    }

    /// Returns the sums over all counted polls, including polls deleted since.
    pub async fn sums(&self) -> Result<Sums> {
        self.database.snapshot(|db| stored_sums(db, DELETED).boxed()).await
    }

    /// Records that the service runs in this minute since the epoch.
    pub async fn beat(&self, minute: i64) -> Result<()> {
        self.database.execute(Durability::ProcessCrash, sql::BEAT, values![minute]).await.map(drop)
    }

    /// Returns the numbers of minutes in which the service ran, from each of these on, up to but not
    /// including `now`.
    pub async fn heartbeats(&self, since: [i64; 2], now: i64) -> Result<Heartbeats> {
        let [recent, more] = since;
        let found = self.database.fetch_optional(sql::HEARTBEATS, values![recent, more, now]).await?;
        Ok(found.unwrap_or_default())
    }

    /// Deletes minutes before this one, except the first of all.
    pub async fn delete_old_heartbeats(&self, before: i64) -> Result<()> {
        self.database
            .execute(Durability::ProcessCrash, sql::DELETE_OLD_HEARTBEATS, values![before])
            .await
            .map(drop)
    }
}

impl Database {
    /// Returns the ended polls that a statement selects. One snapshot for all, because each read on SQLite wakes a
    /// thread.
    pub(crate) async fn ended(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<PollWithBallots>> {
        let (rosters, values) = (self.rosters.clone(), value::owned(values));
        self.engine.snapshot(move |db| async move { ended(db, &rosters, sql, &values).await }.boxed()).await
    }
}

/// An ended poll, with its ballots if it counts.
pub(crate) type PollWithBallots = (CountedPoll, Vec<Ballot>);

async fn ended(
    db: &mut Connection<'_>,
    rosters: &RosterCache,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<PollWithBallots>> {
    let stored: Vec<StoredEndedPoll> = db.fetch_all(sql, values).await?;
    let mut polls = Vec::with_capacity(stored.len());
    for poll in stored {
        let members = rosters.members(db, poll.plan.roster).await?;
        let poll = poll.decode(members)?;
        let ballots = if reputation::counts(&poll.plan) {
            db.fetch_all(crate::polls::sql::BALLOTS, values![&poll.id, 0_u32]).await?
        } else {
            Vec::new()
        };
        polls.push((poll, ballots));
    }
    Ok(polls)
}

/// Marks a poll as counted with its current judgements.
async fn mark(db: &mut Connection<'_>, poll: &CountedPoll) -> Result<()> {
    let CountedPoll { id, state, judged, .. } = poll;
    let Some(state) = *state else { return Ok(()) };
    let CountedState { revision, counted_revision } = state;
    let Judgements { correct, incorrect } = *judged;
    let marked = if *judged == Judgements::default() {
        delete_state(db, poll, state).await?
    } else {
        db.execute(sql::POLL_COUNTED, values![id, revision, counted_revision, correct, incorrect]).await?
    };
    unless_counted(marked == 1)
}

/// Deletes the counted state of a poll. Returns zero if the poll was counted, judged or deleted since it was read.
async fn delete_state(db: &mut Connection<'_>, poll: &CountedPoll, state: CountedState) -> Result<u64> {
    db.execute(sql::FORGET_AS_READ, values![&poll.id, state.revision, state.counted_revision]).await
}

/// Locks a poll and deletes its counted state. Fails if the poll was counted, judged or deleted since it was read.
async fn forget(db: &mut Connection<'_>, poll: &CountedPoll) -> Result<()> {
    let CountedPoll { id, state, .. } = poll;
    // Otherwise another process has deleted it.
    unless_counted(db.execute(sql::LOCK_POLL, values![id]).await? == 1)?;
    let unchanged = if let Some(state) = *state {
        delete_state(db, poll, state).await? == 1
    } else {
        let judged: Option<String> = db.fetch_optional(sql::HAS_COUNTED_STATE, values![id]).await?;
        judged.is_none()
    };
    unless_counted(unchanged)
}

impl Runtime {
    /// Deletes up to `limit` settled anonymous polls opened before a time, with their ballots, in one transaction. Returns their
    /// number. Their contribution moves to the sums of deleted polls.
    pub async fn delete_anonymous_polls(&self, before: Timestamp, limit: u32) -> Result<u64> {
        let database = &self.database;
        let polls = database.ended(sql::OLD_ANONYMOUS_POLLS, values![before, limit]).await?;
        if polls.is_empty() {
            return Ok(0);
        }
        let (mut gone, mut removed) = (Sums::default(), Sums::default());
        for (poll, ballots) in &polls {
            gone.add(&poll.counted_sums(ballots));
        }
        removed.take(&gone);
        let count = polls.len() as u64;
        let deleted = transact!(database, ProcessCrash, |db| {
            lock(db).await?;
            for (poll, _) in &polls {
                forget(db, poll).await?;
                delete_ballots(db, &poll.id).await?;
                exactly_one(db.execute(sql::DELETE_POLL, values![&poll.id]).await?)?;
            }
            change(db, &removed, STORED).await?;
            change(db, &gone, DELETED).await
        });
        unless_conflicting(deleted, count)
    }
}

/// Deletes a settled poll: see [`PollStore::delete`](crate::PollStore::delete). Its contribution
/// moves to the sums of deleted polls.
pub(crate) async fn delete_poll(
    database: &Database,
    id: &PollId,
    at: Timestamp,
    reply: &str,
) -> Result<PollDeletion> {
    /// Attempts to read the poll and delete it before it is recounted.
    const ATTEMPTS: u32 = 10;
    for _ in 0..ATTEMPTS {
        match database.fetch_optional(sql::POLL_TO_DELETE, values![id]).await? {
            None => return Err(StoreError::NotFound("poll")),
            Some(false) => return Ok(PollDeletion::Unsettled),
            Some(true) => {}
        }
        let Some((poll, ballots)) = database.ended(sql::ENDED_POLL, values![id]).await?.pop() else {
            continue;
        };
        let (mut gone, mut removed) = (Sums::default(), Sums::default());
        gone.add(&poll.sums(&ballots, poll.judged));
        if poll.is_counted() {
            removed.take(&poll.counted_sums(&ballots));
        }
        let reply = reply.to_owned();
        let deleted = transact!(database, PowerLoss, |db| {
            let id = &poll.id;
            lock(db).await?;
            blank(db, &poll, at).await?;
            db.execute(sql::REPLACE_REPLIES_OF, values![id, &*reply]).await?;
            db.execute(sql::DELETE_UNOWNED_POLL, values![id]).await?;
            change(db, &removed, STORED).await?;
            change(db, &gone, DELETED).await
        });
        match deleted {
            Ok(()) => return Ok(PollDeletion::Deleted),
            Err(StoreError::Conflict(COUNTED_CONCURRENTLY)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Conflict("the poll is being counted or judged; try again in a moment"))
}

/// Deletes the content of a poll, but neither its sums nor its row.
async fn blank(db: &mut Connection<'_>, poll: &CountedPoll, at: Timestamp) -> Result<()> {
    let id = &poll.id;
    forget(db, poll).await?;
    delete_ballots(db, id).await?;
    for statement in [
        sql::DELETE_FEEDBACK_ON,
        sql::DELETE_TASK_OF,
        sql::DELETE_NOTIFICATION_OF,
        sql::DELETE_CANCELLATION_OF,
    ] {
        db.execute(statement, values![id]).await?;
    }
    exactly_one(db.execute(sql::BLANK_POLL, values![id, at]).await?)
}

/// Deletes the content of settled polls that a statement selects, in a transaction. Their contribution moves to the sums of
/// deleted polls. Returns `false` if one of them was counted, judged or deleted concurrently; then nothing changed.
pub(crate) async fn delete_contents(
    database: &Database,
    polls: Vec<PollWithBallots>,
    at: Timestamp,
    then: impl TransactionBody<()>,
) -> Result<bool> {
    let (mut gone, mut removed) = (Sums::default(), Sums::default());
    for (poll, ballots) in &polls {
        gone.add(&poll.sums(ballots, poll.judged));
        if poll.is_counted() {
            removed.take(&poll.counted_sums(ballots));
        }
    }
    let deleted = transact!(database, PowerLoss, |db| {
        lock(db).await?;
        for (poll, _) in &polls {
            blank(db, poll, at).await?;
        }
        change(db, &removed, STORED).await?;
        change(db, &gone, DELETED).await?;
        then(db).await
    });
    unless_conflicting(deleted, true)
}

/// Deletes the ballots and the plan of a locked poll.
async fn delete_ballots(db: &mut Connection<'_>, id: &PollId) -> Result<()> {
    for statement in [sql::DELETE_VOTES, sql::DELETE_PLAN_OF] {
        db.execute(statement, values![id]).await?;
    }
    Ok(())
}

/// Locks the sums. This lock comes before every other.
pub(crate) async fn lock(db: &mut Connection<'_>) -> Result<()> {
    exactly_one(db.execute(sql::LOCK_SUMS, values![]).await?)
}

const COUNTED_CONCURRENTLY: &str = "the poll was counted, judged or deleted concurrently";

pub(crate) fn unless_counted(unchanged: bool) -> Result<()> {
    if unchanged { Ok(()) } else { Err(StoreError::Conflict(COUNTED_CONCURRENTLY)) }
}

/// Replaces a conflict with another process by zero: the next round reads the polls again.
fn unless_conflicting<N: Default>(done: Result<()>, count: N) -> Result<N> {
    match done {
        Ok(()) => Ok(count),
        Err(StoreError::Conflict(COUNTED_CONCURRENTLY)) => Ok(N::default()),
        Err(error) => Err(error),
    }
}

/// Adds these sums, always in the same order.
async fn change(db: &mut Connection<'_>, sums: &Sums, stored: bool) -> Result<()> {
    let [polls, cancelled, free, answered, total_ms, cost] = sums.service.values();
    let service = values![stored, polls, cancelled, free, answered, total_ms, cost];
    exactly_one(db.execute(sql::ADD_SERVICE_SUMS, service).await?)?;
    if !sums.models.is_empty() {
        let models: Vec<(&str, [i64; 11])> =
            sums.models.iter().map(|(model, sums)| (model.as_str(), sums.values())).collect();
        let models: Vec<Vec<serde_json::Value>> = models
            .into_iter()
            .map(|(model, sums)| std::iter::once(model.into()).chain(sums.map(Into::into)).collect())
            .collect();
        db.execute(sql::ADD_MODEL_SUMS, values![json(&models)?, stored]).await?;
    }
    let slots: Vec<(&str, u32, u32, i64)> = sums
        .slots
        .iter()
        .flat_map(|(model, slots)| {
            slots.iter().map(|(slot, votes)| (model.as_str(), slot.options, slot.slot, *votes))
        })
        .collect();
    if !slots.is_empty() {
        db.execute(sql::ADD_SLOT_SUMS, values![json(&slots)?, stored]).await?;
    }
    for (reader, polls) in &sums.readers {
        db.execute(sql::ADD_READER_SUMS, values![i64::from(*reader), stored, *polls]).await?;
    }
    for (CalibrationGroup { panel, level }, sums) in &sums.calibration {
        let [judged, right] = sums.values();
        let group = values![panel.as_str(), level.as_str(), stored, judged, right];
        db.execute(sql::ADD_CALIBRATION_SUMS, group).await?;
    }
    Ok(())
}

/// Returns the sums of stored polls, or of all polls if `from` is `DELETED`.
async fn stored_sums(db: &mut Connection<'_>, from: bool) -> Result<Sums> {
    let range = values![from, STORED];
    let service: ServiceSums = db.fetch_one(sql::SERVICE_SUMS, range).await?;
    let mut sums = Sums { service, ..Sums::default() };
    for one in db.fetch_all::<(ModelId, ModelSums)>(sql::MODEL_SUMS, range).await? {
        sums.add(&Sums { models: [one].into(), ..Sums::default() });
    }
    for (model, options, slot, votes) in
        db.fetch_all::<(ModelId, u32, u32, i64)>(sql::SLOT_SUMS, range).await?
    {
        let slot = BallotSlot { options, slot };
        *sums.slots.entry(model).or_default().entry(slot).or_default() += votes;
    }
    for (reader, polls) in db.fetch_all::<(u32, i64)>(sql::READER_SUMS, range).await? {
        *sums.readers.entry(reader).or_default() += polls;
    }
    for one in db.fetch_all::<(CalibrationGroup, CalibrationSums)>(sql::CALIBRATION_SUMS, range).await? {
        sums.add(&Sums { calibration: [one].into(), ..Sums::default() });
    }
    Ok(sums)
}

/// Returns the models with sums that differ from the ballots of stored polls, `service`, and each panel with a wrong
/// calibration.
pub(crate) async fn audit(db: &mut Connection<'_>, rosters: &RosterCache) -> Result<Vec<String>> {
    let stored = stored_sums(db, STORED).await?.without_zeros();
    let mut counted = Sums::default();
    let mut after: Option<PollId> = None;
    loop {
        let last = after.as_ref().map_or("", PollId::as_str);
        let mut polls = ended(db, rosters, sql::COUNTED_POLLS, values![last, PAGE]).await?;
        for (poll, ballots) in &polls {
            counted.add(&poll.counted_sums(ballots));
        }
        match polls.pop() {
            Some((poll, _)) => after = Some(poll.id),
            None => break,
        }
    }
    let counted = counted.without_zeros();
    let mut wrong: Vec<String> = Vec::new();
    if stored.service != counted.service || stored.readers != counted.readers {
        wrong.push("service".to_owned());
    }
    let models = stored.models.keys().chain(counted.models.keys()).chain(stored.slots.keys());
    let differs = |model: &&ModelId| {
        stored.models.get(*model) != counted.models.get(*model)
            || stored.slots.get(*model) != counted.slots.get(*model)
    };
    wrong.extend(models.filter(differs).map(ToString::to_string));
    let groups = stored.calibration.keys().chain(counted.calibration.keys());
    let differs =
        |group: &&CalibrationGroup| stored.calibration.get(*group) != counted.calibration.get(*group);
    wrong.extend(groups.filter(differs).map(|group| format!("calibration of {}", group.panel)));
    wrong.sort();
    wrong.dedup();
    Ok(wrong)
}
