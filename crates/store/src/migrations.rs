//! The migrations, embedded. See `migrations/README.md`.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

struct Step {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! step {
    ($version:literal, $number:literal, $name:literal) => {
        Step {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $number, "_", $name, ".sql")),
            postgres: include_str!(concat!("../../../migrations/postgres/", $number, "_", $name, ".sql")),
        }
    };
}

/// Every migration, oldest first.
const STEPS: &[Step] = &[
    step!(1, "0001", "initial"),
    step!(2, "0002", "lease_epochs"),
    step!(3, "0003", "ballot_mode"),
    step!(4, "0004", "anonymous_polls"),
    step!(6, "0006", "agent_messages"),
    step!(7, "0007", "fallback_level_time"),
];

pub(crate) fn sqlite() -> Migrator {
    migrator(|step| step.sqlite)
}

pub(crate) fn postgres() -> Migrator {
    migrator(|step| step.postgres)
}

fn migrator(sql: impl Fn(&Step) -> &'static str) -> Migrator {
    let migration = |step: &Step| {
        let sql = sql(step);
        let no_transaction = sql.starts_with("-- no-transaction");
        let name = step.name.into();
        Migration::new(step.version, name, MigrationType::Simple, sql.into_sql_str(), no_transaction)
    };
    Migrator::with_migrations(STEPS.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_and_there_are_no_others() {
        let listed: Vec<String> =
            STEPS.iter().map(|step| format!("{:04}_{}.sql", step.version, step.name)).collect();
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
