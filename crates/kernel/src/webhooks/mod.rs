//! Webhooks: accounts are notified of the ends of their polls by signed POST requests.
//!
//! A notification is stored in the transaction that opens its poll. Once the poll has ended, any process
//! sends it, at least once: an attempt interrupted by a crash is repeated. Attempts continue for a day.

mod delivery;
mod signing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::Value;

use crate::executor::{PollExecutor, PollState};
use crate::fault::{Fault, Result};
use crate::ports::{Clock, Entropy, NotDelivered, PreparedNotification, WebhookSender};
use crate::tasks::Tasks;
use ep_polling::PollId;
use ep_store::{
    AttemptOutcome, ClaimLimits, DueNotification, NotificationRecord, StoreError, UserId, Vault, Webhook,
    WebhookSecretNumber, WebhookUrl,
};

pub use delivery::{Outbox, deliver};
pub use signing::{HEADERS, WebhookSecrets};

/// Time for which notifications are stored.
const STORED_FOR: Duration = Duration::from_hours(24 * 7);
/// Number of notifications shown to their account.
const SHOWN: u32 = 20;

/// The parts of [`Webhooks`].
pub struct WebhookParts {
    /// Webhooks and notifications.
    pub vault: Vault,
    /// Sends notifications.
    pub sender: Arc<dyn WebhookSender>,
    /// Reads polls.
    pub polls: PollExecutor,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The signing secrets.
    pub secrets: WebhookSecrets,
    /// Creates the payload for an ended poll; returns `None` while it runs.
    pub describe: Describe,
}

/// Notifies accounts of the ends of their polls. Operations cannot reach its parts, which read secrets.
pub struct Webhooks(pub(crate) WebhookParts);

impl From<WebhookParts> for Webhooks {
    fn from(parts: WebhookParts) -> Self {
        Self(parts)
    }
}

/// Describes an ended poll, in JSON.
pub type Describe = Box<dyn Fn(&PollState) -> Option<Value> + Send + Sync>;

impl Webhooks {
    /// Validates a URL from this field of a request.
    pub fn check(&self, field: &str, url: &str) -> Result<WebhookUrl> {
        self.0.sender.check(url).map_err(|rule| Fault::invalid(field, rule))
    }

    /// Returns the settings of an account, and its newest notifications.
    pub async fn of(&self, user: UserId) -> Result<(Webhook, Vec<NotificationRecord>)> {
        Ok((self.0.vault.webhook(user).await?, self.0.vault.notifications_of(user, SHOWN).await?))
    }

    /// Sets the webhook URL of an account, for polls opened from now on.
    pub async fn set_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<()> {
        Ok(self.0.vault.set_webhook_url(user, url).await?)
    }

    /// Replaces an account's secret. The old one continues to sign for a day beside the new one.
    pub async fn replace_secret(&self, user: UserId) -> Result<SecretString> {
        let number = self.0.vault.replace_webhook_secret(user, self.0.clock.now()).await?;
        Ok(self.0.secrets.shown(user, number))
    }

    /// Signs a notification: its id, URL and body.
    pub(crate) fn sign(
        &self,
        account: (UserId, WebhookSecretNumber),
        what: (&str, WebhookUrl, String),
    ) -> PreparedNotification {
        self.0.secrets.sign(account, what, self.0.clock.now())
    }

    /// Sends a signed notification.
    pub(crate) async fn send_signed(&self, signed: &PreparedNotification) -> Result<(), NotDelivered> {
        self.0.sender.send(signed).await
    }

    /// Deletes notifications that are too old.
    pub async fn sweep(&self) -> Result<()> {
        let before = self.0.clock.now().before(STORED_FOR);
        Ok(self.0.vault.delete_old_notifications(before).await.map(drop)?)
    }

    /// Sends notifications until the service stops, then waits for running attempts.
    pub async fn run(self: Arc<Self>, tasks: Tasks) {
        let closed = self.0.polls.closed();
        deliver(self, closed, tasks).await;
    }
}

#[async_trait]
impl Outbox for Webhooks {
    const COUNTER: &'static str = "ep_notifications_total";
    type Due = DueNotification<PollId>;

    async fn due(&self, limits: ClaimLimits<'_>) -> Result<Vec<Self::Due>, StoreError> {
        self.0.vault.due_notifications(limits).await
    }

    fn account(due: &Self::Due) -> UserId {
        due.user
    }

    fn attempt(due: &Self::Due) -> (String, u32) {
        (due.about.to_string(), due.attempts)
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.0.entropy
    }

    async fn attempted(&self, due: &Self::Due, attempted: &AttemptOutcome) -> Result<(), StoreError> {
        self.0.vault.notification_attempted(&due.about, attempted).await
    }

    async fn send(&self, due: &Self::Due) -> Result<Result<(), NotDelivered>> {
        let DueNotification { about: poll, user, url, secret, .. } = due.clone();
        // It is due because the poll has ended in the database.
        let state = self.0.polls.stored(&poll).await?;
        let Some(body) = state.and_then(|state| (self.0.describe)(&state)) else {
            let error = "the poll no longer exists".to_owned();
            return Ok(Err(NotDelivered { error, gone: true, retry_after: None }));
        };
        let what = (poll.as_str(), url, body.to_string());
        let signed = self.sign((user, secret), what);
        Ok(self.send_signed(&signed).await)
    }
}
