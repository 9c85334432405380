//! Storage on SQLite or PostgreSQL: the ports of [`ep_kernel::ports`] for users, keys, money, polls,
//! ballots, idempotency records and what is cached about upstreams.
//!
//! [`connect`] opens a database, migrates it and hands out the ports. SQLite is the engine of one process:
//! one writer with group commit, and readers beside it. PostgreSQL is the engine of any number of identical
//! replicas. One conformance suite tests the contract of the ports on both.
//!
//! Statements, rows and transactions are written once for both engines (`statements`, `rows`,
//! `transactions`). The engines' own modules hold what differs: how connections are opened and shared, how
//! a transaction begins and commits, how ballots are inserted and read.

mod database_url;
mod engine;
mod error;
mod migrations;
mod postgres;
mod rows;
mod sqlite;
mod statements;
#[cfg(feature = "testing")]
pub mod testing;
mod transactions;
mod value;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::ports::{
    AccountDataStore, AgentPushes, AgentTasks, Balances, CheckoutStore, Confirmations, DepositStore,
    FeedbackStore, IdempotencyStore, KeyStore, Ledger, Limiter, PollChanges, PollHistory, PollStore,
    Profiles, ReputationStore, SessionStore, StoreError, UpstreamCache, UserAdmin, UserStore, WebhookStore,
};
use ep_polling::time::Timestamp;
use futures::FutureExt;
use futures::future::BoxFuture;

pub use database_url::DatabaseUrl;
pub use error::{BackupError, ConnectError};

use database_url::Location;
use engine::Engine;
use transactions::Database;

/// How a database is used.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Most connections: for reading on SQLite (which has one more for writing), for everything on
    /// PostgreSQL.
    pub connections: u32,
    /// How long one operation may take, waiting included.
    pub timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { connections: 8, timeout: Duration::from_secs(10) }
    }
}

/// An open database.
pub struct Store {
    database: Arc<dyn AnyDatabase>,
    limiter: Option<Arc<dyn Limiter>>,
    changes: Option<Arc<dyn PollChanges>>,
}

/// A [`Database`] on either engine.
trait AnyDatabase:
    AccountDataStore
    + UserStore
    + Confirmations
    + SessionStore
    + CheckoutStore
    + DepositStore
    + KeyStore
    + Ledger
    + PollStore
    + PollHistory
    + FeedbackStore
    + ReputationStore
    + AgentPushes
    + AgentTasks
    + IdempotencyStore
    + UpstreamCache
    + UserAdmin
    + WebhookStore
{
    fn engine(&self) -> &'static str;
    fn close_connections(&self) -> BoxFuture<'_, ()>;
    fn delete_anonymous(&self, before: Timestamp, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
    fn delete_cancellations(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
}

impl<E: Engine> AnyDatabase for Database<E> {
    fn engine(&self) -> &'static str {
        E::NAME
    }

    fn close_connections(&self) -> BoxFuture<'_, ()> {
        self.0.close().boxed()
    }

    fn delete_anonymous(&self, before: Timestamp, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
        transactions::reputation::delete_anonymous(self, before, limit).boxed()
    }

    fn delete_cancellations(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        transactions::polls::delete_cancellations(self).boxed()
    }
}

/// Opens a database. A missing SQLite file is created, an older database is migrated.
pub async fn connect(url: &DatabaseUrl, options: StoreOptions) -> Result<Store, ConnectError> {
    match &url.0 {
        Location::Sqlite(file) => {
            let database = Database(sqlite::Sqlite::open(file.as_deref(), &options).await?);
            Ok(Store { database: Arc::new(database), limiter: None, changes: None })
        }
        Location::Postgres(server) => {
            let database = Arc::new(Database(postgres::Postgres::open(server, &options).await?));
            Ok(Store { database: database.clone(), limiter: Some(database.clone()), changes: Some(database) })
        }
    }
}

/// Checks whether this service has ever used the database: its SQLite file has content, or its PostgreSQL database has been
/// migrated. Changes nothing.
pub async fn is_in_use(url: &DatabaseUrl, options: &StoreOptions) -> Result<bool, ConnectError> {
    match &url.0 {
        Location::Sqlite(file) => sqlite::is_in_use(file.as_deref()),
        Location::Postgres(server) => postgres::is_in_use(server, options.timeout).await,
    }
}

/// Copies a database to a new file while a service uses it; nothing is migrated. Only SQLite: for PostgreSQL the error
/// names the command to use.
pub async fn back_up(url: &DatabaseUrl, to: &Path) -> Result<(), BackupError> {
    match &url.0 {
        Location::Sqlite(Some(file)) => sqlite::back_up(file, to).await,
        Location::Sqlite(None) => {
            let text = "a database in memory exists in its own process alone: there is nothing to back up";
            Err(BackupError::NotAFile(text.to_owned()))
        }
        Location::Postgres(_) => Err(BackupError::NotAFile(format!(
            "a PostgreSQL server is backed up with its own tools, for example: pg_dump --format=custom --file={} {url}; \
             restore it with pg_restore into an empty database",
            to.display()
        ))),
    }
}

impl Store {
    /// The personal data of accounts.
    pub fn account_data(&self) -> Arc<dyn AccountDataStore> {
        self.database.clone()
    }

    /// Users.
    pub fn users(&self) -> Arc<dyn UserStore> {
        self.database.clone()
    }

    /// What the operator does with accounts.
    pub fn operator(&self) -> Arc<dyn UserAdmin> {
        self.database.clone()
    }

    /// What is known of users, for reading only.
    pub fn profiles(&self) -> Arc<dyn Profiles> {
        self.database.clone()
    }

    /// Which polls accounts want to confirm.
    pub fn confirmations(&self) -> Arc<dyn Confirmations> {
        self.database.clone()
    }

    /// Browser sessions.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        self.database.clone()
    }

    /// API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        self.database.clone()
    }

    /// Money of accounts.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        self.database.clone()
    }

    /// Balances, for reading only.
    pub fn balances(&self) -> Arc<dyn Balances> {
        self.database.clone()
    }

    /// Payments by card.
    pub fn checkouts(&self) -> Arc<dyn CheckoutStore> {
        self.database.clone()
    }

    /// Deposits of USDC.
    pub fn deposits(&self) -> Arc<dyn DepositStore> {
        self.database.clone()
    }

    /// Webhooks and notifications.
    pub fn webhooks(&self) -> Arc<dyn WebhookStore> {
        self.database.clone()
    }

    /// Polls and their ballots.
    pub fn polls(&self) -> Arc<dyn PollStore> {
        self.database.clone()
    }

    /// Lists of polls.
    pub fn history(&self) -> Arc<dyn PollHistory> {
        self.database.clone()
    }

    /// What accounts say of polls.
    pub fn feedback(&self) -> Arc<dyn FeedbackStore> {
        self.database.clone()
    }

    /// Sums over the ballots of polls that have ended.
    pub fn reputation(&self) -> Arc<dyn ReputationStore> {
        self.database.clone()
    }

    /// Tasks of agents.
    pub fn agent_tasks(&self) -> Arc<dyn AgentTasks> {
        self.database.clone()
    }

    /// Where agents hear of the ends of their tasks.
    pub fn agent_pushes(&self) -> Arc<dyn AgentPushes> {
        self.database.clone()
    }

    /// Idempotency records.
    pub fn idempotency(&self) -> Arc<dyn IdempotencyStore> {
        self.database.clone()
    }

    /// What is cached about upstreams.
    pub fn upstream_cache(&self) -> Arc<dyn UpstreamCache> {
        self.database.clone()
    }

    /// Request limits that all replicas share; `None` on SQLite, which has no replicas.
    pub fn limiter(&self) -> Option<Arc<dyn Limiter>> {
        self.limiter.clone()
    }

    /// Changes to polls, announced among the processes that share the database; `None` on SQLite.
    pub fn poll_changes(&self) -> Option<Arc<dyn PollChanges>> {
        self.changes.clone()
    }

    /// Deletes polls that nobody owns, opened before a time and settled, with their ballots: up to `limit` in one
    /// transaction. Returns how many.
    pub async fn delete_anonymous_polls(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.database.delete_anonymous(before, limit).await
    }

    /// Deletes what asked for the end of polls that are settled: their closings say so. Returns how many.
    pub async fn delete_cancellations(&self) -> Result<u64, StoreError> {
        self.database.delete_cancellations().await
    }

    /// The engine's name: `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.engine()
    }

    /// Finishes what was begun and closes the database. Operations begun afterwards fail.
    pub async fn close(&self) {
        self.database.close_connections().await;
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine()).finish_non_exhaustive()
    }
}
