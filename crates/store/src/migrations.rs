//! The embedded migrations. See `migrations/README.md`.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

struct MigrationFile {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! step {
    ($version:literal, $number:literal, $name:literal) => {
        MigrationFile {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $number, "_", $name, ".sql")),
            postgres: include_str!(concat!("../../../migrations/postgres/", $number, "_", $name, ".sql")),
        }
    };
}

/// Every migration, oldest first.
const MIGRATIONS: &[MigrationFile] = &[
    step!(1, "0001", "initial"),
    step!(2, "0002", "lease_epochs"),
    step!(3, "0003", "ballot_mode"),
    step!(4, "0004", "anonymous_polls"),
    step!(6, "0006", "agent_messages"),
    step!(7, "0007", "fallback_level_time"),
    step!(8, "0008", "sign_in"),
    step!(9, "0009", "card_payments"),
    step!(10, "0010", "deposits"),
    step!(11, "0011", "key_terms"),
    step!(12, "0012", "spending_of_keys"),
    step!(13, "0013", "webhooks"),
    step!(14, "0014", "cancellations"),
    step!(15, "0015", "a2a_tasks"),
    step!(16, "0016", "confirmation"),
    step!(17, "0017", "reputation"),
    step!(18, "0018", "deposit_outcomes"),
    step!(20, "0020", "failed_refunds"),
    step!(22, "0022", "deleted_polls"),
    step!(24, "0024", "poll_form"),
    step!(25, "0025", "unsupported_parameters"),
    step!(26, "0026", "deleted_accounts"),
    step!(27, "0027", "slim_polls"),
    step!(28, "0028", "fewer_entries"),
    step!(29, "0029", "explanations"),
    step!(30, "0030", "tokens"),
    step!(31, "0031", "panels"),
    step!(32, "0032", "batches"),
    step!(33, "0033", "unread_column_of_batches"),
    step!(34, "0034", "batch_answers"),
    step!(35, "0035", "probabilities"),
    step!(36, "0036", "calibration"),
    step!(37, "0037", "evaluations"),
    step!(38, "0038", "tasks_of_batches"),
    step!(39, "0039", "costs_of_rows"),
    step!(40, "0040", "tokens_of_batches"),
    step!(41, "0041", "calibration_of_models"),
    step!(42, "0042", "sizes_of_results"),
    step!(43, "0043", "chunks_of_files"),
    step!(45, "0045", "lists"),
    step!(46, "0046", "tasks_without_work"),
    step!(47, "0047", "needs_of_models"),
    step!(48, "0048", "second_requests"),
    step!(49, "0049", "readers_of_polls"),
];

pub(crate) fn sqlite() -> Migrator {
    migrator(|step| step.sqlite)
}

pub(crate) fn postgres() -> Migrator {
    migrator(|step| step.postgres)
}

fn migrator(sql: impl Fn(&MigrationFile) -> &'static str) -> Migrator {
    let migration = |step: &MigrationFile| {
        let sql = sql(step);
        let no_transaction = sql.starts_with("-- no-transaction");
        let name = step.name.into();
        Migration::new(step.version, name, MigrationType::Simple, sql.into_sql_str(), no_transaction)
    };
    Migrator::with_migrations(MIGRATIONS.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use sqlx::{ConnectOptions, Connection, PgConnection, query, query_as, raw_sql};

    use super::*;

    const ROWS: &str = "
        INSERT INTO users VALUES ('u1', 'a@b', 1), ('u2', 'c@d', 2);
        INSERT INTO accounts (id, posted) VALUES ('u1', 5), ('u2', 0);
        INSERT INTO api_keys (id, user_id, hash, prefix, label, created_at) VALUES ('k', 'u1', 'h', 'p', '', 1);
        INSERT INTO polls (id, owner, created_at, billed, lease_until, lease_worker, plan)
            VALUES ('p', 'u1', 1, 1, 1, 'w', '{}');";
    /// A second user with the same email address, which earlier releases rejected by a unique constraint.
    const SECOND: &str = "INSERT INTO users VALUES ('u3', 'a@b', 3)";
    const ORPHAN: &str = "INSERT INTO accounts (id) VALUES ('u9')";
    const USERS: &str = "SELECT id, email FROM users ORDER BY id";

    fn up_to(all: &Migrator, version: i64) -> Migrator {
        Migrator::with_migrations(all.iter().filter(|step| step.version <= version).cloned().collect())
    }

    /// Migrates rows of the last release with unique email addresses.
    macro_rules! assert_users_are_preserved {
        ($db:expr, $all:expr) => {
            up_to(&$all, 7).run(&mut $db).await.unwrap();
            raw_sql(ROWS).execute(&mut $db).await.unwrap();
            assert!(raw_sql(SECOND).execute(&mut $db).await.is_err());
            $all.run(&mut $db).await.unwrap();
            raw_sql(SECOND).execute(&mut $db).await.unwrap();
            assert!(raw_sql(ORPHAN).execute(&mut $db).await.is_err(), "accounts still refer to users");
            let users: Vec<(String, String)> = query_as(USERS).fetch_all(&mut $db).await.unwrap();
            let expected = [("u1", "a@b"), ("u2", "c@d"), ("u3", "a@b")];
            assert_eq!(users, expected.map(|(id, email)| (id.to_owned(), email.to_owned())));
        };
    }

    #[tokio::test]
    async fn users_of_earlier_releases_are_preserved() {
        let mut db = sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        assert_users_are_preserved!(db, sqlite());
        let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
        let mut db = PgConnection::connect(database.url()).await.unwrap();
        assert_users_are_preserved!(db, postgres());
    }

    /// An ended poll and a running one, from the last release without poll statistics.
    const ENDED: &str = "
        INSERT INTO polls (id, created_at, billed, lease_until, lease_worker, plan, closing)
            VALUES ('ended', 1, 0, 1, 'w', '{}', '{}'), ('running', 1, 0, 1, 'w', '{}', NULL);";
    const WAITING: &str = "SELECT poll_id FROM reputation_polls WHERE revision > counted_revision";

    macro_rules! ended_polls_will_be_counted {
        ($db:expr, $all:expr) => {
            up_to(&$all, 16).run(&mut $db).await.unwrap();
            raw_sql(ENDED).execute(&mut $db).await.unwrap();
            $all.run(&mut $db).await.unwrap();
            let waiting: Vec<(String,)> = query_as(WAITING).fetch_all(&mut $db).await.unwrap();
            assert_eq!(waiting, [("ended".to_owned(),)]);
        };
    }

    #[tokio::test]
    async fn polls_ended_in_earlier_releases_become_due_for_counting() {
        let mut db = sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        ended_polls_will_be_counted!(db, sqlite());
        let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
        let mut db = PgConnection::connect(database.url()).await.unwrap();
        ended_polls_will_be_counted!(db, postgres());
    }

    /// Tasks of agents, one with a push configuration, from the last release whose tasks are polls.
    const TASKS: &str = "
        INSERT INTO users VALUES ('u', 'a@b', 1);
        INSERT INTO polls (id, owner, created_at, billed, lease_until, lease_worker, plan)
            VALUES ('p', 'u', 1, 1, 1, 'w', '{}');
        INSERT INTO a2a_tasks (id, owner, context_id, poll_id, state, status_at, content)
            VALUES ('p', 'u', 'c', 'p', 'working', 1, '{}'), ('t', 'u', 'c', NULL, 'input-required', 2, '{}');
        INSERT INTO a2a_pushes (id, task_id, config_id, user_id, url, version, secrets, next_at)
            VALUES ('1', 'p', 'a', 'u', 'https://a.example', '1.0', '', 1);";
    const PUSHED: &str = "SELECT a2a_tasks.id, url FROM a2a_tasks JOIN a2a_pushes ON task_id = a2a_tasks.id WHERE batch_id IS NULL";
    const WITHOUT_WORK: &str = "UPDATE a2a_tasks SET state = 'working' WHERE id = 't'";
    const DELETE_TASK: &str = "DELETE FROM a2a_tasks WHERE id = 'p'";
    const PUSHES: &str = "SELECT id FROM a2a_pushes";

    macro_rules! tasks_are_preserved {
        ($db:expr, $all:expr) => {
            up_to(&$all, 37).run(&mut $db).await.unwrap();
            raw_sql(TASKS).execute(&mut $db).await.unwrap();
            $all.run(&mut $db).await.unwrap();
            let pushed: Vec<(String, String)> = query_as(PUSHED).fetch_all(&mut $db).await.unwrap();
            assert_eq!(pushed, [("p".to_owned(), "https://a.example".to_owned())]);
            assert!(raw_sql(WITHOUT_WORK).execute(&mut $db).await.is_err());
            raw_sql(DELETE_TASK).execute(&mut $db).await.unwrap();
            let pushes: Vec<(String,)> = query_as(PUSHES).fetch_all(&mut $db).await.unwrap();
            assert_eq!(pushes, [], "they belong to their task");
        };
    }

    #[tokio::test]
    async fn tasks_of_earlier_releases_are_preserved() {
        let mut db = sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        tasks_are_preserved!(db, sqlite());
        let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
        let mut db = PgConnection::connect(database.url()).await.unwrap();
        tasks_are_preserved!(db, postgres());
    }

    /// Deposits in each stage, from the last release that abandoned deposits.
    const DEPOSITS: &str = "
        INSERT INTO users VALUES ('u', 'a@b', 1);
        INSERT INTO deposits (ref, id, payer, user_id, amount, status, payment, valid_before, since, tx_hash, created_at)
            VALUES ('1', 'a', 'p', NULL, 5, 'settling', '{}', 9, 7, NULL, 1),
                ('2', 'b', 'p', NULL, 5, 'failed', '{}', 9, 7, NULL, 1),
                ('3', 'c', 'p', 'u', 5, 'settled', '{}', 9, 7, '0xabc', 1);";
    const DUE: &str = "SELECT ref FROM deposits WHERE look_at <= 0 AND status <> 'settled' ORDER BY ref";
    const UNKNOWN: &str = "UPDATE deposits SET status = 'unknown' WHERE ref = '1'";
    const UNPROVEN: &str = "UPDATE deposits SET tx_hash = NULL WHERE ref = '3'";

    macro_rules! deposits_are_due {
        ($db:expr, $all:expr) => {
            up_to(&$all, 17).run(&mut $db).await.unwrap();
            raw_sql(DEPOSITS).execute(&mut $db).await.unwrap();
            $all.run(&mut $db).await.unwrap();
            let due: Vec<(String,)> = query_as(DUE).fetch_all(&mut $db).await.unwrap();
            assert_eq!(due, [("1".to_owned(),), ("2".to_owned(),)]);
            raw_sql(UNKNOWN).execute(&mut $db).await.unwrap();
            assert!(raw_sql(UNPROVEN).execute(&mut $db).await.is_err());
        };
    }

    #[tokio::test]
    async fn deposits_abandoned_by_earlier_releases_become_due() {
        let mut db = sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        deposits_are_due!(db, sqlite());
        let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
        let mut db = PgConnection::connect(database.url()).await.unwrap();
        deposits_are_due!(db, postgres());
    }

    /// A file that is complete, with a long line, and one that is being received.
    const FILES: &str = "
        INSERT INTO users VALUES ('u', 'a@b', 1);
        INSERT INTO files (id, user_id, name, bytes, lines, created_at, expires_at)
            VALUES ('f', 'u', 'a', 70008, 3, 1, 2), ('g', 'u', 'b', NULL, NULL, 1, 2);
        INSERT INTO file_lines (file, number, content)
            VALUES ('f', 1, 'é\n'), ('f', 3, 'last'), ('g', 1, 'z\n');";
    const LONG_LINE: &str = "INSERT INTO file_lines (file, number, content) VALUES ('f', 2, $1)";
    const PARTS: &str = "SELECT file, first, lines, content FROM file_chunks ORDER BY file, first";
    const RECEIVED: &str = "SELECT received FROM files ORDER BY id";

    macro_rules! lines_are_preserved {
        ($db:expr, $all:expr) => {
            up_to(&$all, 42).run(&mut $db).await.unwrap();
            raw_sql(FILES).execute(&mut $db).await.unwrap();
            query(LONG_LINE).bind("x".repeat(70_000) + "\n").execute(&mut $db).await.unwrap();
            $all.run(&mut $db).await.unwrap();
            let parts: Vec<(String, i64, i64, String)> = query_as(PARTS).fetch_all(&mut $db).await.unwrap();
            assert_eq!(parts.iter().map(|part| part.2).sum::<i64>(), 4);
            let whole = |file: &str| -> String {
                parts.iter().filter(|part| part.0 == file).map(|part| part.3.as_str()).collect()
            };
            let lines: Vec<String> = whole("f").split_inclusive('\n').map(str::to_owned).collect();
            assert_eq!((lines.len(), &*lines[0], &*lines[2], &*whole("g")), (3, "é\n", "last", "z\n"));
            let mut next = 1;
            for (_, first, count, content) in parts.iter().filter(|part| part.0 == "f") {
                assert_eq!((*first, *count), (next, content.split_inclusive('\n').count() as i64));
                next += count;
            }
            let received: Vec<(i64,)> = query_as(RECEIVED).fetch_all(&mut $db).await.unwrap();
            assert_eq!(received, [(0,), (2,)]);
        };
    }

    #[tokio::test]
    async fn lines_of_earlier_releases_are_preserved() {
        let mut db = sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        lines_are_preserved!(db, sqlite());
        let database = crate::testing::Postgres::start().unwrap().database().await.unwrap();
        let mut db = PgConnection::connect(database.url()).await.unwrap();
        lines_are_preserved!(db, postgres());
    }

    #[test]
    fn every_migration_file_is_listed() {
        let listed: Vec<String> =
            MIGRATIONS.iter().map(|step| format!("{:04}_{}.sql", step.version, step.name)).collect();
        for engine in ["sqlite", "postgres"] {
            let folder = format!("{}/../../migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            assert_eq!(files, listed, "{engine}");
        }
    }
}
