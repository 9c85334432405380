//! Storage on SQLite or PostgreSQL: accounts and their keys, money, polls and ballots, batches and files, and all else that outlives a
//! process.
//!
//! [`connect`] opens a database, migrates it and returns four handles: [`Store`], [`Treasury`], [`Vault`] and [`Runtime`]. SQLite serves
//! one process: one writer with group commit, and parallel readers. PostgreSQL serves any number of identical replicas. One
//! conformance suite tests the handles on both.
//!
//! Each noun has a file or a folder with its records, its statements and its transactions, written once for both engines. The
//! modules of the engines contain what differs: how connections are opened and shared,
//! how a transaction begins and commits, how ballots are inserted and read.
//!
//! `README.md` teaches adding a table.

#[macro_use]
mod database;

mod accounts;
mod batches;
mod cards;
mod connect_error;
mod connection;
mod database_url;
mod deposits;
mod engine;
mod error;
mod evaluations;
mod files;
mod handles;
mod idempotency;
mod ids;
mod keys;
mod lease;
mod ledger;
mod limiter;
#[cfg(any(test, feature = "testing"))]
mod lists;
mod log_limit;
mod maintenance;
mod migrations;
mod panels;
mod polls;
mod postgres;
mod reputation;
mod row;
mod sqlite;
mod statement;
mod store_error;
mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
mod upstreams;
mod value;
mod webhooks;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use accounts::*;
pub use batches::*;
pub use cards::*;
pub use connect_error::ConnectError;
pub use database_url::DatabaseUrl;
pub use deposits::*;
pub use error::BackupError;
pub use evaluations::*;
pub use files::*;
pub use handles::{OpenDatabase, Runtime, Store, Treasury, Vault};
pub use idempotency::*;
pub use ids::*;
pub use keys::*;
pub use lease::{CLOCKS_APART, Lease};
pub use ledger::*;
pub use limiter::*;
pub use log_limit::LogLimit;
pub use maintenance::{DatabaseSize, FreePages, IntegrityCheck};
pub use panels::*;
pub use polls::*;
pub use reputation::*;
pub use store_error::StoreError;
pub use tasks::*;
pub use upstreams::*;
pub use webhooks::*;

use database::Database;
use database_url::Location;
use engine::Engine;
use polls::rosters::RosterCache;
use postgres::Postgres;
use sqlite::Sqlite;

/// Options of an open database.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The maximum number of connections: for reading on SQLite (which has one more for writing), for all
    /// operations on PostgreSQL.
    pub connections: u32,
    /// The time limit of one operation, waiting included.
    pub timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { connections: 8, timeout: Duration::from_secs(10) }
    }
}

/// Opens a database. Creates a missing SQLite file and migrates an older database.
pub async fn connect(url: &DatabaseUrl, options: StoreOptions) -> Result<OpenDatabase, ConnectError> {
    let (engine, postgres) = match &url.0 {
        Location::Sqlite(file) => (Engine::sqlite(Sqlite::open(file.as_deref(), &options).await?), None),
        Location::Postgres(server) => {
            let postgres = Arc::new(Postgres::open(server, &options).await?);
            (Engine::postgres(Arc::clone(&postgres)), Some(postgres))
        }
    };
    Ok(OpenDatabase::new(Arc::new(Database { engine, rosters: RosterCache::default() }), postgres))
}

/// Returns `true` if this service has ever used the database: its SQLite file has content, or its PostgreSQL
/// database has been migrated. Changes nothing.
pub async fn is_in_use(url: &DatabaseUrl, options: &StoreOptions) -> Result<bool, ConnectError> {
    match &url.0 {
        Location::Sqlite(file) => sqlite::is_in_use(file.as_deref()),
        Location::Postgres(server) => postgres::is_in_use(server, options.timeout).await,
    }
}

/// Copies a database to a new file while a service uses it, without migrating it. Supports only SQLite: for
/// PostgreSQL the error names the command to use.
pub async fn back_up(url: &DatabaseUrl, to: &Path) -> Result<(), BackupError> {
    match &url.0 {
        Location::Sqlite(Some(file)) => sqlite::back_up(file, to).await,
        Location::Sqlite(None) => {
            let text = "a database in memory exists only inside its process and cannot be backed up";
            Err(BackupError::NotAFile(text.to_owned()))
        }
        Location::Postgres(_) => Err(BackupError::NotAFile(format!(
            "a PostgreSQL server is backed up with its own tools, for example: pg_dump --format=custom --file={} {url}; \
             restore it with pg_restore into an empty database",
            to.display()
        ))),
    }
}
