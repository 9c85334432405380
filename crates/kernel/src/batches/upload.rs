//! Files on their way in: split into lines and stored as they arrive, in bounded memory.
//!
//! A task of its own stores a file. A request can end at any moment, for example because its stream was reset; the task then
//! deletes what it has stored. No call of the database is ever dropped.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::quota::Quota;
use super::received_lines::{ReceivedLines, stored_fault};
use super::room::Room;
use super::{Ports, RETENTION, no_such_file};
use crate::fault::{Fault, Kind, Result};
use ep_store::{BegunFile, EarlierFile, FileId, FileRecord, NewFile, UserId};

/// Maximum number of files of an account.
const MAX_FILES: u32 = 10_000;
/// Maximum length of a name, in bytes, as in most file systems.
const MAX_NAME: usize = 255;

/// A request to store a file.
#[derive(Debug, Clone)]
pub struct FileRequest {
    /// The owner.
    pub user: UserId,
    /// The name of the file.
    pub name: String,
    /// The reference of the request: a repetition gets the same file.
    pub request_ref: Option<String>,
}

/// A stored file.
#[derive(Debug)]
pub struct ReceivedFile {
    /// The file.
    pub record: FileRecord,
    /// True if an earlier request with the same reference has stored it.
    pub is_repeated: bool,
}

/// A file that is being received. If it is dropped before it is complete, nothing of it stays.
pub struct Upload {
    parts: mpsc::Sender<Part>,
    /// The end of the task, until it was waited for.
    outcome: Option<JoinHandle<Result<ReceivedFile>>>,
}

/// A message to the task that stores a file.
enum Part {
    /// A part of the content.
    Content(Vec<u8>),
    /// The end of the content, and the time for which the file is stored.
    End(Duration),
}

impl Upload {
    /// Receives a part of the content. Fails as soon as the file is refused.
    pub async fn write(&mut self, part: &[u8]) -> Result<()> {
        if self.parts.send(Part::Content(part.to_vec())).await.is_ok() {
            return Ok(());
        }
        // The task ends early only when it fails.
        self.outcome().await.map(drop)
    }

    /// Stores the rest, and completes the file. `keep` is the time for which it is stored.
    pub async fn complete(mut self, keep: Duration) -> Result<ReceivedFile> {
        // If the task has ended, its outcome says why.
        let _ = self.parts.send(Part::End(keep)).await;
        self.outcome().await
    }

    /// Waits until nothing of the file is stored, so that the request can be repeated at once.
    pub async fn abandon(self) {
        let Self { parts, outcome } = self;
        drop(parts);
        if let Some(task) = outcome {
            // It fails, because the content has no end.
            let _ = task.await;
        }
    }

    async fn outcome(&mut self) -> Result<ReceivedFile> {
        match self.outcome.take() {
            Some(task) => task.await.map_err(Fault::internal)?,
            None => Err(ended_early()),
        }
    }
}

/// The dependencies of the tasks that store files.
#[derive(Clone)]
pub(super) struct Receiver {
    pub(super) ports: Ports,
    pub(super) room: Arc<Room>,
    /// True if polls are charged.
    pub(super) billing: bool,
}

impl Receiver {
    /// Begins to receive a file.
    pub(super) fn receive(&self, request: FileRequest) -> Upload {
        let (parts, received) = mpsc::channel(1);
        let outcome = self.ports.tasks.spawn(self.clone().store(request, received));
        Upload { parts, outcome: Some(outcome) }
    }

    /// Returns what an account may store at its present balance.
    pub(super) async fn quota(&self, user: UserId) -> Result<Quota> {
        if !self.billing {
            return Ok(Quota::WITHOUT_BILLING);
        }
        Ok(Quota::of(self.ports.store.funds(user).await?))
    }

    /// Stores a file. Unless it is complete in the end, it is deleted.
    async fn store(self, request: FileRequest, mut parts: mpsc::Receiver<Part>) -> Result<ReceivedFile> {
        let FileRequest { user, name, request_ref } = request;
        self.room.take(0).await?;
        let quota = self.quota(user).await?.files;
        let now = self.ports.clock.now();
        let file = NewFile {
            id: FileId::from_random(self.ports.entropy.bytes()),
            user,
            name: stored_name(&name),
            created_at: now,
            expires_at: now.after(RETENTION),
            quota,
            request_ref,
        };
        let stored = match self.ports.store.begin_file(&file).await {
            Ok(BegunFile::Earlier(earlier)) => return repeat(&file, earlier, parts).await,
            Ok(BegunFile::New) => {
                let stored = self.store_content(&file, &mut parts).await;
                drop(parts);
                stored
            }
            // It may have begun nevertheless.
            Err(error) => Err(error.into()),
        };
        match stored {
            Ok(record) => Ok(ReceivedFile { record, is_repeated: false }),
            Err(fault) => {
                self.discard(user, file.id).await;
                Err(fault)
            }
        }
    }

    async fn store_content(&self, file: &NewFile, parts: &mut mpsc::Receiver<Part>) -> Result<FileRecord> {
        let mut lines = ReceivedLines::new(&self.ports.store, &self.room, &*self.ports.clock, file);
        loop {
            match tokio::time::timeout_at(lines.due, parts.recv()).await {
                Err(_) => lines.flush().await?,
                Ok(Some(Part::Content(part))) => lines.write(&part).await?,
                Ok(Some(Part::End(keep))) => {
                    let content = lines.end().await?;
                    let expires_at = self.ports.clock.now().after(keep);
                    let completed =
                        self.ports.store.complete_file(file.id, content, expires_at, MAX_FILES).await;
                    completed.map_err(stored_fault)?;
                    let stored = self.ports.store.file(file.user, file.id).await?;
                    return stored.ok_or_else(|| no_such_file(&file.id.to_string()));
                }
                Ok(None) => return Err(ended_early()),
            }
        }
    }

    /// Deletes a file that is not needed. One that an open batch reads stays. A failure is logged, because the file is deleted
    /// when it is abandoned or has expired.
    pub(super) async fn discard(&self, user: UserId, id: FileId) {
        if let Err(error) = self.ports.store.delete_file(user, id).await {
            tracing::warn!(%error, "failed to delete a file that is not needed; it is deleted later");
        }
    }
}

/// Compares a repeated request with the file of the first one.
async fn repeat(
    file: &NewFile,
    earlier: EarlierFile,
    mut parts: mpsc::Receiver<Part>,
) -> Result<ReceivedFile> {
    if earlier.name != file.name {
        return Err(other_request());
    }
    let Some((record, first)) = earlier.complete else {
        let text = "an upload with this Idempotency-Key is still running; send it again when that has ended";
        return Err(Fault::new(Kind::InProgress, text).retry_after(Duration::from_secs(5)));
    };
    let mut digest = Sha256::new();
    loop {
        match parts.recv().await {
            Some(Part::Content(part)) => digest.update(&part),
            Some(Part::End(_)) if hex::encode(digest.finalize()) == first => {
                return Ok(ReceivedFile { record, is_repeated: true });
            }
            Some(Part::End(_)) => return Err(other_request()),
            None => return Err(ended_early()),
        }
    }
}

fn other_request() -> Fault {
    let text = "this Idempotency-Key was used for another file; send the same file with the same name, or use a new key";
    Fault::new(Kind::IdempotencyMismatch, text)
}

fn ended_early() -> Fault {
    Fault::new(Kind::IncompleteBody, "the upload ended early; send it again")
}

/// Returns a file's name as it is stored: without control characters, and cut.
fn stored_name(name: &str) -> String {
    let mut name: String = name[..name.floor_char_boundary(4 * MAX_NAME)].replace(char::is_control, "");
    name.truncate(name.floor_char_boundary(MAX_NAME));
    name
}

#[cfg(test)]
mod tests {
    use super::super::UNFINISHED;
    use super::super::received_lines::STORED_WITHIN;
    use super::*;
    use crate::ports::Clock;
    use crate::tasks::Tasks;
    use crate::testing::{ManualClock, SeededEntropy};
    use ep_polling::{MicroUsd, Timestamp};
    use ep_store::testing::Interruption;
    use ep_store::{NewUser, StoreOptions};

    /// Three lines a minute are stored by the minute, so that their file never counts as abandoned.
    #[tokio::test]
    async fn the_lines_of_a_slow_upload_are_stored_in_time() {
        const PAUSE: Duration = Duration::from_secs(20);
        let url = "sqlite::memory:".parse().unwrap();
        let options = StoreOptions { timeout: Duration::from_hours(2), ..StoreOptions::default() };
        let database = ep_store::connect(&url, options).await.unwrap();
        let user = UserId::from_random([1; 16]);
        let new = NewUser {
            id: user,
            email: "slow@example.org".parse().unwrap(),
            starter_credit: MicroUsd::ZERO,
            created_at: Timestamp::from_millis(0),
        };
        database.treasury.create_user(&new).await.unwrap();
        let (store, clock) = (database.store, Arc::new(ManualClock::default()));
        let counter = Arc::new(Interruption::none());
        let counted = store.interrupted(&counter);
        let room = Arc::new(Room::new(counted.clone(), clock.clone(), 1 << 20));
        let ports = Ports {
            store: counted,
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(1)),
            ended_tasks: Arc::default(),
            tasks: Tasks::default(),
        };
        let receiver = Receiver { ports, room, billing: false };
        let mut upload = receiver.receive(FileRequest { user, name: "a".to_owned(), request_ref: None });
        for _ in 0..60 {
            clock.advance(PAUSE);
            // Operations of the database take real time.
            tokio::time::pause();
            tokio::time::advance(PAUSE).await;
            tokio::time::resume();
            upload.write(b"a line\nand ").await.unwrap();
            let now = clock.now();
            let abandoned = store.delete_old_files(now, now.before(UNFINISHED), 9).await.unwrap();
            assert_eq!(abandoned, 0, "the upload counts as abandoned");
        }
        assert_eq!(upload.complete(RETENTION).await.unwrap().record.lines, 61);
        // About twenty times, the lines are stored and the room is measured; storing each part would need 120 operations.
        let operations = counter.operations();
        assert!((20..=60).contains(&operations), "{operations}");
        assert!(STORED_WITHIN * 2 < UNFINISHED);
    }

    #[test]
    fn names_are_stored_without_controls_and_cut_at_a_character() {
        assert_eq!(stored_name("rows\r\n of é.jsonl"), "rows of é.jsonl");
        let long = stored_name(&"é".repeat(10_000));
        assert_eq!(long, "é".repeat(MAX_NAME / 2));
    }
}
