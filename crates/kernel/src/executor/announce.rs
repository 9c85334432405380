//! Announces changes of this process's polls to other processes, and handles theirs.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::{Mutex, mpsc};

use super::{Inner, PollExecutor};
use ep_polling::PollId;
use ep_store::{Change, MAX_ANNOUNCED, PollChange, PollChanges, StoreError};

/// Maximum changes waiting to be announced. Further ones are dropped, because each is only a hint.
const QUEUED: usize = 4096;
/// Changes within this time are announced together.
const BATCH_TIME: Duration = Duration::from_millis(10);
/// Delay before LISTEN is retried.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// Announces changes if processes share a database.
pub(super) struct Announcer {
    changes: Arc<dyn PollChanges>,
    waiting: mpsc::Sender<PollChange>,
    /// Locked by the announcing task.
    receiver: Mutex<mpsc::Receiver<PollChange>>,
}

impl Announcer {
    pub(super) fn new(changes: Arc<dyn PollChanges>) -> Self {
        let (waiting, receiver) = mpsc::channel(QUEUED);
        Self { changes, waiting, receiver: Mutex::new(receiver) }
    }

    /// Announces queued changes, in the background.
    async fn run(&self) {
        let mut receiver = self.receiver.lock().await;
        let mut changes = Vec::with_capacity(MAX_ANNOUNCED);
        while receiver.recv_many(&mut changes, MAX_ANNOUNCED).await > 0 {
            let mut seen = std::collections::HashSet::new();
            changes.retain(|change| seen.insert(change.clone()));
            if let Err(error) = self.changes.announce(&changes).await {
                tracing::debug!(error = %error, "failed to announce poll changes");
            }
            changes.clear();
            tokio::time::sleep(BATCH_TIME).await;
        }
    }
}

impl Inner {
    /// Wakes local followers and queues an announcement of the change.
    pub(super) fn changed(&self, poll: &PollId, change: Change) {
        self.followers.wake(poll, change);
        if let Some(announcer) = &self.announcer {
            let _ = announcer.waiting.try_send(PollChange { poll: poll.clone(), change });
        }
    }

    /// Announces that this poll can be adopted, and waits for the announcement, because the service is about
    /// to stop. Processes that receive it adopt every free poll.
    pub(super) async fn announce_released(&self, poll: &PollId) {
        let Some(announcer) = &self.announcer else { return };
        let change = PollChange { poll: poll.clone(), change: Change::Released };
        if let Err(error) = announcer.changes.announce(&[change]).await {
            tracing::debug!(error = %error, "failed to announce released leases");
        }
    }
}

impl PollExecutor {
    /// Announces this process's poll changes and handles those of others, in the background, if processes
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
                        tracing::warn!(error = %error, "LISTEN failed; polling every second");
                    },
                    () = stopping.cancelled() => return,
                }
                tokio::select! {
                    () = tokio::time::sleep(LISTEN_RETRY) => {}
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
                    tracing::warn!(error = %fault, "failed to resume polls released by another process");
                }
            }
        });
    }

    /// Handles announced changes, until some may have been missed.
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
