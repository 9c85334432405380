//! Storage on SQLite or PostgreSQL: users, keys, money, polls, ballots, idempotency records and cached upstream data, as
//! records and traits that document their storage.
//!
//! [`connect`] opens a database, migrates it and returns the traits. SQLite serves one process: one writer
//! with group commit, and parallel readers. PostgreSQL serves any number of identical replicas. One
//! conformance suite tests the contract of the ports on both.
//!
//! Statements, rows and transactions are written once for both engines (`statements`, `rows`,
//! `transactions`). The modules of the engines contain what differs: how connections are opened and shared,
//! how a transaction begins and commits, how ballots are inserted and read.
//!
//! `README.md` teaches adding a table.

mod batch_id;
mod connect_error;
mod database_url;
mod email;
mod engine;
mod error;
mod evaluation_id;
mod identity;
mod ids;
mod key_hash;
mod key_label;
mod key_terms;
mod log_limit;
mod migrations;
mod ports;
mod postgres;
mod rows;
mod sqlite;
mod statements;
mod store_error;
#[cfg(feature = "testing")]
pub mod testing;
mod token_hash;
mod transactions;
mod value;
mod wallet_address;
mod webhook_url;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ep_polling::time::Timestamp;

pub use batch_id::{BatchId, FileId, NotAnId};
pub use connect_error::ConnectError;
pub use database_url::DatabaseUrl;
pub use email::{Email, InvalidEmail};
pub use error::BackupError;
pub use evaluation_id::{EvaluationId, NotAnEvaluationId};
pub use identity::Identity;
pub use ids::{CheckoutId, DepositId, FeedbackId, KeyId, RequestId, UserId};
pub use key_hash::KeyHash;
pub use key_label::{InvalidKeyLabel, KeyLabel};
pub use key_terms::{CappedKey, Creator, KeyScope, KeyTerms, SpendingCaps};
pub use log_limit::LogLimit;
pub use ports::*;
pub use token_hash::TokenHash;
pub use wallet_address::{InvalidWalletAddress, WalletAddress};
pub use webhook_url::WebhookUrl;

use database_url::Location;
use engine::Engine;
use postgres::Postgres;
use sqlite::Sqlite;
use transactions::Database;
use transactions::plans::RosterCache;

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

/// An open database.
pub struct Store {
    database: Arc<Database>,
    /// The server, which replicas share.
    postgres: Option<Arc<Postgres>>,
}

/// Opens a database. Creates a missing SQLite file and migrates an older database.
pub async fn connect(url: &DatabaseUrl, options: StoreOptions) -> Result<Store, ConnectError> {
    let (engine, postgres) = match &url.0 {
        Location::Sqlite(file) => (Engine::Sqlite(Sqlite::open(file.as_deref(), &options).await?), None),
        Location::Postgres(server) => {
            let postgres = Arc::new(Postgres::open(server, &options).await?);
            (Engine::Postgres(Arc::clone(&postgres)), Some(postgres))
        }
    };
    Ok(Store { database: Arc::new(Database(engine, RosterCache::default())), postgres })
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

impl Store {
    /// Returns the store of accounts' personal data.
    pub fn account_data(&self) -> Arc<dyn AccountDataStore> {
        self.database.clone()
    }

    /// Returns the user store.
    pub fn users(&self) -> Arc<dyn UserStore> {
        self.database.clone()
    }

    /// Returns the operator's account administration.
    pub fn operator(&self) -> Arc<dyn UserAdmin> {
        self.database.clone()
    }

    /// Returns read-only user profiles.
    pub fn profiles(&self) -> Arc<dyn Profiles> {
        self.database.clone()
    }

    /// Returns the accounts' thresholds for poll confirmation.
    pub fn confirmations(&self) -> Arc<dyn Confirmations> {
        self.database.clone()
    }

    /// Returns the store of browser sessions.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        self.database.clone()
    }

    /// Returns the store of API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        self.database.clone()
    }

    /// Returns the ledger of accounts.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        self.database.clone()
    }

    /// Returns read-only balances.
    pub fn balances(&self) -> Arc<dyn Balances> {
        self.database.clone()
    }

    /// Returns the store of card payments.
    pub fn checkouts(&self) -> Arc<dyn CheckoutStore> {
        self.database.clone()
    }

    /// Returns the store of USDC deposits.
    pub fn deposits(&self) -> Arc<dyn DepositStore> {
        self.database.clone()
    }

    /// Returns the store of webhooks and notifications.
    pub fn webhooks(&self) -> Arc<dyn WebhookStore> {
        self.database.clone()
    }

    /// Returns the store of accounts' evaluations.
    pub fn evaluations(&self) -> Arc<dyn EvaluationStore> {
        self.database.clone()
    }

    /// Returns the store of accounts' panels.
    pub fn panels(&self) -> Arc<dyn PanelStore> {
        self.database.clone()
    }

    /// Returns the store of polls and their ballots.
    pub fn polls(&self) -> Arc<dyn PollStore> {
        self.database.clone()
    }

    /// Returns the lists of polls.
    pub fn history(&self) -> Arc<dyn PollHistory> {
        self.database.clone()
    }

    /// Returns the store of feedback on polls.
    pub fn feedback(&self) -> Arc<dyn FeedbackStore> {
        self.database.clone()
    }

    /// Returns the store of statistics over the ballots of ended polls.
    pub fn reputation(&self) -> Arc<dyn ReputationStore> {
        self.database.clone()
    }

    /// Returns the store of agent tasks.
    pub fn agent_tasks(&self) -> Arc<dyn AgentTasks> {
        self.database.clone()
    }

    /// Returns the store of push configs for agent tasks.
    pub fn agent_pushes(&self) -> Arc<dyn AgentPushes> {
        self.database.clone()
    }

    /// Returns the store of batches.
    pub fn batches(&self) -> Arc<dyn BatchStore> {
        self.database.clone()
    }

    /// Returns the store of files.
    pub fn files(&self) -> Arc<dyn FileStore> {
        self.database.clone()
    }

    /// Returns the store of idempotency records.
    pub fn idempotency(&self) -> Arc<dyn IdempotencyStore> {
        self.database.clone()
    }

    /// Returns the cache of upstream data.
    pub fn upstream_cache(&self) -> Arc<dyn UpstreamCache> {
        self.database.clone()
    }

    /// Returns request limits shared by all replicas; `None` on SQLite, which has no replicas.
    pub fn limiter(&self) -> Option<Arc<dyn Limiter>> {
        self.postgres.clone().map(|postgres| postgres as Arc<dyn Limiter>)
    }

    /// Returns the channel for poll changes between processes that share the database; `None` on SQLite.
    pub fn poll_changes(&self) -> Option<Arc<dyn PollChanges>> {
        self.postgres.clone().map(|postgres| postgres as Arc<dyn PollChanges>)
    }

    /// Deletes settled anonymous polls opened before a time, with their ballots: up to `limit` in one
    /// transaction. Returns their number.
    pub async fn delete_anonymous_polls(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        transactions::reputation::delete_anonymous(&self.database, before, limit).await
    }

    /// Deletes cancellation requests of settled polls, because their closings record the cancellation.
    /// Returns their number.
    pub async fn delete_cancellations(&self) -> Result<u64, StoreError> {
        transactions::polls::delete_cancellations(&self.database).await
    }

    /// Deletes private polls of deleted batches, and of batches whose files have expired: a step over up to `limit` polls in one
    /// transaction. Returns their number; zero if the step must wait, and `None` if no such batch is left.
    pub async fn erase_polls_of_batches(&self, at: Timestamp, limit: u32) -> Result<Option<u64>, StoreError> {
        transactions::erased_batches::erase_polls(&self.database, at, limit).await
    }

    /// Deletes rosters without polls. Returns their number.
    pub async fn delete_unused_rosters(&self) -> Result<u64, StoreError> {
        transactions::plans::delete_unused_rosters(&self.database).await
    }

    /// Returns the engine's name: `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.0.name()
    }

    /// Completes pending work and closes the database. Later operations fail.
    pub async fn close(&self) {
        self.database.0.close().await;
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine()).finish_non_exhaustive()
    }
}
