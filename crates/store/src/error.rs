//! Database errors, mapped once for both engines.

use std::io;
use std::path::PathBuf;

use sqlx::error::ErrorKind;

use crate::store_error::StoreError;

/// The error of backing up a database. Messages include a remedy and no password.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target exists.
    #[error("{} already exists: choose another name", .0.display())]
    Exists(PathBuf),
    /// There is no database file.
    #[error("no database at {}: check EP_DATA_DIR or EP_DATABASE_URL", .0.display())]
    Missing(PathBuf),
    /// The database is in memory, or on a server.
    #[error("{0}")]
    NotAFile(String),
    /// Failed to read the database.
    #[error("failed to copy {}; run `ep admin audit` to check it", file.display())]
    Database {
        /// The database file.
        file: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is damaged.
    #[error(
        "the database is damaged, so no backup was written: {0}; run `ep admin audit`, and restore an earlier backup"
    )]
    Damaged(String),
    /// Failed to write the target.
    #[error("failed to write {}: choose a writable folder with enough space", file.display())]
    Target {
        /// The target.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Returns an internal error with this cause.
pub(crate) fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Failed(cause.into())
}

/// Maps the error of a failed statement on PostgreSQL.
pub(crate) fn database_error(error: sqlx::Error) -> StoreError {
    let Some(database) = error.as_database_error() else { return failed(error) };
    let kind = match database.kind() {
        ErrorKind::UniqueViolation => ConstraintKind::Unique,
        ErrorKind::ForeignKeyViolation => ConstraintKind::ForeignKey,
        _ => return failed(error),
    };
    let source = database.table().unwrap_or_default();
    constraint_error(kind, |table| source == table)
}

/// A violated constraint. A violated CHECK is a bug, because every change of money is guarded before the
/// statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConstraintKind {
    Unique,
    ForeignKey,
}

/// Maps a violated constraint of the table that `is_from` accepts. No other place distinguishes violated
/// constraints.
pub(crate) fn constraint_error(kind: ConstraintKind, is_from: impl Fn(&str) -> bool) -> StoreError {
    match kind {
        ConstraintKind::Unique if is_from("users") => {
            StoreError::Conflict("an account with this id already exists")
        }
        ConstraintKind::Unique if is_from("votes") => {
            StoreError::Conflict("this member already has a ballot")
        }
        ConstraintKind::Unique if is_from("polls") => {
            StoreError::Conflict("a poll with this id already exists")
        }
        ConstraintKind::Unique if is_from("api_keys") => StoreError::Conflict("this key already exists"),
        ConstraintKind::Unique => StoreError::Conflict("it already exists"),
        ConstraintKind::ForeignKey => StoreError::NotFound("account"),
    }
}

/// Content of the database that the store never writes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnexpectedData {
    /// An unreadable stored value.
    #[error("the database contains unreadable data: {0}")]
    Value(&'static str),
    /// An unreadable value in a column.
    #[error("the database contains unreadable data in the column {name}")]
    Column {
        /// The name of the column.
        name: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A row with more columns than its type reads.
    #[error("a row of the database has other columns than expected")]
    Columns,
    /// A missing row that a statement must return.
    #[error("a required row is missing from the database")]
    MissingRow,
    /// A single-row change that changed no row, or several.
    #[error("the ledger is inconsistent: a single-row change changed no row, or several")]
    RowCount,
    /// A claim that was found by its insert, but not by the read.
    #[error("an idempotency claim was repeatedly deleted before it could be read")]
    ClaimDeleted,
}

/// An operation exceeded its time limit.
#[derive(Debug, thiserror::Error)]
#[error("the database operation timed out")]
pub(crate) struct TimedOut;

/// The database file or its log is no longer at its path.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "the database file or its log was deleted, moved or replaced while in use: writes are rejected, \
     because a restart would lose them; restore the file, or restart the service"
)]
pub(crate) struct FileLost;

impl From<FileLost> for StoreError {
    fn from(lost: FileLost) -> Self {
        Self::Rejected(Box::new(lost))
    }
}

/// The disk is full.
#[derive(Debug, thiserror::Error)]
#[error("the disk of the database file is full: free some space")]
pub(crate) struct DiskFull;

/// The store was closed.
#[derive(Debug, thiserror::Error)]
#[error("the database is closed")]
pub(crate) struct Closed;
