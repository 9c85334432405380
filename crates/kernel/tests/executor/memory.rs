//! A store in memory that fails as databases do: before a change, after a change, for a while, or for one
//! row.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::executor::Ports;
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_kernel::{PollExecutor, PollLimits, Tasks};
use ep_polling::{Ballot, MicroUsd, PollId, Settlement, Timestamp};
use ep_store::{
    AdoptedPoll, Closing, Epoch, Lease, NewPoll, Opened, PollChange, PollChanges, PollDeletion, PollOpening,
    PollProgress, PollRecord, PollStore, StoreError,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::scripted::Script;

pub const LEASE: Duration = Duration::from_secs(30);
pub const DEADLINE: Duration = Duration::from_mins(3);

/// One poll.
#[derive(Clone)]
pub struct Row {
    pub record: PollRecord,
    pub ballots: Vec<Ballot>,
    pub epoch: Epoch,
    pub lease_until: Instant,
    pub deadline: Option<Instant>,
    pub request_ref: Option<String>,
    pub captured: Option<MicroUsd>,
    pub cancelled: bool,
    pub worker: String,
}

/// The database shared by all replicas.
#[derive(Default)]
pub struct Database {
    rows: Mutex<HashMap<PollId, Row>>,
    /// Rows that cannot be decoded.
    pub unreadable: Mutex<HashSet<PollId>>,
    /// Channel of announced changes, if any.
    pub changes: Option<broadcast::Sender<PollChange>>,
}

impl Database {
    /// Creates a database that announces changes between its processes.
    pub fn announcing() -> Arc<Self> {
        Arc::new(Self { changes: Some(broadcast::channel(1024).0), ..Self::default() })
    }

    pub fn rows(&self) -> MutexGuard<'_, HashMap<PollId, Row>> {
        self.rows.lock().unwrap()
    }

    pub fn row(&self, id: &PollId) -> Row {
        self.rows()[id].clone()
    }
}

/// The connection of one replica to the database.
pub struct Connection {
    pub database: Arc<Database>,
    writes: AtomicU32,
    /// Number of reads of progress and ballots.
    pub reads: AtomicU32,
    /// Every n-th write fails, and every other failure happens after the write; 0 means never.
    pub fails_every: AtomicU32,
    /// True if every operation fails.
    pub down: AtomicBool,
    /// True if the response to the next opening is lost after the commit.
    pub loses_opening: AtomicBool,
    /// True if operations wait.
    pub stalled: watch::Sender<bool>,
}

impl Connection {
    pub fn to(database: &Arc<Database>) -> Arc<Self> {
        Arc::new(Self {
            database: Arc::clone(database),
            writes: AtomicU32::default(),
            reads: AtomicU32::default(),
            fails_every: AtomicU32::default(),
            down: AtomicBool::default(),
            loses_opening: AtomicBool::default(),
            stalled: watch::Sender::new(false),
        })
    }

    async fn up(&self) -> Result<(), StoreError> {
        let _ = self.stalled.subscribe().wait_for(|stalled| !stalled).await;
        if self.down.load(Ordering::SeqCst) { Err(broken()) } else { Ok(()) }
    }

    async fn write<T>(&self, change: impl FnOnce() -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        self.up().await?;
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        let every = self.fails_every.load(Ordering::SeqCst);
        if every == 0 || !number.is_multiple_of(every) {
            return change();
        }
        if number.is_multiple_of(2) {
            // Committed, but the response is lost.
            change()?;
        }
        Err(broken())
    }

    /// Changes a running poll of this epoch.
    fn change<T>(
        &self,
        id: &PollId,
        epoch: Epoch,
        change: impl FnOnce(&mut Row) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut rows = self.database.rows();
        match rows.get_mut(id) {
            Some(row) if row.epoch == epoch && row.record.closing.is_none() => change(row),
            _ => Err(StoreError::NotFound("running poll")),
        }
    }
}

impl Row {
    fn add(&mut self, ballots: &[Ballot]) -> Result<(), StoreError> {
        let taken = |ballot: &Ballot| {
            self.ballots.iter().any(|stored| stored.seq == ballot.seq || stored.position == ballot.position)
        };
        if ballots.iter().any(taken) {
            return Err(StoreError::Conflict("this member already has a ballot"));
        }
        self.ballots.extend_from_slice(ballots);
        Ok(())
    }
}

fn broken() -> StoreError {
    StoreError::Failed("the disk is on fire".into())
}

#[async_trait]
impl PollStore for Connection {
    async fn open_all(&self, polls: &[NewPoll], lease: &Lease) -> Result<Vec<Opened>, StoreError> {
        self.up().await?;
        let mut opened = Vec::new();
        for poll in polls {
            let NewPoll {
                id,
                owner,
                plan,
                created_at,
                request_ref,
                hold,
                capped: _,
                notify: _,
                batch: _,
                time,
            } = poll.clone();
            let held = hold.map(|hold| hold.at_most);
            let record = PollRecord {
                id: id.clone(),
                owner,
                plan,
                created_at,
                held,
                decided: None,
                closing: None,
                settled: false,
            };
            let now = Instant::now();
            let row = Row {
                record,
                ballots: Vec::new(),
                epoch: Epoch::FIRST,
                lease_until: now + lease.lasts,
                deadline: time.map(|time| now + time),
                request_ref,
                captured: None,
                cancelled: false,
                worker: lease.worker.clone(),
            };
            self.database.rows().insert(id, row);
            opened.push(Opened::New { held, notifies: false });
        }
        if self.loses_opening.swap(false, Ordering::SeqCst) {
            self.down.store(true, Ordering::SeqCst);
            return Err(broken());
        }
        Ok(opened)
    }
    async fn start(&self, poll: &PollId, epoch: Epoch, time: Duration) -> Result<(), StoreError> {
        self.up().await?;
        self.change(poll, epoch, |row| {
            row.deadline = Some(Instant::now() + time);
            Ok(())
        })
    }
    async fn record(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.write(|| self.change(poll, epoch, |row| row.add(ballots))).await
    }
    async fn decide(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        decided: &Closing,
    ) -> Result<(), StoreError> {
        self.write(|| {
            self.change(poll, epoch, |row| {
                row.add(last)?;
                row.record.decided = Some(decided.clone());
                Ok(())
            })
        })
        .await
    }
    async fn close(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        self.write(|| {
            self.change(poll, epoch, |row| {
                row.add(last)?;
                (row.record.decided, row.record.closing) = (None, Some(closing.clone()));
                if let Settlement::Capture(amount) = settlement {
                    (row.record.settled, row.captured) = (true, Some(amount));
                }
                Ok(())
            })
        })
        .await
    }
    async fn settle(
        &self,
        poll: &PollId,
        epoch: Epoch,
        capture: MicroUsd,
        _: MicroUsd,
        _: Timestamp,
    ) -> Result<bool, StoreError> {
        self.up().await?;
        match self.database.rows().get_mut(poll) {
            Some(row) if row.record.settled => Ok(false),
            Some(row) if row.record.closing.is_some() && row.epoch == epoch => {
                (row.record.settled, row.captured) = (true, Some(capture));
                Ok(true)
            }
            _ => Err(StoreError::NotFound("closed poll")),
        }
    }
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError> {
        self.up().await?;
        if self.database.unreadable.lock().unwrap().contains(id) {
            return Err(StoreError::Failed("a plan cannot be read".into()));
        }
        Ok(self.database.rows().get(id).map(|row| row.record.clone()))
    }
    async fn opened_by(&self, request_ref: &str) -> Result<Option<PollOpening>, StoreError> {
        let rows = self.database.rows();
        let opened = rows.values().find(|row| row.request_ref.as_deref() == Some(request_ref));
        Ok(opened.map(|row| PollOpening {
            id: row.record.id.clone(),
            created_at: row.record.created_at,
            is_interrupted: row.epoch != Epoch::FIRST,
        }))
    }
    async fn progress(&self, id: &PollId) -> Result<Option<PollProgress>, StoreError> {
        self.up().await?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.database.rows().get(id).map(|row| PollProgress {
            ballots: row.ballots.len() as u32,
            closing: row.record.closing.clone(),
            settled: row.record.settled,
        }))
    }
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        self.up().await?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.database.rows()[id].ballots.iter().filter(|ballot| ballot.seq > after).cloned().collect())
    }
    async fn adopt(&self, lease: &Lease, ago: Duration, limit: u32) -> Result<Vec<AdoptedPoll>, StoreError> {
        self.up().await?;
        let now = Instant::now();
        let mut rows = self.database.rows();
        let orphans = rows.values_mut().filter(|row| !row.record.settled && row.lease_until + ago <= now);
        let adopted = orphans.take(limit as usize).map(|row| {
            row.epoch = Epoch::new(row.epoch.number() + 1);
            row.lease_until = now + lease.lasts;
            row.worker.clone_from(&lease.worker);
            let left = row.deadline.map(|deadline| deadline.saturating_duration_since(now));
            AdoptedPoll { id: row.record.id.clone(), epoch: row.epoch, left }
        });
        Ok(adopted.collect())
    }
    async fn renew(&self, held: &[(PollId, Epoch)], lasts: Duration) -> Result<Vec<PollId>, StoreError> {
        self.up().await?;
        let mut rows = self.database.rows();
        let mut renewed = Vec::new();
        for (id, epoch) in held {
            if let Some(row) = rows.get_mut(id).filter(|row| row.epoch == *epoch) {
                row.lease_until = Instant::now() + lasts;
                renewed.push(id.clone());
            }
        }
        Ok(renewed)
    }
    async fn cancel(&self, id: &PollId, _: Timestamp) -> Result<bool, StoreError> {
        self.up().await?;
        match self.database.rows().get_mut(id) {
            Some(row) if row.record.closing.is_none() || row.cancelled => {
                row.cancelled = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
    async fn is_cancelled(&self, id: &PollId) -> Result<bool, StoreError> {
        self.up().await?;
        Ok(self.database.rows().get(id).is_some_and(|row| row.cancelled))
    }
    async fn cancelled_of(&self, worker: &str) -> Result<Vec<PollId>, StoreError> {
        self.up().await?;
        let rows = self.database.rows();
        let cancelled = rows.values().filter(|row| row.cancelled && row.worker == worker);
        Ok(cancelled.map(|row| row.record.id.clone()).collect())
    }
    async fn delete(&self, id: &PollId, _: Timestamp, _: &str) -> Result<PollDeletion, StoreError> {
        self.up().await?;
        let mut rows = self.database.rows();
        match rows.get(id).map(|row| row.record.settled) {
            Some(true) => {
                rows.remove(id);
                Ok(PollDeletion::Deleted)
            }
            Some(false) => Ok(PollDeletion::Unsettled),
            None => Err(StoreError::NotFound("poll")),
        }
    }
    /// Stalls of tests last for minutes.
    fn stalled_for(&self) -> Duration {
        if *self.stalled.borrow() { Duration::from_mins(1) } else { Duration::ZERO }
    }
    async fn ping(&self) -> Result<(), StoreError> {
        self.up().await
    }
}

#[async_trait]
impl PollChanges for Connection {
    async fn announce(&self, changes: &[PollChange]) -> Result<(), StoreError> {
        self.up().await?;
        for change in changes {
            let _ = self.database.changes.as_ref().map(|sender| sender.send(change.clone()));
        }
        Ok(())
    }
    async fn listen(&self) -> Result<BoxStream<'static, PollChange>, StoreError> {
        self.up().await?;
        let sender = self.database.changes.as_ref().ok_or_else(broken)?;
        let changes = futures::stream::unfold(sender.subscribe(), |mut changes| async move {
            Some((changes.recv().await.ok()?, changes))
        });
        Ok(changes.boxed())
    }
}

/// A process: an executor and its dependencies.
pub struct Replica {
    pub executor: PollExecutor,
    pub store: Arc<Connection>,
    pub tasks: Tasks,
}

impl Replica {
    /// Creates a replica with its own random seed.
    pub fn new(seed: u64, database: &Arc<Database>, script: &Arc<Script>) -> Self {
        Self::limited(seed, database, script, PollLimits::default())
    }

    pub fn limited(seed: u64, database: &Arc<Database>, script: &Arc<Script>, limits: PollLimits) -> Self {
        let (store, tasks) = (Connection::to(database), Tasks::default());
        let ports = Ports {
            polls: Arc::clone(&store) as Arc<dyn PollStore>,
            changes: database.changes.as_ref().map(|_| Arc::clone(&store) as Arc<dyn PollChanges>),
            models: Arc::clone(script) as _,
            clock: Arc::<ManualClock>::default(),
            entropy: Arc::new(SeededEntropy::new(seed)),
            tasks: tasks.clone(),
        };
        let executor = PollExecutor::new(ports, LEASE, DEADLINE, limits);
        executor.share_changes();
        Self { executor, store, tasks }
    }

    /// Resumes polls periodically, as a process does.
    pub fn resumes(&self) {
        let executor = self.executor.clone();
        self.tasks.every("resume polls", LEASE / 2, move || {
            let executor = executor.clone();
            async move { executor.resume().await.map(drop) }
        });
    }

    /// Waits for the end of a poll.
    pub async fn ended(&self, id: &PollId) -> Closing {
        let mut follow = self.executor.follow(id).await.unwrap().unwrap();
        while !follow.next().await.unwrap().is_empty() {}
        follow.state().record.closing.clone().unwrap()
    }
}
