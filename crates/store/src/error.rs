//! Database errors, mapped once for both engines.

use std::io;
use std::path::{Path, PathBuf};

use ep_kernel::ports::StoreError;
use sqlx::error::ErrorKind;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnectOptions;

use crate::database_url::without_password;

/// Why a database could not be opened. Messages say what to do about it and hold no password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL is not valid.
    #[error("the database URL cannot be used: {0}")]
    Url(&'static str),
    /// The folder of the database file cannot be created.
    #[error(
        "the folder {} of the database cannot be created: create it, make it writable, or choose another folder",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The database file cannot be opened.
    #[error("{} cannot be opened as an SQLite database: make sure that it is one and that it is writable, or choose another file", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server cannot be used.
    #[error("{server} cannot be used: {advice}")]
    Server {
        /// The server, without its password.
        server: String,
        /// What to change.
        advice: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The tables cannot be brought up to date.
    #[error("the database cannot be migrated: {advice}")]
    Migration {
        /// What to change.
        advice: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ConnectError {
    pub(crate) fn file(file: &Path, source: sqlx::Error) -> Self {
        Self::File { file: file.to_owned(), source: source.into() }
    }

    pub(crate) fn server(server: &PgConnectOptions, source: sqlx::Error) -> Self {
        let code = source.as_database_error().and_then(sqlx::error::DatabaseError::code);
        let advice = match (code.as_deref(), &source) {
            (Some("28P01" | "28000"), _) => "it refuses the login: correct the user or the password in the \
                                             database URL, or allow the login in pg_hba.conf"
                .to_owned(),
            (Some("3D000"), _) => format!(
                "there is no such database: create it (createdb {}) or correct the name",
                server.get_database().unwrap_or(server.get_username())
            ),
            (Some("42501"), _) => "the user may not create tables: grant it CREATE on the schema".to_owned(),
            (Some("53300"), _) => "it has no free connection: raise max_connections there".to_owned(),
            (_, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut) => {
                "it does not answer: start the server, or correct the host and the port in the database URL"
                    .to_owned()
            }
            (_, sqlx::Error::Tls(_)) => {
                "no encrypted connection could be made: correct sslmode and sslrootcert in \
                                         the database URL"
                    .to_owned()
            }
            _ => format!("{source}"),
        };
        Self::Server { server: without_password(server), advice, source: source.into() }
    }

    pub(crate) fn migration(source: MigrateError) -> Self {
        let advice = match &source {
            MigrateError::VersionMissing(version) => format!(
                "it was migrated by a newer release (to {version}): run that release, or restore a backup from before it"
            ),
            MigrateError::VersionMismatch(version) => format!(
                "migration {version} differs from the one this database was made with: run the release that made it"
            ),
            MigrateError::Dirty(version) => {
                format!("migration {version} did not finish: restore a backup from before it")
            }
            other => format!("{other}"),
        };
        Self::Migration { advice, source: source.into() }
    }
}

/// Why a database could not be backed up. Messages say what to do about it and hold no password.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target exists.
    #[error("{} exists already: choose another name", .0.display())]
    Exists(PathBuf),
    /// There is no database file.
    #[error("there is no database at {}: check EP_DATA_DIR or EP_DATABASE_URL", .0.display())]
    Missing(PathBuf),
    /// The database is in memory, or on a server.
    #[error("{0}")]
    NotAFile(String),
    /// The database cannot be read.
    #[error("{} cannot be copied; run `ep admin audit` to check it", file.display())]
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
    /// The target cannot be written.
    #[error("{} cannot be written: choose a folder that is writable and has room", file.display())]
    Target {
        /// The target.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A failure that is not the caller's.
pub(crate) fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Failed(cause.into())
}

/// What a failed statement means. The one place that distinguishes database errors.
pub(crate) fn database_error(error: sqlx::Error) -> StoreError {
    let Some(database) = error.as_database_error() else { return failed(error) };
    // PostgreSQL names the table; SQLite's message does: "UNIQUE constraint failed: users.email".
    let source = database.table().unwrap_or_else(|| database.message());
    let is_from = |table: &str| source == table || source.contains(&format!(": {table}."));
    match database.kind() {
        ErrorKind::UniqueViolation if is_from("users") => {
            StoreError::Conflict("an account with this id exists")
        }
        ErrorKind::UniqueViolation if is_from("ballots") => {
            StoreError::Conflict("this member has a ballot already")
        }
        ErrorKind::UniqueViolation if is_from("polls") => StoreError::Conflict("a poll with this id exists"),
        ErrorKind::UniqueViolation if is_from("api_keys") => StoreError::Conflict("this key exists already"),
        ErrorKind::UniqueViolation => StoreError::Conflict("it exists already"),
        // A ballot's poll id is selected from running polls only.
        ErrorKind::NotNullViolation if is_from("ballots") => StoreError::NotFound("running poll"),
        ErrorKind::ForeignKeyViolation => StoreError::NotFound("account"),
        // A violated CHECK is a bug: every change of money is guarded before it gets there.
        _ => failed(error),
    }
}

/// The database holds something that the store does not write.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnexpectedData {
    /// A stored value cannot be read.
    #[error("the database holds {0} that cannot be read")]
    Value(&'static str),
    /// A statement that must return a row returned none.
    #[error("a row that must exist is missing from the database")]
    MissingRow,
    /// A change of exactly one row changed another number of rows.
    #[error("the ledger is inconsistent: a change of one row changed none or several")]
    RowCount,
    /// A claim was found when it was inserted, but not when it was read.
    #[error("an idempotency claim was deleted each time before it could be read")]
    ClaimDeleted,
}

/// The time limit ended an operation.
#[derive(Debug, thiserror::Error)]
#[error("the database took too long")]
pub(crate) struct TooSlow;

/// The database file, or its log, is not at its path any more.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "the database file or its log was deleted, moved or replaced while the service has it open: nothing is stored, \
     because a restart would lose it; put the file back, or restart the service"
)]
pub(crate) struct FileLost;

impl From<FileLost> for StoreError {
    fn from(lost: FileLost) -> Self {
        Self::Refused(Box::new(lost))
    }
}

/// The disk has no room.
#[derive(Debug, thiserror::Error)]
#[error("the disk of the database file is full: make room")]
pub(crate) struct DiskFull;

/// The store was closed.
#[derive(Debug, thiserror::Error)]
#[error("the database is closed")]
pub(crate) struct Closed;
