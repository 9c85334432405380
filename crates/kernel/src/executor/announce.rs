//! Announces changes to this process's polls to others, and acts on theirs.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::{Mutex, mpsc};

use super::{Inner, PollExecutor};
use crate::ports::{Change, MAX_ANNOUNCED, PollChange, PollChanges, StoreError};
use ep_polling::poll_id::PollId;

/// Changes that wait to be announced; more are dropped, because each is only a hint.
const WAITING: usize = 4096;
/// Changes of this time are announced together.
const TOGETHER: Duration = Duration::from_millis(10);
/// How long after a failure the process listens again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Announces changes where processes share a database.
pub(super) struct Announcer {
    changes: Arc<dyn PollChanges>,
    waiting: mpsc::Sender<PollChange>,
    /// Taken by the task that announces.
    taken: Mutex<mpsc::Receiver<PollChange>>,
}

impl Announcer {
    pub(super) fn new(changes: Arc<dyn PollChanges>) -> Self {
        let (waiting, taken) = mpsc::channel(WAITING);
        Self { changes, waiting, taken: Mutex::new(taken) }
    }

    /// Announces what waits, in the background.
    async fn run(&self) {
        let mut taken = self.taken.lock().await;
        let mut changes = Vec::with_capacity(MAX_ANNOUNCED);
        while taken.recv_many(&mut changes, MAX_ANNOUNCED).await > 0 {
            let mut seen = std::collections::HashSet::new();
            changes.retain(|change| seen.insert(change.clone()));
            if let Err(error) = self.changes.announce(&changes).await {
                tracing::debug!(error = %error, "changes to polls could not be announced");
            }
            changes.clear();
            tokio::time::sleep(TOGETHER).await;
        }
    }
}

impl Inner {
    /// Announces a change soon.
    pub(super) fn changed(&self, poll: &PollId, change: Change) {
        self.followers.wake(poll, change);
        if let Some(announcer) = &self.announcer {
            let _ = announcer.waiting.try_send(PollChange { poll: poll.clone(), change });
        }
    }

    /// Announces that this poll can be adopted, and waits until that is done: the service is about to stop. Whoever
    /// hears it adopts every poll that is free.
    pub(super) async fn announce_released(&self, poll: &PollId) {
        let Some(announcer) = &self.announcer else { return };
        let change = PollChange { poll: poll.clone(), change: Change::Released };
        if let Err(error) = announcer.changes.announce(&[change]).await {
            tracing::debug!(error = %error, "the end of leases could not be announced");
        }
    }
}

impl PollExecutor {
    /// Announces this process's changes to polls and acts on those of others, in the background, where processes
    /// share a database.
    pub fn share_changes(&self) {
        let inner = &self.0;
        if inner.announcer.is_none() {
            return;
        }
        let announcing = Arc::clone(inner);
        inner.tasks.spawn(async move {
            if let Some(announcer) = &announcing.announcer {
                tokio::select! {
                    () = announcer.run() => {}
                    () = announcing.finished() => {}
                }
            }
        });
        let listening = self.clone();
        inner.tasks.spawn(async move {
            let stopping = listening.0.tasks.token();
            loop {
                tokio::select! {
                    listened = listening.listen() => if let Err(error) = listened {
                        tracing::warn!(error = %error, "the changes to polls elsewhere cannot be heard; they are looked for every second");
                    },
                    () = stopping.cancelled() => return,
                }
                tokio::select! {
                    () = tokio::time::sleep(LISTEN_AGAIN) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
        let resuming = self.clone();
        inner.tasks.spawn(async move {
            let stopping = resuming.0.tasks.token();
            loop {
                tokio::select! {
                    () = resuming.0.released_elsewhere.notified() => {}
                    () = stopping.cancelled() => return,
                }
                if let Err(fault) = resuming.resume().await {
                    tracing::warn!(error = %fault, "polls that another process has given up cannot be resumed");
                }
            }
        });
    }

    /// Acts on the changes that are announced, until some may have been missed.
    async fn listen(&self) -> Result<(), StoreError> {
        let inner = &self.0;
        let Some(announcer) = &inner.announcer else { return Ok(()) };
        let mut changes = announcer.changes.listen().await?;
        inner.followers.wake_all();
        while let Some(PollChange { poll, change }) = changes.next().await {
            match change {
                Change::Ballots | Change::Ended => inner.followers.wake(&poll, change),
                Change::Cancelled => drop(inner.running.cancel(&poll)),
                Change::Released => inner.released_elsewhere.notify_one(),
                Change::Deleted => inner.forget(&poll),
            }
        }
        Ok(())
    }
}
