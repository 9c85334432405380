//! Payments by card.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::{CheckoutId, UserId};
use crate::fault::Fault;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// An amount that can be paid by card, in whole cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub u32);

impl From<Cents> for MicroUsd {
    fn from(Cents(cents): Cents) -> Self {
        Self::new(i64::from(cents) * 10_000)
    }
}

/// A payment that begins.
#[derive(Debug, Clone, Copy)]
pub struct NewCheckout {
    /// Its id.
    pub id: CheckoutId,
    /// Whose account is funded.
    pub user: UserId,
    /// How much.
    pub amount: Cents,
    /// When it began.
    pub created_at: Timestamp,
}

/// The page at which a payment is made.
#[derive(Debug, Clone)]
pub struct CheckoutPage {
    /// The processor's id of the payment.
    pub session: String,
    /// Where to send the payer.
    pub url: String,
}

/// A payment that has not been settled yet.
#[derive(Debug, Clone)]
pub struct OpenCheckout {
    /// The payment.
    pub checkout: NewCheckout,
    /// The processor's id of it; `None` if its answer was lost.
    pub session: Option<String>,
}

/// What the processor says of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardEvent {
    /// It was paid.
    Paid(PaidCheckout),
    /// It was not paid, and cannot be any more.
    Closed {
        /// The payment.
        checkout: CheckoutId,
    },
    /// It was taken back in part or in full.
    Reversed(Reversal),
    /// A refund of it failed.
    RefundFailed(FailedRefund),
    /// It concerns somebody else, or changes nothing.
    Nothing,
}

/// A payment that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidCheckout {
    /// Which one.
    pub checkout: CheckoutId,
    /// The processor's id of it.
    pub session: String,
    /// The processor's id of the money, by which refunds and disputes name it.
    pub payment: Option<String>,
    /// How much was paid.
    pub amount: Cents,
}

/// A payment that was taken back: refunded, or disputed by the card's holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reversal {
    /// The refunds of a charge, or a dispute: `refund:…`, `dispute:…`.
    pub reference: String,
    /// The payment, where the processor names it.
    pub checkout: Option<CheckoutId>,
    /// The processor's id of the money.
    pub payment: Option<String>,
    /// How much was taken back so far, in all.
    pub amount: Cents,
    /// Whether it was lifted: a dispute that was won.
    pub lifted: bool,
    /// The time of the report. The amount of the latest report counts.
    pub reported_at: Timestamp,
}

/// A refund whose money returned to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRefund {
    /// The processor's id of the refund.
    pub refund: String,
    /// The [`Reversal::reference`] of the refunds of its charge.
    pub reversal: String,
    /// The processor's id of the money.
    pub payment: Option<String>,
    /// The amount of the refund.
    pub amount: Cents,
    /// The time of the failure. Later reports of the charge no longer include the refund.
    pub failed_at: Timestamp,
}

/// What became of a payment that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The account has been credited.
    Credited,
    /// It was credited before.
    Before,
    /// There is no such payment, or of another amount: nothing has changed.
    Unknown,
}

/// Takes payments by card.
#[async_trait]
pub trait CardProcessor: Send + Sync {
    /// Opens the page of a payment. Asked again for the same payment, it gives the same page.
    async fn open(&self, checkout: &NewCheckout) -> Result<CheckoutPage, Fault>;

    /// What has become of a payment.
    async fn look_up(&self, session: &str) -> Result<CardEvent, Fault>;
}

/// Keeps payments by card. Changes are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait CheckoutStore: Send + Sync {
    /// Adds a payment. [`StoreError::NotFound`] for an unknown user.
    async fn add_checkout(&self, checkout: &NewCheckout) -> Result<(), StoreError>;

    /// Notes the processor's id of a payment.
    async fn checkout_opened(&self, checkout: CheckoutId, session: &str) -> Result<(), StoreError>;

    /// Credits the account of a payment, once, and applies what is known to have been taken back of it.
    async fn settle_checkout(&self, paid: &PaidCheckout, at: Timestamp) -> Result<Settled, StoreError>;

    /// Closes a payment that was not made.
    async fn close_checkout(&self, checkout: CheckoutId) -> Result<(), StoreError>;

    /// Takes back what was paid: from what the account has available, the rest as bad debt, for which the account is
    /// frozen. What comes before its payment waits for it; what comes again changes nothing.
    async fn reverse(&self, reversal: &Reversal, at: Timestamp) -> Result<(), StoreError>;

    /// Gives back what was taken for a refund that failed, once per refund. A failure that is reported before its
    /// refund waits for it.
    async fn refund_failed(&self, failed: &FailedRefund, at: Timestamp) -> Result<(), StoreError>;

    /// Applies what was taken back of payments and has not been applied yet.
    async fn apply_reversals(&self, at: Timestamp) -> Result<u64, StoreError>;

    /// Up to `limit` unsettled payments that began before a time, oldest first.
    async fn open_checkouts(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenCheckout>, StoreError>;
}
