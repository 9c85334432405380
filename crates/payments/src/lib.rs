//! Payments: the ports of [`ep_kernel::ports`] for cards and for USDC.

mod stripe;
mod x402;

pub use stripe::{Stripe, StripeConfig, StripeWebhooks, WebhookError, WebhookSignature};
pub use x402::{Offer, PayloadError, PaymentRefused, X402, X402Config};
