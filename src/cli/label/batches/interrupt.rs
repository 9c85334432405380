//! Ctrl-C during a run: the first one cancels the batches, the second one ends the run at once.

use std::pin::Pin;

use tokio::time::Instant;

use crate::cli::stop_signal;

/// The signals of a run.
pub(super) struct Interrupt {
    next: Pin<Box<dyn Future<Output = ()>>>,
    is_asked: bool,
}

impl Interrupt {
    pub(super) fn new() -> Self {
        Self { next: Box::pin(stop_signal()), is_asked: false }
    }

    /// True after the first signal.
    pub(super) const fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Works until the work is done. `None` after the second signal.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                () = &mut self.next => if self.note() { return None },
            }
        }
    }

    /// Waits until this time, or until a signal. `None` after the second one.
    pub(super) async fn sleep_until(&mut self, time: Instant) -> Option<()> {
        tokio::select! {
            () = tokio::time::sleep_until(time) => Some(()),
            () = &mut self.next => if self.note() { None } else { Some(()) },
        }
    }

    /// Notes a signal. Returns true for the second one.
    fn note(&mut self) -> bool {
        self.next = Box::pin(stop_signal());
        if self.is_asked {
            return true;
        }
        self.is_asked = true;
        eprintln!(
            "cancelling the batches: rows that were begun are finished and paid. Ctrl-C again ends at once; the next run \
             reads their results"
        );
        false
    }
}
