//! Processors of card payments.

use async_trait::async_trait;
use ep_store::{CheckoutId, FailedRefund, NewCheckout, PaidCheckout, Reversal};

use crate::fault::Result;

/// The payment page.
#[derive(Debug, Clone)]
pub struct CheckoutPage {
    /// The processor's id of the payment.
    pub session: String,
    /// URL to open for the payer.
    pub url: String,
}

/// An event reported by the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardEvent {
    /// The payment was made.
    Paid(PaidCheckout),
    /// The payment was not made and can no longer be.
    Closed {
        /// The payment.
        checkout: CheckoutId,
    },
    /// The payment was reversed in part or in full.
    Reversed(Reversal),
    /// A refund of the payment failed.
    RefundFailed(FailedRefund),
    /// Nothing changed, or the event belongs to another service.
    Nothing,
}

/// A processor of card payments.
#[async_trait]
pub trait CardProcessor: Send + Sync {
    /// Opens the page of a payment. A repeated call returns the same page.
    async fn open(&self, checkout: &NewCheckout) -> Result<CheckoutPage>;

    /// Returns the current state of a payment as an event.
    async fn look_up(&self, session: &str) -> Result<CardEvent>;
}
