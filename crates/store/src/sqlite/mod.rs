//! SQLite: one file, one process, one writer, several readers.

mod accounts;
mod idempotency;
mod memory;
mod polls;
mod readers;
mod writer;

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tempfile::TempDir;

use crate::fault::ConnectError;
use crate::{Options, migrations};
use readers::Readers;
use writer::Writer;

/// How long to wait for another process that writes to the same file, such as an operator's command.
const OTHERS: Duration = Duration::from_secs(5);
/// The write-ahead log is cut back to this after a checkpoint.
const LOG_BYTES: &str = "67108864";

/// An open file.
pub(crate) struct Sqlite {
    writer: Writer,
    readers: Readers,
    /// The file's folder, where nothing is to be kept.
    scratch: Mutex<Option<TempDir>>,
}

impl Sqlite {
    /// Opens the file, or one that lasts as long as this where there is none.
    pub(crate) async fn open(file: Option<&Path>, options: &Options) -> Result<Self, ConnectError> {
        let Some(file) = file else {
            let folder = std::env::temp_dir();
            let scratch = tempfile::tempdir().map_err(|source| ConnectError::Folder { folder, source })?;
            return Self::open_file(&scratch.path().join("scratch.db"), Some(scratch), options).await;
        };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| ConnectError::Folder { folder: folder.to_owned(), source })?;
        }
        Self::open_file(file, None, options).await
    }

    async fn open_file(
        file: &Path,
        scratch: Option<TempDir>,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let connection = SqliteConnectOptions::new()
            .filename(file)
            .busy_timeout(OTHERS.min(options.timeout))
            .foreign_keys(true)
            .row_buffer_size(256);
        let mut db = connection
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("journal_size_limit", LOG_BYTES)
            .connect()
            .await
            .map_err(|error| ConnectError::file(file, error))?;
        migrate(&mut db).await?;
        Ok(Self {
            writer: Writer::start(db, options.timeout, scratch.is_none()),
            readers: Readers::new(connection.read_only(true), options.connections, options.timeout),
            scratch: Mutex::new(scratch),
        })
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        let scratch = self.scratch.lock().ok().and_then(|mut scratch| scratch.take());
        drop(scratch);
    }
}

/// Takes the write lock for all of it, so that two processes that start together do not both migrate.
async fn migrate(db: &mut SqliteConnection) -> Result<(), ConnectError> {
    let migrated = async {
        let mut transaction = db.begin_with("BEGIN IMMEDIATE").await?;
        migrations::sqlite().run(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    };
    migrated.await.map_err(ConnectError::migration)
}
