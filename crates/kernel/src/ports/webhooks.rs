//! Delivery of notifications.

use std::time::Duration;

use async_trait::async_trait;
use ep_store::WebhookUrl;

/// A signed notification.
#[derive(Clone)]
pub struct PreparedNotification {
    /// The receiver's URL.
    pub url: WebhookUrl,
    /// The media type of the body.
    pub media_type: &'static str,
    /// The headers that identify it and prove its sender.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// The failure of a delivery, worded for the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotDelivered {
    /// The reason.
    pub error: String,
    /// True if the receiver rejects all further notifications.
    pub gone: bool,
    /// The delay requested by the receiver.
    pub retry_after: Option<Duration>,
}

/// Sends notifications to the URLs of accounts.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Validates a URL from an account. Returns a description of the problem on failure.
    fn check(&self, url: &str) -> Result<WebhookUrl, String>;

    /// Sends a notification, within the sender's time limit.
    async fn send(&self, notification: &PreparedNotification) -> Result<(), NotDelivered>;
}
