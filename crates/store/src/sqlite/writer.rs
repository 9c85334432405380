//! The writer task, with group commit.
//!
//! SQLite runs one writing transaction at a time, and a durable commit waits for the disk. Therefore one task
//! with one connection does all writes, and commits everything in its queue as one transaction. Each job has
//! a savepoint, so a failed job undoes only its own changes. Callers get their results after the commit.
//!
//! A batch is as durable as its most demanding job. Ballots need not wait for the disk. In WAL mode the
//! operating system has the write-ahead log at commit, so the ballots survive a crash of the process. The
//! next durable commit makes all earlier ones durable too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ep_kernel::ports::StoreError;
use futures::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::ballots;
use super::file::OpenFile;
use crate::engine::{Durability, TransactionBody};
use crate::error::{Closed, FileLost, TimedOut, database_error, failed};

/// The capacity of the queue; callers wait while it is full.
const QUEUE_CAPACITY: usize = 1024;
/// The maximum number of messages in one transaction. It limits the duration of one commit.
const MAX_BATCH: usize = 256;

/// Lets a truncation of the log wait for readers, but only briefly, because it blocks all writes.
const WAIT_BRIEFLY: &str = "PRAGMA busy_timeout = 500";
/// See [`super::BUSY_TIMEOUT`].
const WAIT_AGAIN: &str = "PRAGMA busy_timeout = 5000";

/// The sender of jobs to the writer task.
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    timeout: Duration,
    /// True while the WAL holds deleted data, because truncating it failed.
    owes_truncation: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Ballots(NewBallots),
    Job(Durability, Box<dyn WriteJob>),
    /// Truncates the write-ahead log.
    Truncate(oneshot::Sender<Result<bool, StoreError>>),
    Close,
}

/// Ballots of one poll to insert, at least one, as an element of a JSON array.
struct NewBallots {
    element: String,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the task. Unless `durable` is set, no commit waits for the disk.
    pub(super) fn start(db: SqliteConnection, file: Arc<OpenFile>, timeout: Duration, durable: bool) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE_CAPACITY);
        let task = WriterTask { db, file, synchronous: "", durable };
        #[expect(clippy::disallowed_methods, reason = "the handle is stored, and close() waits for it")]
        let task = Mutex::new(Some(tokio::spawn(task.run(messages))));
        Self { queue, timeout, owes_truncation: AtomicBool::new(false), task }
    }

    /// Runs work in a transaction; returns after its commit or rollback.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<SqliteConnection, T>,
    ) -> Result<T, StoreError> {
        self.run_job(durability, work, false).await
    }

    /// Runs work that consists of a single statement.
    pub(super) async fn run_statement<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<SqliteConnection, T>,
    ) -> Result<T, StoreError> {
        self.run_job(durability, work, true).await
    }

    async fn run_job<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<SqliteConnection, T>,
        is_statement: bool,
    ) -> Result<T, StoreError> {
        let (reply, receiver) = oneshot::channel();
        let job = Job { work: Some(work), outcome: None, reply, is_statement };
        self.submit(Message::Job(durability, Box::new(job)), receiver).await
    }

    /// Inserts ballots, all or none, in one statement shared with other callers.
    pub(super) async fn insert_ballots(&self, element: String) -> Result<(), StoreError> {
        let (reply, receiver) = oneshot::channel();
        self.submit(Message::Ballots(NewBallots { element, reply }), receiver).await
    }

    /// Truncates the write-ahead log to remove deleted data. Returns `false` if readers prevented it.
    pub(super) async fn truncate_log(&self) -> Result<bool, StoreError> {
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

    async fn submit<T>(
        &self,
        message: Message,
        receiver: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answered = async {
            self.queue.send(message).await.map_err(|_| failed(Closed))?;
            receiver.await.map_err(|_| failed(Closed))?
        };
        tokio::time::timeout(self.timeout, answered).await.map_err(|_| failed(TimedOut))?
    }

    /// Processes the rest of the queue, then closes the connection.
    pub(super) async fn close(&self) {
        let _ = self.queue.send(Message::Close).await;
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// A write job with its reply channel, independent of its result type.
trait WriteJob: Send {
    /// Does the work; returns `true` to commit its changes.
    fn run<'a>(&'a mut self, db: &'a mut SqliteConnection) -> BoxFuture<'a, bool>;
    /// Replies to the caller with the result of the work, or with the failure of the commit.
    fn reply(self: Box<Self>, committed: Result<(), StoreError>);
    /// True if the caller has gone.
    fn is_abandoned(&self) -> bool;
    /// True if the work is a single statement.
    fn is_statement(&self) -> bool;
}

struct Job<T, W> {
    work: Option<W>,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    is_statement: bool,
}

impl<T: Send, W: TransactionBody<SqliteConnection, T>> WriteJob for Job<T, W> {
    fn run<'a>(&'a mut self, db: &'a mut SqliteConnection) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return false };
            let outcome = work(db).await;
            let keep = outcome.is_ok();
            self.outcome = Some(outcome);
            keep
        })
    }

    fn reply(self: Box<Self>, committed: Result<(), StoreError>) {
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

    fn is_statement(&self) -> bool {
        self.is_statement
    }
}

/// The state of the task.
struct WriterTask {
    db: SqliteConnection,
    file: Arc<OpenFile>,
    /// The statement that last set the connection's `synchronous` pragma.
    synchronous: &'static str,
    durable: bool,
}

/// The messages of one transaction.
#[derive(Default)]
struct Batch {
    ballots: Vec<NewBallots>,
    jobs: Vec<Box<dyn WriteJob>>,
    durability: Option<Durability>,
}

impl WriterTask {
    async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while queue.recv_many(&mut messages, MAX_BATCH).await > 0 {
            let mut batch = Batch::default();
            let mut truncations = Vec::new();
            for message in messages.drain(..) {
                match message {
                    Message::Ballots(ballots) => batch.ballots.push(ballots),
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
            if !batch.is_empty() {
                self.commit(batch).await;
            }
            for reply in truncations {
                let _ = reply.send(self.truncate_log().await.map_err(database_error));
            }
        }
        if let Err(error) = self.db.close().await {
            tracing::warn!(%error, "failed to close the database cleanly");
        }
    }

    /// Commits a batch and replies to its callers. Acknowledges nothing once the file is lost.
    async fn commit(&mut self, mut batch: Batch) {
        if let Err(lost) = self.file.verify() {
            return batch.reject(lost);
        }
        let durability = batch.durability.unwrap_or(Durability::ProcessCrash);
        if let Err(error) = self.set_durability(durability).await {
            return batch.reply(Vec::new(), Some(failure(&error)));
        }
        if batch.jobs.is_empty() {
            // A batch with only ballots is one statement, which is its own transaction.
            match insert(&mut self.db, &batch.ballots).await {
                Ok(()) => return batch.reply(Vec::new(), self.lost()),
                Err(error) if batch.ballots.len() == 1 => {
                    return batch.reply(vec![Some(database_error(error))], None);
                }
                Err(_) => {}
            }
        }
        match self.transact(&mut batch).await {
            Ok(rejections) => batch.reply(rejections, self.lost()),
            Err(error) => {
                // If BEGIN or COMMIT failed, a transaction may be left open.
                let _ = sqlx::query("ROLLBACK").execute(&mut self.db).await;
                batch.reply(Vec::new(), Some(failure(&error)));
            }
        }
    }

    /// Returns the error of a commit to a lost file.
    fn lost(&self) -> Option<String> {
        self.file.verify().err().map(|lost| lost.to_string())
    }

    /// Moves the log into the database and truncates it. Returns `false` if readers still need it.
    async fn truncate_log(&mut self) -> Result<bool, sqlx::Error> {
        execute(&mut self.db, WAIT_BRIEFLY).await?;
        let done: Result<(i64, i64, i64), sqlx::Error> =
            sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut self.db).await;
        execute(&mut self.db, WAIT_AGAIN).await?;
        Ok(done?.0 == 0)
    }

    /// Runs the batch in one transaction; returns the errors of rejected ballots.
    async fn transact(&mut self, batch: &mut Batch) -> Result<Vec<Option<StoreError>>, sqlx::Error> {
        let db = &mut self.db;
        if let ([job], true) = (&mut batch.jobs[..], batch.ballots.is_empty())
            && job.is_statement()
        {
            // A single statement is its own transaction.
            job.run(db).await;
            return Ok(Vec::new());
        }
        execute(db, "BEGIN IMMEDIATE").await?;
        let mut rejections = Vec::new();
        if !batch.ballots.is_empty() && insert(db, &batch.ballots).await.is_err() {
            // The combined statement changed nothing. One statement per caller shows which ballots are
            // rejected.
            for ballots in &batch.ballots {
                rejections.push(insert(db, std::slice::from_ref(ballots)).await.err().map(database_error));
            }
        }
        if let ([job], true) = (&mut batch.jobs[..], batch.ballots.is_empty()) {
            let keep = job.run(db).await;
            execute(db, if keep { "COMMIT" } else { "ROLLBACK" }).await?;
            return Ok(rejections);
        }
        execute(db, "SAVEPOINT job").await?;
        for job in &mut batch.jobs {
            // Both statements leave a savepoint for the next job; COMMIT ends the last one.
            let next = if job.run(db).await { "RELEASE job; SAVEPOINT job" } else { "ROLLBACK TO job" };
            execute(db, next).await?;
        }
        execute(db, "COMMIT").await?;
        Ok(rejections)
    }

    async fn set_durability(&mut self, durability: Durability) -> Result<(), sqlx::Error> {
        let mode = match durability {
            _ if !self.durable => "PRAGMA synchronous = OFF",
            Durability::ProcessCrash => "PRAGMA synchronous = NORMAL",
            Durability::PowerLoss => "PRAGMA synchronous = FULL",
        };
        if self.synchronous != mode {
            execute(&mut self.db, mode).await?;
            self.synchronous = mode;
        }
        Ok(())
    }
}

/// Logs the failure of a whole batch.
fn failure(error: &sqlx::Error) -> String {
    tracing::error!(%error, "failed to run a transaction");
    error.to_string()
}

impl Batch {
    const fn is_empty(&self) -> bool {
        self.ballots.is_empty() && self.jobs.is_empty()
    }

    /// Replies to all callers that nothing was committed.
    fn reject(self, lost: FileLost) {
        for ballots in self.ballots {
            let _ = ballots.reply.send(Err(lost.into()));
        }
        for job in self.jobs {
            job.reply(Err(lost.into()));
        }
    }

    /// Replies to all callers: with the failure of the whole batch, or with their own results. `rejections`
    /// has one entry per caller with ballots, or is empty if no ballot was rejected.
    fn reply(self, rejections: Vec<Option<StoreError>>, failure: Option<String>) {
        let committed = || failure.as_ref().map_or(Ok(()), |text| Err(failed(text.clone())));
        let mut rejections = rejections.into_iter();
        for ballots in self.ballots {
            let rejection = rejections.next().flatten();
            let _ = ballots.reply.send(committed().and_then(|()| rejection.map_or(Ok(()), Err)));
        }
        for job in self.jobs {
            job.reply(committed());
        }
    }
}

/// Inserts all these ballots, or none.
async fn insert(db: &mut SqliteConnection, ballots: &[NewBallots]) -> Result<(), sqlx::Error> {
    let length: usize = ballots.iter().map(|ballots| ballots.element.len() + 1).sum();
    let mut array = String::with_capacity(length + 2);
    for ballots in ballots {
        array.push(if array.is_empty() { '[' } else { ',' });
        array.push_str(&ballots.element);
    }
    array.push(']');
    ballots::insert(db, array).await
}

async fn execute(db: &mut SqliteConnection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::query(sql).execute(db).await.map(|_| ())
}
