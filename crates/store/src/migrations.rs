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
        Migration::new(step.version, step.name.into(), MigrationType::Simple, sql(step).into_sql_str(), false)
    };
    Migrator::with_migrations(MIGRATIONS.iter().map(migration).collect())
}

/// The versions of applied migrations, and their checksums.
pub(crate) type Applied = Vec<(i64, Vec<u8>)>;

/// Selects [`Applied`].
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
    /// The file has tables, but no record of migrations.
    #[error("another program made its tables: name another database")]
    Foreign,
    /// Another process did not stop writing in time.
    #[error("another process writes to it: try again")]
    Busy,
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
    fn a_database_of_another_release_is_refused_with_the_reason() {
        let migration = |version, sql: &'static str| {
            Migration::new(version, "step".into(), MigrationType::Simple, sql.into_sql_str(), false)
        };
        let all = Migrator::with_migrations(vec![migration(1, "SELECT 1"), migration(2, "SELECT 2")]);
        let applied = |steps: &[Migration]| -> Applied {
            steps.iter().map(|step| (step.version, step.checksum.to_vec())).collect()
        };
        let (first, second) = (migration(1, "SELECT 1"), migration(2, "SELECT 2"));
        assert_eq!(check(&all, &[]), Ok(()));
        assert_eq!(check(&all, &applied(std::slice::from_ref(&first))), Ok(()));
        assert_eq!(check(&all, &applied(&[first.clone(), second.clone()])), Ok(()));
        let newer = applied(&[first.clone(), second, migration(3, "SELECT 3")]);
        assert_eq!(check(&all, &newer), Err(Unfit::Newer(3)));
        assert_eq!(check(&all, &applied(&[first, migration(2, "SELECT 3")])), Err(Unfit::Changed(2)));
        assert_eq!(check(&all, &applied(&[migration(1, "SELECT 3")])), Err(Unfit::Unreleased));
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
