//! Files of lines.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::chunks::{self, Chunk};
use super::{Database, accounts, newest_first};
use crate::batch_id::FileId;
use crate::connection::{Connection, Durability};
use crate::ids::UserId;
use crate::records::{
    BegunFile, EarlierFile, FileContent, FileDeletion, FileRecord, FileStore, ListPosition, NewFile,
    StoreError,
};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl FileStore for Database {
    async fn begin_file(&self, file: &NewFile) -> Result<BegunFile, StoreError> {
        let file = file.clone();
        self.engine.transact(Durability::ProcessCrash, move |db| begin(db, file).boxed()).await
    }

    async fn add_lines(
        &self,
        file: FileId,
        first: u32,
        lines: &[String],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let chunks = chunks::of_lines(first, lines);
        self.engine.transact(Durability::ProcessCrash, move |db| add(db, file, chunks, at).boxed()).await
    }

    async fn complete_file(
        &self,
        file: FileId,
        content: FileContent,
        expires_at: Timestamp,
        most: u32,
    ) -> Result<(), StoreError> {
        self.engine
            .transact(Durability::PowerLoss, move |db| complete(db, file, content, expires_at, most).boxed())
            .await
    }

    async fn file(&self, user: UserId, id: FileId) -> Result<Option<FileRecord>, StoreError> {
        self.engine.fetch_optional(sql::FILE, values![user, id]).await
    }

    async fn files_of(
        &self,
        user: UserId,
        after: Option<ListPosition<FileId>>,
        limit: u32,
    ) -> Result<Vec<FileRecord>, StoreError> {
        newest_first(&self.engine, sql::FILES_OF, user, after, limit).await
    }

    async fn lines(&self, file: FileId, after: u32, limit: u32) -> Result<Vec<(u32, String)>, StoreError> {
        let to = i64::from(after) + i64::from(limit);
        let read: Vec<Chunk> =
            self.engine.fetch_all(sql::CHUNKS, values![file, after, to, chunks::READ_TOGETHER]).await?;
        chunks::lines(&read, after, limit)
    }

    async fn funds(&self, user: UserId) -> Result<MicroUsd, StoreError> {
        let funds = self.engine.fetch_optional(sql::FUNDS_TOGETHER, values![user]).await?;
        Ok(funds.unwrap_or_default())
    }

    async fn stored_bytes(&self) -> Result<u64, StoreError> {
        let total = self.engine.fetch_optional(sql::STORED_TOTAL, &[]).await?;
        Ok(total.unwrap_or_default())
    }

    async fn delete_file(&self, user: UserId, id: FileId) -> Result<FileDeletion, StoreError> {
        self.engine.transact(Durability::PowerLoss, move |db| delete(db, user, id).boxed()).await
    }

    async fn delete_old_files(
        &self,
        now: Timestamp,
        unfinished: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let old: Vec<(FileId, UserId)> =
            self.engine.fetch_all(sql::OLD_FILES, values![now, unfinished, limit]).await?;
        let mut deleted = 0;
        for (file, user) in old {
            let expiring =
                self.engine.transact(Durability::PowerLoss, move |db| expire(db, user, file).boxed());
            let outcome = expiring.await?;
            deleted += u64::from(outcome == FileDeletion::Deleted);
        }
        Ok(deleted)
    }
}

async fn begin(db: &mut Connection<'_>, file: NewFile) -> Result<BegunFile, StoreError> {
    let NewFile { id, user, name, created_at, expires_at, quota, request_ref } = file;
    let request_ref = request_ref.as_deref();
    let values = values![id, user, &*name, created_at, expires_at, quota as i64, request_ref];
    if db.execute(sql::BEGIN_FILE, values).await? == 1 {
        return Ok(BegunFile::New);
    }
    // It has a digest once it is complete.
    let earlier: Option<(FileId, String, Option<String>)> =
        db.fetch_optional(sql::FILE_OF_REQUEST, values![user, request_ref]).await?;
    let (id, name, sha256) = earlier.ok_or(StoreError::NotFound("account"))?;
    let record: Option<FileRecord> = db.fetch_optional(sql::FILE, values![user, id]).await?;
    Ok(BegunFile::Earlier(EarlierFile { name, complete: record.zip(sha256) }))
}

/// Adds chunks, unless the files of the account would then exceed their quota.
async fn add(
    db: &mut Connection<'_>,
    file: FileId,
    chunks: Vec<Chunk>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let bytes: usize = chunks.iter().map(|chunk| chunk.content.len()).sum();
    let received = db.fetch_optional(sql::RECEIVE_BYTES, values![file, bytes as i64, at]).await?;
    let (user, quota): (UserId, u64) = received.ok_or(StoreError::NotFound("file"))?;
    fits(db, user, quota).await?;
    for Chunk { first, lines, content } in &chunks {
        db.execute(sql::ADD_CHUNK, values![file, *first, *lines, &**content]).await?;
    }
    Ok(())
}

/// Fails if the files of the account exceed their quota. Returns their number.
async fn fits(db: &mut Connection<'_>, user: UserId, quota: u64) -> Result<u32, StoreError> {
    let (count, bytes): (u32, u64) = db.fetch_one(sql::FILES_TOTAL, values![user]).await?;
    if bytes > quota { Err(StoreError::FilesQuota(quota)) } else { Ok(count) }
}

async fn complete(
    db: &mut Connection<'_>,
    file: FileId,
    content: FileContent,
    expires_at: Timestamp,
    most: u32,
) -> Result<(), StoreError> {
    let received = db.fetch_optional(sql::RECEIVED_FILE, values![file]).await?;
    let (user, quota): (UserId, u64) = received.ok_or(StoreError::NotFound("file"))?;
    // Two files of an account are not completed at once.
    accounts::lock_live(db, user).await?;
    if fits(db, user, quota).await? > most {
        return Err(StoreError::Conflict("the account has too many files; delete some first"));
    }
    let FileContent { bytes, lines, sha256 } = content;
    let values = values![file, bytes as i64, lines, expires_at, sha256.as_deref()];
    match db.execute(sql::COMPLETE_FILE, values).await? {
        1 => Ok(()),
        _ => Err(StoreError::NotFound("file")),
    }
}

async fn delete(db: &mut Connection<'_>, user: UserId, file: FileId) -> Result<FileDeletion, StoreError> {
    if db.execute(sql::LOCK_FILE, values![file, user]).await? == 0 {
        return Ok(FileDeletion::Unknown);
    }
    if let Some(reader) = db.fetch_optional(sql::OPEN_BATCH_OF_FILE, values![file]).await? {
        return Ok(FileDeletion::InUse(reader));
    }
    erase(db, &file.to_string()).await?;
    Ok(FileDeletion::Deleted)
}

/// Deletes a file whose time is over, and queues the private polls of its batches to be deleted.
async fn expire(db: &mut Connection<'_>, user: UserId, file: FileId) -> Result<FileDeletion, StoreError> {
    let outcome = delete(db, user, file).await?;
    if outcome == FileDeletion::Deleted {
        db.execute(sql::ERASE_POLLS_OF_FILE, values![file]).await?;
    }
    Ok(outcome)
}

/// Deletes a file with its lines.
pub(super) async fn erase(db: &mut Connection<'_>, file: &str) -> Result<(), StoreError> {
    db.execute(sql::DELETE_CHUNKS, values![file]).await?;
    db.execute(sql::DELETE_FILE, values![file]).await.map(drop)
}
