//! The personal data of an account: export and deletion.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::{
    AccountRecord, CheckoutRecord, NotificationRecord, NumberedTransfer, OwnFeedback, StoreError, TaskRecord,
    TransferRecord,
};
use crate::ids::UserId;

/// A request to delete an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountDeletion {
    /// The account.
    pub user: UserId,
    /// True if the remaining balance is forfeited.
    pub forfeit_balance: bool,
    /// True if the operator deletes it. Its owner cannot delete a frozen account.
    pub by_operator: bool,
    /// The time of the deletion.
    pub at: Timestamp,
}

/// The result of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountDeletionOutcome {
    /// The account is deleted.
    Deleted {
        /// The forfeited balance.
        forfeited: MicroUsd,
    },
    /// Obstacles remain; nothing changed.
    Rejected(DeletionObstacles),
}

/// The obstacles to deleting an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletionObstacles {
    /// Polls that run or are not charged yet, including those of its pre-funded keys.
    pub polls: u64,
    /// Card payments that are neither paid nor closed.
    pub checkouts: u64,
    /// USDC deposits that are not final.
    pub deposits: u64,
    /// Batches that have not ended, including those of its pre-funded keys.
    pub batches: u64,
    /// The balance that would be forfeited without consent, including that of its pre-funded keys.
    pub balance: MicroUsd,
    /// True if the account is frozen.
    pub frozen: bool,
}

/// Reads and deletes the personal data of accounts. An unknown user is [`StoreError::NotFound`].
#[async_trait]
pub trait AccountDataStore: Send + Sync {
    /// Returns an account as stored, read in one snapshot.
    async fn account_record(&self, user: UserId) -> Result<AccountRecord, StoreError>;

    /// Returns up to `limit` transfers of a user, oldest first, after the one with this number.
    async fn transfers_after(
        &self,
        user: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<NumberedTransfer>, StoreError>;

    /// Returns up to `limit` transfers of a user other than the costs of polls, newest first.
    async fn newest_payments(&self, user: UserId, limit: u32) -> Result<Vec<TransferRecord>, StoreError>;

    /// Returns the user's card payment with this id at the card processor.
    async fn card_payment(&self, user: UserId, session: &str) -> Result<Option<CheckoutRecord>, StoreError>;

    /// Returns up to `limit` feedback entries of a user, ordered by poll id, after this one.
    async fn feedback_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OwnFeedback>, StoreError>;

    /// Returns up to `limit` notifications of a user, ordered by poll id, after this one.
    async fn notifications_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError>;

    /// Returns up to `limit` agent tasks of a user, ordered by id, after this one.
    async fn tasks_after(&self, user: UserId, after: &str, limit: u32)
    -> Result<Vec<TaskRecord>, StoreError>;

    /// Deletes the personal data of an account, in one transaction: its address, identities, sessions,
    /// webhook, notifications, agent tasks, panels, feedback and the labels of its keys. Its keys are revoked. Its
    /// polls and ledger entries stay under its id, and deposits under the payer's address; the private polls of its
    /// batches are queued to be deleted. Returns
    /// [`AccountDeletionOutcome::Rejected`] while one of the [`DeletionObstacles`] remains. Acknowledged once
    /// a power loss cannot undo it.
    async fn delete_account(&self, deletion: AccountDeletion) -> Result<AccountDeletionOutcome, StoreError>;

    /// Removes deleted data from the database's log. Returns `false` if readers prevented it; a later call
    /// retries.
    async fn purge_deleted(&self) -> Result<bool, StoreError>;
}
