//! The lease on one poll, as this process knows it.

use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::ports::Epoch;

/// A lease on one poll. It ends when the database says so, or when it could not be renewed in time: another
/// process may run the poll from then on.
pub(super) struct HeldLease(watch::Sender<Known>);

#[derive(Debug, Clone, Copy)]
struct Known {
    epoch: Epoch,
    until: Instant,
}

impl HeldLease {
    /// A lease that was taken in this epoch, and ends then unless it is renewed.
    pub(super) fn new(epoch: Epoch, until: Instant) -> Self {
        Self(watch::Sender::new(Known { epoch, until }))
    }

    /// The epoch to write in.
    pub(super) fn epoch(&self) -> Epoch {
        self.0.borrow().epoch
    }

    /// It has been taken anew.
    pub(super) fn take(&self, epoch: Epoch, until: Instant) {
        self.0.send_modify(|known| *known = Known { epoch, until });
    }

    /// The database has renewed it, if it is still of this epoch.
    pub(super) fn renew(&self, epoch: Epoch, until: Instant) {
        self.0.send_if_modified(|known| {
            let same = known.epoch == epoch;
            if same {
                known.until = until;
            }
            same
        });
    }

    /// The database has it no longer, or this process gives it up.
    pub(super) fn end(&self, epoch: Epoch) {
        self.renew(epoch, Instant::now());
    }

    fn is_held(&self) -> bool {
        Instant::now() < self.0.borrow().until
    }

    /// Resolves when it has ended. The time is read whenever this is polled: after a pause of the process the
    /// timers may be late.
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
    async fn it_ends_unless_it_is_renewed() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let lease = HeldLease::new(Epoch::FIRST, after(10));
        {
            let mut ended = pin!(lease.ended());
            tokio::select! {
                () = &mut ended => panic!("it ended early"),
                () = sleep_until(after(9)) => lease.renew(Epoch::FIRST, after(19)),
            }
            ended.await;
        }
        assert_eq!(Instant::now(), after(19));
        // What is known of an earlier epoch does not end a later one.
        lease.take(Epoch::new(2), after(60));
        lease.end(Epoch::FIRST);
        assert!(lease.is_held());
        lease.end(Epoch::new(2));
        lease.ended().await;
        assert_eq!(Instant::now(), after(19));
    }
}
