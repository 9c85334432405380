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
const MIGRATIONS: &[MigrationFile] = &[step!(1, "0001", "schema")];

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

/// The applied migrations with their checksums.
pub(crate) const APPLIED: &str = "SELECT version, checksum FROM _sqlx_migrations ORDER BY version";

/// The reason why this release cannot use a database.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    /// No release has made it.
    #[error(
        "a build before the first release made it, and no release reads it: name another database, or run that build"
    )]
    Unreleased,
    /// A newer release has migrated it to this version.
    #[error("a newer release migrated it to {0}: run that release, or restore an earlier backup")]
    Newer(i64),
    /// The migration with this version is another one.
    #[error("migration {0} differs from the one applied to this database: run the release that applied it")]
    Changed(i64),
}

/// Compares the applied migrations with those of this release, before anything is written.
pub(crate) fn check(all: &Migrator, applied: &[(i64, Vec<u8>)]) -> Result<(), Unfit> {
    let mut newest = None;
    for (version, checksum) in applied {
        match all.iter().find(|migration| migration.version == *version) {
            Some(migration) if *migration.checksum == **checksum => {}
            Some(_) if *version == 1 => return Err(Unfit::Unreleased),
            Some(_) => return Err(Unfit::Changed(*version)),
            None => newest = Some(*version),
        }
    }
    newest.map_or(Ok(()), |version| Err(Unfit::Newer(version)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
