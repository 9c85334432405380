//! SQLite: one file, one process, one writer, several readers.

mod backup;
mod ballots;
mod file;
mod integrity;
mod readers;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ep_kernel::ports::{Epoch, IntegrityCheck, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use futures::{FutureExt, TryFutureExt};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow};
use sqlx::{ConnectOptions, Connection as _, Sqlite as Driver, SqliteConnection};
use tempfile::TempDir;

use crate::connect_error::ConnectError;
use crate::engine::{Connection, Durability, Engine, Record, SNAPSHOT_TIMEOUT, TransactionBody, query};
use crate::error::database_error;
use crate::statements::PING;
use crate::value::{Value, values};
use crate::{StoreOptions, migrations};
pub(crate) use backup::back_up;
use file::OpenFile;
use readers::Readers;
use writer::Writer;

/// The time to wait for another process that writes to the same file, such as an operator's command.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of the write-ahead log after a checkpoint, in bytes.
const MAX_LOG_BYTES: &str = "67108864";

const TOUCH_KEY: &str = "UPDATE api_keys SET last_used_at = $2 \
     WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";

/// An open SQLite database.
pub(crate) struct Sqlite {
    file: Arc<OpenFile>,
    writer: Writer,
    readers: Readers,
    /// The folder of a temporary file.
    temporary: Mutex<Option<TempDir>>,
}

impl Sqlite {
    /// Opens the file, or a temporary one if none is given.
    pub(crate) async fn open(file: Option<&Path>, options: &StoreOptions) -> Result<Self, ConnectError> {
        let Some(file) = file else {
            let folder = std::env::temp_dir();
            let temporary = tempfile::tempdir().map_err(|source| ConnectError::Folder { folder, source })?;
            return Self::open_file(&temporary.path().join("ep.db"), Some(temporary), options).await;
        };
        if let Some(folder) = file.parent() {
            file::create_folder(folder)
                .map_err(|source| ConnectError::Folder { folder: folder.to_owned(), source })?;
        }
        Self::open_file(file, None, options).await
    }

    async fn open_file(
        file: &Path,
        temporary: Option<TempDir>,
        options: &StoreOptions,
    ) -> Result<Self, ConnectError> {
        let connection = SqliteConnectOptions::new()
            .filename(file)
            .busy_timeout(BUSY_TIMEOUT.min(options.timeout))
            .foreign_keys(true)
            .row_buffer_size(256);
        file::restrict_access(file).map_err(|error| ConnectError::file(file, error.into()))?;
        let mut db = connection
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("journal_size_limit", MAX_LOG_BYTES)
            // Deleted data is overwritten with zeros.
            .pragma("secure_delete", "ON")
            .connect()
            .await
            .map_err(|error| ConnectError::file(file, error))?;
        migrate(&mut db).await?;
        let opened = OpenFile::new(file).map_err(|error| ConnectError::file(file, error.into()))?;
        let file = Arc::new(opened);
        let reading = connection.read_only(true);
        Ok(Self {
            writer: Writer::start(db, Arc::clone(&file), options.timeout, temporary.is_none()),
            readers: Readers::new(reading, Arc::clone(&file), options.connections, options.timeout),
            file,
            temporary: Mutex::new(temporary),
        })
    }
}

/// Returns `true` if the database file has content. A temporary database never has.
pub(crate) fn is_in_use(file: Option<&Path>) -> Result<bool, ConnectError> {
    let Some(file) = file else { return Ok(false) };
    match std::fs::metadata(file) {
        Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        // Opening the file then fails with a message.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(ConnectError::file(file, error.into())),
    }
}

/// Migrates under one write lock, so that only one of two processes that start together migrates.
async fn migrate(db: &mut SqliteConnection) -> Result<(), ConnectError> {
    let migrated = async {
        let mut transaction = db.begin_with("BEGIN IMMEDIATE").await?;
        migrations::sqlite().run(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    };
    migrated.await.map_err(ConnectError::migration)
}

impl Engine for Sqlite {
    const NAME: &'static str = "sqlite";
    type Connection = SqliteConnection;

    async fn transact<T, W>(&self, durability: Durability, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: TransactionBody<SqliteConnection, T>,
    {
        self.writer.run(durability, work).await
    }

    async fn snapshot<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: TransactionBody<SqliteConnection, T>,
    {
        self.readers
            .read_within(SNAPSHOT_TIMEOUT, |db| {
                async move {
                    let mut transaction = db.begin().await.map_err(database_error)?;
                    let read = work(&mut transaction).await?;
                    transaction.rollback().await.map_err(database_error)?;
                    Ok(read)
                }
                .boxed()
            })
            .await
    }

    async fn execute(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let query = query::<Driver>(sql, values);
        let done =
            self.writer.run_statement(durability, |db| query.execute(db).map_err(database_error).boxed());
        Ok(done.await?.rows_affected())
    }

    async fn fetch_changed<R: Record>(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let query = query::<Driver>(sql, values).try_map(|row: SqliteRow| R::from_row(&row));
        self.writer
            .run_statement(durability, |db: &mut SqliteConnection| {
                query.fetch_all(db).map_err(database_error).boxed()
            })
            .await
    }

    async fn fetch_optional<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let query = query::<Driver>(sql, values).try_map(|row: SqliteRow| R::from_row(&row));
        self.readers.read(|db| query.fetch_optional(db).map_err(database_error).boxed()).await
    }

    async fn fetch_all<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let query = query::<Driver>(sql, values).try_map(|row: SqliteRow| R::from_row(&row));
        self.readers.read(|db| query.fetch_all(db).map_err(database_error).boxed()).await
    }

    async fn insert_ballots(
        &self,
        poll: &PollId,
        epoch: Epoch,
        ballots: &[Ballot],
    ) -> Result<(), StoreError> {
        self.writer.insert_ballots(ballots::element(poll, epoch, ballots)?).await
    }

    async fn ballots(&self, poll: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        let poll = poll.clone();
        self.readers
            .read(move |db| async move { ballots::select(db, poll.as_str(), after).await }.boxed())
            .await
    }

    async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<(), StoreError> {
        self.writer
            .run(Durability::ProcessCrash, |db: &mut SqliteConnection| {
                async move {
                    for (key, at) in &last_uses {
                        Connection::execute(db, TOUCH_KEY, values![&**key, *at]).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        // The read comes first: it fails once the store is closed, and closing deletes the write-ahead log.
        let read = sqlx::query("SELECT 1 FROM accounts LIMIT 1");
        self.readers.read(|db| read.execute(db).map_err(database_error).boxed()).await?;
        self.file.verify()?;
        self.file.check_room()?;
        self.execute(Durability::ProcessCrash, PING, &[]).await.map(drop)
    }

    async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError> {
        let checking = self.readers.read_within(SNAPSHOT_TIMEOUT, move |db| {
            async move { Ok(integrity::check(db, check).await) }.boxed()
        });
        checking.await
    }

    async fn purge_deleted(&self) -> Result<bool, StoreError> {
        self.writer.truncate_log().await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        if self.writer.owes_truncation() {
            self.writer.truncate_log().await?;
        }
        Ok(())
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        let temporary = self.temporary.lock().ok().and_then(|mut temporary| temporary.take());
        drop(temporary);
    }
}
