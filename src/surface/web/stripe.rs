//! What Stripe tells by itself.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::surface::http::{self, Exchange, read_bytes};

/// Carries out an event. Stripe sends it again unless the answer is a success.
pub(super) fn receive(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, request, .. } = exchange;
        let webhooks = state.stripe.ok_or_else(|| {
            let text = "payments by card are not configured: the operator sets EP_STRIPE_WEBHOOK_SECRET";
            Fault::new(Kind::NotConfigured, text)
        })?;
        let (parts, body) = request.into_parts();
        let body = read_bytes(body).await?;
        let signature = parts.headers.get("stripe-signature").and_then(|value| value.to_str().ok());
        let event = webhooks.read(signature.unwrap_or(""), &body, state.app.ports.clock.now());
        let event = event.map_err(|error| Fault::invalid("", error.to_string()))?;
        state.app.ports.cards.receive(event).await?;
        Ok(http::json(200, &json!({ "received": true })))
    }
    .boxed()
}
