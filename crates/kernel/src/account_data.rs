//! Export and deletion of the personal data of accounts.
//!
//! The operator's commands and the account operations share this implementation.

use std::sync::Arc;

use crate::fault::{Fault, Kind, Result};
use crate::ports::Clock;
use ep_polling::MicroUsd;
use ep_store::{AccountDeletion, AccountDeletionOutcome, AccountRecord, DeletionObstacles, Store, UserId};

/// Exports and deletes the data of accounts.
pub struct AccountData {
    /// The accounts and their data.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

impl AccountData {
    /// Returns an account that can decide about its data. [`Kind::Forbidden`] for a pre-funded key, because
    /// its account belongs to its funder.
    pub async fn own_account(&self, user: UserId) -> Result<AccountRecord> {
        let account = self.store.account_record(user).await?;
        if account.funder.is_some() {
            let text = "a pre-funded key cannot export or delete data; use a session or a full key of the account \
                        that funds it";
            return Err(Fault::new(Kind::Forbidden, text));
        }
        Ok(account)
    }

    /// Deletes the personal data of an account: see [`Store::delete_account`]. Returns the
    /// forfeited balance. [`Kind::Conflict`] while polls run, payments are open or a balance is not
    /// forfeited; [`Kind::AccountFrozen`] for a frozen account.
    pub async fn delete_account(&self, user: UserId, forfeit_balance: bool) -> Result<MicroUsd> {
        self.delete(user, forfeit_balance, false).await
    }

    /// Deletes it as the operator, even if it is frozen.
    pub async fn delete_account_as_operator(&self, user: UserId, forfeit_balance: bool) -> Result<MicroUsd> {
        self.delete(user, forfeit_balance, true).await
    }

    async fn delete(&self, user: UserId, forfeit_balance: bool, by_operator: bool) -> Result<MicroUsd> {
        self.own_account(user).await?;
        let deletion = AccountDeletion { user, forfeit_balance, by_operator, at: self.clock.now() };
        match self.store.delete_account(deletion).await? {
            AccountDeletionOutcome::Deleted { forfeited } => {
                self.purge().await;
                Ok(forfeited)
            }
            AccountDeletionOutcome::Rejected(obstacles) => Err(deletion_conflict(obstacles)),
        }
    }

    /// Removes deleted data from the database's log. Logs a failure; the next run retries.
    pub async fn purge(&self) {
        match self.store.purge_deleted().await {
            Ok(true) => {}
            Ok(false) => tracing::info!("deleted data is still in the database log; retrying later"),
            Err(error) => {
                tracing::warn!(error = %error, "failed to remove deleted data from the database log");
            }
        }
    }
}

/// Returns a fault that lists every obstacle to a deletion.
fn deletion_conflict(obstacles: DeletionObstacles) -> Fault {
    let DeletionObstacles { polls, checkouts, deposits, batches, balance, frozen } = obstacles;
    if frozen {
        let text = "this account is frozen, so only the operator can delete it; contact the operator";
        return Fault::new(Kind::AccountFrozen, text);
    }
    let mut reasons = Vec::new();
    if polls > 0 {
        reasons.push(format!("polls still running or being charged: {polls}; cancel them or wait"));
    }
    if checkouts > 0 {
        reasons
            .push(format!("open card payments: {checkouts}; an unpaid one expires an hour after it began"));
    }
    if deposits > 0 {
        reasons.push(format!("USDC deposits not final yet: {deposits}; wait for them"));
    }
    if batches > 0 {
        reasons.push(format!("open batches: {batches}; cancel them or wait"));
    }
    if balance > MicroUsd::ZERO {
        reasons.push(format!("a balance of {balance}; spend it, or set forfeit_balance"));
    }
    Fault::new(Kind::Conflict, format!("this account cannot be deleted now: {}", reasons.join("; ")))
}
