//! Keeps an upstream's limit of requests per minute, so that it never has to.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);

/// The limits of one upstream: one for everything, one for what is free. A free call obeys both.
#[derive(Debug)]
pub(crate) struct Pacer {
    all: Option<Lane>,
    free: Option<Lane>,
}

/// One limit and when its turns were taken or are reserved: never more than `per_minute` in any minute.
#[derive(Debug)]
struct Lane {
    per_minute: NonZeroU32,
    turns: Mutex<VecDeque<Instant>>,
}

/// A reserved turn. Dropped before it came, it goes back to the others.
#[derive(Debug)]
pub(crate) struct Turn<'p> {
    pacer: &'p Pacer,
    free: bool,
    at: Instant,
}

/// There is no turn in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// The limit.
    pub(crate) per_minute: NonZeroU32,
    /// Until the next turn.
    pub(crate) wait: Duration,
}

impl Pacer {
    pub(crate) fn new(all: Option<NonZeroU32>, free: Option<NonZeroU32>) -> Self {
        let lane = |per_minute| Lane { per_minute, turns: Mutex::default() };
        Self { all: all.map(lane), free: free.map(lane) }
    }

    /// The limit for free models, where there is one.
    pub(crate) fn free_per_minute(&self) -> Option<NonZeroU32> {
        self.free.as_ref().map(|lane| lane.per_minute)
    }

    /// Reserves the next turn, unless it comes after `until`.
    pub(crate) fn turn(&self, free: bool, until: Instant) -> Result<Turn<'_>, TooMany> {
        let now = Instant::now();
        let mut at = now;
        let mut limit = None;
        for lane in self.lanes(free) {
            let next = lane.next(now);
            if next > at {
                (at, limit) = (next, Some(lane.per_minute));
            }
        }
        if let Some(per_minute) = limit
            && at > until
        {
            return Err(TooMany { per_minute, wait: at - now });
        }
        for lane in self.lanes(free) {
            lane.reserve(at);
        }
        Ok(Turn { pacer: self, free, at })
    }

    fn lanes(&self, free: bool) -> impl Iterator<Item = &Lane> {
        self.all.iter().chain(self.free.iter().filter(move |_| free))
    }
}

impl Lane {
    fn next(&self, now: Instant) -> Instant {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        while turns.front().is_some_and(|&turn| turn + WINDOW <= now) {
            turns.pop_front();
        }
        let before = turns.len().checked_sub(self.per_minute.get() as usize);
        before.map_or(now, |index| now.max(turns[index] + WINDOW))
    }

    fn reserve(&self, at: Instant) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let index = turns.partition_point(|&turn| turn <= at);
        turns.insert(index, at);
    }

    fn give_back(&self, at: Instant) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = turns.iter().rposition(|&turn| turn == at) {
            turns.remove(index);
        }
    }
}

impl Turn<'_> {
    /// Waits for the turn.
    pub(crate) async fn come(self) {
        if self.at > Instant::now() {
            tokio::time::sleep_until(self.at).await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.at > Instant::now() {
            for lane in self.pacer.lanes(self.free) {
                lane.give_back(self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_holds_more_than_the_limit() {
        let pacer = Pacer::new(None, NonZeroU32::new(3));
        let until = Instant::now() + Duration::from_secs(70);
        for _ in 0..3 {
            pacer.turn(true, until).unwrap().come().await;
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        let late = pacer.turn(true, until).unwrap();
        assert_eq!(late.at - Instant::now(), Duration::from_secs(50));
        let full = pacer.turn(true, Instant::now() + Duration::from_secs(20)).unwrap_err();
        assert_eq!(full, TooMany { per_minute: NonZeroU32::new(3).unwrap(), wait: Duration::from_secs(50) });
        assert!(pacer.turn(false, Instant::now()).is_ok(), "what costs money has no limit here");
        drop(late);
        let turns = pacer.free.as_ref().unwrap().turns.lock().unwrap().len();
        assert_eq!(turns, 3, "an unused turn went back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_call_obeys_both_limits() {
        let pacer = Pacer::new(NonZeroU32::new(2), NonZeroU32::new(1));
        pacer.turn(true, Instant::now()).unwrap().come().await;
        pacer.turn(false, Instant::now()).unwrap().come().await;
        assert!(pacer.turn(false, Instant::now()).is_err());
        assert!(pacer.turn(true, Instant::now()).is_err());
    }
}
