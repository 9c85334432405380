//! `set_webhook`: sets the URL for notifications about an account's polls.

use ep_kernel::schema::nullable;

use crate::prelude::*;

/// Sets the caller's webhook.
pub struct SetWebhook;

/// The webhook to set.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WebhookToSet {
    /// An https URL; null for nowhere.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required, extend("format" = "uri"), transform = nullable)]
    pub url: Option<String>,
}

/// The account's webhook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookSet {
    /// The URL notified about all your polls; null if none is set.
    pub url: Option<String>,
}

impl ToolOutput for WebhookSet {
    fn presentation(&self) -> Presentation {
        // The URL may contain a secret, and the stored reply outlives a deleted account.
        Presentation { sensitive: true, ..Presentation::default() }
    }
}

impl Tool for SetWebhook {
    const SPEC: Spec = Spec {
        name: "set_webhook",
        title: "Set your webhook",
        summary: "Sets the URL that is notified when your polls end, by signed POST requests. Free.",
        manual: include_str!("set_webhook.md"),
        example: r#"{ "url": "https://example.com/polls" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/account/webhook")),
        intents: &[
            "notify me when a poll has ended",
            "register or set a webhook",
            "set a webhook for finished polls",
            "get notified when a poll completes",
            "call my URL when a poll is done",
            "send a notification to my server when a poll finishes",
            "configure a callback URL",
            "tell my backend when polls end",
            "stop notifying me, remove the webhook",
            "send poll results to my endpoint",
        ],
        ..Spec::PLAIN
    };
    type Input = WebhookToSet;
    type Output = WebhookSet;

    async fn call(cx: &Ctx, input: WebhookToSet) -> Result<WebhookSet, Fault> {
        let user = cx.account()?;
        let url = input.url.map(|url| cx.webhooks().check("url", &url)).transpose()?;
        cx.webhooks().set_url(user, url.as_ref()).await?;
        Ok(WebhookSet { url: url.map(|url| url.as_str().to_owned()) })
    }
}
