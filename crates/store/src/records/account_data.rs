//! The personal data of an account: export and deletion.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

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
