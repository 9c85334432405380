//! Supervised background work.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fault::Fault;

/// Background work: every task is counted, is notified of the shutdown, and is waited for.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Runs a task in the background. It should end soon after [`Tasks::stopping`] does.
    pub fn spawn<F>(&self, task: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tracker.spawn(task)
    }

    /// Resolves when the service begins to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Counts tasks, for parts that spawn their own.
    pub fn tracker(&self) -> TaskTracker {
        self.tracker.clone()
    }

    /// A token that is cancelled when the service stops.
    pub fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs `work` every `period` until the service stops. A failing run is logged, and the next one is
    /// started all the same.
    pub fn every<F, Fut>(&self, name: &'static str, period: Duration, mut work: F)
    where
        F: FnMut() -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), Fault>> + Send + 'static,
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

    /// Asks every task to stop and waits at most `limit` for them; `false` where some still run then.
    pub async fn shut_down(&self, limit: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(limit, self.tracker.wait()).await.is_ok()
    }
}
