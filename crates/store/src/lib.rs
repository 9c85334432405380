//! Keeps polls, ballots, accounts, money and replies, on SQLite or PostgreSQL, behind the promises of
//! [`ep_kernel::ports`].
//!
//! [`connect`] opens a database, brings its tables up to date and hands out the ports. SQLite is the
//! engine of one process: one writer with group commit, readers beside it. PostgreSQL is the engine of
//! any number of identical replicas. Both keep the same promises; the conformance suite holds them to it.
//!
//! What the engines share is text and decoding (`statements`, `rows`, `fault`); how they run a
//! statement is written twice, because it differs where it matters.

mod database_url;
mod fault;
mod migrations;
mod postgres;
mod rows;
mod sqlite;
mod statements;
#[cfg(feature = "testing")]
pub mod testing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::ports::{AccountStore, IdempotencyStore, Limiter, PollStore, UpstreamCache};

pub use database_url::DatabaseUrl;
pub use fault::ConnectError;

/// How a database is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections kept: for reading on SQLite (which has one more for writing), for everything on
    /// PostgreSQL.
    pub connections: u32,
    /// How long one operation may take, waiting for its turn included.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 8, timeout: Duration::from_secs(10) }
    }
}

/// An open database.
pub struct Store {
    polls: Arc<dyn PollStore>,
    accounts: Arc<dyn AccountStore>,
    idempotency: Arc<dyn IdempotencyStore>,
    memory: Arc<dyn UpstreamCache>,
    limiter: Option<Arc<dyn Limiter>>,
    backend: Backend,
}

enum Backend {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

/// Opens a database, created where it is missing and migrated where it is old.
pub async fn connect(url: &DatabaseUrl, options: Options) -> Result<Store, ConnectError> {
    match url {
        DatabaseUrl(database_url::Place::Sqlite(file)) => {
            let engine = Arc::new(sqlite::Sqlite::open(file.as_deref(), &options).await?);
            Ok(Store {
                polls: engine.clone(),
                accounts: engine.clone(),
                idempotency: engine.clone(),
                memory: engine.clone(),
                limiter: None,
                backend: Backend::Sqlite(engine),
            })
        }
        DatabaseUrl(database_url::Place::Postgres(server)) => {
            let engine = Arc::new(postgres::Postgres::open(server, &options).await?);
            Ok(Store {
                polls: engine.clone(),
                accounts: engine.clone(),
                idempotency: engine.clone(),
                memory: engine.clone(),
                limiter: Some(engine.clone()),
                backend: Backend::Postgres(engine),
            })
        }
    }
}

impl Store {
    /// Polls and their ballots.
    pub fn polls(&self) -> Arc<dyn PollStore> {
        Arc::clone(&self.polls)
    }

    /// Accounts, their keys and their money.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::clone(&self.accounts)
    }

    /// Replies kept for replay.
    pub fn idempotency(&self) -> Arc<dyn IdempotencyStore> {
        Arc::clone(&self.idempotency)
    }

    /// What is remembered about upstreams.
    pub fn memory(&self) -> Arc<dyn UpstreamCache> {
        Arc::clone(&self.memory)
    }

    /// Limits that all replicas share; only PostgreSQL has replicas.
    pub fn limiter(&self) -> Option<Arc<dyn Limiter>> {
        self.limiter.clone()
    }

    /// The engine's name: `sqlite` or `postgres`.
    pub const fn engine(&self) -> &'static str {
        match self.backend {
            Backend::Sqlite(_) => "sqlite",
            Backend::Postgres(_) => "postgres",
        }
    }

    /// Finishes what has been asked for and closes the database. What is asked afterwards fails.
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(engine) => engine.close().await,
            Backend::Postgres(engine) => engine.close().await,
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine()).finish_non_exhaustive()
    }
}
