//! Webhooks: what accounts want to be told, and who tells them.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use crate::webhook_url::WebhookUrl;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

/// What an account has set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhook {
    /// Where it hears of all its polls; `None` for nowhere.
    pub url: Option<WebhookUrl>,
    /// The secret that signs.
    pub secret: WebhookSecretNumber,
}

/// Which secret of an account signs: they are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookSecretNumber {
    /// Its number; the first is 0.
    pub number: u32,
    /// When it replaced the one before.
    pub replaced_at: Option<Timestamp>,
}

/// A notification to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueNotification {
    /// The poll that has ended.
    pub poll: PollId,
    /// The account.
    pub user: UserId,
    /// Where to send it.
    pub url: WebhookUrl,
    /// How many attempts there were, this one included.
    pub attempts: u32,
    /// The secret that signs.
    pub secret: WebhookSecretNumber,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempted {
    /// The receiver has it.
    Delivered,
    /// It is sent again after this time.
    Again {
        /// Why it was not delivered.
        error: String,
        /// How long until then.
        after: Duration,
    },
    /// It is not sent again.
    Failed {
        /// Why it was not delivered.
        error: String,
    },
}

/// How far a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum NotificationState {
    /// It waits for the end of its poll, or for the next attempt.
    Waiting,
    /// The receiver has it.
    Delivered,
    /// It could not be delivered for a day, or the receiver wants no more.
    Failed,
}

/// A notification as its account sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRecord {
    /// Its poll, which has no other one.
    pub poll: PollId,
    /// Where it is sent.
    pub url: WebhookUrl,
    /// How far it is.
    pub state: NotificationState,
    /// How many attempts there were.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
    /// When its poll was opened.
    pub created_at: Timestamp,
}

/// Keeps webhooks and notifications. A notification is stored with its poll: see
/// [`NewPoll::notify`](super::NewPoll::notify).
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// What this account has set.
    async fn webhook(&self, user: UserId) -> Result<Webhook, StoreError>;

    /// Sets where an account hears of all its polls that are opened from now on.
    async fn set_webhook_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<(), StoreError>;

    /// Replaces an account's secret by the next one; gives its number.
    async fn replace_webhook_secret(&self, user: UserId, at: Timestamp) -> Result<u32, StoreError>;

    /// Takes up to `limit` notifications of polls that have ended whose time has come, up to `per_account` of each
    /// account but those that are `busy`, and counts an attempt for each. No one else is given them until `lasts` has
    /// passed.
    async fn due_notifications(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueNotification>, StoreError>;

    /// Stores what became of an attempt.
    async fn attempted(&self, poll: &PollId, attempted: &Attempted) -> Result<(), StoreError>;

    /// The newest notifications of an account, newest first.
    async fn notifications_of(&self, user: UserId, limit: u32)
    -> Result<Vec<NotificationRecord>, StoreError>;

    /// Deletes notifications that need no further attempt, of polls opened before a time.
    async fn delete_old_notifications(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// A notification, ready to be sent.
#[derive(Clone)]
pub struct PreparedNotification {
    /// Where to send it.
    pub url: WebhookUrl,
    /// The media type of the body.
    pub media_type: &'static str,
    /// The headers that identify it and prove its sender.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// Why a notification was not delivered, in words that its account may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotDelivered {
    /// Why.
    pub error: String,
    /// Whether the receiver said that it wants no more.
    pub gone: bool,
    /// How long the receiver asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// Sends notifications to where accounts want them.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Checks a URL that an account names; says what is wrong with it.
    fn check(&self, url: &str) -> Result<WebhookUrl, String>;

    /// Sends a notification, within a time limit of its own.
    async fn send(&self, notification: &PreparedNotification) -> Result<(), NotDelivered>;
}
