//! Files of lines.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::batch_id::FileId;
use ep_kernel::caller::UserId;
use ep_kernel::ports::{
    FileDeletion, FileLimits, FileRecord, FileSize, FileStore, ListPosition, NewFile, StoreError,
};
use ep_polling::time::Timestamp;

use super::{Database, accounts, newest_first};
use crate::engine::{Connection, Durability, Engine};
use crate::rows::{self, FileRow, FilesTotalRow, IdRow, LineRow, OwnedRow};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl<E: Engine> FileStore for Database<E> {
    async fn begin_file(&self, file: &NewFile) -> Result<(), StoreError> {
        let NewFile { id, user, name, created_at, expires_at } = file;
        let values = values![*id, *user, &**name, *created_at, *expires_at];
        match self.0.execute(Durability::ProcessCrash, sql::BEGIN_FILE, values).await? {
            1 => Ok(()),
            _ => Err(StoreError::NotFound("account")),
        }
    }

    async fn add_lines(&self, file: FileId, first: u32, lines: &[String]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let values = values![file, first, rows::json(&lines)?];
        self.0.execute(Durability::ProcessCrash, E::Connection::ADD_LINES, values).await.map(drop)
    }

    async fn complete_file(
        &self,
        file: FileId,
        size: FileSize,
        expires_at: Timestamp,
        limits: FileLimits,
    ) -> Result<bool, StoreError> {
        self.0
            .transact(Durability::PowerLoss, move |db| complete(db, file, size, expires_at, limits).boxed())
            .await
    }

    async fn file(&self, user: UserId, id: FileId) -> Result<Option<FileRecord>, StoreError> {
        let row: Option<FileRow> = self.0.fetch_optional(sql::FILE, values![user, id]).await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn files_of(
        &self,
        user: UserId,
        after: Option<ListPosition<FileId>>,
        limit: u32,
    ) -> Result<Vec<FileRecord>, StoreError> {
        newest_first::<_, _, FileRow, _>(&self.0, sql::FILES_OF, user, after, limit).await
    }

    async fn lines(&self, file: FileId, after: u32, limit: u32) -> Result<Vec<(u32, String)>, StoreError> {
        let rows: Vec<LineRow> = self.0.fetch_all(sql::LINES, values![file, after, limit]).await?;
        Ok(rows.into_iter().map(|row| (row.number as u32, row.content)).collect())
    }

    async fn delete_file(&self, user: UserId, id: FileId) -> Result<FileDeletion, StoreError> {
        self.0.transact(Durability::PowerLoss, move |db| delete(db, user, id).boxed()).await
    }

    async fn delete_old_files(
        &self,
        now: Timestamp,
        unfinished: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let old: Vec<OwnedRow> = self.0.fetch_all(sql::OLD_FILES, values![now, unfinished, limit]).await?;
        let mut deleted = 0;
        for OwnedRow { id, user_id } in old {
            let (file, user) = (rows::file_id(&id)?, rows::user_id(&user_id)?);
            let expiring = self.0.transact(Durability::PowerLoss, move |db| expire(db, user, file).boxed());
            let outcome = expiring.await?;
            deleted += u64::from(outcome == FileDeletion::Deleted);
        }
        Ok(deleted)
    }
}

async fn complete<C: Connection>(
    db: &mut C,
    file: FileId,
    FileSize { bytes, lines }: FileSize,
    expires_at: Timestamp,
    limits: FileLimits,
) -> Result<bool, StoreError> {
    let owner: Option<IdRow> = db.fetch_optional(sql::OWNER_OF_FILE, values![file]).await?;
    let owner = rows::user_id(&owner.ok_or(StoreError::NotFound("file"))?.id)?;
    // Two files of an account are not completed at once.
    accounts::lock_live(db, owner).await?;
    let stored: FilesTotalRow = db.fetch_one(sql::FILES_TOTAL, values![owner]).await?;
    if stored.bytes.unsigned_abs() + bytes > limits.bytes || stored.count >= i64::from(limits.files) {
        return Ok(false);
    }
    match db.execute(sql::COMPLETE_FILE, values![file, bytes as i64, lines, expires_at]).await? {
        1 => Ok(true),
        _ => Err(StoreError::NotFound("file")),
    }
}

async fn delete<C: Connection>(db: &mut C, user: UserId, file: FileId) -> Result<FileDeletion, StoreError> {
    if db.execute(sql::LOCK_FILE, values![file, user]).await? == 0 {
        return Ok(FileDeletion::Unknown);
    }
    let reader: Option<IdRow> = db.fetch_optional(sql::OPEN_BATCH_OF_FILE, values![file]).await?;
    if let Some(reader) = reader {
        return Ok(FileDeletion::InUse(rows::batch_id(&reader.id)?));
    }
    erase(db, &file.to_string()).await?;
    Ok(FileDeletion::Deleted)
}

/// Deletes a file whose time is over, and queues the private polls of its batches to be deleted.
async fn expire<C: Connection>(db: &mut C, user: UserId, file: FileId) -> Result<FileDeletion, StoreError> {
    let outcome = delete(db, user, file).await?;
    if outcome == FileDeletion::Deleted {
        db.execute(sql::ERASE_POLLS_OF_FILE, values![file]).await?;
    }
    Ok(outcome)
}

/// Deletes a file with its lines.
pub(super) async fn erase<C: Connection>(db: &mut C, file: &str) -> Result<(), StoreError> {
    db.execute(sql::DELETE_LINES, values![file]).await?;
    db.execute(sql::DELETE_FILE, values![file]).await.map(drop)
}
