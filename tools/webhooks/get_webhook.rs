//! `get_webhook`: reads an account's webhook and its recent notifications.

use ep_polling::{PollId, Timestamp};
use ep_store::{NotificationRecord, NotificationState};

use crate::prelude::*;

/// Reads the caller's webhook.
pub struct GetWebhook;

/// The account's webhook and its recent notifications.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookReply {
    /// The URL notified about all your polls; null if none is set.
    pub url: Option<String>,
    /// The newest 20 notifications, newest first.
    pub notifications: Vec<Notification>,
}

/// A notification about one poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Notification {
    /// The poll; also the id of the notification (`webhook-id`).
    pub poll_id: PollId,
    /// The URL it is sent to.
    pub url: String,
    /// Its delivery state.
    pub state: NotificationState,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// The error of the last failed attempt; null if none failed.
    pub last_error: Option<String>,
    /// The time the poll was accepted.
    pub created_at: Timestamp,
}

impl ToolOutput for WebhookReply {}

impl From<NotificationRecord> for Notification {
    fn from(record: NotificationRecord) -> Self {
        let NotificationRecord { poll: poll_id, url, state, attempts, last_error, created_at } = record;
        Self { poll_id, url: url.as_str().to_owned(), state, attempts, last_error, created_at }
    }
}

impl Tool for GetWebhook {
    const SPEC: Spec = Spec {
        name: "get_webhook",
        title: "Get your webhook",
        summary: "Returns the URL that is notified when your polls end, and the state of deliveries. Free.",
        manual: include_str!("get_webhook.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/account/webhook")),
        intents: &[
            "where are my polls reported to",
            "was the webhook delivered",
            "where are my notifications sent",
            "did webhook deliveries fail",
            "show my webhook and its status",
            "which webhook is configured",
            "status of the last webhook delivery",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = WebhookReply;

    async fn call(cx: &Ctx, _: Nothing) -> Result<WebhookReply, Fault> {
        let (webhook, notifications) = cx.webhooks().of(cx.account()?).await?;
        Ok(WebhookReply {
            url: webhook.url.map(|url| url.as_str().to_owned()),
            notifications: notifications.into_iter().map(Into::into).collect(),
        })
    }
}
