//! The one writer, with group commit.
//!
//! SQLite has room for one writing transaction at a time, and a durable commit waits for the disk. So all
//! writes go through one task with a connection of its own, and everything that waits when it looks up
//! becomes one transaction. Each errand has a savepoint, so that one that fails takes nobody else with
//! it, and no caller hears of success before the commit.
//!
//! A batch is as durable as its strictest errand. Ballots alone need no waiting for the disk: in WAL mode
//! the write-ahead log is in the operating system's hands at commit and outlives the process; a durable
//! commit later makes everything before it durable too.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ep_kernel::ports::StoreError;
use futures::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::fault::{Closed, TooSlow, failed, refused};

/// Errands that may wait before callers do.
const WAITING: usize = 1024;
/// Errands of one transaction, at most: an upper bound for how long one commit can take.
const BATCH: usize = 256;

/// What a change must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Survives {
    /// A crash of the process.
    Crash,
    /// A power cut.
    PowerCut,
}

/// Work on the writer's connection.
type Work<T> =
    Box<dyn for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send>;

/// Hands work to the writing task.
pub(super) struct Writer {
    errands: mpsc::Sender<Message>,
    timeout: Duration,
    task: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Ballots(Ballots),
    Errand(Survives, Box<dyn Errand>),
    Close,
}

/// Ballots to be kept, at least one, as the elements of a JSON array.
struct Ballots {
    elements: String,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts the task. Commits wait for the disk where `durable` allows it at all.
    pub(super) fn start(db: SqliteConnection, timeout: Duration, durable: bool) -> Self {
        let (errands, waiting) = mpsc::channel(WAITING);
        let pen = Pen { db, synchronous: "", durable };
        let task = Mutex::new(Some(tokio::spawn(pen.write_on(waiting))));
        Self { errands, timeout, task }
    }

    /// Carries work out in a transaction; answers once it is committed, or was rolled back.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work: Work<T> = Box::new(work);
        let errand = Task { work: Some(work), outcome: None, reply };
        self.hand_over(Message::Errand(survives, Box::new(errand)), answer).await
    }

    /// Keeps ballots, all or none, with those of others in one statement.
    pub(super) async fn keep(&self, elements: String) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(Message::Ballots(Ballots { elements, reply }), answer).await
    }

    async fn hand_over<T>(
        &self,
        message: Message,
        answer: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answered = async {
            self.errands.send(message).await.map_err(|_| failed(Closed))?;
            answer.await.map_err(|_| failed(Closed))?
        };
        tokio::time::timeout(self.timeout, answered).await.map_err(|_| failed(TooSlow))?
    }

    /// Finishes what waits, then closes the connection.
    pub(super) async fn close(&self) {
        let _ = self.errands.send(Message::Close).await;
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// An errand of any kind: its work, then its answer.
trait Errand: Send {
    /// Does the work; `true` where its changes are to be kept.
    fn carry_out<'a>(&'a mut self, db: &'a mut SqliteConnection) -> BoxFuture<'a, bool>;
    /// Answers the caller.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
    /// Whether the caller still waits.
    fn is_awaited(&self) -> bool;
}

struct Task<T> {
    work: Option<Work<T>>,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send> Errand for Task<T> {
    fn carry_out<'a>(&'a mut self, db: &'a mut SqliteConnection) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return false };
            let outcome = work(db).await;
            let keep = outcome.is_ok();
            self.outcome = Some(outcome);
            keep
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (self.outcome, committed) {
            (Some(Ok(_)) | None, Err(failure)) => Err(failure),
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Err(failed(Closed)),
        };
        let _ = self.reply.send(outcome);
    }

    fn is_awaited(&self) -> bool {
        !self.reply.is_closed()
    }
}

/// What the writing task owns.
struct Pen {
    db: SqliteConnection,
    /// The connection's `synchronous` pragma, once it was set.
    synchronous: &'static str,
    durable: bool,
}

#[derive(Default)]
struct Batch {
    ballots: Vec<Ballots>,
    errands: Vec<Box<dyn Errand>>,
    survives: Option<Survives>,
}

impl Pen {
    async fn write_on(mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(BATCH);
        while waiting.recv_many(&mut messages, BATCH).await > 0 {
            let mut batch = Batch::default();
            for message in messages.drain(..) {
                match message {
                    Message::Ballots(ballots) => batch.ballots.push(ballots),
                    // Nobody waits for it any more: it need not be done.
                    Message::Errand(_, errand) if !errand.is_awaited() => {}
                    Message::Errand(survives, errand) => {
                        batch.survives = batch.survives.max(Some(survives));
                        batch.errands.push(errand);
                    }
                    // What waits already is still done.
                    Message::Close => waiting.close(),
                }
            }
            self.commit(batch).await;
        }
        if let Err(error) = self.db.close().await {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }

    async fn commit(&mut self, mut batch: Batch) {
        let survives = batch.survives.unwrap_or(Survives::Crash);
        if let Err(error) = self.synchronise(survives).await {
            return batch.answer(Vec::new(), Some(error));
        }
        if batch.errands.is_empty() {
            // Ballots alone are one statement, which is its own transaction.
            match insert(&mut self.db, &batch.ballots).await {
                Ok(()) => return batch.answer(Vec::new(), None),
                Err(error) if batch.ballots.len() == 1 => {
                    return batch.answer(vec![Some(refused(error))], None);
                }
                Err(_) => {}
            }
        }
        match self.transact(&mut batch).await {
            Ok(refusals) => batch.answer(refusals, None),
            Err(error) => {
                // Where BEGIN or COMMIT failed, a transaction may be left open.
                let _ = sqlx::query("ROLLBACK").execute(&mut self.db).await;
                batch.answer(Vec::new(), Some(error));
            }
        }
    }

    /// Everything in one transaction; answers which ballots were refused.
    async fn transact(&mut self, batch: &mut Batch) -> Result<Vec<Option<StoreError>>, sqlx::Error> {
        let db = &mut self.db;
        execute(db, "BEGIN IMMEDIATE").await?;
        let mut refusals = Vec::new();
        if !batch.ballots.is_empty() && insert(db, &batch.ballots).await.is_err() {
            // The statement changed nothing; one by one it shows whose ballots are refused.
            for ballots in &batch.ballots {
                refusals.push(insert(db, std::slice::from_ref(ballots)).await.err().map(refused));
            }
        }
        if let ([errand], true) = (&mut batch.errands[..], batch.ballots.is_empty()) {
            let keep = errand.carry_out(db).await;
            execute(db, if keep { "COMMIT" } else { "ROLLBACK" }).await?;
            return Ok(refusals);
        }
        for errand in &mut batch.errands {
            execute(db, "SAVEPOINT errand").await?;
            if !errand.carry_out(db).await {
                execute(db, "ROLLBACK TO errand").await?;
            }
            execute(db, "RELEASE errand").await?;
        }
        execute(db, "COMMIT").await?;
        Ok(refusals)
    }

    async fn synchronise(&mut self, survives: Survives) -> Result<(), sqlx::Error> {
        let wanted = match survives {
            _ if !self.durable => "PRAGMA synchronous = OFF",
            Survives::Crash => "PRAGMA synchronous = NORMAL",
            Survives::PowerCut => "PRAGMA synchronous = FULL",
        };
        if self.synchronous != wanted {
            execute(&mut self.db, wanted).await?;
            self.synchronous = wanted;
        }
        Ok(())
    }
}

impl Batch {
    /// Answers everyone: with a failure of the whole batch, or each with its own outcome. `refusals` says
    /// which ballots were refused; none where it is empty.
    fn answer(self, refusals: Vec<Option<StoreError>>, failure: Option<sqlx::Error>) {
        let failure = failure.map(|error| error.to_string());
        let committed = || failure.as_ref().map_or(Ok(()), |text| Err(failed(text.clone())));
        if let Some(error) = &failure {
            tracing::error!(%error, "a transaction failed");
        }
        let mut refusals = refusals.into_iter();
        for ballots in self.ballots {
            let refusal = refusals.next().flatten();
            let _ = ballots.reply.send(committed().and_then(|()| refusal.map_or(Ok(()), Err)));
        }
        for errand in self.errands {
            errand.answer(committed());
        }
    }
}

/// Inserts all these ballots, or none. A poll that does not run gives no id, and so refuses its ballots.
async fn insert(db: &mut SqliteConnection, ballots: &[Ballots]) -> Result<(), sqlx::Error> {
    let length: usize = ballots.iter().map(|ballots| ballots.elements.len() + 1).sum();
    let mut array = String::with_capacity(length + 2);
    for ballots in ballots {
        array.push(if array.is_empty() { '[' } else { ',' });
        array.push_str(&ballots.elements);
    }
    array.push(']');
    sqlx::query(super::polls::RECORD).bind(array).execute(db).await.map(|_| ())
}

async fn execute(db: &mut SqliteConnection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::query(sql).execute(db).await.map(|_| ())
}
