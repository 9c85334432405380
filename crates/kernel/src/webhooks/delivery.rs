//! Delivers due notifications, with retries for a day.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::fault::Result;
use crate::ports::{Entropy, NotDelivered};
use crate::tasks::Tasks;
use ep_store::{AttemptOutcome, ClaimLimits, StoreError, UserId};

/// Delay after each attempt: a little less than a day in total.
const RETRY_DELAYS: [Duration; 10] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(2),
    Duration::from_hours(4),
    Duration::from_hours(8),
    Duration::from_hours(8),
];
/// Maximum delay that a receiver can request.
const MAX_REQUESTED_DELAY: Duration = Duration::from_hours(8);
/// Maximum concurrent attempts of this process.
const MAX_ATTEMPTS: usize = 64;
/// Maximum concurrent attempts per account, so that slow receivers do not delay those of other accounts.
const MAX_ATTEMPTS_PER_ACCOUNT: u32 = 4;
/// Duration of the claim on an attempt: longer than sending takes.
const CLAIM: Duration = Duration::from_mins(1);
/// Interval of looking for due attempts, including those of polls closed by other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A queue of notifications with stored delivery attempts.
#[async_trait]
pub trait Outbox: Send + Sync + 'static {
    /// Name of the metric that counts attempts.
    const COUNTER: &'static str;
    /// A due notification.
    type Due: Send + Sync + 'static;

    /// Claims due notifications: see
    /// [`Vault::due_notifications`](ep_store::Vault::due_notifications).
    async fn due(&self, limits: ClaimLimits<'_>) -> Result<Vec<Self::Due>, StoreError>;

    /// Returns the account of the notification.
    fn account(due: &Self::Due) -> UserId;

    /// Returns the subject of the notification, and the number of attempts, including this one.
    fn attempt(due: &Self::Due) -> (String, u32);

    /// Randomness.
    fn entropy(&self) -> &dyn Entropy;

    /// Makes one attempt. An internal fault leaves the notification to the next attempt.
    async fn send(&self, due: &Self::Due) -> Result<Result<(), NotDelivered>>;

    /// Stores the outcome of an attempt.
    async fn attempted(&self, due: &Self::Due, attempted: &AttemptOutcome) -> Result<(), StoreError>;
}

/// Delivers until the service stops, then waits for running attempts. `wake` signals that notifications may
/// be due.
pub async fn deliver<O: Outbox>(outbox: Arc<O>, wake: Arc<Notify>, tasks: Tasks) {
    register_metrics::<O>();
    let mut attempts = Attempts::default();
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // True if the last look-up found notifications, so there can be more.
    let mut found = false;
    loop {
        tokio::select! {
            () = tasks.stopping() => break,
            _ = ticks.tick() => {}
            () = wake.notified() => {}
            Some(()) = attempts.ended() => if !found { continue },
        }
        found = begin_due(&outbox, &mut attempts).await;
    }
    while attempts.ended().await.is_some() {}
}

/// Starts due attempts, up to the limit. Returns `false` if none were due.
async fn begin_due<O: Outbox>(outbox: &Arc<O>, attempts: &mut Attempts) -> bool {
    let room = MAX_ATTEMPTS.saturating_sub(attempts.running.len()) as u32;
    if room == 0 {
        return true;
    }
    let busy = &attempts.busy();
    let limits = ClaimLimits { total: room, per_account: MAX_ATTEMPTS_PER_ACCOUNT, busy, lasts: CLAIM };
    match outbox.due(limits).await {
        Ok(due) => {
            let found = !due.is_empty();
            for due in due {
                let (outbox, account) = (Arc::clone(outbox), O::account(&due));
                attempts.begin(account, async move { attempt(&*outbox, &due).await });
            }
            found
        }
        Err(error) => {
            tracing::warn!(error = %error, "failed to load notifications");
            false
        }
    }
}

const DELIVERED: &str = "delivered";
const AGAIN: &str = "again";
const FAILED: &str = "failed";

/// Registers the counter of attempts, so that it exists before the first one.
fn register_metrics<O: Outbox>() {
    for outcome in [DELIVERED, AGAIN, FAILED] {
        metrics::counter!(O::COUNTER, "outcome" => outcome).increment(0);
    }
}

async fn attempt<O: Outbox>(outbox: &O, due: &O::Due) {
    let (about, attempts) = O::attempt(due);
    let attempted = match outbox.send(due).await {
        Ok(Ok(())) => AttemptOutcome::Delivered,
        Ok(Err(failure)) => next_step(outbox.entropy(), attempts, failure),
        // Retried once the claim has expired.
        Err(fault) => return tracing::warn!(about, error = %fault, "failed to prepare a notification"),
    };
    let outcome = match &attempted {
        AttemptOutcome::Delivered => DELIVERED,
        AttemptOutcome::Again { .. } => AGAIN,
        AttemptOutcome::Failed { .. } => FAILED,
    };
    metrics::counter!(O::COUNTER, "outcome" => outcome).increment(1);
    match &attempted {
        AttemptOutcome::Delivered => tracing::debug!(about, attempts, "notification delivered"),
        AttemptOutcome::Again { error, .. } | AttemptOutcome::Failed { error } => {
            tracing::info!(about, attempts, outcome, error, "notification not delivered");
        }
    }
    if let Err(error) = outbox.attempted(due, &attempted).await {
        tracing::warn!(about, error = %error, "failed to store the outcome of a notification; it is sent again");
    }
}

/// Returns the outcome of a failed attempt: a retry or the final failure.
fn next_step(entropy: &dyn Entropy, attempts: u32, failure: NotDelivered) -> AttemptOutcome {
    let NotDelivered { error, gone, retry_after } = failure;
    let delay = (attempts as usize).checked_sub(1).and_then(|before| RETRY_DELAYS.get(before));
    let Some(delay) = delay.filter(|_| !gone) else { return AttemptOutcome::Failed { error } };
    let [random] = entropy.bytes();
    let delay = *delay + delay.mul_f64(f64::from(random) / 2560.0);
    let requested = retry_after.unwrap_or_default().min(MAX_REQUESTED_DELAY);
    AttemptOutcome::Again { error, after: delay.max(requested) }
}

/// The running attempts.
#[derive(Default)]
struct Attempts {
    running: JoinSet<()>,
    accounts: HashMap<tokio::task::Id, UserId>,
}

impl Attempts {
    fn begin(&mut self, user: UserId, attempt: impl Future<Output = ()> + Send + 'static) {
        let id = self.running.spawn(attempt).id();
        self.accounts.insert(id, user);
    }

    /// Waits for an attempt to end; `None` if none is running.
    async fn ended(&mut self) -> Option<()> {
        let ended = self.running.join_next_with_id().await?;
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => {
                tracing::error!(error = %error, "an attempt to send a notification panicked; it is retried");
                error.id()
            }
        };
        self.accounts.remove(&id);
        Some(())
    }

    /// Returns the accounts at their limit of concurrent attempts.
    fn busy(&self) -> Vec<UserId> {
        let mut counts: HashMap<UserId, u32> = HashMap::new();
        for user in self.accounts.values() {
            *counts.entry(*user).or_default() += 1;
        }
        counts.retain(|_, count| *count >= MAX_ATTEMPTS_PER_ACCOUNT);
        counts.into_keys().collect()
    }
}
