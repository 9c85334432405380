//! Migration of the file.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Error, ErrorCode, Transaction, TransactionBehavior, params};
use sqlx::migrate::Migrator;

use crate::connect_error::ConnectError;
use crate::migrations;
use crate::migrations::{Applied, Unfit};

/// The migrations of the file, in the table in which sqlx records those of PostgreSQL.
const RECORDS: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version      INTEGER NOT NULL PRIMARY KEY,
    description  TEXT    NOT NULL,
    installed_on TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    checksum     BLOB    NOT NULL
) STRICT";
/// 1 for each table; 2 for the records.
const TABLES: &str = "SELECT CASE name WHEN '_sqlx_migrations' THEN 2 ELSE 1 END FROM sqlite_schema \
     WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1 DESC LIMIT 1";
const RECORD: &str = "INSERT INTO _sqlx_migrations (version, description, checksum) VALUES ($1, $2, $3)";

/// The pause between two attempts to open a file to which another connection writes.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Turns on write-ahead logging and migrates under one write lock, so that only one of two processes that start together
/// migrates. Changes nothing in a file that this release cannot use.
pub(super) fn migrate(
    db: &Connection,
    file: &Path,
    all: &Migrator,
    busy_timeout: Duration,
) -> Result<(), ConnectError> {
    let opening = |error| ConnectError::file(file, error);
    check(db, all, opening)?;
    use_log(db, busy_timeout).map_err(opening)?;
    // A migration can need as much temporary storage as the database, so its temporary files are beside the database.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    db.pragma_update(None, "temp_store_directory", folder.display().to_string()).map_err(opening)?;
    db.pragma_update(None, "temp_store", "FILE").map_err(opening)?;
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate).map_err(migrating)?;
    // Another process may have migrated it since.
    let applied = check(&transaction, all, migrating)?;
    transaction.execute_batch(RECORDS).map_err(migrating)?;
    for migration in all.iter().skip(applied) {
        transaction.execute_batch(migration.sql.as_str()).map_err(migrating)?;
        let record = params![migration.version, migration.description, migration.checksum];
        transaction.execute(RECORD, record).map_err(migrating)?;
    }
    transaction.commit().map_err(migrating)
}

fn migrating(error: Error) -> ConnectError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => ConnectError::migration(Unfit::Busy),
        _ => ConnectError::migration(error),
    }
}

/// Returns the number of applied migrations, if this release can use the file.
fn check(
    db: &Connection,
    all: &Migrator,
    failed: impl Fn(Error) -> ConnectError,
) -> Result<usize, ConnectError> {
    let applied = applied(db).map_err(failed)?.ok_or_else(|| ConnectError::migration(Unfit::Foreign))?;
    migrations::check(all, &applied).map_err(ConnectError::migration)?;
    Ok(applied.len())
}

/// Returns the applied migrations; `None` if another program has made the tables.
fn applied(db: &Connection) -> Result<Option<Applied>, Error> {
    let mut tables = db.prepare(TABLES)?;
    match tables.query_map([], |row| row.get::<_, i64>(0))?.next().transpose()? {
        None => Ok(Some(Vec::new())),
        Some(1) => Ok(None),
        Some(_) => {
            let mut applied = db.prepare(migrations::APPLIED)?;
            applied.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>().map(Some)
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

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr;
    use sqlx::migrate::{Migration, MigrationType};

    use super::*;

    fn migrator(steps: &[&'static str]) -> Migrator {
        let step = |(number, sql): (i64, &&'static str)| {
            Migration::new(number, "step".into(), MigrationType::Simple, sql.into_sql_str(), false)
        };
        Migrator::with_migrations((1..).zip(steps).map(step).collect())
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ep.db");
        let db = Connection::open(&file).unwrap();
        let run = |steps: &[&'static str]| migrate(&db, &file, &migrator(steps), Duration::from_secs(1));
        let tables = || {
            let names = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name)";
            db.query_row(names, [], |row| row.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
        };
        let [one, two] = ["CREATE TABLE one (id INTEGER)", "CREATE TABLE two (id INTEGER)"];
        let broken = "CREATE TABLE two (id INTEGER); CREATE TABLE one (id INTEGER)";
        run(&[one]).unwrap();
        let error = run(&[one, broken]).unwrap_err().to_string();
        assert!(error.contains("table one already exists"), "{error}");
        assert_eq!(tables(), "_sqlx_migrations,one");
        run(&[one, two]).unwrap();
        run(&[one, two]).unwrap();
        assert_eq!(tables(), "_sqlx_migrations,one,two");
    }

    #[test]
    fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.db");
        let db = Connection::open(&file).unwrap();
        db.execute_batch("CREATE TABLE photos (id INTEGER)").unwrap();
        let before = std::fs::read(&file).unwrap();
        let steps = migrator(&["CREATE TABLE users (id INTEGER)"]);
        let error = migrate(&db, &file, &steps, Duration::from_secs(1)).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
        assert!(std::fs::read(&file).unwrap() == before);
    }
}
