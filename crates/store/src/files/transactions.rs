//! Files of lines.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::account;
use crate::batches::FileId;
use crate::connection::Connection;
use crate::database::newest_first;
use crate::files::chunks::Chunk;
use crate::files::{
    BegunFile, EarlierFile, FileContent, FileDeletion, FileRecord, ListPosition, NewFile, chunks,
};
use crate::handles::Store;
use crate::ids::UserId;
use crate::store_error::{Result, StoreError};
use crate::value::values;

/// The account, the one that funds it, and the others that this one funds.
macro_rules! funded_with {
    ($user:literal) => {
        concat!(
            "(SELECT id FROM accounts WHERE id = (SELECT COALESCE(funder, id) FROM accounts WHERE id = ",
            $user,
            ") OR funder = (SELECT COALESCE(funder, id) FROM accounts WHERE id = ",
            $user,
            "))"
        )
    };
}
pub(crate) use funded_with;

/// The columns of [`crate::FileRecord`].
macro_rules! files {
    () => {
        "SELECT id, user_id, name, bytes, lines, created_at, expires_at FROM files WHERE bytes IS NOT NULL AND user_id = $1"
    };
}

/// The money of an account, with that of the accounts that are funded with it.
const FUNDS_TOGETHER: &str = concat!(
    "SELECT CAST(COALESCE(SUM(posted), 0) AS BIGINT) AS count FROM accounts WHERE id IN ",
    funded_with!("$1")
);
/// Begins a file of an account that is not deleted, unless there is one with the same reference.
const BEGIN_FILE: &str = "INSERT INTO files \
     (id, user_id, name, created_at, stored_at, expires_at, quota, request_ref) \
     SELECT $1, id, $3, $4, $4, $5, $6, $7 FROM accounts WHERE id = $2 AND deleted_at IS NULL \
     ON CONFLICT (request_ref) DO NOTHING";
/// Counts bytes of a file that is being received.
const RECEIVE_BYTES: &str = "UPDATE files SET received = received + $2, stored_at = $3 \
     WHERE id = $1 AND bytes IS NULL RETURNING user_id, quota";
const ADD_CHUNK: &str = "INSERT INTO file_chunks (file, first, lines, content) VALUES ($1, $2, $3, $4)";
const RECEIVED_FILE: &str = "SELECT user_id, quota FROM files WHERE id = $1 AND bytes IS NULL";
/// The files of an account and of those that are funded with it, whether complete or not.
const FILES_TOTAL: &str = concat!(
    "SELECT COUNT(*) AS count, CAST(COALESCE(SUM(COALESCE(bytes, received)), 0) AS BIGINT) AS bytes \
     FROM files WHERE user_id IN ",
    funded_with!("$1")
);
/// The bytes of all files and results.
const STORED_TOTAL: &str = "SELECT CAST((SELECT COALESCE(SUM(COALESCE(bytes, received)), 0) FROM files) \
     + (SELECT COALESCE(SUM(COALESCE(output_bytes, 0) + COALESCE(error_bytes, 0)), 0) FROM batches) AS BIGINT) AS count";
const COMPLETE_FILE: &str = "UPDATE files SET bytes = $2, lines = $3, expires_at = $4, sha256 = $5, received = 0 WHERE id = $1 AND bytes IS NULL";
const FILE: &str = concat!(files!(), " AND id = $2");
/// The file of a reference, whether complete or not.
const FILE_OF_REQUEST: &str = "SELECT id, name, sha256 FROM files WHERE user_id = $1 AND request_ref = $2";
pub(crate) const FILES_OF: &str =
    concat!(files!(), " AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4");
/// The chunks with the lines above $2 up to $3.
pub(crate) const CHUNKS: &str = "SELECT first, lines, content FROM file_chunks WHERE file = $1 AND first <= $3 \
     AND first >= COALESCE((SELECT MAX(first) FROM file_chunks WHERE file = $1 AND first <= $2 + 1), 0) \
     ORDER BY first LIMIT $4";
/// Locks a file.
pub(crate) const LOCK_FILE: &str = "UPDATE files SET name = name WHERE id = $1 AND user_id = $2";
const OPEN_BATCH_OF_FILE: &str = "SELECT id FROM batches WHERE file = $1 AND ended_at IS NULL LIMIT 1";
const DELETE_CHUNKS: &str = "DELETE FROM file_chunks WHERE file = $1";
const DELETE_FILE: &str = "DELETE FROM files WHERE id = $1";
const OLD_FILES: &str = "SELECT id, user_id FROM files WHERE (expires_at <= $1 \
         OR (bytes IS NULL AND stored_at < $2)) \
     AND NOT EXISTS (SELECT 1 FROM batches WHERE file = files.id AND ended_at IS NULL) LIMIT $3";
/// Queues the polls of the ended batches of a file ($1).
const ERASE_POLLS_OF_FILE: &str = "INSERT INTO erased_batches (batch) \
     SELECT id FROM batches WHERE file = $1 AND ended_at IS NOT NULL ON CONFLICT (batch) DO NOTHING";

/// Stores files, line by line. A line includes its end.
impl Store {
    /// Begins a file, unless there is one with the same reference. It is invisible until it is complete.
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    pub async fn begin_file(&self, file: &NewFile) -> Result<BegunFile> {
        let NewFile { id, user, name, created_at, expires_at, quota, request_ref } = file.clone();
        transact!(self.0, ProcessCrash, |db| {
            let request_ref = request_ref.as_deref();
            let values = values![id, user, &*name, created_at, expires_at, quota as i64, request_ref];
            if db.execute(BEGIN_FILE, values).await? == 1 {
                return Ok(BegunFile::New);
            }
            // It has a digest once it is complete.
            let earlier: Option<(FileId, String, Option<String>)> =
                db.fetch_optional(FILE_OF_REQUEST, values![user, request_ref]).await?;
            let (id, name, sha256) = earlier.ok_or(StoreError::NotFound("account"))?;
            let record: Option<FileRecord> = db.fetch_optional(FILE, values![user, id]).await?;
            Ok(BegunFile::Earlier(EarlierFile { name, complete: record.zip(sha256) }))
        })
    }

    /// Adds lines at the time `at` to a file that is not complete. `first` is the number of the first one, from 1. Only the last line of a
    /// file may lack its end. [`StoreError::FilesQuota`] if the quota of the file does not allow them;
    /// [`StoreError::NotFound`] if the file was not begun, is complete or is deleted.
    pub async fn add_lines(&self, file: FileId, first: u32, lines: &[String], at: Timestamp) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let chunks = chunks::of_lines(first, lines);
        transact!(self.0, ProcessCrash, |db| {
            let bytes: usize = chunks.iter().map(|chunk| chunk.content.len()).sum();
            let received = db.fetch_optional(RECEIVE_BYTES, values![file, bytes as i64, at]).await?;
            let (user, quota): (UserId, u64) = received.ok_or(StoreError::NotFound("file"))?;
            fits(db, user, quota).await?;
            for Chunk { first, lines, content } in &chunks {
                db.execute(ADD_CHUNK, values![file, *first, *lines, &**content]).await?;
            }
            Ok(())
        })
    }

    /// Completes a file. [`StoreError::FilesQuota`] if its quota does not allow it, [`StoreError::Conflict`] if its account
    /// has more than `most` files, [`StoreError::NotFound`] if the file was not begun, or is complete. Acknowledged once
    /// a power loss cannot undo it.
    pub async fn complete_file(
        &self,
        file: FileId,
        content: FileContent,
        expires_at: Timestamp,
        most: u32,
    ) -> Result<()> {
        let FileContent { bytes, lines, sha256 } = content;
        transact!(self.0, PowerLoss, |db| {
            let received = db.fetch_optional(RECEIVED_FILE, values![file]).await?;
            let (user, quota): (UserId, u64) = received.ok_or(StoreError::NotFound("file"))?;
            // Two files of an account are not completed at once.
            account::lock_live(db, user).await?;
            if fits(db, user, quota).await? > most {
                return Err(StoreError::Conflict("the account has too many files; delete some first"));
            }
            let values = values![file, bytes as i64, lines, expires_at, sha256.as_deref()];
            match db.execute(COMPLETE_FILE, values).await? {
                1 => Ok(()),
                _ => Err(StoreError::NotFound("file")),
            }
        })
    }

    /// Returns a complete file of an account.
    pub async fn file(&self, user: UserId, id: FileId) -> Result<Option<FileRecord>> {
        self.0.fetch_optional(FILE, values![user, id]).await
    }

    /// Returns up to `limit` complete files of an account, newest first, after this position.
    pub async fn files_of(
        &self,
        user: UserId,
        after: Option<ListPosition<FileId>>,
        limit: u32,
    ) -> Result<Vec<FileRecord>> {
        newest_first(&self.0, FILES_OF, user, after, limit).await
    }

    /// Returns up to `limit` lines of a file with numbers above `after`, in order: fewer if they are long, none after the
    /// last one.
    pub async fn lines(&self, file: FileId, after: u32, limit: u32) -> Result<Vec<(u32, String)>> {
        let to = i64::from(after) + i64::from(limit);
        let read: Vec<Chunk> =
            self.0.fetch_all(CHUNKS, values![file, after, to, chunks::READ_TOGETHER]).await?;
        chunks::lines(&read, after, limit)
    }

    /// Returns the money of an account, with that of the accounts that are funded with it.
    pub async fn funds(&self, user: UserId) -> Result<MicroUsd> {
        let funds = self.0.fetch_optional(FUNDS_TOGETHER, values![user]).await?;
        Ok(funds.unwrap_or_default())
    }

    /// Returns the bytes of the files and results of all accounts. Results of batches that have not ended are not counted.
    pub async fn stored_bytes(&self) -> Result<u64> {
        let total = self.0.fetch_optional(STORED_TOTAL, &[]).await?;
        Ok(total.unwrap_or_default())
    }

    /// Deletes a file of an account, whether complete or not.
    pub async fn delete_file(&self, user: UserId, id: FileId) -> Result<FileDeletion> {
        transact!(self.0, PowerLoss, |db| delete(db, user, id).await)
    }

    /// Deletes up to `limit` files: expired ones that no open batch reads, and incomplete ones that got no line since
    /// `unfinished`. Queues the private polls of their batches to be deleted. Returns the number of files.
    pub async fn delete_old_files(&self, now: Timestamp, unfinished: Timestamp, limit: u32) -> Result<u64> {
        let old: Vec<(FileId, UserId)> = self.0.fetch_all(OLD_FILES, values![now, unfinished, limit]).await?;
        let mut deleted = 0;
        for (file, user) in old {
            deleted += transact!(self.0, PowerLoss, |db| {
                let is_deleted = delete(db, user, file).await? == FileDeletion::Deleted;
                if is_deleted {
                    db.execute(ERASE_POLLS_OF_FILE, values![file]).await?;
                }
                Ok(u64::from(is_deleted))
            })?;
        }
        Ok(deleted)
    }
}

/// Fails if the files of the account exceed their quota. Returns their number.
async fn fits(db: &mut Connection<'_>, user: UserId, quota: u64) -> Result<u32> {
    let (count, bytes): (u32, u64) = db.fetch_one(FILES_TOTAL, values![user]).await?;
    if bytes > quota { Err(StoreError::FilesQuota(quota)) } else { Ok(count) }
}

async fn delete(db: &mut Connection<'_>, user: UserId, file: FileId) -> Result<FileDeletion> {
    if db.execute(LOCK_FILE, values![file, user]).await? == 0 {
        return Ok(FileDeletion::Unknown);
    }
    if let Some(reader) = db.fetch_optional(OPEN_BATCH_OF_FILE, values![file]).await? {
        return Ok(FileDeletion::InUse(reader));
    }
    erase(db, &file.to_string()).await?;
    Ok(FileDeletion::Deleted)
}

/// Deletes a file with its lines.
pub(crate) async fn erase(db: &mut Connection<'_>, file: &str) -> Result<()> {
    db.execute(DELETE_CHUNKS, values![file]).await?;
    db.execute(DELETE_FILE, values![file]).await.map(drop)
}
