//! Rows of webhooks and notifications.

use ep_polling::time::Timestamp;

use super::{batch_id, from_name, poll_id, unreadable, user_id};
use crate::records::{
    DueBatchNotification, DueNotification, NotificationRecord, StoreError, Webhook, WebhookSecretNumber,
};
use crate::webhook_url::WebhookUrl;

row! {
    /// The webhook settings of an account.
    WebhookRow { url: Option<String>, secret_number: i64, replaced_at: Option<i64> }
}

row! {
    /// The number of an account's secret.
    SecretNumberRow { secret_number: i64 }
}

row! {
    /// A due notification; its secret number is missing if the account has no webhook settings.
    DueNotificationRow {
        poll_id: String,
        user_id: String,
        url: String,
        attempts: i64,
        secret_number: Option<i64>,
        replaced_at: Option<i64>,
    }
}

row! {
    /// A due notification of a batch.
    DueBatchNotificationRow {
        batch: String,
        user_id: String,
        url: String,
        attempts: i64,
        secret_number: Option<i64>,
        replaced_at: Option<i64>,
    }
}

impl TryFrom<DueBatchNotificationRow> for DueBatchNotification {
    type Error = StoreError;

    fn try_from(row: DueBatchNotificationRow) -> Result<Self, StoreError> {
        Ok(Self {
            batch: batch_id(&row.batch)?,
            about: row.batch,
            user: user_id(&row.user_id)?,
            url: WebhookUrl::checked(row.url),
            attempts: row.attempts as u32,
            secret: secret(row.secret_number.unwrap_or_default(), row.replaced_at),
        })
    }
}

row! {
    /// A notification as shown to its account.
    NotificationRow {
        poll_id: String,
        url: String,
        state: String,
        attempts: i64,
        last_error: Option<String>,
        created_at: i64,
    }
}

fn secret(number: i64, replaced_at: Option<i64>) -> WebhookSecretNumber {
    WebhookSecretNumber { number: number as u32, replaced_at: replaced_at.map(Timestamp::from_millis) }
}

impl From<WebhookRow> for Webhook {
    fn from(row: WebhookRow) -> Self {
        Self { url: row.url.map(WebhookUrl::checked), secret: secret(row.secret_number, row.replaced_at) }
    }
}

impl TryFrom<DueNotificationRow> for DueNotification {
    type Error = StoreError;

    fn try_from(row: DueNotificationRow) -> Result<Self, StoreError> {
        Ok(Self {
            poll: poll_id(&row.poll_id)?,
            user: user_id(&row.user_id)?,
            url: WebhookUrl::checked(row.url),
            attempts: row.attempts as u32,
            secret: secret(row.secret_number.unwrap_or_default(), row.replaced_at),
        })
    }
}

impl TryFrom<NotificationRow> for NotificationRecord {
    type Error = StoreError;

    fn try_from(row: NotificationRow) -> Result<Self, StoreError> {
        Ok(Self {
            poll: poll_id(&row.poll_id)?,
            url: WebhookUrl::checked(row.url),
            state: from_name(&row.state).ok_or_else(|| unreadable("the state of a notification"))?,
            attempts: row.attempts as u32,
            last_error: row.last_error,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}
