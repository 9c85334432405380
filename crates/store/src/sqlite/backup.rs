//! Copies a database file while a service uses it.

use std::fs::File;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use tempfile::NamedTempFile;

use super::BUSY_TIMEOUT;
use crate::error::BackupError;

/// Copies the database in one snapshot to a new file, readable only by its owner. The copy is checked and
/// synced to disk before it gets its name. It is not migrated, so a newer program can copy an older database.
pub(crate) async fn back_up(database: &Path, to: &Path) -> Result<(), BackupError> {
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    if !database.is_file() {
        return Err(BackupError::Missing(database.to_owned()));
    }
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let failed = |source: std::io::Error| BackupError::Target { file: to.to_owned(), source };
    // It has mode 0600, and is deleted after any failure.
    let copy = NamedTempFile::new_in(&folder).map_err(failed)?;
    let copied = async {
        let mut db = reader(database).await?;
        let path = copy.path().display().to_string().replace('\'', "''");
        sqlx::query(AssertSqlSafe(format!("VACUUM INTO '{path}'"))).execute(&mut db).await?;
        db.close().await?;
        let mut db = reader(copy.path()).await?;
        let found = super::integrity::check(&mut db, ep_kernel::ports::IntegrityCheck::Quick).await;
        db.close().await?;
        Ok(found)
    };
    let found = copied.await.map_err(|source: sqlx::Error| BackupError::Database {
        file: database.to_owned(),
        source: source.into(),
    })?;
    if let Some(damage) = found.into_iter().next() {
        return Err(BackupError::Damaged(damage));
    }
    copy.as_file().sync_all().map_err(failed)?;
    copy.persist_noclobber(to).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
        _ => failed(error.error),
    })?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

async fn reader(file: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(BUSY_TIMEOUT).connect().await
}
