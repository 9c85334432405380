//! Migration of the file.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Error, ErrorCode, params};

use crate::connect_error::ConnectError;
use crate::migrations;

/// The migrations of the file, in the table in which sqlx records those of PostgreSQL.
const RECORDS: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version      INTEGER NOT NULL PRIMARY KEY,
    description  TEXT    NOT NULL,
    installed_on TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    checksum     BLOB    NOT NULL
) STRICT";
const HAS_RECORDS: &str = "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
const RECORD: &str = "INSERT INTO _sqlx_migrations (version, description, checksum) VALUES ($1, $2, $3)";

/// The pause between two attempts to open a file to which another connection writes.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Turns on write-ahead logging and migrates under one write lock, so that only one of two processes that start together
/// migrates.
pub(super) fn migrate(db: &Connection, file: &Path, busy_timeout: Duration) -> Result<(), ConnectError> {
    let failed = |error: Error| ConnectError::file(file, error);
    use_log(db, busy_timeout).map_err(failed)?;
    // A migration can need as much temporary storage as the database, so its temporary files are beside the database.
    let folder = file.parent().unwrap_or(Path::new("")).display().to_string();
    db.pragma_update(None, "temp_store_directory", folder).map_err(failed)?;
    db.pragma_update(None, "temp_store", "FILE").map_err(failed)?;
    db.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    match run(db) {
        Ok(()) => db.execute_batch("COMMIT").map_err(failed),
        Err(error) => {
            db.execute_batch("ROLLBACK").map_err(failed)?;
            Err(error)
        }
    }
}

/// Tries again while another connection writes to the file. SQLite does not wait when a change to write-ahead logging meets a
/// writer, because each would wait for the other.
fn use_log(db: &Connection, limit: Duration) -> Result<(), Error> {
    let deadline = Instant::now() + limit;
    loop {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                #[expect(clippy::disallowed_methods, reason = "this thread may block")]
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

fn run(db: &Connection) -> Result<(), ConnectError> {
    let all = migrations::sqlite();
    let applied = applied(db).map_err(ConnectError::migration)?;
    migrations::check(&all, &applied).map_err(ConnectError::migration)?;
    let migrated = || -> Result<(), Error> {
        db.execute_batch(RECORDS)?;
        for migration in all.iter().skip(applied.len()) {
            db.execute_batch(migration.sql.as_str())?;
            db.execute(RECORD, params![migration.version, migration.description, migration.checksum])?;
        }
        Ok(())
    };
    migrated().map_err(ConnectError::migration)
}

fn applied(db: &Connection) -> Result<Vec<(i64, Vec<u8>)>, Error> {
    if db.query_row(HAS_RECORDS, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(Vec::new());
    }
    let mut applied = db.prepare(migrations::APPLIED)?;
    applied.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
