//! The writer thread, with group commit.
//!
//! SQLite runs one writing transaction at a time, and a durable commit waits for the disk. Therefore one thread
//! with one connection does all writes, and commits everything in its queue as one transaction. Each job has
//! a savepoint, so a failed job undoes only its own changes. Callers get their results after the commit.
//!
//! A batch is as durable as its most demanding job. Ballots need not wait for the disk. In WAL mode the
//! operating system has the write-ahead log at commit, so the ballots survive a crash of the process. The
//! next durable commit makes all earlier ones durable too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::connection::{SqliteConnection, sqlite_error};
use super::file::OpenFile;
use crate::connection::{Durability, TransactionBody, run_on_sqlite};
use crate::error::{Closed, FileLost, TimedOut, failed};
use crate::store_error::Result;

/// The capacity of the queue; callers wait while it is full.
const QUEUE_CAPACITY: usize = 1024;
/// The maximum number of messages in one transaction. It limits the duration of one commit.
const MAX_BATCH: usize = 256;
/// The time for which a batch of several messages waits for more. A lone message never waits.
const GATHER: Duration = Duration::from_millis(3);

/// Lets a truncation of the log wait for readers, but only briefly, because it blocks all writes.
const WAIT_BRIEFLY: &str = "PRAGMA busy_timeout = 500";
/// See [`super::BUSY_TIMEOUT`].
const WAIT_AGAIN: &str = "PRAGMA busy_timeout = 5000";
/// Returns zero if the log was truncated, and one if readers prevented it.
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// The sender of jobs to the writer thread.
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    timeout: Duration,
    /// True while the WAL holds deleted data, because truncating it failed.
    owes_truncation: AtomicBool,
    waiting: Waiting,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The moment since which the thread waits for the lock of the file, or for the disk.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Option<Instant>>>);

impl Waiting {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn elapsed(&self) -> Duration {
        let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

enum Message {
    Job(Durability, Box<dyn WriteJob>),
    /// Truncates the write-ahead log.
    Truncate(oneshot::Sender<Result<bool>>),
    Close,
}

impl Writer {
    /// Starts the thread. Unless `durable` is set, no commit waits for the disk.
    pub(super) fn start(
        db: SqliteConnection,
        file: Arc<OpenFile>,
        timeout: Duration,
        durable: bool,
    ) -> std::io::Result<Self> {
        let (queue, messages) = mpsc::channel(QUEUE_CAPACITY);
        let waiting = Waiting::default();
        let writer = WriterThread { db, file, synchronous: "", durable, waiting: waiting.clone() };
        let thread = thread::Builder::new().name("sqlite-writer".to_owned());
        let thread = Mutex::new(Some(thread.spawn(move || writer.run(messages))?));
        Ok(Self { queue, timeout, owes_truncation: AtomicBool::new(false), waiting, thread })
    }

    /// Runs work in a transaction; returns after its commit or rollback.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<T>,
    ) -> Result<T> {
        let (reply, receiver) = oneshot::channel();
        let job = Job { work: Some(work), outcome: None, reply };
        self.submit(Message::Job(durability, Box::new(job)), receiver).await
    }

    /// Truncates the write-ahead log to remove deleted data. Returns `false` if readers prevented it.
    pub(super) async fn truncate_log(&self) -> Result<bool> {
        self.owes_truncation.store(true, Ordering::Relaxed);
        let (reply, receiver) = oneshot::channel();
        let truncated = self.submit(Message::Truncate(reply), receiver).await?;
        self.owes_truncation.store(!truncated, Ordering::Relaxed);
        Ok(truncated)
    }

    /// Returns `true` if a truncation of the WAL failed and none has succeeded since.
    pub(super) fn owes_truncation(&self) -> bool {
        self.owes_truncation.load(Ordering::Relaxed)
    }

    /// Returns the time for which the thread has waited for the lock of the file, or for the disk.
    pub(super) fn stalled_for(&self) -> Duration {
        self.waiting.elapsed()
    }

    async fn submit<T>(&self, message: Message, receiver: oneshot::Receiver<Result<T>>) -> Result<T> {
        let answered = async {
            self.queue.send(message).await.map_err(|_| failed(Closed))?;
            receiver.await.map_err(|_| failed(Closed))?
        };
        tokio::time::timeout(self.timeout, answered).await.map_err(|_| failed(TimedOut))?
    }

    /// Processes the rest of the queue, then closes the connection.
    pub(super) async fn close(&self) {
        let _ = self.queue.send(Message::Close).await;
        self.queue.closed().await;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = super::blocking(move || thread.join()).await;
        }
    }
}

/// A write job with its reply channel, independent of its result type.
trait WriteJob: Send {
    /// Does the work; returns `true` to commit its changes.
    fn run(&mut self, db: &mut SqliteConnection) -> bool;
    /// Replies to the caller with the result of the work, or with the failure of the commit.
    fn reply(self: Box<Self>, committed: Result<()>);
    /// True if the caller has gone.
    fn is_abandoned(&self) -> bool;
}

struct Job<T, W> {
    work: Option<W>,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, W: TransactionBody<T>> WriteJob for Job<T, W> {
    fn run(&mut self, db: &mut SqliteConnection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let outcome = run_on_sqlite(db, work);
        let keep = outcome.is_ok();
        self.outcome = Some(outcome);
        keep
    }

    fn reply(self: Box<Self>, committed: Result<()>) {
        let outcome = match (self.outcome, committed) {
            (Some(Ok(_)) | None, Err(failure)) => Err(failure),
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Err(failed(Closed)),
        };
        let _ = self.reply.send(outcome);
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The state of the thread.
struct WriterThread {
    db: SqliteConnection,
    file: Arc<OpenFile>,
    /// The statement that last set the connection's `synchronous` pragma.
    synchronous: &'static str,
    durable: bool,
    waiting: Waiting,
}

/// The messages of one transaction.
#[derive(Default)]
struct Batch {
    jobs: Vec<Box<dyn WriteJob>>,
    durability: Option<Durability>,
}

impl WriterThread {
    fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while queue.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
            if messages.len() > 1 {
                // Several polls run, so more messages follow soon.
                #[expect(clippy::disallowed_methods, reason = "this thread belongs to no runtime")]
                thread::sleep(GATHER);
                while messages.len() < MAX_BATCH
                    && let Ok(message) = queue.try_recv()
                {
                    messages.push(message);
                }
            }
            let (mut batch, mut truncations) = (Batch::default(), Vec::new());
            for message in messages.drain(..) {
                match message {
                    Message::Job(_, job) if job.is_abandoned() => {}
                    Message::Job(durability, job) => {
                        batch.durability = batch.durability.max(Some(durability));
                        batch.jobs.push(job);
                    }
                    Message::Truncate(reply) => truncations.push(reply),
                    // Messages already in the queue are still processed.
                    Message::Close => queue.close(),
                }
            }
            if !batch.jobs.is_empty() {
                self.commit(batch);
            }
            for reply in truncations {
                let _ = reply.send(self.truncate_log().map_err(sqlite_error));
            }
        }
        if let Err(error) = self.db.close() {
            tracing::warn!(%error, "failed to close the database cleanly");
        }
    }

    /// Commits a batch and replies to its callers. Acknowledges nothing once the file is lost.
    fn commit(&mut self, mut batch: Batch) {
        if let Err(lost) = self.file.verify() {
            return batch.reject(lost);
        }
        let durability = batch.durability.unwrap_or(Durability::ProcessCrash);
        let done = self.set_durability(durability).and_then(|()| self.transact(&mut batch.jobs));
        let failure = match done {
            Ok(()) => self.file.verify().err().map(|lost| lost.to_string()),
            Err(error) => {
                // If COMMIT failed, a transaction may be left open.
                let _ = self.db.batch("ROLLBACK");
                tracing::error!(%error, "failed to run a transaction");
                Some(error.to_string())
            }
        };
        batch.reply(failure);
    }

    /// Moves the log into the database and truncates it. Returns `false` if readers still need it.
    fn truncate_log(&mut self) -> rusqlite::Result<bool> {
        self.db.batch(WAIT_BRIEFLY)?;
        let busy = self.db.number(TRUNCATE);
        self.db.batch(WAIT_AGAIN)?;
        busy.map(|busy| busy == 0)
    }

    /// Runs the jobs in one transaction. It begins with the lock of the file, and its end waits for the disk.
    fn transact(&mut self, jobs: &mut Vec<Box<dyn WriteJob>>) -> rusqlite::Result<()> {
        self.wait("BEGIN IMMEDIATE")?;
        jobs.retain(|job| !job.is_abandoned());
        self.run_jobs(jobs)?;
        self.wait("COMMIT")
    }

    /// Runs a statement that can wait for the lock of the file, or for the disk.
    fn wait(&mut self, statement: &'static str) -> rusqlite::Result<()> {
        self.waiting.set(Some(Instant::now()));
        let done = self.db.control(statement);
        self.waiting.set(None);
        done
    }

    fn run_jobs(&mut self, jobs: &mut [Box<dyn WriteJob>]) -> rusqlite::Result<()> {
        let db = &mut self.db;
        let Some((first, others)) = jobs.split_first_mut() else { return Ok(()) };
        // Nothing precedes the first job, so it needs no savepoint.
        if !first.run(db) {
            db.control("ROLLBACK")?;
            db.control("BEGIN IMMEDIATE")?;
        }
        for job in others {
            db.control("SAVEPOINT job")?;
            if !job.run(db) {
                db.control("ROLLBACK TO job")?;
            }
            db.control("RELEASE job")?;
        }
        Ok(())
    }

    fn set_durability(&mut self, durability: Durability) -> rusqlite::Result<()> {
        let mode = match durability {
            _ if !self.durable => "PRAGMA synchronous = OFF",
            Durability::ProcessCrash => "PRAGMA synchronous = NORMAL",
            Durability::PowerLoss => "PRAGMA synchronous = FULL",
        };
        if self.synchronous != mode {
            self.db.batch(mode)?;
            self.synchronous = mode;
        }
        Ok(())
    }
}

impl Batch {
    /// Replies to all callers that nothing was committed.
    fn reject(self, lost: FileLost) {
        for job in self.jobs {
            job.reply(Err(lost.into()));
        }
    }

    /// Replies to all callers: with the failure of the whole batch, or with their own results.
    fn reply(self, failure: Option<String>) {
        for job in self.jobs {
            job.reply(failure.as_ref().map_or(Ok(()), |text| Err(failed(text.clone()))));
        }
    }
}
