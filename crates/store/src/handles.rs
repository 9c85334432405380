//! The handles of an open database. Each is what its holder may do.

use std::fmt;
use std::sync::Arc;

use crate::database::Database;
use crate::limiter::Limiter;
use crate::polls::PollChanges;
use crate::polls::PollStore;
use crate::postgres::Postgres;
use crate::upstreams::UpstreamCache;

/// An open database, divided by what a holder may do.
pub struct OpenDatabase {
    /// Storage that can neither credit an account nor read a secret.
    pub store: Store,
    /// Adds money to the ledger, and has the operator's actions on accounts.
    pub treasury: Treasury,
    /// Reads secrets, and moves money between an account and its keys.
    pub vault: Vault,
    /// Runs the service.
    pub runtime: Runtime,
}

impl OpenDatabase {
    pub(crate) fn new(database: Arc<Database>, postgres: Option<Arc<Postgres>>) -> Self {
        Self {
            treasury: Treasury(Arc::clone(&database)),
            vault: Vault(Arc::clone(&database)),
            store: Store(Arc::clone(&database)),
            runtime: Runtime { database, postgres },
        }
    }
}

impl fmt::Debug for OpenDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenDatabase").field("engine", &self.runtime.engine()).finish_non_exhaustive()
    }
}

/// Storage that can neither credit an account nor read a secret.
///
/// ```
/// async fn reads(store: &ep_store::Store, user: ep_store::UserId) {
///     store.balance(user).await;
/// }
/// ```
///
/// A holder cannot credit an account:
///
/// ```compile_fail
/// async fn credits(store: &ep_store::Store, paid: &ep_store::PaidCheckout, at: ep_polling::time::Timestamp) {
///     store.settle_checkout(paid, at).await;
/// }
/// ```
///
/// cannot close the database:
///
/// ```compile_fail
/// async fn closes(store: &ep_store::Store) {
///     store.close().await;
/// }
/// ```
///
/// and cannot read a secret:
///
/// ```compile_fail
/// async fn reads(store: &ep_store::Store, user: ep_store::UserId) {
///     store.webhook(user).await;
/// }
/// ```
#[derive(Clone)]
pub struct Store(pub(crate) Arc<Database>);

/// Runs the service: polls and their changes, replies to repeated requests, figures, limits, upkeep, and the end of storage.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) database: Arc<Database>,
    /// The server, which replicas share.
    pub(crate) postgres: Option<Arc<Postgres>>,
}

/// Adds money to the ledger, and has the operator's actions on accounts.
///
/// ```
/// async fn credits(treasury: &ep_store::Treasury, paid: &ep_store::PaidCheckout, at: ep_polling::time::Timestamp) {
///     treasury.settle_checkout(paid, at).await;
/// }
/// ```
#[derive(Clone)]
pub struct Treasury(pub(crate) Arc<Database>);

/// Reads secrets (tokens of sessions, hashes of keys, secrets of webhooks), and moves money between an account and its keys.
///
/// ```
/// async fn reads(vault: &ep_store::Vault, user: ep_store::UserId) {
///     vault.webhook(user).await;
/// }
/// ```
#[derive(Clone)]
pub struct Vault(pub(crate) Arc<Database>);

impl Runtime {
    /// Returns the store of polls and their ballots.
    pub fn polls(&self) -> Arc<dyn PollStore> {
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

    /// Returns the engine's name: `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.name()
    }

    /// Completes pending work and closes the database. Later operations fail.
    pub async fn close(&self) {
        self.database.engine.close().await;
    }
}
