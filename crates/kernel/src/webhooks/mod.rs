//! Webhooks: accounts are told that their polls have ended, by signed POST requests.
//!
//! A notification is stored in the transaction that opens its poll and sent once the poll has ended, by any process,
//! at least once: an attempt that a crash interrupts is repeated. Attempts go on for a day.

mod delivery;
mod signing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::Value;

use crate::caller::UserId;
use crate::executor::{PollExecutor, PollState};
use crate::fault::Fault;
use crate::ports::{
    Attempted, Clock, DueNotification, Entropy, NotDelivered, NotificationRecord, StoreError, Webhook,
    WebhookSender, WebhookStore,
};
use crate::tasks::Tasks;
use crate::webhook_url::WebhookUrl;

pub use delivery::{Outbox, deliver};
pub use signing::{HEADERS, WebhookSecrets};

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
        deliver(self, closed, tasks).await;
    }
}

#[async_trait]
impl Outbox for Webhooks {
    const COUNTER: &'static str = "ep_notifications_total";
    type Due = DueNotification;

    async fn due(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueNotification>, StoreError> {
        self.ports.store.due_notifications(limit, per_account, busy, lasts).await
    }

    fn account(due: &DueNotification) -> UserId {
        due.user
    }

    fn attempt(due: &DueNotification) -> (&str, u32) {
        (due.poll.as_str(), due.attempts)
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.ports.entropy
    }

    async fn attempted(&self, due: &DueNotification, attempted: &Attempted) -> Result<(), StoreError> {
        self.ports.store.attempted(&due.poll, attempted).await
    }

    async fn send(&self, due: &DueNotification) -> Result<Result<(), NotDelivered>, Fault> {
        let DueNotification { poll, user, url, secret, .. } = due.clone();
        // It is due because the database says that the poll has ended.
        let state = self.ports.polls.stored(&poll).await?;
        let Some(body) = state.and_then(|state| (self.ports.describe)(&state)) else {
            let error = "the poll is gone".to_owned();
            return Ok(Err(NotDelivered { error, gone: true, retry_after: None }));
        };
        let what = (poll.as_str(), url, body.to_string());
        let signed = self.ports.secrets.sign((user, secret), what, self.ports.clock.now());
        Ok(self.ports.sender.send(&signed).await)
    }
}
