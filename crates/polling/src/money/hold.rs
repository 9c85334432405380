//! Money set aside for a poll that is still running.

use super::MicroUsd;

/// Money set aside from one account for one poll. The poll never spends more than its hold; when it
/// ends, what was spent is captured and the rest released, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// What the account must have available for the poll to start at all: the worst case of its first
    /// wave of calls.
    pub at_least: MicroUsd,
    /// What is wanted: the lesser of the caller's budget and the roster's worst case. The hold takes
    /// this or whatever is available, whichever is less.
    pub at_most: MicroUsd,
}

/// What becomes of the hold when a poll closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Nothing is in flight any more: capture this amount now, in the closing transaction.
    Capture(MicroUsd),
    /// Calls are still in flight and may cost money: the hold stays open until they are settled.
    Later,
}
