//! Money set aside for a poll that is still running.

use super::MicroUsd;

/// Money set aside from one account for one poll. The poll never spends more than its hold; when it
/// ends, what was spent is captured and the rest released, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// What the account must have available for the poll to start: the most that the calls made before the
    /// first answer can cost.
    pub at_least: MicroUsd,
    /// The lesser of the caller's budget and the most that the whole roster can cost. The hold is this
    /// amount or what is available, whichever is less.
    pub at_most: MicroUsd,
}

/// What happens to the hold when a poll closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Nothing is in flight any more: capture this amount now, in the closing transaction.
    Capture(MicroUsd),
    /// Calls are still in flight and may cost money: the hold stays open until they are settled.
    Later,
}
