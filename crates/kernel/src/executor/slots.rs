//! How many polls run at once in this process, and the queue of those that wait for their turn.
//!
//! Accounts take turns: whoever waits is served before another account is served twice. No account can take
//! more than half of the places that are left, so that there is one for others. Free polls count as one account.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::caller::UserId;

/// How much of this process polls may take.
#[derive(Debug, Clone, Copy)]
pub struct PollLimits {
    /// Polls that run at once, at least one.
    pub running: usize,
    /// Accepted polls that wait for their turn.
    pub waiting: usize,
}

impl Default for PollLimits {
    fn default() -> Self {
        Self { running: 200, waiting: 1000 }
    }
}

type Account = Option<UserId>;

/// Gives out the places of running polls.
#[derive(Clone)]
pub(super) struct Slots(Arc<Shared>);

struct Shared {
    limits: PollLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: usize,
    tickets: u64,
    /// Accounts with a queue, in the order of their turns.
    turns: VecDeque<Account>,
    queues: HashMap<Account, VecDeque<Waiting>>,
}

struct Waiting {
    ticket: u64,
    wake: oneshot::Sender<()>,
}

/// The place of a poll.
pub(super) enum Place {
    /// It may run.
    Slot(Slot),
    /// It waits for its turn.
    Turn(Turn),
}

impl Place {
    /// Its number in the queue, if it waits.
    pub(super) const fn ticket(&self) -> Option<u64> {
        match self {
            Self::Slot(_) => None,
            Self::Turn(turn) => Some(turn.ticket),
        }
    }

    /// Waits until it may run.
    pub(super) async fn slot(self) -> Slot {
        match self {
            Self::Slot(slot) => slot,
            Self::Turn(turn) => turn.come().await,
        }
    }
}

/// The right to run one poll; given back when dropped.
pub(super) struct Slot(Arc<Shared>);

/// A place in the queue; given up when dropped.
pub(super) struct Turn {
    shared: Arc<Shared>,
    account: Account,
    ticket: u64,
    woken: oneshot::Receiver<()>,
    used: bool,
}

impl Slots {
    pub(super) fn new(limits: PollLimits) -> Self {
        let limits = PollLimits { running: limits.running.max(1), ..limits };
        Self(Arc::new(Shared { limits, state: Mutex::default() }))
    }

    /// A place for a new poll of this account; `None` if there is none left.
    pub(super) fn take(&self, account: Account) -> Option<Place> {
        let mut state = self.0.lock();
        let left = self.0.limits.waiting.saturating_sub(state.waiting);
        let own = state.queues.get(&account).map_or(0, VecDeque::len);
        let slot = self.0.slot(&mut state);
        slot.or_else(|| (own < left).then(|| self.0.turn(&mut state, account)))
    }

    /// A place for a poll that was accepted before, by this process or another.
    pub(super) fn take_again(&self, account: Account) -> Place {
        let mut state = self.0.lock();
        self.0.slot(&mut state).unwrap_or_else(|| self.0.turn(&mut state, account))
    }

    /// How many more polls could run now.
    pub(super) fn free(&self) -> usize {
        self.0.limits.running.saturating_sub(self.0.lock().running)
    }

    /// How many polls at most run before this one does, itself included; `None` if it does not wait.
    pub(super) fn position(&self, account: Account, ticket: u64) -> Option<usize> {
        let state = self.0.lock();
        let own = state.queues.get(&account)?.iter().position(|waiting| waiting.ticket == ticket)? + 1;
        let others = state.queues.iter().filter(|(other, _)| **other != account);
        Some(own + others.map(|(_, queue)| queue.len().min(own)).sum::<usize>())
    }
}

impl State {
    fn measure(&self) {
        metrics::gauge!("ep_polls_running").set(self.running as f64);
        metrics::gauge!("ep_polls_waiting").set(self.waiting as f64);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>, state: &mut State) -> Option<Place> {
        let free = state.running < self.limits.running && state.turns.is_empty();
        state.running += usize::from(free);
        state.measure();
        free.then(|| Place::Slot(Slot(Arc::clone(self))))
    }

    fn turn(self: &Arc<Self>, state: &mut State, account: Account) -> Place {
        let (wake, woken) = oneshot::channel();
        state.tickets += 1;
        state.waiting += 1;
        let ticket = state.tickets;
        let queue = state.queues.entry(account).or_default();
        queue.push_back(Waiting { ticket, wake });
        if queue.len() == 1 {
            state.turns.push_back(account);
        }
        state.measure();
        Place::Turn(Turn { shared: Arc::clone(self), account, ticket, woken, used: false })
    }

    /// A slot has become free: the next in turn gets it.
    fn release(&self) {
        let mut state = self.lock();
        state.running -= 1;
        self.serve(&mut state);
        state.measure();
    }

    fn serve(&self, state: &mut State) {
        while state.running < self.limits.running {
            let Some(account) = state.turns.pop_front() else { return };
            let Some(queue) = state.queues.get_mut(&account) else { continue };
            let next = queue.pop_front();
            if queue.is_empty() {
                state.queues.remove(&account);
            } else {
                state.turns.push_back(account);
            }
            if let Some(next) = next {
                state.waiting -= 1;
                // A receiver that is gone gives the slot back when it finds that it was served.
                state.running += 1;
                let _ = next.wake.send(());
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Turn {
    async fn come(mut self) -> Slot {
        // The sender is dropped only after it was used.
        let _ = (&mut self.woken).await;
        self.used = true;
        Slot(Arc::clone(&self.shared))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.used {
            return;
        }
        {
            let mut state = self.shared.lock();
            let state = &mut *state;
            if let Some(queue) = state.queues.get_mut(&self.account)
                && let Some(index) = queue.iter().position(|waiting| waiting.ticket == self.ticket)
            {
                queue.remove(index);
                state.waiting -= 1;
                if queue.is_empty() {
                    state.queues.remove(&self.account);
                    state.turns.retain(|account| *account != self.account);
                }
                state.measure();
                return;
            }
        }
        // It was served, but nobody was there to take the slot.
        self.shared.release();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Number 0 are the polls without an account.
    fn account(number: u8) -> Account {
        (number > 0).then(|| UserId::from_random([number; 16]))
    }

    fn turn(place: Option<Place>) -> Turn {
        match place {
            Some(Place::Turn(turn)) => turn,
            Some(Place::Slot(_)) => panic!("it should wait"),
            None => panic!("it was refused"),
        }
    }

    fn served(turn: &mut Turn) -> bool {
        turn.woken.try_recv().is_ok()
    }

    #[test]
    fn accounts_take_turns() {
        let slots = Slots::new(PollLimits { running: 1, waiting: 100 });
        let running = slots.take(account(1));
        let mut busy: Vec<Turn> = (0..3).map(|_| turn(slots.take(account(1)))).collect();
        let mut other = turn(slots.take(account(2)));
        assert_eq!(slots.position(account(1), busy[2].ticket), Some(4));
        assert_eq!(slots.position(account(2), other.ticket), Some(2));
        drop(running);
        assert!(served(&mut busy[0]) && !served(&mut other));
        assert_eq!(slots.position(account(1), busy[0].ticket), None);
        busy.remove(0);
        assert!(served(&mut other), "before the first account is served twice");
        assert!(!served(&mut busy[0]));
    }

    #[test]
    fn the_queue_is_bounded_and_keeps_room_for_others() {
        let slots = Slots::new(PollLimits { running: 1, waiting: 8 });
        let mut places: Vec<Place> = std::iter::from_fn(|| slots.take(account(1))).collect();
        assert_eq!(places.len(), 1 + 4);
        places.extend(std::iter::from_fn(|| slots.take(account(2))));
        assert_eq!(places.len(), 1 + 4 + 2);
        // What was accepted before is never refused.
        places.push(slots.take_again(account(1)));
        drop(places);
        assert_eq!(slots.free(), 1);
        assert!(matches!(slots.take(account(1)), Some(Place::Slot(_))));
    }

    proptest! {
        /// Whatever comes and goes, no more run than may, nobody waits beside a free slot, and nothing is lost.
        #[test]
        fn slots_are_neither_lost_nor_doubled(steps in prop::collection::vec((0..4_u8, any::<u8>()), 1..120)) {
            let slots = Slots::new(PollLimits { running: 3, waiting: 12 });
            let mut places: Vec<Place> = Vec::new();
            for (who, choice) in steps {
                if who == 3 && !places.is_empty() {
                    places.remove(usize::from(choice) % places.len());
                } else {
                    places.extend(slots.take(account(who)));
                }
                let state = slots.0.lock();
                prop_assert!(state.running <= 3);
                prop_assert!(state.waiting == 0 || state.running == 3);
                prop_assert_eq!(state.running + state.waiting, places.len());
                prop_assert_eq!(state.queues.values().map(VecDeque::len).sum::<usize>(), state.waiting);
                prop_assert_eq!(state.turns.len(), state.queues.len());
            }
            drop(places);
            prop_assert_eq!(slots.free(), 3);
        }
    }
}
