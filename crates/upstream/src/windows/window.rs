//! One window, and the recent outcomes that decide about it.

use std::time::Duration;

use tokio::time::Instant;

/// The time within which refusals of two models belong together, and after a halving in which no answer widens a window.
pub(super) const TOGETHER: Duration = Duration::from_secs(1);

/// A number of calls in flight, and its limit.
pub(super) struct Window {
    pub(super) limit: usize,
    pub(super) in_flight: usize,
    halved_at: Option<Instant>,
}

impl Window {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, in_flight: 0, halved_at: None }
    }

    pub(super) const fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    pub(super) fn is_unhalved_for(&self, time: Duration) -> bool {
        self.halved_at.is_none_or(|halved_at| halved_at.elapsed() >= time)
    }

    /// Halves the window after the refusal of a call that is no longer in flight. Returns false if the call was sent before the
    /// last time.
    pub(super) fn halve(&mut self, sent_at: Instant) -> bool {
        if self.halved_at.is_some_and(|halved_at| sent_at <= halved_at) {
            return false;
        }
        self.limit = (self.limit.min(self.in_flight + 1) / 2).max(1);
        self.halved_at = Some(Instant::now());
        true
    }
}

/// The numbers of answers and refusals in this second and the one before.
pub(super) struct Recent {
    since: Instant,
    now: Outcomes,
    before: Outcomes,
}

#[derive(Default)]
pub(super) struct Outcomes {
    pub(super) answers: usize,
    pub(super) refusals: usize,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), now: Outcomes::default(), before: Outcomes::default() }
    }

    /// Returns the numbers of this second.
    pub(super) fn now(&mut self) -> &mut Outcomes {
        let age = self.since.elapsed();
        if age >= TOGETHER {
            let last = std::mem::take(&mut self.now);
            self.before = if age < 2 * TOGETHER { last } else { Outcomes::default() };
            self.since = Instant::now();
        }
        &mut self.now
    }

    /// Returns true if there is at least one refusal for every four answers, where calls in flight count as answers.
    pub(super) const fn are_refusals_frequent(&self, in_flight: usize) -> bool {
        4 * (self.now.refusals + self.before.refusals) >= self.now.answers + self.before.answers + in_flight
    }
}
