//! Money reserved for a running poll.

use super::MicroUsd;

/// Money reserved from one account for one poll. The poll never spends more than its hold. When it ends, the
/// amount spent is captured and the rest released, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The minimum available balance for the poll to start: the maximum cost of the calls made before the
    /// first response.
    pub at_least: MicroUsd,
    /// The caller's budget or the maximum cost of the whole roster, whichever is less. The hold is this
    /// amount or the available balance, whichever is less.
    pub at_most: MicroUsd,
}

/// The settlement of a hold when its poll closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// No call is in flight: capture this amount now, in the closing transaction.
    Capture(MicroUsd),
    /// Calls in flight may still cost money: the hold stays open until they are settled.
    Later,
}
