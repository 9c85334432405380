//! Money of accounts.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// An account's money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Credits minus debits.
    pub posted: MicroUsd,
    /// Of that, set aside for running polls.
    pub held: MicroUsd,
    /// Everything captured for polls so far.
    pub used: MicroUsd,
}

impl Balance {
    /// What a new poll can use.
    pub const fn available(&self) -> MicroUsd {
        self.posted.minus(self.held)
    }
}

/// The result of a credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditOutcome {
    /// The account has been credited.
    Credited,
    /// The same credit was made before; nothing changed.
    AlreadyCredited,
}

/// The result of an audit. Every list is empty if the ledger is consistent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Number of accounts checked.
    pub accounts: u64,
    /// Number of transfers checked.
    pub transfers: u64,
    /// Accounts whose posted amount differs from the sum of their transfers.
    pub wrong_posted: Vec<String>,
    /// Accounts whose held amount differs from the sum of their open holds.
    pub wrong_held: Vec<String>,
    /// Open holds of polls that are settled.
    pub orphaned_holds: Vec<String>,
    /// Settled polls that were not charged what their calls cost, up to what was held for them.
    pub wrong_captures: Vec<String>,
    /// Credits by card or in USDC without a payment that was made, and payments without their credit.
    pub unproven_credits: Vec<String>,
    /// Polls that are not settled although their time is long over: nobody runs them.
    pub stranded_polls: Vec<String>,
}

impl Audit {
    /// Whether the ledger is consistent.
    pub const fn is_clean(&self) -> bool {
        self.wrong_posted.is_empty()
            && self.wrong_held.is_empty()
            && self.orphaned_holds.is_empty()
            && self.wrong_captures.is_empty()
            && self.unproven_credits.is_empty()
            && self.stranded_polls.is_empty()
    }
}

/// Reads balances, and changes nothing.
#[async_trait]
pub trait Balances: Send + Sync {
    /// An account's money; `None` for an unknown user.
    async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError>;
}

/// Moves money into accounts. [`PollStore`](super::PollStore) moves it out.
#[async_trait]
pub trait Ledger: Balances {
    /// Credits an account with an amount above zero, once per `reference`. Acknowledged once a power
    /// loss cannot undo it. [`StoreError::NotFound`] for an unknown user; [`StoreError::Conflict`] if the
    /// reference was used for another amount or another account.
    async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError>;

    /// Checks in one snapshot that posted equals the transfers, that held equals the open holds, that every
    /// open hold belongs to a poll that is not settled, that settled polls were charged what their calls cost, that
    /// credits by card and payments belong together, and that every poll is settled this long after its
    /// deadline (a poll that waits for its turn: after its lease).
    async fn audit(&self, settled_within: Duration) -> Result<Audit, StoreError>;
}
