//! Payments by card: Stripe Checkout, and the webhook that reports payments.

mod rail;

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Response;
use ep_kernel::reading;
use ep_kernel::{CardProcessor, Cards, Fault};
use ep_outside::payments::{Stripe, StripeConfig, StripeWebhooks, WebhookError, WebhookSignature};
use ep_site::http::{Exchange, Handler, read_bytes};
use ep_site::{Rail, config, http};
use futures::FutureExt;
use secrecy::ExposeSecret;
use serde_json::json;

use super::{PaymentRail, RailParts};
pub(super) use rail::RAIL;

/// Header with the signature of a webhook request.
const SIGNATURE: &str = "stripe-signature";

/// Payments by card.
pub(super) struct CardRail {
    pub(super) cards: Arc<Cards>,
    /// Parses webhook requests; `None` without settings.
    webhooks: Option<Arc<StripeWebhooks>>,
}

impl CardRail {
    pub(super) fn new(parts: &RailParts<'_>) -> Self {
        let config::Stripe { secret_key, webhook_secrets, api_url } = parts.config.stripe.clone();
        let mut processor = None;
        let mut webhooks = None;
        if !secret_key.expose_secret().is_empty() {
            webhooks = Some(Arc::new(StripeWebhooks::new(webhook_secrets, &secret_key)));
            let config = StripeConfig {
                api_url: api_url.trim_end_matches('/').to_owned(),
                secret_key,
                return_url: parts.config.base_url(),
                product: format!("Credit at {}", parts.config.operator.name),
            };
            // Webhooks still report payments that began while billing was prepaid.
            if parts.config.charges() {
                let stripe = Stripe::new(parts.client.clone(), config);
                processor = Some(Arc::new(stripe) as Arc<dyn CardProcessor>);
            }
        }
        let (clock, entropy) = (Arc::clone(parts.clock), Arc::clone(parts.entropy));
        let cards = Arc::new(Cards::new(processor, parts.treasury.clone(), clock, entropy));
        Self { cards, webhooks }
    }
}

#[async_trait]
impl PaymentRail for CardRail {
    fn rail(&self) -> &'static Rail {
        &RAIL
    }

    fn handler(&self) -> Handler {
        let webhooks = self.webhooks.clone();
        Handler::new(move |exchange, _| receive(exchange, webhooks.clone()).boxed())
    }

    async fn reconcile(&self) -> Result<usize, Fault> {
        self.cards.reconcile().await.map(|looked_up| looked_up as usize)
    }
}

/// Processes a signed event. Stripe retries until the response is a success.
///
/// Requests without a valid signature count against their address. Signed events are never rejected for that
/// limit: Stripe may share its address with other clients behind one proxy.
async fn receive(exchange: Exchange, webhooks: Option<Arc<StripeWebhooks>>) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let webhooks = webhooks.ok_or_else(|| RAIL.not_configured())?;
    let (parts, body) = request.into_parts();
    let header = parts.headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let refused = |error: WebhookError| Fault::invalid("", error.to_string());
    let unsigned = async |fault| Err(state.app.guard.invalid_signature(head.address, fault).await);
    let now = state.app.ports.clock.now();
    let signature = match WebhookSignature::parse(header.unwrap_or(""), now) {
        Ok(signature) => signature,
        Err(error) => return unsigned(refused(error)).await,
    };
    let body = match read_bytes(body, max_body).await {
        Ok(body) => body,
        Err(fault) => return unsigned(fault).await,
    };
    let event = match reading::read(body.len(), move || webhooks.read(&signature, &body)).await? {
        Ok(event) => event,
        Err(error @ WebhookError::Body) => return Err(refused(error)),
        Err(error) => return unsigned(refused(error)).await,
    };
    state.app.ports.cards.receive(event).await?;
    Ok(http::json(200, &json!({ "received": true })))
}
