//! The running service as tools see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounts::Accounts;
use crate::caller::{Caller, RequestId};
use crate::event::{Progress, ProgressSink};
use crate::executor::PollExecutor;
use crate::ports::{Balances, Clock, Entropy, IdempotencyStore, Limiter, Models, PollStore};

/// The service: its settings, its ports and its running polls.
pub struct App {
    /// What the operator decided.
    pub settings: Settings,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Request counts.
    pub limiter: Arc<dyn Limiter>,
    /// Users, their API keys and their money.
    pub accounts: Accounts,
    /// Balances, for reading only.
    pub balances: Arc<dyn Balances>,
    /// Polls and ballots.
    pub polls: Arc<dyn PollStore>,
    /// Kept replies.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// The models that vote.
    pub models: Arc<dyn Models>,
    /// Carries polls out.
    pub executor: PollExecutor,
    /// Background work.
    pub tasks: Tasks,
    /// When keys were last used; written now and then.
    pub key_uses: crate::admission::KeyUses,
}

/// What the operator decided.
#[derive(Debug)]
pub struct Settings {
    /// The public base URL, without a trailing slash: the only source of absolute links.
    pub base_url: String,
    /// Whether polls are charged to prepaid balances. Without, anyone with a key polls at the
    /// operator's expense.
    pub billing: bool,
    /// Requests per minute of one account; zero is no limit.
    pub rate_limit: u32,
    /// Requests per minute of one anonymous address; zero is no limit.
    pub anonymous_rate_limit: u32,
    /// Free polls per minute of one address; zero is no limit.
    pub free_rate_limit: u32,
    /// How long one poll may take.
    pub poll_deadline: Duration,
    /// How long an MCP client waits for a poll unless it says otherwise.
    pub mcp_wait: Duration,
    /// The service's version.
    pub version: &'static str,
    /// The commit it was built from, shortened, where known.
    pub commit: Option<&'static str>,
}

impl Settings {
    /// The address of a result.
    pub fn result_url(&self, id: &ep_polling::poll_id::PollId) -> String {
        format!("{}/api/results/{id}", self.base_url)
    }
}

/// Background work: every task is counted, hears of the shutdown, and is waited for.
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

    /// Whether the service is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Counts tasks, for parts that spawn their own.
    pub fn tracker(&self) -> TaskTracker {
        self.tracker.clone()
    }

    /// A token that is cancelled when the service stops.
    pub fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs `work` every `period` until the service stops. A failing round is logged and the next one
    /// is made all the same.
    pub fn every<F, Fut>(&self, name: &'static str, period: Duration, mut work: F)
    where
        F: FnMut() -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), crate::fault::Fault>> + Send + 'static,
    {
        let stop = self.token();
        self.spawn(async move {
            let mut rounds = tokio::time::interval(period);
            rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = rounds.tick() => {}
                }
                if let Err(fault) = work().await {
                    tracing::warn!(task = name, error = %fault, causes = fault.causes(), "background task failed");
                }
            }
        });
    }

    /// Tells every task to stop and waits for them, at most `wait_limit`. Whether all have ended.
    pub async fn shut_down(&self, wait_limit: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(wait_limit, self.tracker.wait()).await.is_ok()
    }
}

/// One call of one tool.
#[derive(Clone)]
pub struct Ctx {
    /// The service.
    pub app: Arc<App>,
    /// Who calls.
    pub caller: Caller,
    /// The request's name in logs.
    pub request_id: RequestId,
    /// How long the caller waits for models before it would rather have an interim answer.
    pub wait_limit: Option<Duration>,
    /// Names the request if it is idempotent: the same name is the same request, even after a crash.
    pub request_ref: Option<String>,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) upstream_time: Arc<AtomicU64>,
}

impl Ctx {
    /// Whether anybody watches this call's progress.
    pub fn is_watched(&self) -> bool {
        self.progress.is_some()
    }

    /// Reports a step to whoever watches.
    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink.report(progress);
        }
    }

    /// Notes how much of this call was spent waiting for models, so that what we add can be told apart.
    pub fn waited_for_models(&self, time: Duration) {
        self.upstream_time.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}
