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
    /// Deposits whose outcome nobody knows, although their authorization has expired.
    pub unknown_deposits: Vec<String>,
    /// Credited deposits whose transaction is no longer on the chain.
    pub vanished_deposits: Vec<String>,
    /// Keys whose spending differs from that of their polls.
    pub wrong_spending: Vec<String>,
    /// Accounts of revoked pre-funded keys whose money has not returned.
    pub unreturned_funds: Vec<String>,
    /// Models whose sums differ from those over the ballots that they stand for; `service` for the service's own.
    pub wrong_reputation: Vec<String>,
    /// Polls that are not settled although their time is long over: nobody runs them.
    pub stranded_polls: Vec<String>,
    /// Polls that are leased until a time that no correct clock can have written.
    pub false_leases: Vec<String>,
}

impl Audit {
    /// What was found, each with a name and a description.
    pub fn findings(&self) -> [(&'static str, &'static str, &[String]); 12] {
        [
            ("wrong_posted", "posted differs from the ledger", &self.wrong_posted),
            ("wrong_held", "held differs from the open holds", &self.wrong_held),
            ("orphaned_holds", "open hold of a settled poll", &self.orphaned_holds),
            ("wrong_captures", "charged other than its calls cost", &self.wrong_captures),
            ("wrong_spending", "a key's spending differs from that of its polls", &self.wrong_spending),
            ("unreturned_funds", "money left on a revoked pre-funded key", &self.unreturned_funds),
            ("unproven_credits", "a payment without its credit, or the reverse", &self.unproven_credits),
            ("unknown_deposits", "a deposit of unknown outcome", &self.unknown_deposits),
            ("vanished_deposits", "a credited deposit that left the chain", &self.vanished_deposits),
            ("wrong_reputation", "sums of a model differ from its ballots", &self.wrong_reputation),
            ("stranded_polls", "not settled long after its deadline", &self.stranded_polls),
            ("false_leases", "leased too far ahead, by a clock that was wrong", &self.false_leases),
        ]
    }

    /// Whether the ledger is consistent.
    pub fn is_clean(&self) -> bool {
        self.findings().iter().all(|(_, _, found)| found.is_empty())
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
    /// credits by card and payments belong together, that the spending of capped keys equals that of their polls, that
    /// nothing is left on revoked pre-funded keys, that the sums of reputation are those over the ballots, and
    /// that every poll is settled this long after its deadline (a poll that waits for its turn: after its lease), and
    /// that no lease ends later than this long and [`CLOCKS_APART`](super::CLOCKS_APART) from now.
    async fn audit(&self, settled_within: Duration) -> Result<Audit, StoreError>;
}
