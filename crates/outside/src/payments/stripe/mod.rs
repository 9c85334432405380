//! Stripe Checkout over its HTTP API: one hosted page per payment.

mod events;
mod webhooks;

use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{CardEvent, CardProcessor, CheckoutPage, Fault, Kind};
use ep_outgoing::ResponseError;
use ep_store::NewCheckout;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use self::events::Session;
pub use self::webhooks::{StripeWebhooks, WebhookError, WebhookSignature};

/// The API version of requests and events.
const API_VERSION: &str = "2026-10-28.endive";
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum length of a response, in bytes.
const MAX_RESPONSE: usize = 256 * 1024;
/// Maximum number of requests for one page. Stripe processes them once, because they share an idempotency
/// key.
const ATTEMPTS: u32 = 3;
/// Pause before the first retry; it doubles with each retry.
const PAUSE: Duration = Duration::from_millis(200);
/// Lifetime of a payment page. Stripe's minimum is half an hour.
const PAGE_LIFETIME: Duration = Duration::from_hours(1);
/// The metadata field of sessions and charges for the checkout's id.
const CHECKOUT_ID: &str = "checkout_id";

/// The service's account at Stripe.
#[derive(Debug, Clone)]
pub struct StripeConfig {
    /// The API's base URL.
    pub api_url: String,
    /// The secret key; `sk_live_…` takes real money.
    pub secret_key: SecretString,
    /// The service's base URL. Payers return there.
    pub return_url: String,
    /// The product name on the page.
    pub product: String,
}

/// The card processor Stripe.
pub struct Stripe {
    client: Client,
    config: StripeConfig,
}

/// The error of a request to Stripe.
#[derive(Debug, thiserror::Error)]
enum StripeError {
    #[error(transparent)]
    Unread(#[from] ResponseError),
    #[error("Stripe responded with {0} ({1})")]
    Rejected(StatusCode, String),
    #[error("Stripe's response could not be parsed")]
    Unreadable,
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    error: ErrorDetail,
}

/// The loggable part of an error. Its message may quote the request, so it is not parsed.
#[derive(Default, Deserialize)]
struct ErrorDetail {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    code: String,
}

impl StripeError {
    /// Returns true if the same request may succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Unread(_) | Self::Unreadable => true,
            Self::Rejected(status, _) => status.is_server_error() || matches!(status.as_u16(), 409 | 429),
        }
    }
}

impl Stripe {
    /// Creates a client for this account.
    pub fn new(client: Client, config: StripeConfig) -> Self {
        Self { client, config }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Session, StripeError> {
        let key = self.config.secret_key.expose_secret();
        let request = request.bearer_auth(key).header("Stripe-Version", API_VERSION).timeout(TIMEOUT);
        let response = request.send().await.map_err(ResponseError::unreachable)?;
        let status = response.status();
        let body = ep_outgoing::read(response, MAX_RESPONSE).await?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| StripeError::Unreadable);
        }
        let ErrorBody { error: ErrorDetail { kind, code } } =
            serde_json::from_slice(&body).unwrap_or_default();
        let codes: String =
            format!("{kind} {code}").chars().filter(char::is_ascii_graphic).take(80).collect();
        Err(StripeError::Rejected(status, codes))
    }

    fn form(&self, checkout: &NewCheckout) -> Vec<(&'static str, String)> {
        let StripeConfig { return_url, product, .. } = &self.config;
        let id = checkout.id.to_string();
        let expires_at = checkout.created_at.after(PAGE_LIFETIME).millis().div_euclid(1000);
        vec![
            ("mode", "payment".into()),
            ("payment_method_types[0]", "card".into()),
            ("line_items[0][quantity]", "1".into()),
            ("line_items[0][price_data][currency]", "usd".into()),
            ("line_items[0][price_data][unit_amount]", checkout.amount.0.to_string()),
            ("line_items[0][price_data][product_data][name]", product.clone()),
            ("client_reference_id", checkout.user.to_string()),
            ("metadata[checkout_id]", id.clone()),
            // Charges inherit the metadata, so that a refund identifies its checkout.
            ("payment_intent_data[metadata][checkout_id]", id),
            ("success_url", format!("{return_url}/dashboard?funded={{CHECKOUT_SESSION_ID}}")),
            ("cancel_url", format!("{return_url}/dashboard?funded=no")),
            ("expires_at", expires_at.to_string()),
        ]
    }
}

#[async_trait]
impl CardProcessor for Stripe {
    async fn open(&self, checkout: &NewCheckout) -> Result<CheckoutPage, Fault> {
        let url = format!("{}/v1/checkout/sessions", self.config.api_url);
        let (form, key) = (self.form(checkout), format!("checkout:{}", checkout.id));
        let mut pause = PAUSE;
        for attempt in 1.. {
            let request = self.client.post(&url).header("Idempotency-Key", &key).form(&form);
            match self.send(request).await {
                Ok(Session { id, url: Some(url), .. }) => return Ok(CheckoutPage { session: id, url }),
                Ok(Session { id, url: None, .. }) => {
                    // The page was opened before, and has been paid or closed since.
                    return Ok(CheckoutPage { session: id, url: self.config.return_url.clone() });
                }
                Err(error) if error.is_transient() && attempt < ATTEMPTS => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => {
                    tracing::warn!(checkout = %checkout.id, error = %error, "failed to open a payment page");
                    return Err(unavailable(error));
                }
            }
        }
        Err(Fault::internal("no request to Stripe was sent"))
    }

    async fn look_up(&self, session: &str) -> Result<CardEvent, Fault> {
        let url = format!("{}/v1/checkout/sessions/{session}", self.config.api_url);
        match self.send(self.client.get(&url)).await {
            Ok(session) => Ok(session.event(is_live(&self.config.secret_key))),
            Err(error) => Err(unavailable(error)),
        }
    }
}

/// Returns true if a key is for live payments.
fn is_live(secret_key: &SecretString) -> bool {
    !secret_key.expose_secret().contains("_test_")
}

fn unavailable(error: StripeError) -> Fault {
    let text = "payments by card are not available right now; nothing was charged; try again in a moment";
    Fault::new(Kind::Unavailable, text).retry_after(Duration::from_secs(5)).caused_by(Box::new(error))
}
