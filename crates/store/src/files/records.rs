//! Files of lines that accounts store: the rows of batches.

use ep_polling::Timestamp;

use crate::batches::{BatchId, FileId};
use crate::ids::UserId;
use crate::row::from_row;

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

from_row!(FileRecord { id, user, name, bytes, lines, created_at, expires_at });
