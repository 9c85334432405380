//! Webhooks and notifications.

use std::time::Duration;

use ep_polling::{PollId, Timestamp};

use crate::batches::BatchId;
use crate::connection::Durability;
use crate::error::{UnexpectedData, failed};
use crate::handles::Vault;
use crate::ids::UserId;
use crate::polls::sql::form_is_known;
use crate::statement::{Statement, statement};
use crate::store_error::Result;
use crate::value::values;
use crate::webhooks::WebhookUrl;
use crate::webhooks::{AttemptOutcome, ClaimLimits, DueNotification, NotificationRecord, Webhook};

/// Claims due deliveries. Skips those that another transaction is claiming.
macro_rules! due_deliveries {
    ($table:literal, $key:literal, $ended:expr, $returning:literal) => {
        statement!(
            "UPDATE ",
            $table,
            " SET next_at = (SELECT now FROM clock) + $3, attempts = attempts + 1 WHERE ",
            $key,
            " IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE state = 'waiting' AND next_at <= (SELECT now FROM clock) AND ",
            $key,
            " IN (SELECT due_key FROM (SELECT ",
            $key,
            " AS due_key, next_at, row_number() OVER (PARTITION BY user_id ORDER BY next_at, ",
            $key,
            ") AS place FROM ",
            $table,
            " WHERE state = 'waiting' AND next_at <= (SELECT now FROM clock) AND EXISTS (",
            $ended,
            ") AND user_id NOT IN (SELECT ",
            ("value FROM json_each($4)", "json_array_elements_text($4::json)"),
            ")) AS due WHERE place <= $2 ORDER BY next_at LIMIT $1)",
            ("", " FOR UPDATE SKIP LOCKED"),
            ") RETURNING ",
            $returning
        )
    };
}
pub(crate) use due_deliveries;

/// Claims due notifications.
const DUE_NOTIFICATIONS: Statement = due_deliveries!(
    "notifications",
    "poll_id",
    concat!(
        "SELECT 1 FROM polls WHERE polls.id = notifications.poll_id AND closing IS NOT NULL AND ",
        form_is_known!()
    ),
    "poll_id, user_id, url, attempts, \
         (SELECT secret_number FROM webhooks WHERE user_id = notifications.user_id) AS secret_number, \
         (SELECT secret_replaced_at FROM webhooks WHERE user_id = notifications.user_id) AS replaced_at"
);
/// Claims due notifications of batches.
const DUE_BATCH_NOTIFICATIONS: Statement = due_deliveries!(
    "batch_notifications",
    "batch",
    "SELECT 1 FROM batches WHERE batches.id = batch_notifications.batch AND ended_at IS NOT NULL",
    "batch, user_id, url, attempts, \
         (SELECT secret_number FROM webhooks WHERE user_id = batch_notifications.user_id) AS secret_number, \
         (SELECT secret_replaced_at FROM webhooks WHERE user_id = batch_notifications.user_id) AS replaced_at"
);
const BATCH_ATTEMPTED: &str = "UPDATE batch_notifications SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE batch = $1 AND state = 'waiting'";
const ATTEMPTED: &str = "UPDATE notifications SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE poll_id = $1 AND state = 'waiting'";
pub(crate) const NOTIFICATIONS_OF: &str = "SELECT poll_id, url, state, attempts, last_error, created_at \
     FROM notifications WHERE user_id = $1 ORDER BY created_at DESC, poll_id LIMIT $2";
const DELETE_OLD_NOTIFICATIONS: &str =
    "DELETE FROM notifications WHERE state <> 'waiting' AND created_at < $1";
const WEBHOOK: &str =
    "SELECT url, secret_number, secret_replaced_at AS replaced_at FROM webhooks WHERE user_id = $1";
const SET_WEBHOOK_URL: &str = "INSERT INTO webhooks (user_id, url) VALUES ($1, $2) \
     ON CONFLICT (user_id) DO UPDATE SET url = excluded.url";
const REPLACE_WEBHOOK_SECRET: &str = "INSERT INTO webhooks (user_id, secret_number, secret_replaced_at) \
     VALUES ($1, 1, $2) ON CONFLICT (user_id) DO UPDATE SET \
         secret_number = webhooks.secret_number + 1, secret_replaced_at = excluded.secret_replaced_at \
     RETURNING secret_number";

/// Stores webhooks and notifications. A notification is stored with its poll: see
/// [`NewPoll::notify`](crate::NewPoll::notify).
impl Vault {
    /// Returns the webhook settings of this account.
    pub async fn webhook(&self, user: UserId) -> Result<Webhook> {
        Ok(self.0.fetch_optional(WEBHOOK, values![user]).await?.unwrap_or_default())
    }

    /// Sets the webhook URL of an account, for polls opened from now on.
    pub async fn set_webhook_url(&self, user: UserId, url: Option<&WebhookUrl>) -> Result<()> {
        let values = values![user, url.map(WebhookUrl::as_str)];
        self.0.execute(Durability::PowerLoss, SET_WEBHOOK_URL, values).await.map(drop)
    }

    /// Replaces an account's secret by the next one. Returns its number.
    pub async fn replace_webhook_secret(&self, user: UserId, at: Timestamp) -> Result<u32> {
        let replaced =
            self.0.fetch_changed(Durability::PowerLoss, REPLACE_WEBHOOK_SECRET, values![user, at]).await?;
        replaced.first().copied().ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    /// Claims due notifications of ended polls. Counts an attempt for each.
    pub async fn due_notifications(&self, limits: ClaimLimits<'_>) -> Result<Vec<DueNotification<PollId>>> {
        // An attempt lost in a power loss is made again.
        self.0.fetch_changed(Durability::ProcessCrash, DUE_NOTIFICATIONS, &limits.values()?).await
    }

    /// Stores the outcome of an attempt.
    pub async fn notification_attempted(&self, poll: &PollId, attempted: &AttemptOutcome) -> Result<()> {
        let (state, error, after) = outcome(attempted);
        let values = values![poll, state, error, after];
        self.0.execute(Durability::ProcessCrash, ATTEMPTED, values).await.map(drop)
    }

    /// Claims due notifications of ended batches, like [`due_notifications`](Self::due_notifications).
    pub async fn due_batch_notifications(
        &self,
        limits: ClaimLimits<'_>,
    ) -> Result<Vec<DueNotification<BatchId>>> {
        self.0.fetch_changed(Durability::ProcessCrash, DUE_BATCH_NOTIFICATIONS, &limits.values()?).await
    }

    /// Stores the outcome of an attempt to notify of a batch.
    pub async fn batch_attempted(&self, batch: BatchId, attempted: &AttemptOutcome) -> Result<()> {
        let (state, error, after) = outcome(attempted);
        let values = values![batch, state, error, after];
        self.0.execute(Durability::ProcessCrash, BATCH_ATTEMPTED, values).await.map(drop)
    }

    /// Returns the newest notifications of an account, newest first.
    pub async fn notifications_of(&self, user: UserId, limit: u32) -> Result<Vec<NotificationRecord>> {
        self.0.fetch_all(NOTIFICATIONS_OF, values![user, limit]).await
    }

    /// Deletes notifications without further attempts, of polls opened before a time.
    pub async fn delete_old_notifications(&self, before: Timestamp) -> Result<u64> {
        self.0.execute(Durability::ProcessCrash, DELETE_OLD_NOTIFICATIONS, values![before]).await
    }
}

/// Returns the state, error and delay that result from an attempt.
pub(crate) fn outcome(attempted: &AttemptOutcome) -> (&'static str, Option<&str>, Duration) {
    match attempted {
        AttemptOutcome::Delivered => ("delivered", None, Duration::ZERO),
        AttemptOutcome::Again { error, after } => ("waiting", Some(error), *after),
        AttemptOutcome::Failed { error } => ("failed", Some(error), Duration::ZERO),
    }
}
