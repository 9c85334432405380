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

use crate::fault::{Fault, Kind, shown};
use crate::ports::{Clock, Entropy};
use crate::tasks::Tasks;
use ep_polling::agreement::Agreement;
use ep_polling::money::MicroUsd;
use ep_store::{
    AnswerCounts, AnswerRecord, BatchId, BatchLimits, BatchRecord, BatchStatus, BatchTerms, FileDeletion,
    FileId, FileRecord, KeyId, ListPosition, NewBatch, RowKind, Store, UserId, WebhookUrl,
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
    store: Store,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    billing: bool,
    lasts: Duration,
    at_once: usize,
    endpoints: Vec<&'static str>,
    worker: String,
    /// Signalled when this process has created or started a batch.
    changed: Notify,
    /// Signalled when this process has ended a batch: for its notification.
    ended: Arc<Notify>,
    /// Signalled at the same time: for the push notifications of its task.
    ended_tasks: Arc<Notify>,
    places: UploadPlaces,
    room: Arc<Room>,
    receiver: Receiver,
}

impl Batches {
    /// Creates the service.
    pub fn new(ports: Ports, settings: BatchSettings) -> Self {
        let Ports { store, clock, entropy, ended_tasks, tasks } = ports;
        let BatchSettings { billing, worker, lease: lasts, at_once, max_stored, endpoints } = settings;
        let room = Arc::new(Room::new(store.clone(), Arc::clone(&clock), max_stored));
        let receiver = Receiver {
            store: store.clone(),
            room: Arc::clone(&room),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            tasks,
            billing,
        };
        let (changed, ended) = (Notify::new(), Arc::default());
        Self {
            store,
            clock,
            entropy,
            billing,
            lasts,
            at_once,
            endpoints,
            worker,
            changed,
            ended,
            ended_tasks,
            places: UploadPlaces::default(),
            room,
            receiver,
        }
    }

    /// Signals that this process has ended a batch.
    fn has_ended(&self) {
        self.ended.notify_one();
        self.ended_tasks.notify_one();
    }

    /// Admits an upload. [`Kind::Busy`] if the account, accounts without money, or the process receive too many files already.
    pub async fn begin_upload(&self, user: UserId) -> Result<UploadPermit, Fault> {
        let is_paid = self.is_paid(user).await?;
        self.places.begin(user, is_paid)
    }

    /// True if the account has money, or nobody is charged.
    pub async fn is_paid(&self, user: UserId) -> Result<bool, Fault> {
        Ok(!self.receiver.billing || self.store.funds(user).await? > MicroUsd::ZERO)
    }

    /// Begins to receive a file. Its upload fails with [`Kind::StorageFull`] if the service has no room.
    pub fn receive(&self, request: FileRequest) -> Upload {
        self.receiver.receive(request)
    }

    /// Deletes a file. [`Kind::Conflict`] while an open batch reads it.
    pub async fn delete_file(&self, user: UserId, id: FileId) -> Result<(), Fault> {
        match self.store.delete_file(user, id).await? {
            FileDeletion::Deleted => Ok(()),
            FileDeletion::Unknown => Err(no_such_file(&id.to_string())),
            FileDeletion::InUse(batch) => {
                let message = format!("{batch} reads this file; wait until it has ended, or cancel it");
                Err(Fault::new(Kind::Conflict, message))
            }
        }
    }

    /// Returns a stored file of an account.
    pub async fn file(&self, user: UserId, id: FileId) -> Result<FileRecord, Fault> {
        self.store.file(user, id).await?.ok_or_else(|| no_such_file(&id.to_string()))
    }

    /// Returns the stored files of an account, newest first.
    pub async fn files_of(
        &self,
        user: UserId,
        after: Option<ListPosition<FileId>>,
        limit: u32,
    ) -> Result<Vec<FileRecord>, Fault> {
        Ok(self.store.files_of(user, after, limit).await?)
    }

    /// Returns some lines of a stored file after the line `after`; none after the last one.
    pub async fn lines(&self, id: FileId, after: u32) -> Result<Vec<(u32, String)>, Fault> {
        Ok(self.store.lines(id, after, READ_TOGETHER).await?)
    }

    /// Creates a batch, or finds the one that an earlier request with the same reference has created.
    /// [`Kind::StorageFull`] if the service has no room for rows or results.
    pub async fn create(
        self: &Arc<Self>,
        request: BatchRequest,
        rows: BatchRows,
    ) -> Result<CreatedBatch, Fault> {
        if !self.endpoints.contains(&request.terms.endpoint.as_str()) {
            let rule = format!("must be one of {}", self.endpoints.join(", "));
            return Err(Fault::invalid("endpoint", rule));
        }
        match rows {
            BatchRows::File(file) => self.create_from(request, file).await,
            BatchRows::Lines(lines) => {
                // The request may end meanwhile: a file without its batch would stay.
                let batches = Arc::clone(self);
                let creating = async move { batches.create_with_lines(request, &lines).await };
                self.receiver.tasks.spawn(creating).await.map_err(Fault::internal)?
            }
        }
    }

    /// Stores the lines of a new batch as a file, and creates the batch. The file stays only if the batch reads it.
    async fn create_with_lines(&self, request: BatchRequest, lines: &str) -> Result<CreatedBatch, Fault> {
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

    async fn create_from(&self, request: BatchRequest, file: FileId) -> Result<CreatedBatch, Fault> {
        let BatchRequest { user, key, terms, keep, notify, request_ref } = request;
        self.file(user, file).await?;
        self.room.take(0).await?;
        let limits = BatchLimits {
            open: MAX_OPEN,
            results_bytes: self.receiver.quota(user).await?.results,
            failed: MAX_FAILED,
        };
        let created_at = self.clock.now();
        let batch = NewBatch {
            id: BatchId::from_random(self.entropy.bytes()),
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
        let id = self.store.create_batch(&batch, limits).await?;
        self.changed.notify_one();
        Ok(CreatedBatch { record: self.batch(user, id).await?, is_repeated: id != batch.id })
    }

    /// Returns the batch that the request with this reference has created.
    pub async fn of_request(&self, request_ref: &str) -> Result<Option<BatchId>, Fault> {
        Ok(self.store.batch_of_request(request_ref).await?)
    }

    /// Returns a batch of an account.
    pub async fn batch(&self, user: UserId, id: BatchId) -> Result<BatchRecord, Fault> {
        self.store.batch(user, id).await?.ok_or_else(|| no_such_batch(&id.to_string()))
    }

    /// Returns the batches of an account, newest first.
    pub async fn batches_of(
        &self,
        user: UserId,
        after: Option<ListPosition<BatchId>>,
        limit: u32,
    ) -> Result<Vec<BatchRecord>, Fault> {
        Ok(self.store.batches_of(user, after, limit).await?)
    }

    /// Returns up to `limit` ended batches of an account that can have results, newest first, after this position.
    pub async fn with_results(
        &self,
        user: UserId,
        after: Option<ListPosition<BatchId>>,
        limit: u32,
    ) -> Result<Vec<BatchRecord>, Fault> {
        Ok(self.store.batches_with_results(user, after, limit).await?)
    }

    /// Cancels a batch. Rows that were begun are finished. [`Kind::Conflict`] if it has ended otherwise.
    pub async fn cancel(&self, user: UserId, id: BatchId) -> Result<BatchRecord, Fault> {
        self.store.cancel_batch(user, id, self.clock.now()).await?;
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
    ) -> Result<Vec<(u32, String)>, Fault> {
        Ok(self.store.batch_results(batch.id, kind, after, limit.min(READ_TOGETHER)).await?)
    }

    /// Returns the size of the results of a batch, in bytes. Zero if there are none, or if they were deleted.
    pub async fn results_size(&self, batch: &BatchRecord, kind: RowKind) -> Result<u64, Fault> {
        Ok(self.store.results_size(batch.id, kind).await?)
    }

    /// Deletes results of a batch before their time.
    pub async fn erase_results(&self, batch: &BatchRecord, kind: RowKind) -> Result<(), Fault> {
        Ok(self.store.erase_results(batch.id, kind).await?)
    }

    /// Returns the numbers of answers of a batch.
    pub async fn answer_counts(&self, batch: &BatchRecord) -> Result<AnswerCounts, Fault> {
        Ok(self.store.answer_counts(batch.id).await?)
    }

    /// Returns some answers of a batch after the row `after`; none after the last one.
    pub async fn answers(&self, batch: &BatchRecord, after: u32) -> Result<Vec<AnswerRecord>, Fault> {
        Ok(self.store.answers(batch.id, after, READ_TOGETHER).await?)
    }

    /// Returns up to `limit` answers of a batch that nobody has reviewed, those in most doubt first.
    pub async fn answers_to_review(
        &self,
        batch: &BatchRecord,
        after: Option<(Agreement, u32)>,
        limit: u32,
    ) -> Result<Vec<AnswerRecord>, Fault> {
        Ok(self.store.answers_to_review(batch.id, after, limit).await?)
    }

    /// Stores the option that a person chose for a row, or removes it.
    pub async fn review(&self, batch: &BatchRecord, number: u32, option: Option<&str>) -> Result<(), Fault> {
        let stored = self.store.review_row(batch.id, number, option, self.clock.now()).await?;
        if stored { Ok(()) } else { Err(no_such_row(batch.id, number)) }
    }

    /// Lets everyone with the link read the page of a batch, or only its owner.
    pub async fn share(&self, user: UserId, id: BatchId, shared: bool) -> Result<BatchRecord, Fault> {
        self.store.share_batch(user, id, shared).await?;
        self.batch(user, id).await
    }

    /// Returns a batch that everyone with the link may read.
    pub async fn shared(&self, id: BatchId) -> Result<Option<BatchRecord>, Fault> {
        Ok(self.store.shared_batch(id).await?)
    }

    /// Deletes ended batches whose time is over.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let now = self.clock.now();
        while self.store.delete_old_batches(now, AT_ONCE).await? == u64::from(AT_ONCE) {}
        Ok(())
    }

    /// Deletes files whose time is over, and those of uploads that have stopped.
    pub async fn sweep_files(&self) -> Result<(), Fault> {
        let now = self.clock.now();
        let unfinished = now.before(UNFINISHED);
        while self.store.delete_old_files(now, unfinished, AT_ONCE).await? == u64::from(AT_ONCE) {}
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
