//! Webhooks: their settings, notifications and delivery.

mod records;
pub(crate) mod transactions;
mod url;

pub use self::records::{
    AttemptOutcome, ClaimLimits, DueNotification, NotificationRecord, NotificationState, Webhook,
    WebhookSecretNumber,
};
pub use self::url::WebhookUrl;
