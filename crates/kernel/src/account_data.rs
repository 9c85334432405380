//! The personal data of accounts: exporting it, and deleting it.
//!
//! The operator's commands and the operations of an account share this implementation.

use std::sync::Arc;

use crate::caller::UserId;
use crate::fault::{Fault, Kind};
use crate::ports::{
    AccountDataStore, AccountDeletion, AccountDeletionOutcome, AccountRecord, Clock, DeletionObstacles,
};
use ep_polling::money::MicroUsd;

/// Exports and deletes the data of accounts.
pub struct AccountData {
    store: Arc<dyn AccountDataStore>,
    clock: Arc<dyn Clock>,
}

impl AccountData {
    /// The service on this store.
    pub fn new(store: Arc<dyn AccountDataStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Reads stored data, a page at a time.
    pub fn store(&self) -> &dyn AccountDataStore {
        &*self.store
    }

    /// An account that can decide about its data. [`Kind::Forbidden`] for a pre-funded key, whose account belongs to
    /// its funder.
    pub async fn own_account(&self, user: UserId) -> Result<AccountRecord, Fault> {
        let account = self.store.account_record(user).await?;
        if account.funder.is_some() {
            let text = "a pre-funded key cannot export or delete data; use a session or a full key of the account \
                        that funds it";
            return Err(Fault::new(Kind::Forbidden, text));
        }
        Ok(account)
    }

    /// Deletes the personal data of an account: see [`AccountDataStore::delete_account`]. Returns the forfeited
    /// balance. [`Kind::Conflict`] while polls run, payments are open or the balance is not given up;
    /// [`Kind::AccountFrozen`] for a frozen account.
    pub async fn delete_account(&self, user: UserId, forfeit_balance: bool) -> Result<MicroUsd, Fault> {
        self.delete(user, forfeit_balance, false).await
    }

    /// Deletes it as the operator, even if it is frozen.
    pub async fn delete_account_as_operator(
        &self,
        user: UserId,
        forfeit_balance: bool,
    ) -> Result<MicroUsd, Fault> {
        self.delete(user, forfeit_balance, true).await
    }

    async fn delete(
        &self,
        user: UserId,
        forfeit_balance: bool,
        by_operator: bool,
    ) -> Result<MicroUsd, Fault> {
        self.own_account(user).await?;
        let deletion = AccountDeletion { user, forfeit_balance, by_operator, at: self.clock.now() };
        match self.store.delete_account(deletion).await? {
            AccountDeletionOutcome::Deleted { forfeited } => {
                self.purge().await;
                Ok(forfeited)
            }
            AccountDeletionOutcome::Refused(obstacles) => Err(refusal(obstacles)),
        }
    }

    /// Removes deleted data from the database's log. A failure is logged: it is tried again later.
    pub async fn purge(&self) {
        match self.store.purge_deleted().await {
            Ok(true) => {}
            Ok(false) => tracing::info!("deleted data is still in the database's log; it is removed later"),
            Err(error) => tracing::warn!(error = %error, "deleted data could not be removed from the log"),
        }
    }
}

/// The refusal of a deletion, with everything that is in its way.
fn refusal(obstacles: DeletionObstacles) -> Fault {
    let DeletionObstacles { polls, checkouts, deposits, balance, frozen } = obstacles;
    if frozen {
        let text = "this account is frozen, so only the operator can delete it; contact the operator";
        return Fault::new(Kind::AccountFrozen, text);
    }
    let mut reasons = Vec::new();
    if polls > 0 {
        reasons.push(format!("polls that still run or are being charged: {polls}; cancel them or wait"));
    }
    if checkouts > 0 {
        reasons.push(format!("open payments by card: {checkouts}; an unpaid one ends within a day"));
    }
    if deposits > 0 {
        reasons.push(format!("USDC deposits that are not final: {deposits}; wait for them"));
    }
    if balance > MicroUsd::ZERO {
        reasons.push(format!("a balance of {balance}; spend it, or give it up with forfeit_balance"));
    }
    Fault::new(Kind::Conflict, format!("this account cannot be deleted now: {}", reasons.join("; ")))
}
