//! The money of accounts.

use ep_polling::MicroUsd;

use crate::row::from_row;

/// An account's money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Credits minus debits.
    pub posted: MicroUsd,
    /// The part of it held for running polls.
    pub held: MicroUsd,
    /// Total amount captured for polls.
    pub used: MicroUsd,
}

impl Balance {
    /// Returns the amount available for a new poll.
    pub const fn available(&self) -> MicroUsd {
        self.posted.minus(self.held)
    }
}

/// The result of a credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditOutcome {
    /// The account was credited.
    Credited,
    /// The same credit was made earlier; nothing changed.
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
    /// Settled polls whose charge differs from the cost of their calls, limited to their hold.
    pub wrong_captures: Vec<String>,
    /// Polls with gaps or repetitions in the sequence of their ballots, and plans without a poll.
    pub wrong_ballots: Vec<String>,
    /// Credits by card or in USDC without a completed payment, and completed payments without a credit.
    pub unproven_credits: Vec<String>,
    /// Deposits of unknown outcome with an expired authorization.
    pub unknown_deposits: Vec<String>,
    /// Credited deposits whose transaction is no longer on the chain.
    pub vanished_deposits: Vec<String>,
    /// Keys whose spending differs from the sum over their polls.
    pub wrong_spending: Vec<String>,
    /// Accounts of revoked pre-funded keys with unreturned money.
    pub unreturned_funds: Vec<String>,
    /// Models whose sums differ from those over their ballots; `service` for the sums of the service, and `calibration of`
    /// a panel for those of its judged polls.
    pub wrong_reputation: Vec<String>,
    /// Polls not settled long after their deadline, because no process runs them.
    pub stranded_polls: Vec<String>,
    /// Polls with a lease that ends later than any correct clock allows.
    pub false_leases: Vec<String>,
}

impl Audit {
    /// Returns all findings, each with a name and a description.
    pub fn findings(&self) -> [(&'static str, &'static str, &[String]); 13] {
        [
            ("wrong_posted", "posted differs from the ledger", &self.wrong_posted),
            ("wrong_held", "held differs from the open holds", &self.wrong_held),
            ("orphaned_holds", "open hold of a settled poll", &self.orphaned_holds),
            ("wrong_captures", "charged other than its calls cost", &self.wrong_captures),
            ("wrong_ballots", "ballots with gaps or without their poll", &self.wrong_ballots),
            ("wrong_spending", "a key's spending differs from that of its polls", &self.wrong_spending),
            ("unreturned_funds", "money left on a revoked pre-funded key", &self.unreturned_funds),
            ("unproven_credits", "a payment without its credit, or the reverse", &self.unproven_credits),
            ("unknown_deposits", "a deposit of unknown outcome", &self.unknown_deposits),
            ("vanished_deposits", "a credited deposit that left the chain", &self.vanished_deposits),
            ("wrong_reputation", "sums of a model or panel differ from its ballots", &self.wrong_reputation),
            ("stranded_polls", "not settled long after its deadline", &self.stranded_polls),
            ("false_leases", "leased too far ahead, by a clock that was wrong", &self.false_leases),
        ]
    }

    /// True if the ledger is consistent.
    pub fn is_clean(&self) -> bool {
        self.findings().iter().all(|(_, _, found)| found.is_empty())
    }
}

from_row!(Balance { posted, held, used });
