//! `rotate_webhook_secret`: creates a new secret for verifying notifications.

use secrecy::ExposeSecret;

use crate::prelude::*;

/// Replaces the secret that signs the caller's notifications.
pub struct RotateWebhookSecret;

/// The new secret.
#[derive(Serialize, JsonSchema)]
pub struct WebhookSecret {
    /// The secret for verifying signatures (Standard Webhooks). It is returned once.
    pub secret: String,
}

impl ToolOutput for WebhookSecret {
    fn presentation(&self) -> Presentation {
        Presentation { sensitive: true, ..Presentation::default() }
    }
}

impl Tool for RotateWebhookSecret {
    const SPEC: Spec = Spec {
        name: "rotate_webhook_secret",
        title: "Get a new webhook secret",
        summary: "Replaces the secret that signs your notifications, and returns the new one. Free.",
        manual: include_str!("rotate_webhook_secret.md"),
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: false },
        rest: Some(Rest::post("/api/account/webhook/secret")),
        intents: &[
            "get the webhook secret",
            "change the webhook secret",
            "the webhook secret has leaked",
            "a new secret for signing webhooks",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = WebhookSecret;

    async fn call(cx: &Ctx, _: Nothing) -> Result<WebhookSecret, Fault> {
        let secret = cx.webhooks().replace_secret(cx.account()?).await?;
        Ok(WebhookSecret { secret: secret.expose_secret().to_owned() })
    }
}
