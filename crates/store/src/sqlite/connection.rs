//! A connection to the database file. Its operations block, so it is used on threads that may block: see
//! [`super::writer`] and [`super::readers`].
//!
//! A driver that answers asynchronously would pass each statement to a thread of its own and wake it twice. Here,
//! a whole transaction runs on one thread.

use std::path::Path;
use std::time::Duration;

use ep_polling::Ballot;
use rusqlite::{CachedStatement, Error, ErrorCode, OpenFlags, ffi};

use super::migration;
use crate::connect_error::ConnectError;
use crate::error::{ConstraintKind, constraint_error, failed};
use crate::migrations;
use crate::polls::ballots::NewBallot;
use crate::row::{FromRow, Row};
use crate::store_error::{Result, StoreError};
use crate::value::{Value, values};

/// The number of prepared statements per connection; more than there are.
const STATEMENTS: usize = 256;

/// An open connection.
pub(crate) struct SqliteConnection(rusqlite::Connection);

/// Options of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Access {
    /// Reading and writing an existing file.
    Write,
    /// Reading.
    Read,
}

impl SqliteConnection {
    /// Opens an existing file.
    pub(super) fn open(file: &Path, access: Access, busy_timeout: Duration) -> Result<Self, Error> {
        let mode = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        // A connection is used by one thread at a time, so SQLite needs no lock.
        let db = rusqlite::Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.busy_timeout(busy_timeout)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        db.pragma_update(None, "foreign_keys", true)?;
        use_memory(&db)?;
        if let Access::Write = access {
            // The maximum size of the write-ahead log after a checkpoint, in bytes.
            db.pragma_update(None, "journal_size_limit", 64 << 20)?;
            // Pages of the log until a checkpoint. Pages that many polls change are copied once per checkpoint.
            db.pragma_update(None, "wal_autocheckpoint", 4000)?;
            // Deleted data is overwritten with zeros.
            db.pragma_update(None, "secure_delete", true)?;
        }
        Ok(Self(db))
    }

    /// Migrates the file.
    pub(super) fn migrate(&self, file: &Path, busy_timeout: Duration) -> Result<(), ConnectError> {
        migration::migrate(&self.0, file, &migrations::sqlite(), busy_timeout)?;
        use_memory(&self.0).map_err(|error| ConnectError::file(file, error))
    }

    /// Sets the time to wait for a locked database.
    pub(super) fn wait_at_most(&self, limit: Duration) -> Result<(), Error> {
        self.0.busy_timeout(limit)
    }

    /// Runs statements without values and without rows.
    pub(super) fn batch(&self, sql: &str) -> Result<(), Error> {
        self.0.execute_batch(sql)
    }

    /// Runs a statement that begins or ends a transaction or a savepoint.
    pub(super) fn control(&self, sql: &'static str) -> Result<(), Error> {
        self.0.prepare_cached(sql)?.raw_execute().map(drop)
    }

    /// Returns the first column of every row, as text.
    pub(super) fn texts(&self, sql: &str) -> Result<Vec<String>, Error> {
        self.0.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    }

    /// Returns the number in the first column of the only row.
    pub(super) fn number(&self, sql: &str) -> Result<i64, Error> {
        self.0.query_row(sql, [], |row| row.get(0))
    }

    /// Closes the connection.
    pub(super) fn close(self) -> Result<(), Error> {
        self.0.close().map_err(|(_, error)| error)
    }

    fn prepared(&self, sql: &str, values: &[Value<'_>]) -> Result<CachedStatement<'_>, Error> {
        let mut statement = self.0.prepare_cached(sql)?;
        for index in 1..=statement.parameter_count() {
            // `$2` is the name of a parameter, whatever its index.
            let number = statement.parameter_name(index).and_then(|name| name.get(1..)?.parse().ok());
            let value = values.get(number.unwrap_or(index).wrapping_sub(1));
            match value.ok_or(Error::InvalidParameterCount(index, values.len()))? {
                Value::Integer(number) => statement.raw_bind_parameter(index, number)?,
                Value::Real(number) => statement.raw_bind_parameter(index, number)?,
                Value::Text(text) => statement.raw_bind_parameter(index, text.as_deref())?,
                Value::Bytes(bytes) => statement.raw_bind_parameter(index, &**bytes)?,
            }
        }
        Ok(statement)
    }

    /// Runs a statement; returns the number of changed rows.
    pub(crate) fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        self.prepared(sql, values)?.raw_execute().map(|rows| rows as u64)
    }

    /// Runs a statement; returns all its rows.
    pub(crate) fn rows<R: FromRow>(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<R>> {
        let mut statement = self.prepared(sql, values).map_err(sqlite_error)?;
        let (mut found, mut rows) = (Vec::new(), statement.raw_query());
        // The statement runs to its end, even if a row is unreadable.
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            found.push(Row::Sqlite(row).decode());
        }
        found.into_iter().collect()
    }

    /// Runs a statement; returns its row, if any.
    pub(crate) fn row<R: FromRow>(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<R>> {
        let mut statement = self.prepared(sql, values).map_err(sqlite_error)?;
        let mut rows = statement.raw_query();
        rows.next().map_err(sqlite_error)?.map(|row| Row::Sqlite(row).decode()).transpose()
    }

    /// Inserts ballots of the poll with this number.
    pub(crate) fn insert_ballots(&self, poll: i64, ballots: &[Ballot]) -> Result<(), Error> {
        ballots.iter().try_for_each(|ballot| {
            let row = NewBallot::new(ballot);
            let values = values![
                poll,
                row.seq,
                row.position,
                row.choice,
                row.latency_ms,
                row.at_ms,
                row.cost,
                row.basis,
                row.mode,
                row.reasoned,
                row.reason,
                row.detail,
                row.answered_by,
                row.prompt_tokens,
                row.completion_tokens,
                row.probabilities.as_deref(),
                row.asked_again,
            ];
            self.change(crate::polls::sql::ADD_BALLOT, values).map(drop)
        })
    }
}

/// Maps the error of a failed statement: see [`crate::error::database_error`].
pub(crate) fn sqlite_error(error: Error) -> StoreError {
    let Error::SqliteFailure(
        ffi::Error { code: ErrorCode::ConstraintViolation, extended_code },
        Some(message),
    ) = &error
    else {
        return failed(error);
    };
    let kind = match *extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => ConstraintKind::Unique,
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ConstraintKind::ForeignKey,
        _ => return failed(error),
    };
    // The message names the table: "UNIQUE constraint failed: users.email".
    let is_from = |table: &str| message.contains(&format!(": {table}."));
    constraint_error(kind, is_from)
}

/// Requests need little temporary storage, and the machine may have no writable folder for it.
fn use_memory(db: &rusqlite::Connection) -> Result<(), Error> {
    db.pragma_update(None, "temp_store", "MEMORY")
}
