//! Webhooks: notifications about completed polls.

mod get_webhook;
mod rotate_webhook_secret;
mod set_webhook;

pub use get_webhook::{GetWebhook, Notification};
pub use rotate_webhook_secret::RotateWebhookSecret;
pub use set_webhook::SetWebhook;
