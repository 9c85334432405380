//! Card and USDC payments: implementations of the ports in [`ep_kernel::ports`].

mod stripe;
mod x402;

pub use stripe::{Stripe, StripeConfig, StripeWebhooks, WebhookError, WebhookSignature};
pub use x402::{Offer, PayloadError, PaymentMismatch, Usdc, X402, X402Config};
