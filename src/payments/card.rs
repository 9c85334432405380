//! The Stripe webhook endpoint.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use ep_payments::{WebhookError, WebhookSignature};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::http;
use crate::http::{Exchange, read_bytes};

/// Processes a signed event. Stripe retries until the response is a success.
///
/// Requests without a valid signature count against their address. Signed events are never rejected for that
/// limit: Stripe may share its address with other clients behind one proxy.
pub(crate) fn receive(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let webhooks = state.stripe.ok_or_else(|| {
            let text = "payments by card are not configured: the operator sets EP_STRIPE_WEBHOOK_SECRET";
            Fault::new(Kind::NotConfigured, text)
        })?;
        let (parts, body) = request.into_parts();
        let header = parts.headers.get("stripe-signature").and_then(|value| value.to_str().ok());
        let refused = |error: WebhookError| Fault::invalid("", error.to_string());
        let unsigned = async |fault| Err(state.app.guard.invalid_signature(head.address, fault).await);
        let now = state.app.ports.clock.now();
        let signature = match WebhookSignature::parse(header.unwrap_or(""), now) {
            Ok(signature) => signature,
            Err(error) => return unsigned(refused(error)).await,
        };
        let body = match read_bytes(body).await {
            Ok(body) => body,
            Err(fault) => return unsigned(fault).await,
        };
        let event = match webhooks.read(&signature, &body) {
            Ok(event) => event,
            Err(error @ WebhookError::Body) => return Err(refused(error)),
            Err(error) => return unsigned(refused(error)).await,
        };
        state.app.ports.cards.receive(event).await?;
        Ok(http::json(200, &json!({ "received": true })))
    }
    .boxed()
}
