//! The slots of running polls in this process, and the queue of waiting polls.
//!
//! Accounts take turns: every waiting account is served once before any account is served twice. An account
//! can take at most half of the free queue, so that others can always queue. Free polls count as one account.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::turns::{Account, Turns};

/// Limits on the polls of this process.
#[derive(Debug, Clone, Copy)]
pub struct PollLimits {
    /// Maximum running polls, at least one.
    pub running: usize,
    /// Maximum accepted polls in the queue.
    pub waiting: usize,
    /// Maximum running polls of batches, besides the others.
    pub of_batches: usize,
    /// Time after which callers no longer wait for a database that cannot be written.
    pub stalled_after: Duration,
}

impl PollLimits {
    /// Returns the limits of the polls of batches. A row has several polls at most, so its polls may wait for each other.
    pub(super) const fn for_batches(self) -> Self {
        Self { running: self.of_batches, waiting: 32 * self.of_batches, of_batches: 0, ..self }
    }
}

impl Default for PollLimits {
    fn default() -> Self {
        Self { running: 200, waiting: 1000, of_batches: 100, stalled_after: Duration::from_secs(3) }
    }
}

/// Allocates the slots of running polls.
#[derive(Clone)]
pub(super) struct Slots(Arc<SlotPool>);

struct SlotPool {
    limits: PollLimits,
    gauges: Gauges,
    state: Mutex<QueueState>,
}

/// Names of the metrics of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gauges {
    /// Of the running polls.
    pub running: &'static str,
    /// Of the waiting polls.
    pub waiting: &'static str,
}

#[derive(Default)]
struct QueueState {
    running: usize,
    waiting: usize,
    tickets: u64,
    polls: Turns<QueuedPoll>,
}

struct QueuedPoll {
    ticket: u64,
    wake: oneshot::Sender<()>,
}

/// A slot, or a turn in the queue.
pub(super) enum Reservation {
    /// The poll may run.
    Slot(RunSlot),
    /// The poll is queued.
    Turn(QueueTurn),
}

impl Reservation {
    /// Returns the number in the queue, if the poll is queued.
    pub(super) const fn ticket(&self) -> Option<u64> {
        match self {
            Self::Slot(_) => None,
            Self::Turn(turn) => Some(turn.ticket),
        }
    }

    /// Waits for a slot.
    pub(super) async fn slot(self) -> RunSlot {
        match self {
            Self::Slot(slot) => slot,
            Self::Turn(turn) => turn.come().await,
        }
    }
}

/// The right to run one poll, released when dropped.
pub(super) struct RunSlot(Arc<SlotPool>);

/// A position in the queue, given up when dropped.
pub(super) struct QueueTurn {
    pool: Arc<SlotPool>,
    account: Account,
    ticket: u64,
    woken: oneshot::Receiver<()>,
    used: bool,
}

impl Slots {
    pub(super) fn new(limits: PollLimits, gauges: Gauges) -> Self {
        let limits = PollLimits { running: limits.running.max(1), ..limits };
        Self(Arc::new(SlotPool { limits, gauges, state: Mutex::default() }))
    }

    /// Reserves a slot or a turn for a new poll of this account; `None` if the queue is full.
    pub(super) fn take(&self, account: Account) -> Option<Reservation> {
        let mut state = self.0.lock();
        let left = self.0.limits.waiting.saturating_sub(state.waiting);
        let own = state.polls.queues.get(&account).map_or(0, VecDeque::len);
        let slot = self.0.slot(&mut state);
        slot.or_else(|| (own < left).then(|| self.0.turn(&mut state, account)))
    }

    /// Reserves a slot or a turn for a poll already accepted by this or another process.
    pub(super) fn take_again(&self, account: Account) -> Reservation {
        let mut state = self.0.lock();
        self.0.slot(&mut state).unwrap_or_else(|| self.0.turn(&mut state, account))
    }

    /// Returns the number of free slots.
    pub(super) fn free(&self) -> usize {
        self.0.limits.running.saturating_sub(self.0.lock().running)
    }

    /// Returns the maximum number of polls that run before this one, including itself; `None` if it is not
    /// queued.
    pub(super) fn position(&self, account: Account, ticket: u64) -> Option<usize> {
        let state = self.0.lock();
        let own = state.polls.queues.get(&account)?.iter().position(|waiting| waiting.ticket == ticket)? + 1;
        let others = state.polls.queues.iter().filter(|(other, _)| **other != account);
        Some(own + others.map(|(_, queue)| queue.len().min(own)).sum::<usize>())
    }
}

impl QueueState {
    fn measure(&self, gauges: Gauges) {
        metrics::gauge!(gauges.running).set(self.running as f64);
        metrics::gauge!(gauges.waiting).set(self.waiting as f64);
    }
}

impl SlotPool {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>, state: &mut QueueState) -> Option<Reservation> {
        let free = state.running < self.limits.running && state.polls.is_empty();
        state.running += usize::from(free);
        state.measure(self.gauges);
        free.then(|| Reservation::Slot(RunSlot(Arc::clone(self))))
    }

    fn turn(self: &Arc<Self>, state: &mut QueueState, account: Account) -> Reservation {
        let (wake, woken) = oneshot::channel();
        state.tickets += 1;
        state.waiting += 1;
        let ticket = state.tickets;
        state.polls.push(account, QueuedPoll { ticket, wake });
        state.measure(self.gauges);
        Reservation::Turn(QueueTurn { pool: Arc::clone(self), account, ticket, woken, used: false })
    }

    /// Frees a slot and gives it to the next poll in turn.
    fn release(&self) {
        let mut state = self.lock();
        state.running -= 1;
        self.serve(&mut state);
        state.measure(self.gauges);
    }

    fn serve(&self, state: &mut QueueState) {
        while state.running < self.limits.running
            && let Some((_, next)) = state.polls.pop()
        {
            state.waiting -= 1;
            // A receiver that is gone releases the slot when it finds that it was served.
            state.running += 1;
            let _ = next.wake.send(());
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl QueueTurn {
    async fn come(mut self) -> RunSlot {
        // The sender is dropped only after it was used.
        let _ = (&mut self.woken).await;
        self.used = true;
        RunSlot(Arc::clone(&self.pool))
    }
}

impl Drop for QueueTurn {
    fn drop(&mut self) {
        if self.used {
            return;
        }
        {
            let mut state = self.pool.lock();
            if state.polls.remove(self.account, |waiting| waiting.ticket == self.ticket) {
                state.waiting -= 1;
                state.measure(self.pool.gauges);
                return;
            }
        }
        // The poll was served, but its receiver was gone.
        self.pool.release();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ep_store::UserId;

    const GAUGES: Gauges = Gauges { running: "running", waiting: "waiting" };

    /// Returns an account, or `None` for number 0: polls without an account.
    fn account(number: u8) -> Account {
        (number > 0).then(|| UserId::from_random([number; 16]))
    }

    fn turn(reservation: Option<Reservation>) -> QueueTurn {
        match reservation {
            Some(Reservation::Turn(turn)) => turn,
            Some(Reservation::Slot(_)) => panic!("the poll should wait"),
            None => panic!("the poll was rejected"),
        }
    }

    fn served(turn: &mut QueueTurn) -> bool {
        turn.woken.try_recv().is_ok()
    }

    #[test]
    fn accounts_take_turns() {
        let slots = Slots::new(PollLimits { running: 1, waiting: 100, ..PollLimits::default() }, GAUGES);
        let running = slots.take(account(1));
        let mut busy: Vec<QueueTurn> = (0..3).map(|_| turn(slots.take(account(1)))).collect();
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
    fn the_queue_is_bounded_and_one_account_cannot_fill_it() {
        let slots = Slots::new(PollLimits { running: 1, waiting: 8, ..PollLimits::default() }, GAUGES);
        let mut reservations: Vec<Reservation> = std::iter::from_fn(|| slots.take(account(1))).collect();
        assert_eq!(reservations.len(), 1 + 4);
        reservations.extend(std::iter::from_fn(|| slots.take(account(2))));
        assert_eq!(reservations.len(), 1 + 4 + 2);
        // Polls already accepted are never rejected.
        reservations.push(slots.take_again(account(1)));
        drop(reservations);
        assert_eq!(slots.free(), 1);
        assert!(matches!(slots.take(account(1)), Some(Reservation::Slot(_))));
    }

    proptest! {
        /// After any sequence of steps, the limit holds, no poll waits beside a free slot, and no slot is
        /// lost.
        #[test]
        fn slots_are_neither_lost_nor_doubled(steps in prop::collection::vec((0..4_u8, any::<u8>()), 1..120)) {
            let slots = Slots::new(PollLimits { running: 3, waiting: 12, ..PollLimits::default() }, GAUGES);
            let mut reservations: Vec<Reservation> = Vec::new();
            for (who, choice) in steps {
                if who == 3 && !reservations.is_empty() {
                    reservations.remove(usize::from(choice) % reservations.len());
                } else {
                    reservations.extend(slots.take(account(who)));
                }
                let state = slots.0.lock();
                prop_assert!(state.running <= 3);
                prop_assert!(state.waiting == 0 || state.running == 3);
                prop_assert_eq!(state.running + state.waiting, reservations.len());
                prop_assert_eq!(state.polls.queues.values().map(VecDeque::len).sum::<usize>(), state.waiting);
                prop_assert_eq!(state.polls.accounts.len(), state.polls.queues.len());
            }
            drop(reservations);
            prop_assert_eq!(slots.free(), 3);
        }
    }
}
