//! Payments: the ports of [`ep_kernel::ports`] for cards.

mod stripe;

pub use stripe::{Stripe, StripeConfig, StripeWebhooks, WebhookError};
