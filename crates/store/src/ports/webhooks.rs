//! Webhooks: their settings, notifications and delivery.

use std::time::Duration;

use async_trait::async_trait;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::batch_id::BatchId;
use crate::ids::UserId;
use crate::webhook_url::WebhookUrl;

/// The webhook settings of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhook {
    /// URL for the end notifications of all its polls; `None` without a webhook.
    pub url: Option<WebhookUrl>,
    /// The signing secret.
    pub secret: WebhookSecretNumber,
}

/// The number of an account's signing secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookSecretNumber {
    /// The number, from 0.
    pub number: u32,
    /// The time when it replaced the previous secret.
    pub replaced_at: Option<Timestamp>,
}

/// A notification due now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueNotification {
    /// The ended poll.
    pub poll: PollId,
    /// The account.
    pub user: UserId,
    /// The receiver's URL.
    pub url: WebhookUrl,
    /// Number of attempts, including this one.
    pub attempts: u32,
    /// The signing secret.
    pub secret: WebhookSecretNumber,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Delivered to the receiver.
    Delivered,
    /// To be retried.
    Again {
        /// The reason for the failure.
        error: String,
        /// Time until the next attempt.
        after: Duration,
    },
    /// Not delivered and not retried.
    Failed {
        /// The reason for the failure.
        error: String,
    },
}

/// A claimed notification of an ended batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueBatchNotification {
    /// The batch.
    pub batch: BatchId,
    /// The batch as text, for logs and signatures.
    pub about: String,
    /// The account.
    pub user: UserId,
    /// The receiver's URL.
    pub url: WebhookUrl,
    /// Number of attempts, including this one.
    pub attempts: u32,
    /// The number of the account's secret.
    pub secret: WebhookSecretNumber,
}

/// The state of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum NotificationState {
    /// Waiting for the end of the poll, or for the next attempt.
    Waiting,
    /// Delivered to the receiver.
    Delivered,
    /// Not delivered within a day, or refused for good by the receiver.
    Failed,
}

/// A notification as shown to its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRecord {
    /// The poll. Each poll has at most one notification.
    pub poll: PollId,
    /// The receiver's URL.
    pub url: WebhookUrl,
    /// The state.
    pub state: NotificationState,
    /// Number of attempts.
    pub attempts: u32,
    /// The error of the last attempt.
    pub last_error: Option<String>,
    /// The time when the poll was opened.
    pub created_at: Timestamp,
}

/// Stores webhooks and notifications. A notification is stored with its poll: see
/// [`NewPoll::notify`](super::NewPoll::notify).
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Returns the webhook settings of this account.
    async fn webhook(&self, user: UserId) -> Result<Webhook, StoreError>;

    /// Sets the webhook URL of an account, for polls opened from now on.
    async fn set_webhook_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<(), StoreError>;

    /// Replaces an account's secret by the next one. Returns its number.
    async fn replace_webhook_secret(&self, user: UserId, at: Timestamp) -> Result<u32, StoreError>;

    /// Claims up to `limit` due notifications of ended polls, at most `per_account` per account and none of
    /// `busy` accounts. Counts an attempt for each. Nobody else can claim them until `lasts` has passed.
    async fn due_notifications(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueNotification>, StoreError>;

    /// Stores the outcome of an attempt.
    async fn attempted(&self, poll: &PollId, attempted: &AttemptOutcome) -> Result<(), StoreError>;

    /// Claims due notifications of ended batches, like [`due_notifications`](Self::due_notifications).
    async fn due_batch_notifications(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueBatchNotification>, StoreError>;

    /// Stores the outcome of an attempt to notify of a batch.
    async fn batch_attempted(&self, batch: BatchId, attempted: &AttemptOutcome) -> Result<(), StoreError>;

    /// Returns the newest notifications of an account, newest first.
    async fn notifications_of(&self, user: UserId, limit: u32)
    -> Result<Vec<NotificationRecord>, StoreError>;

    /// Deletes notifications without further attempts, of polls opened before a time.
    async fn delete_old_notifications(&self, before: Timestamp) -> Result<u64, StoreError>;
}
