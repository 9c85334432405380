//! A queue in which accounts take turns: every waiting account is served once before any account is served twice.

use std::collections::{HashMap, VecDeque};

use ep_store::UserId;

/// The account of an entry. Entries without an account share one turn.
pub type Account = Option<UserId>;

/// A queue of entries, in the order of their accounts' turns. The entries of an account stay in their order.
#[derive(Debug)]
pub struct Turns<T> {
    /// Accounts with an entry, in the order of their turns.
    pub(crate) accounts: VecDeque<Account>,
    pub(crate) queues: HashMap<Account, VecDeque<T>>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { accounts: VecDeque::new(), queues: HashMap::new() }
    }
}

impl<T> Turns<T> {
    /// Adds an entry.
    pub fn push(&mut self, account: Account, entry: T) {
        let queue = self.queues.entry(account).or_default();
        queue.push_back(entry);
        if queue.len() == 1 {
            self.accounts.push_back(account);
        }
    }

    /// Removes the next entry.
    pub fn pop(&mut self) -> Option<(Account, T)> {
        let account = self.accounts.pop_front()?;
        let queue = self.queues.get_mut(&account)?;
        let next = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(&account);
        } else {
            self.accounts.push_back(account);
        }
        Some((account, next))
    }

    /// Returns true without an entry.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Removes the first entry of an account that matches. Returns false if there is none.
    pub(crate) fn remove(&mut self, account: Account, is_it: impl FnMut(&T) -> bool) -> bool {
        let Some(queue) = self.queues.get_mut(&account) else { return false };
        let Some(index) = queue.iter().position(is_it) else { return false };
        queue.remove(index);
        if queue.is_empty() {
            self.queues.remove(&account);
            self.accounts.retain(|waiting| *waiting != account);
        }
        true
    }
}
