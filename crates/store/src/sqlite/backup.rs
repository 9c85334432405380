//! Copies a database file while a service uses it.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::maintenance::IntegrityCheck;
use tempfile::NamedTempFile;

use super::BUSY_TIMEOUT;
use super::connection::{Access, SqliteConnection};
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
    let (from, into) = (database.to_owned(), copy.path().to_owned());
    let copied = super::blocking(move || {
        let db = SqliteConnection::open(&from, Access::Read, BUSY_TIMEOUT)?;
        db.batch(&format!("VACUUM INTO '{}'", into.display().to_string().replace('\'', "''")))?;
        db.close()?;
        let db = SqliteConnection::open(&into, Access::Read, BUSY_TIMEOUT)?;
        let found = super::integrity::check(&db, IntegrityCheck::Quick);
        db.close()?;
        Ok(found)
    });
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| BackupError::Database {
        file: database.to_owned(),
        source,
    };
    let found = copied.await.map_err(|error| unreadable(error.into()))?;
    let found = found.map_err(|error: rusqlite::Error| unreadable(error.into()))?;
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
