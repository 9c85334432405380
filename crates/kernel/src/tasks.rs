//! Supervised background work.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fault::Result;

/// Background work. Every task is counted, notified of the shutdown, and waited for.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Runs a task in the background. It should end soon after [`Tasks::stopping`] resolves.
    pub fn spawn<F>(&self, task: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tracker.spawn(task)
    }

    /// Resolves when the service starts to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Returns the tracker, for components that spawn their own tasks.
    pub fn tracker(&self) -> TaskTracker {
        self.tracker.clone()
    }

    /// Returns a token that is cancelled when the service stops.
    pub fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs `work` every `period` until the service stops. A failed run is logged, and the next one starts as
    /// usual.
    pub fn every<F, Fut>(&self, name: &'static str, period: Duration, mut work: F)
    where
        F: FnMut() -> Fut + Send + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        let stop = self.token();
        self.spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                if let Err(fault) = work().await {
                    tracing::warn!(task = name, error = %fault, causes = fault.causes(), "background task failed");
                }
            }
        });
    }

    /// Cancels every task and waits at most `limit` for them. Returns `false` if some are still running then.
    pub async fn shut_down(&self, limit: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(limit, self.tracker.wait()).await.is_ok()
    }
}
