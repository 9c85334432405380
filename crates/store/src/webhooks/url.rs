//! URLs of notification receivers.

use std::fmt;

/// The URL of a webhook, validated by the kernel's `WebhookSender::check`. It may
/// contain a secret of its owner, so it is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// Wraps a validated URL, or one stored after validation.
    pub fn checked(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

crate::row::columns! {
    WebhookUrl: String, |text| Ok(Self::checked(text));
}
