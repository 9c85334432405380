//! Webhooks: accounts are told that their polls have ended, by signed POST requests.
//!
//! A notification is stored in the transaction that opens its poll and sent once the poll has ended, by any process,
//! at least once: an attempt that a crash interrupts is repeated. Attempts go on for a day.

mod signing;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::caller::UserId;
use crate::executor::{PollExecutor, PollState};
use crate::fault::Fault;
use crate::ports::{
    Attempted, Clock, DueNotification, Entropy, NotDelivered, NotificationRecord, Webhook, WebhookSender,
    WebhookStore,
};
use crate::tasks::Tasks;
use crate::webhook_url::WebhookUrl;

pub use signing::WebhookSecrets;

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
/// How long notifications are kept.
const KEEP: Duration = Duration::from_hours(24 * 7);
/// Notifications that are shown to their account.
const SHOWN: u32 = 20;

/// What [`Webhooks`] works with.
pub struct Ports {
    /// Webhooks and notifications.
    pub store: Arc<dyn WebhookStore>,
    /// Sends notifications.
    pub sender: Arc<dyn WebhookSender>,
    /// Reads polls.
    pub polls: PollExecutor,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The secrets that sign.
    pub secrets: WebhookSecrets,
    /// What is told of a poll that has ended; `None` while it runs.
    pub describe: Describe,
}

/// Describes a poll that has ended, in JSON.
pub type Describe = Box<dyn Fn(&PollState) -> Option<Value> + Send + Sync>;

/// Tells accounts that their polls have ended.
pub struct Webhooks {
    ports: Ports,
}

impl Webhooks {
    /// The service.
    pub fn new(ports: Ports) -> Self {
        Self { ports }
    }

    /// Checks a URL that a caller named in this field.
    pub fn check(&self, field: &str, url: &str) -> Result<WebhookUrl, Fault> {
        self.ports.sender.check(url).map_err(|rule| Fault::invalid(field, rule))
    }

    /// What an account has set, and its newest notifications.
    pub async fn of(&self, user: UserId) -> Result<(Webhook, Vec<NotificationRecord>), Fault> {
        let store = &self.ports.store;
        Ok((store.webhook(user).await?, store.notifications_of(user, SHOWN).await?))
    }

    /// Sets where an account hears of all its polls that are opened from now on.
    pub async fn set_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<(), Fault> {
        Ok(self.ports.store.set_webhook_url(user, url).await?)
    }

    /// Replaces an account's secret, which goes on signing for a day beside the new one.
    pub async fn replace_secret(&self, user: UserId) -> Result<SecretString, Fault> {
        let number = self.ports.store.replace_webhook_secret(user, self.ports.clock.now()).await?;
        Ok(self.ports.secrets.shown(user, number))
    }

    /// Deletes notifications that are no longer of interest.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let before = self.ports.clock.now().before(KEEP);
        Ok(self.ports.store.delete_old_notifications(before).await.map(drop)?)
    }

    /// Sends notifications until the service stops, and then ends the attempts that have begun.
    pub async fn run(self: Arc<Self>, tasks: Tasks) {
        let closed = self.ports.polls.closed();
        let mut attempts = Attempts::default();
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Whether the last look found something: then there can be more.
        let mut found = false;
        loop {
            tokio::select! {
                () = tasks.stopping() => break,
                _ = ticks.tick() => {}
                () = closed.notified() => {}
                Some(()) = attempts.ended() => if !found { continue },
            }
            found = self.begin_due(&mut attempts).await;
        }
        while attempts.ended().await.is_some() {}
    }

    /// Begins the attempts whose time has come, as far as there is room; `false` if there were none.
    async fn begin_due(self: &Arc<Self>, attempts: &mut Attempts) -> bool {
        let room = AT_ONCE.saturating_sub(attempts.running.len()) as u32;
        if room == 0 {
            return true;
        }
        let busy = attempts.busy();
        match self.ports.store.due_notifications(room, AT_ONCE_PER_ACCOUNT, &busy, CLAIM).await {
            Ok(due) => {
                let found = !due.is_empty();
                for notification in due {
                    let (this, user) = (Arc::clone(self), notification.user);
                    attempts.begin(user, async move { this.attempt(notification).await });
                }
                found
            }
            Err(error) => {
                tracing::warn!(error = %error, "notifications cannot be read");
                false
            }
        }
    }

    async fn attempt(&self, due: DueNotification) {
        let DueNotification { poll, attempts, .. } = &due;
        let (poll, attempts) = (poll.clone(), *attempts);
        let attempted = match self.send(due).await {
            Ok(Ok(())) => Attempted::Delivered,
            Ok(Err(refused)) => self.after(attempts, refused),
            // It is tried again once the claim has ended.
            Err(fault) => return tracing::warn!(%poll, error = %fault, "a notification cannot be prepared"),
        };
        let outcome = match &attempted {
            Attempted::Delivered => "delivered",
            Attempted::Again { .. } => "again",
            Attempted::Failed { .. } => "failed",
        };
        metrics::counter!("ep_notifications_total", "outcome" => outcome).increment(1);
        match &attempted {
            Attempted::Delivered => tracing::debug!(%poll, attempts, "notification delivered"),
            Attempted::Again { error, .. } | Attempted::Failed { error } => {
                tracing::info!(%poll, attempts, outcome, error, "notification not delivered");
            }
        }
        if let Err(error) = self.ports.store.attempted(&poll, &attempted).await {
            tracing::warn!(%poll, error = %error, "the outcome of a notification cannot be stored; it is sent again");
        }
    }

    async fn send(&self, due: DueNotification) -> Result<Result<(), NotDelivered>, Fault> {
        let DueNotification { poll, user, url, secret, .. } = due;
        let state = self.ports.polls.state(&poll).await?;
        let Some(body) = state.and_then(|state| (self.ports.describe)(&state)) else {
            let error = "the poll is gone".to_owned();
            return Ok(Err(NotDelivered { error, gone: true, retry_after: None }));
        };
        let what = (poll.as_str(), url, body.to_string());
        let signed = self.ports.secrets.sign((user, secret), what, self.ports.clock.now());
        Ok(self.ports.sender.send(&signed).await)
    }

    /// What follows an attempt that failed.
    fn after(&self, attempts: u32, refused: NotDelivered) -> Attempted {
        let NotDelivered { error, gone, retry_after } = refused;
        let pause = (attempts as usize).checked_sub(1).and_then(|before| PAUSES.get(before));
        let Some(pause) = pause.filter(|_| !gone) else { return Attempted::Failed { error } };
        let [random] = self.ports.entropy.bytes();
        let pause = *pause + pause.mul_f64(f64::from(random) / 2560.0);
        let asked = retry_after.unwrap_or_default().min(LONGEST_PAUSE);
        Attempted::Again { error, after: pause.max(asked) }
    }
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
