//! A line of calls: polls before rows of batches, accounts by turns, and the calls of an account in their order.

use std::collections::{HashMap, VecDeque};

use ep_kernel::caller::UserId;
use ep_kernel::ports::Turn;

/// A line. An account that has waited longest since its last turn is next; calls without an account share one.
pub(crate) struct Line<T> {
    polls: Turns<T>,
    rows: Turns<T>,
}

struct Turns<T> {
    /// Accounts with a call, in the order of their turns.
    accounts: VecDeque<Option<UserId>>,
    calls: HashMap<Option<UserId>, VecDeque<T>>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { polls: Turns::default(), rows: Turns::default() }
    }
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { accounts: VecDeque::new(), calls: HashMap::new() }
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
        self.polls.calls.is_empty() && self.rows.calls.is_empty()
    }
}

impl<T> Turns<T> {
    fn push(&mut self, account: Option<UserId>, call: T) {
        let calls = self.calls.entry(account).or_default();
        if calls.is_empty() {
            self.accounts.push_back(account);
        }
        calls.push_back(call);
    }

    fn pop(&mut self) -> Option<(Option<UserId>, T)> {
        let account = self.accounts.pop_front()?;
        let calls = self.calls.get_mut(&account)?;
        let call = calls.pop_front()?;
        if calls.is_empty() {
            self.calls.remove(&account);
        } else {
            self.accounts.push_back(account);
        }
        Some((account, call))
    }
}
