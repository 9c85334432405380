//! Batches of requests: accepted at once, checked and asked in the background, with results for a month.
//!
//! The rows of a batch are lines of a file. `worker.rs` takes them a few at a time, in turns between accounts, and asks
//! them by a [`RowRunner`], which knows the protocols. The polls of a row have a reference, so that a row that is asked
//! again after a crash gets the same polls, and is paid once.

pub mod line;
mod notifications;
mod quota;
mod received_lines;
mod room;
mod runner;
mod upload;
mod upload_places;
mod upload_speed;
mod validation;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

pub use notifications::BatchNotifications;
pub use received_lines::MAX_FILE_BYTES;
use room::Room;
pub use runner::{RowResponse, RowRunner};
use upload::Receiver;
pub use upload::{FileRequest, ReceivedFile, Upload};
pub use upload_places::UploadPermit;
use upload_places::UploadPlaces;
pub use validation::MAX_ROWS;

use crate::fault::{Fault, Kind, Result, shown};
use crate::ports::{Clock, Entropy};
use crate::tasks::Tasks;
use ep_polling::MicroUsd;
use ep_store::{
    AnswerRecord, BatchId, BatchLimits, BatchRecord, BatchStatus, BatchTerms, FileDeletion, FileId,
    FileRecord, KeyId, NewBatch, RowKind, Store, UserId, WebhookUrl,
};

/// Time for which files and results are stored, unless their owner chooses another one.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);
/// The shortest time for which files and results are stored.
pub const MIN_RETENTION: Duration = Duration::from_hours(1);
/// Time within which the rows of a batch are asked.
const WINDOW: Duration = Duration::from_hours(24);
/// Maximum number of open batches of an account.
const MAX_OPEN: u32 = 50;
/// Maximum number of failed batches of an account.
const MAX_FAILED: u32 = 100;
/// The name of a file with the lines of a batch.
const ROWS_NAME: &str = "rows.jsonl";
/// Results that are read together.
const READ_TOGETHER: u32 = 100;
/// Time without a stored line after which a file that is being received counts as abandoned.
const UNFINISHED: Duration = Duration::from_mins(5);
/// Number of files or batches that a transaction deletes.
const AT_ONCE: u32 = 20;

/// The dependencies of batches.
#[derive(Clone)]
pub struct Ports {
    /// Files and batches.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Signalled when the task of an agent may have ended.
    pub ended_tasks: Arc<Notify>,
    /// Background work: files are stored in tasks.
    pub tasks: Tasks,
}

/// The operator's settings for batches.
#[derive(Debug, Clone)]
pub struct BatchSettings {
    /// True if polls are charged.
    pub billing: bool,
    /// A name unique to this process.
    pub worker: String,
    /// Lease of this process on rows.
    pub lease: Duration,
    /// Maximum number of rows that this process asks at once.
    pub at_once: usize,
    /// Maximum size of the files and results of all accounts, in bytes.
    pub max_stored: u64,
    /// The paths of the requests that rows can be.
    pub endpoints: Vec<&'static str>,
}

/// A request to create a batch.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    /// The owner.
    pub user: UserId,
    /// The key that pays, if its spending is capped.
    pub key: Option<KeyId>,
    /// The terms of the rows.
    pub terms: BatchTerms,
    /// The time for which the results are stored.
    pub keep: Duration,
    /// URL for the end notification, if not the URL of the owner's webhook.
    pub notify: Option<WebhookUrl>,
    /// The reference of the request: a repetition gets the same batch.
    pub request_ref: Option<String>,
}

/// The rows of a new batch.
#[derive(Debug, Clone)]
pub enum BatchRows {
    /// Those of a stored file.
    File(FileId),
    /// These lines, which become a file.
    Lines(String),
}

/// A batch after a request to create it.
#[derive(Debug)]
pub struct CreatedBatch {
    /// The batch.
    pub record: BatchRecord,
    /// True if an earlier request with the same reference has created it.
    pub is_repeated: bool,
}

/// Creates batches and works through them.
pub struct Batches {
    ports: Ports,
    settings: BatchSettings,
    /// Signalled when this process has created or started a batch.
    changed: Notify,
    /// Signalled when this process has ended a batch: for its notification.
    ended: Arc<Notify>,
    places: UploadPlaces,
    receiver: Receiver,
}

impl Batches {
    /// Creates the service.
    pub fn new(ports: Ports, settings: BatchSettings) -> Self {
        let room = Room::new(ports.store.clone(), Arc::clone(&ports.clock), settings.max_stored);
        let receiver = Receiver { ports: ports.clone(), room: Arc::new(room), billing: settings.billing };
        let (changed, ended, places) = (Notify::new(), Arc::default(), UploadPlaces::default());
        Self { ports, settings, changed, ended, places, receiver }
    }

    /// Signals that this process has ended a batch.
    fn has_ended(&self) {
        self.ended.notify_one();
        self.ports.ended_tasks.notify_one();
    }

    /// Admits an upload. [`Kind::Busy`] if the account, accounts without money, or the process receive too many files already.
    pub async fn begin_upload(&self, user: UserId) -> Result<UploadPermit> {
        let is_paid = self.is_paid(user).await?;
        self.places.begin(user, is_paid)
    }

    /// True if the account has money, or nobody is charged.
    pub async fn is_paid(&self, user: UserId) -> Result<bool> {
        Ok(!self.settings.billing || self.ports.store.funds(user).await? > MicroUsd::ZERO)
    }

    /// Begins to receive a file. Its upload fails with [`Kind::StorageFull`] if the service has no room.
    pub fn receive(&self, request: FileRequest) -> Upload {
        self.receiver.receive(request)
    }

    /// Deletes a file. [`Kind::Conflict`] while an open batch reads it.
    pub async fn delete_file(&self, user: UserId, id: FileId) -> Result<()> {
        match self.ports.store.delete_file(user, id).await? {
            FileDeletion::Deleted => Ok(()),
            FileDeletion::Unknown => Err(no_such_file(&id.to_string())),
            FileDeletion::InUse(batch) => {
                let message = format!("{batch} reads this file; wait until it has ended, or cancel it");
                Err(Fault::new(Kind::Conflict, message))
            }
        }
    }

    /// Returns a stored file of an account.
    pub async fn file(&self, user: UserId, id: FileId) -> Result<FileRecord> {
        self.ports.store.file(user, id).await?.ok_or_else(|| no_such_file(&id.to_string()))
    }

    /// Returns some lines of a stored file after the line `after`; none after the last one.
    pub async fn lines(&self, id: FileId, after: u32) -> Result<Vec<(u32, String)>> {
        Ok(self.ports.store.lines(id, after, READ_TOGETHER).await?)
    }

    /// Creates a batch, or finds the one that an earlier request with the same reference has created.
    /// [`Kind::StorageFull`] if the service has no room for rows or results.
    pub async fn create(self: &Arc<Self>, request: BatchRequest, rows: BatchRows) -> Result<CreatedBatch> {
        if !self.settings.endpoints.contains(&request.terms.endpoint.as_str()) {
            let rule = format!("must be one of {}", self.settings.endpoints.join(", "));
            return Err(Fault::invalid("endpoint", rule));
        }
        match rows {
            BatchRows::File(file) => self.create_from(request, file).await,
            BatchRows::Lines(lines) => {
                // The request may end meanwhile: a file without its batch would stay.
                let batches = Arc::clone(self);
                let creating = async move { batches.create_with_lines(request, &lines).await };
                self.ports.tasks.spawn(creating).await.map_err(Fault::internal)?
            }
        }
    }

    /// Stores the lines of a new batch as a file, and creates the batch. The file stays only if the batch reads it.
    async fn create_with_lines(&self, request: BatchRequest, lines: &str) -> Result<CreatedBatch> {
        let user = request.user;
        let mut upload = self.receive(FileRequest { user, name: ROWS_NAME.to_owned(), request_ref: None });
        upload.write(lines.as_bytes()).await?;
        let file = upload.complete(RETENTION).await?.record.id;
        let created = self.create_from(request, file).await;
        if created.as_ref().map_or(true, |created| created.record.file != file) {
            self.receiver.discard(user, file).await;
        }
        created
    }

    async fn create_from(&self, request: BatchRequest, file: FileId) -> Result<CreatedBatch> {
        let BatchRequest { user, key, terms, keep, notify, request_ref } = request;
        self.file(user, file).await?;
        self.receiver.room.take(0).await?;
        let limits = BatchLimits {
            open: MAX_OPEN,
            results_bytes: self.receiver.quota(user).await?.results,
            failed: MAX_FAILED,
        };
        let created_at = self.ports.clock.now();
        let batch = NewBatch {
            id: BatchId::from_random(self.ports.entropy.bytes()),
            user,
            file,
            terms,
            key,
            request_ref,
            created_at,
            expires_at: created_at.after(WINDOW),
            keep,
            notify,
        };
        let id = self.ports.store.create_batch(&batch, limits).await?;
        self.changed.notify_one();
        Ok(CreatedBatch { record: self.batch(user, id).await?, is_repeated: id != batch.id })
    }

    /// Returns a batch of an account.
    pub async fn batch(&self, user: UserId, id: BatchId) -> Result<BatchRecord> {
        self.ports.store.batch(user, id).await?.ok_or_else(|| no_such_batch(&id.to_string()))
    }

    /// Cancels a batch. Rows that were begun are finished. [`Kind::Conflict`] if it has ended otherwise.
    pub async fn cancel(&self, user: UserId, id: BatchId) -> Result<BatchRecord> {
        self.ports.store.cancel_batch(user, id, self.ports.clock.now()).await?;
        self.changed.notify_one();
        let batch = self.batch(user, id).await?;
        match batch.status {
            BatchStatus::Cancelling | BatchStatus::Cancelled => Ok(batch),
            status => {
                let message = format!("the batch has ended: it is {}", status.as_str());
                Err(Fault::new(Kind::Conflict, message))
            }
        }
    }

    /// Returns some results of a batch after the row `after`; none after the last one.
    pub async fn results(
        &self,
        batch: &BatchRecord,
        kind: RowKind,
        after: u32,
        limit: u32,
    ) -> Result<Vec<(u32, String)>> {
        Ok(self.ports.store.batch_results(batch.id, kind, after, limit.min(READ_TOGETHER)).await?)
    }

    /// Returns some answers of a batch after the row `after`; none after the last one.
    pub async fn answers(&self, batch: &BatchRecord, after: u32) -> Result<Vec<AnswerRecord>> {
        Ok(self.ports.store.answers(batch.id, after, READ_TOGETHER).await?)
    }

    /// Stores the option that a person chose for a row, or removes it.
    pub async fn review(&self, batch: &BatchRecord, number: u32, option: Option<&str>) -> Result<()> {
        let stored = self.ports.store.review_row(batch.id, number, option, self.ports.clock.now()).await?;
        if stored { Ok(()) } else { Err(no_such_row(batch.id, number)) }
    }

    /// Lets everyone with the link read the page of a batch, or only its owner.
    pub async fn share(&self, user: UserId, id: BatchId, shared: bool) -> Result<BatchRecord> {
        self.ports.store.share_batch(user, id, shared).await?;
        self.batch(user, id).await
    }

    /// Deletes ended batches whose time is over.
    pub async fn sweep(&self) -> Result<()> {
        let now = self.ports.clock.now();
        while self.ports.store.delete_old_batches(now, AT_ONCE).await? == u64::from(AT_ONCE) {}
        Ok(())
    }

    /// Deletes files whose time is over, and those of uploads that have stopped.
    pub async fn sweep_files(&self) -> Result<()> {
        let now = self.ports.clock.now();
        let unfinished = now.before(UNFINISHED);
        while self.ports.store.delete_old_files(now, unfinished, AT_ONCE).await? == u64::from(AT_ONCE) {}
        Ok(())
    }
}

/// Returns the fault for an id that names no batch of the caller.
pub fn no_such_batch(id: &str) -> Fault {
    let id = shown(id, 64);
    Fault::new(Kind::NotFound, format!("you have no batch {id}; list_batches shows yours"))
}

/// Returns the fault for a row without an answer.
pub fn no_such_row(id: BatchId, number: u32) -> Fault {
    let message = format!(
        "row {number} of {id} has no answer to review: it has not ended, failed, asked several questions, was deleted, or \
         does not exist"
    );
    Fault::new(Kind::NotFound, message)
}

/// Returns the fault for an id that names no file of the caller.
pub fn no_such_file(id: &str) -> Fault {
    let id = shown(id, 64);
    let text = format!("you have no file {id}; it was deleted, has expired, or belongs to another account");
    Fault::new(Kind::NotFound, text)
}
