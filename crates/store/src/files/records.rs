//! Files of lines that accounts store: the rows of batches.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use crate::batches::{BatchId, FileId};
use crate::ids::UserId;
use crate::row::from_row;
use crate::store_error::StoreError;

/// The received content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// Bytes.
    pub bytes: u64,
    /// Lines.
    pub lines: u32,
    /// The digest of the bytes (SHA-256, hexadecimal), if the file has a reference.
    pub sha256: Option<String>,
}

/// A file that is being received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its id.
    pub id: FileId,
    /// Its owner.
    pub user: UserId,
    /// Its name, as the owner gave it.
    pub name: String,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its deletion, which its completion may change.
    pub expires_at: Timestamp,
    /// The most bytes that the files of its account may take together, those in progress included. The accounts of
    /// pre-funded keys and the one that funds them count as one.
    pub quota: u64,
    /// The reference of the request, unique among all files.
    pub request_ref: Option<String>,
}

/// The result of beginning a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BegunFile {
    /// The file has begun.
    New,
    /// Nothing has begun: the account has a file with the same reference.
    Earlier(EarlierFile),
}

/// A file with the reference of a later request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierFile {
    /// Its name.
    pub name: String,
    /// The file with the digest of its content ([`FileContent::sha256`]), once it is complete.
    pub complete: Option<(FileRecord, String)>,
}

/// A complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Its id.
    pub id: FileId,
    /// Its owner.
    pub user: UserId,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its number of lines.
    pub lines: u32,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its deletion.
    pub expires_at: Timestamp,
}

/// The outcome of deleting a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDeletion {
    /// The file is deleted.
    Deleted,
    /// The account has no such file.
    Unknown,
    /// A batch that has not ended reads the file; nothing changed.
    InUse(BatchId),
}

/// The position in a list that is sorted by time and id, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPosition<I> {
    /// The time of creation of the last entry.
    pub at: Timestamp,
    /// The id of the last entry.
    pub id: I,
}

/// Stores files, line by line. A line includes its end.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Begins a file, unless there is one with the same reference. It is invisible until it is complete.
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    async fn begin_file(&self, file: &NewFile) -> Result<BegunFile, StoreError>;

    /// Adds lines at the time `at` to a file that is not complete. `first` is the number of the first one, from 1. Only the last line of a
    /// file may lack its end. [`StoreError::FilesQuota`] if the quota of the file does not allow them;
    /// [`StoreError::NotFound`] if the file was not begun, is complete or is deleted.
    async fn add_lines(
        &self,
        file: FileId,
        first: u32,
        lines: &[String],
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Completes a file. [`StoreError::FilesQuota`] if its quota does not allow it, [`StoreError::Conflict`] if its account
    /// has more than `most` files, [`StoreError::NotFound`] if the file was not begun, or is complete. Acknowledged once
    /// a power loss cannot undo it.
    async fn complete_file(
        &self,
        file: FileId,
        content: FileContent,
        expires_at: Timestamp,
        most: u32,
    ) -> Result<(), StoreError>;

    /// Returns a complete file of an account.
    async fn file(&self, user: UserId, id: FileId) -> Result<Option<FileRecord>, StoreError>;

    /// Returns up to `limit` complete files of an account, newest first, after this position.
    async fn files_of(
        &self,
        user: UserId,
        after: Option<ListPosition<FileId>>,
        limit: u32,
    ) -> Result<Vec<FileRecord>, StoreError>;

    /// Returns up to `limit` lines of a file with numbers above `after`, in order: fewer if they are long, none after the
    /// last one.
    async fn lines(&self, file: FileId, after: u32, limit: u32) -> Result<Vec<(u32, String)>, StoreError>;

    /// Returns the money of an account, with that of the accounts that are funded with it.
    async fn funds(&self, user: UserId) -> Result<MicroUsd, StoreError>;

    /// Returns the bytes of the files and results of all accounts. Results of batches that have not ended are not counted.
    async fn stored_bytes(&self) -> Result<u64, StoreError>;

    /// Deletes a file of an account, whether complete or not.
    async fn delete_file(&self, user: UserId, id: FileId) -> Result<FileDeletion, StoreError>;

    /// Deletes up to `limit` files: expired ones that no open batch reads, and incomplete ones that got no line since
    /// `unfinished`. Returns their number.
    async fn delete_old_files(
        &self,
        now: Timestamp,
        unfinished: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError>;
}

from_row!(FileRecord { id, user, name, bytes, lines, created_at, expires_at });
