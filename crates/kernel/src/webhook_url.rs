//! Where notifications are sent.

use std::fmt;

/// The URL of a webhook, as [`WebhookSender::check`](crate::ports::WebhookSender::check) has allowed it. It may hold a
/// secret of its owner's, so it is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// A URL that has been checked, or was stored after it had been.
    pub fn checked(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}
