//! SQLite: one file, one process, one writer, several readers.

mod backup;
mod connection;
mod file;
mod integrity;
mod readers;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ep_kernel::ports::{DatabaseSize, Epoch, FreePages, IntegrityCheck, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use futures::FutureExt;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection as _};
use tempfile::TempDir;

use crate::connect_error::ConnectError;
use crate::engine::{Connection, Durability, Engine, Record, SNAPSHOT_TIMEOUT, TransactionBody};
use crate::error::failed;
use crate::rows::NumberRow;
use crate::statements as sql;
use crate::value::{Value, owned, values};
use crate::{StoreOptions, migrations};
pub(crate) use backup::back_up;
use connection::{Access, SqliteConnection, sqlite_error};
use file::OpenFile;
use readers::Readers;
use writer::Writer;

/// The time to wait for another process that writes to the same file, such as an operator's command.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts to open a file to which another connection writes.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// The result code `SQLITE_BUSY`.
const BUSY: &str = "5";

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
        let busy_timeout = BUSY_TIMEOUT.min(options.timeout);
        file::restrict_access(file).map_err(|error| ConnectError::file(file, error.into()))?;
        // A migration can need as much temporary storage as the database, so its temporary files are beside the database.
        let folder = file.parent().unwrap_or(Path::new("")).display().to_string().replace('\'', "''");
        let migration_options = SqliteConnectOptions::new()
            .filename(file)
            .pragma("temp_store_directory", format!("'{folder}'"))
            .busy_timeout(busy_timeout)
            .foreign_keys(true)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal);
        let connected = connect_when_free(&migration_options, busy_timeout).await;
        let mut migrating = connected.map_err(|error| ConnectError::file(file, error))?;
        migrate(&mut migrating).await?;
        let path = file.to_owned();
        let opened = blocking(move || {
            let db = SqliteConnection::open(&path, Access::Write, busy_timeout)?;
            // A connection opens the file and its log at the first read.
            db.number("SELECT count(*) FROM clock")?;
            Ok(db)
        });
        let unopened = |error: Box<dyn std::error::Error + Send + Sync>| {
            ConnectError::file(file, sqlx::Error::Io(std::io::Error::other(error)))
        };
        let db = opened.await.map_err(|error| unopened(error.into()))?;
        let db = db.map_err(|error: rusqlite::Error| unopened(error.into()))?;
        // The log is deleted when the last connection is closed, so this one is closed after the other was opened.
        migrating.close().await.map_err(|error| ConnectError::file(file, error))?;
        let opened = OpenFile::new(file).map_err(|error| ConnectError::file(file, error.into()))?;
        let opened = Arc::new(opened);
        let writer = Writer::start(db, Arc::clone(&opened), options.timeout, temporary.is_none());
        Ok(Self {
            writer: writer.map_err(|error| ConnectError::file(file, error.into()))?,
            readers: Readers::new(
                file.to_owned(),
                busy_timeout,
                Arc::clone(&opened),
                options.connections,
                options.timeout,
            ),
            file: opened,
            temporary: Mutex::new(temporary),
        })
    }
}

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(failed)
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

/// Connects, and tries again while another connection writes to the file.
///
/// SQLite does not wait when a change to write-ahead logging meets a writer, because each would wait for the other.
async fn connect_when_free(
    options: &SqliteConnectOptions,
    limit: Duration,
) -> sqlx::Result<sqlx::SqliteConnection> {
    let deadline = Instant::now() + limit;
    loop {
        match options.connect().await {
            Err(sqlx::Error::Database(error))
                if error.code().as_deref() == Some(BUSY) && Instant::now() < deadline =>
            {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// Migrates under one write lock, so that only one of two processes that start together migrates.
async fn migrate(db: &mut sqlx::SqliteConnection) -> Result<(), ConnectError> {
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
        let reading = self.readers.read_within(SNAPSHOT_TIMEOUT, |db| {
            db.batch("BEGIN").map_err(sqlite_error)?;
            let read = db.run(work)?;
            db.batch("ROLLBACK").map_err(sqlite_error)?;
            Ok(read)
        });
        reading.await
    }

    async fn execute(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let values = owned(values);
        self.writer.run(durability, move |db| Box::pin(async move { db.execute(sql, &values).await })).await
    }

    async fn fetch_changed<R: Record>(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let values = owned(values);
        self.writer.run(durability, move |db| Box::pin(async move { db.fetch_all(sql, &values).await })).await
    }

    async fn fetch_optional<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let values = owned(values);
        self.readers.read(move |db| db.row(sql, &values).map_err(sqlite_error)).await
    }

    async fn fetch_by_key<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        match self.readers.read_here(|db| db.row(sql, values)) {
            Some(row) => Ok(row),
            None => self.fetch_optional(sql, values).await,
        }
    }

    async fn fetch_all<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let values = owned(values);
        self.readers.read(move |db| db.rows(sql, &values).map_err(sqlite_error)).await
    }

    async fn insert_ballots(
        &self,
        poll: &PollId,
        epoch: Epoch,
        ballots: &[Ballot],
    ) -> Result<(), StoreError> {
        let (poll, ballots) = (poll.clone(), ballots.to_vec());
        self.writer
            .run(Durability::ProcessCrash, move |db: &mut SqliteConnection| {
                async move {
                    let running = db.fetch_optional(sql::RUNNING_POLL, values![&poll, epoch]).await?;
                    let NumberRow { number } = running.ok_or(StoreError::NotFound("running poll"))?;
                    db.insert_ballots(number, &ballots).await
                }
                .boxed()
            })
            .await
    }

    async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<(), StoreError> {
        self.writer
            .run(Durability::ProcessCrash, |db: &mut SqliteConnection| {
                async move {
                    for (key, at) in &last_uses {
                        db.execute(TOUCH_KEY, values![&**key, *at]).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await
    }

    fn stalled_for(&self) -> Duration {
        self.writer.stalled_for()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        // The read comes first: it fails once the store is closed, and closing deletes the write-ahead log.
        self.readers.read(|db| db.batch("SELECT 1 FROM accounts LIMIT 1").map_err(sqlite_error)).await?;
        self.file.verify()?;
        self.file.check_room()?;
        self.execute(Durability::ProcessCrash, sql::PING, &[]).await.map(drop)
    }

    async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError> {
        self.readers.read_within(SNAPSHOT_TIMEOUT, move |db| Ok(integrity::check(db, check))).await
    }

    async fn database_size(&self) -> Result<DatabaseSize, StoreError> {
        let read = |db: &mut SqliteConnection| {
            let number = |pragma| db.number(pragma).map(i64::unsigned_abs).map_err(sqlite_error);
            let (page, free) = (number("PRAGMA page_size")?, number("PRAGMA freelist_count")?);
            let bytes = number("PRAGMA page_count")? * page;
            Ok(DatabaseSize { bytes, free: Some(FreePages { pages: free, bytes: free * page }) })
        };
        self.readers.read(read).await
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
