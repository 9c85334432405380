//! Delivers what is due, again and again until it has arrived or a day has passed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::caller::UserId;
use crate::fault::Fault;
use crate::ports::{Attempted, Entropy, NotDelivered, StoreError};
use crate::tasks::Tasks;

/// How long after each attempt the next one is made: a little less than a day in all.
const PAUSES: [Duration; 10] = [
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
/// The longest pause that a receiver can ask for.
const LONGEST_PAUSE: Duration = Duration::from_hours(8);
/// Attempts that this process makes at once.
const AT_ONCE: usize = 64;
/// Notifications of one account that are begun at once, so that slow receivers do not hold up those of others.
const AT_ONCE_PER_ACCOUNT: u32 = 4;
/// How long an attempt belongs to the process that makes it: longer than sending takes.
const CLAIM: Duration = Duration::from_mins(1);
/// How often it is looked for what other processes have closed, and for attempts whose time has come.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What is to be delivered to others, by attempts that are stored.
#[async_trait]
pub trait Outbox: Send + Sync + 'static {
    /// The counter of attempts, among the metrics.
    const COUNTER: &'static str;
    /// Something to be delivered now.
    type Due: Send + Sync + 'static;

    /// Takes what is due: see [`WebhookStore::due_notifications`](crate::ports::WebhookStore::due_notifications).
    async fn due(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<Self::Due>, StoreError>;

    /// The account that it is for.
    fn account(due: &Self::Due) -> UserId;

    /// What it is about, and how many attempts there were, this one included.
    fn attempt(due: &Self::Due) -> (&str, u32);

    /// Randomness.
    fn entropy(&self) -> &dyn Entropy;

    /// Makes one attempt. A fault of ours leaves it to the next one.
    async fn send(&self, due: &Self::Due) -> Result<Result<(), NotDelivered>, Fault>;

    /// Stores what became of it.
    async fn attempted(&self, due: &Self::Due, attempted: &Attempted) -> Result<(), StoreError>;
}

/// Delivers until the service stops, and then ends the attempts that have begun. `wake` says that something may be due.
pub async fn deliver<O: Outbox>(outbox: Arc<O>, wake: Arc<Notify>, tasks: Tasks) {
    register_metrics::<O>();
    let mut attempts = Attempts::default();
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Whether the last look found something: then there can be more.
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

/// Begins the attempts whose time has come, as far as there is room; `false` if there were none.
async fn begin_due<O: Outbox>(outbox: &Arc<O>, attempts: &mut Attempts) -> bool {
    let room = AT_ONCE.saturating_sub(attempts.running.len()) as u32;
    if room == 0 {
        return true;
    }
    let busy = attempts.busy();
    match outbox.due(room, AT_ONCE_PER_ACCOUNT, &busy, CLAIM).await {
        Ok(due) => {
            let found = !due.is_empty();
            for due in due {
                let (outbox, account) = (Arc::clone(outbox), O::account(&due));
                attempts.begin(account, async move { attempt(&*outbox, &due).await });
            }
            found
        }
        Err(error) => {
            tracing::warn!(error = %error, "notifications cannot be read");
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
        Ok(Ok(())) => Attempted::Delivered,
        Ok(Err(refused)) => after(outbox.entropy(), attempts, refused),
        // It is tried again once the claim has ended.
        Err(fault) => return tracing::warn!(about, error = %fault, "a notification cannot be prepared"),
    };
    let outcome = match &attempted {
        Attempted::Delivered => DELIVERED,
        Attempted::Again { .. } => AGAIN,
        Attempted::Failed { .. } => FAILED,
    };
    metrics::counter!(O::COUNTER, "outcome" => outcome).increment(1);
    match &attempted {
        Attempted::Delivered => tracing::debug!(about, attempts, "notification delivered"),
        Attempted::Again { error, .. } | Attempted::Failed { error } => {
            tracing::info!(about, attempts, outcome, error, "notification not delivered");
        }
    }
    if let Err(error) = outbox.attempted(due, &attempted).await {
        tracing::warn!(about, error = %error, "the outcome of a notification cannot be stored; it is sent again");
    }
}

/// What follows an attempt that failed.
fn after(entropy: &dyn Entropy, attempts: u32, refused: NotDelivered) -> Attempted {
    let NotDelivered { error, gone, retry_after } = refused;
    let pause = (attempts as usize).checked_sub(1).and_then(|before| PAUSES.get(before));
    let Some(pause) = pause.filter(|_| !gone) else { return Attempted::Failed { error } };
    let [random] = entropy.bytes();
    let pause = *pause + pause.mul_f64(f64::from(random) / 2560.0);
    let asked = retry_after.unwrap_or_default().min(LONGEST_PAUSE);
    Attempted::Again { error, after: pause.max(asked) }
}

/// The attempts under way.
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

    /// Waits for one to end; `None` if there is none.
    async fn ended(&mut self) -> Option<()> {
        let ended = self.running.join_next_with_id().await?;
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => {
                tracing::error!(error = %error, "an attempt to send a notification ended early; it is made again");
                error.id()
            }
        };
        self.accounts.remove(&id);
        Some(())
    }

    /// Accounts for which as many are made as may be.
    fn busy(&self) -> Vec<UserId> {
        let mut counts: HashMap<UserId, u32> = HashMap::new();
        for user in self.accounts.values() {
            *counts.entry(*user).or_default() += 1;
        }
        counts.retain(|_, count| *count >= AT_ONCE_PER_ACCOUNT);
        counts.into_keys().collect()
    }
}
