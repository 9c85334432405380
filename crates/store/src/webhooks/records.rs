//! Webhooks: their settings, notifications and delivery.

use crate::webhooks::WebhookUrl;

use std::time::Duration;

use ep_polling::{PollId, Timestamp};

use crate::ids::UserId;
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::Result;
use crate::value::{Value, json};

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

/// The limits of a claim of due notifications.
#[derive(Debug, Clone, Copy)]
pub struct ClaimLimits<'a> {
    /// Maximum number of notifications.
    pub total: u32,
    /// Maximum number of notifications per account.
    pub per_account: u32,
    /// Accounts to skip.
    pub busy: &'a [UserId],
    /// Time for which other workers cannot claim them.
    pub lasts: Duration,
}

impl ClaimLimits<'_> {
    /// Returns the values of `due_deliveries!`.
    pub(crate) fn values(self) -> Result<[Value<'static>; 4]> {
        Ok([self.total.into(), self.per_account.into(), self.lasts.into(), json(&self.busy)?.into()])
    }
}

/// A notification due now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueNotification<W> {
    /// The ended poll or batch.
    pub about: W,
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

from_row!(Webhook { url, secret });
from_row!(WebhookSecretNumber { number, replaced_at });
from_row!(NotificationRecord { poll, url, state: name, attempts, last_error, created_at });

impl<W: FromRow> FromRow for DueNotification<W> {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (about, user, url, attempts) = columns.get()?;
        // Number 0 if the account has no webhook settings.
        let (number, replaced_at): (Option<u32>, _) = columns.get()?;
        let secret = WebhookSecretNumber { number: number.unwrap_or_default(), replaced_at };
        Ok(Self { about, user, url, attempts, secret })
    }
}
