//! A line of calls: polls before rows of batches, accounts by turns, and the calls of an account in their order.

use ep_kernel::{Turn, Turns};

/// A line of calls.
pub(crate) struct Line<T> {
    polls: Turns<T>,
    rows: Turns<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { polls: Turns::default(), rows: Turns::default() }
    }
}

impl<T> Line<T> {
    /// Adds a call.
    pub(crate) fn push(&mut self, turn: Turn, call: T) {
        let turns = if turn.of_batch { &mut self.rows } else { &mut self.polls };
        turns.push(turn.account, call);
    }

    /// Removes the next call.
    pub(crate) fn pop(&mut self) -> Option<(Turn, T)> {
        let poll = self.polls.pop().map(|(account, call)| (Turn { account, of_batch: false }, call));
        let row = || self.rows.pop().map(|(account, call)| (Turn { account, of_batch: true }, call));
        poll.or_else(row)
    }

    /// Returns true if no call waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.polls.is_empty() && self.rows.is_empty()
    }
}
