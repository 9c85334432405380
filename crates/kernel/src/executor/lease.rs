//! The lease on a poll as known to this process.

use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use ep_store::Epoch;

/// A lease on one poll. It ends when the database says so, or when it is not renewed in time. Another process
/// may run the poll from then on.
pub(super) struct HeldLease(watch::Sender<LeaseTerm>);

#[derive(Debug, Clone, Copy)]
struct LeaseTerm {
    epoch: Epoch,
    until: Instant,
}

impl HeldLease {
    /// Creates a lease of this epoch that ends at `until` unless it is renewed.
    pub(super) fn new(epoch: Epoch, until: Instant) -> Self {
        Self(watch::Sender::new(LeaseTerm { epoch, until }))
    }

    /// Returns the epoch of writes under this lease.
    pub(super) fn epoch(&self) -> Epoch {
        self.0.borrow().epoch
    }

    /// Starts a new epoch of the lease.
    pub(super) fn take(&self, epoch: Epoch, until: Instant) {
        self.0.send_modify(|known| *known = LeaseTerm { epoch, until });
    }

    /// Extends the lease, if it is still of this epoch.
    pub(super) fn renew(&self, epoch: Epoch, until: Instant) {
        self.0.send_if_modified(|known| {
            let same = known.epoch == epoch;
            if same {
                known.until = until;
            }
            same
        });
    }

    /// Ends the lease of this epoch: the database or this process has released it.
    pub(super) fn end(&self, epoch: Epoch) {
        self.renew(epoch, Instant::now());
    }

    fn is_held(&self) -> bool {
        Instant::now() < self.0.borrow().until
    }

    /// Resolves when the lease has ended. Reads the clock on every poll of the future, because timers may be
    /// late after a pause of the process.
    pub(super) async fn ended(&self) {
        let waiting = async {
            let mut changes = self.0.subscribe();
            loop {
                let until = changes.borrow_and_update().until;
                tokio::select! {
                    () = sleep_until(until) => return,
                    _ = changes.changed() => {}
                }
            }
        };
        let mut waiting = pin!(waiting);
        std::future::poll_fn(|cx| if self.is_held() { waiting.as_mut().poll(cx) } else { Poll::Ready(()) })
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_unless_it_is_renewed() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let lease = HeldLease::new(Epoch::FIRST, after(10));
        {
            let mut ended = pin!(lease.ended());
            tokio::select! {
                () = &mut ended => panic!("the lease ended early"),
                () = sleep_until(after(9)) => lease.renew(Epoch::FIRST, after(19)),
            }
            ended.await;
        }
        assert_eq!(Instant::now(), after(19));
        // A message about an earlier epoch does not end a later one.
        lease.take(Epoch::new(2), after(60));
        lease.end(Epoch::FIRST);
        assert!(lease.is_held());
        lease.end(Epoch::new(2));
        lease.ended().await;
        assert_eq!(Instant::now(), after(19));
    }
}
