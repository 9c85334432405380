//! Webhooks and notifications.

use std::time::Duration;

use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use crate::batch_id::BatchId;
use crate::connection::Durability;
use crate::error::{UnexpectedData, failed};
use crate::handles::Vault;
use crate::ids::UserId;
use crate::records::{
    AttemptOutcome, DueBatchNotification, DueNotification, NotificationRecord, StoreError, Webhook,
};
use crate::statements as sql;
use crate::value::{json, values};
use crate::webhook_url::WebhookUrl;

/// Stores webhooks and notifications. A notification is stored with its poll: see
/// [`NewPoll::notify`](crate::records::NewPoll::notify).
impl Vault {
    /// Returns the webhook settings of this account.
    pub async fn webhook(&self, user: UserId) -> Result<Webhook, StoreError> {
        Ok(self.0.engine.fetch_optional(sql::WEBHOOK, values![user]).await?.unwrap_or_default())
    }

    /// Sets the webhook URL of an account, for polls opened from now on.
    pub async fn set_webhook_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<(), StoreError> {
        let values = values![user, url.map(WebhookUrl::as_str)];
        self.0.engine.execute(Durability::PowerLoss, sql::SET_WEBHOOK_URL, values).await.map(drop)
    }

    /// Replaces an account's secret by the next one. Returns its number.
    pub async fn replace_webhook_secret(&self, user: UserId, at: Timestamp) -> Result<u32, StoreError> {
        let replaced = self
            .0
            .engine
            .fetch_changed(Durability::PowerLoss, sql::REPLACE_WEBHOOK_SECRET, values![user, at])
            .await?;
        replaced.first().copied().ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    /// Claims up to `limit` due notifications of ended polls, at most `per_account` per account and none of
    /// `busy` accounts. Counts an attempt for each. Other workers cannot claim them until `lasts` has passed.
    pub async fn due_notifications(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueNotification>, StoreError> {
        let busy = json(&busy)?;
        // An attempt lost in a power loss is made again.
        let values = values![limit, per_account, lasts, busy];
        self.0.engine.fetch_changed(Durability::ProcessCrash, sql::by_engine::DUE_NOTIFICATIONS, values).await
    }

    /// Stores the outcome of an attempt.
    pub async fn notification_attempted(
        &self,
        poll: &PollId,
        attempted: &AttemptOutcome,
    ) -> Result<(), StoreError> {
        let (state, error, after) = outcome(attempted);
        let values = values![poll, state, error, after];
        self.0.engine.execute(Durability::ProcessCrash, sql::ATTEMPTED, values).await.map(drop)
    }

    /// Claims due notifications of ended batches, like [`due_notifications`](Self::due_notifications).
    pub async fn due_batch_notifications(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<DueBatchNotification>, StoreError> {
        let busy = json(&busy)?;
        let values = values![limit, per_account, lasts, busy];
        self.0
            .engine
            .fetch_changed(Durability::ProcessCrash, sql::by_engine::DUE_BATCH_NOTIFICATIONS, values)
            .await
    }

    /// Stores the outcome of an attempt to notify of a batch.
    pub async fn batch_attempted(
        &self,
        batch: BatchId,
        attempted: &AttemptOutcome,
    ) -> Result<(), StoreError> {
        let (state, error, after) = outcome(attempted);
        let values = values![batch, state, error, after];
        self.0.engine.execute(Durability::ProcessCrash, sql::BATCH_ATTEMPTED, values).await.map(drop)
    }

    /// Returns the newest notifications of an account, newest first.
    pub async fn notifications_of(
        &self,
        user: UserId,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        self.0.engine.fetch_all(sql::NOTIFICATIONS_OF, values![user, limit]).await
    }

    /// Deletes notifications without further attempts, of polls opened before a time.
    pub async fn delete_old_notifications(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.0.engine.execute(Durability::ProcessCrash, sql::DELETE_OLD_NOTIFICATIONS, values![before]).await
    }
}

/// Returns the state, error and delay that result from an attempt.
pub(super) fn outcome(attempted: &AttemptOutcome) -> (&'static str, Option<&str>, Duration) {
    match attempted {
        AttemptOutcome::Delivered => ("delivered", None, Duration::ZERO),
        AttemptOutcome::Again { error, after } => ("waiting", Some(error), *after),
        AttemptOutcome::Failed { error } => ("failed", Some(error), Duration::ZERO),
    }
}
