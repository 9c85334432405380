//! Card payments.

use ep_polling::{MicroUsd, Timestamp};

use crate::error::{UnexpectedData, failed};
use crate::ids::{CheckoutId, UserId};
use crate::row::{Columns, FromRow};
use crate::store_error::Result;

/// An amount of a card payment, in whole cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub u32);

impl From<Cents> for MicroUsd {
    fn from(Cents(cents): Cents) -> Self {
        Self::new(i64::from(cents) * 10_000)
    }
}

/// A new payment.
#[derive(Debug, Clone, Copy)]
pub struct NewCheckout {
    /// The payment's id.
    pub id: CheckoutId,
    /// The account to fund.
    pub user: UserId,
    /// The amount.
    pub amount: Cents,
    /// The time when it started.
    pub created_at: Timestamp,
}

/// A payment not settled yet.
#[derive(Debug, Clone)]
pub struct OpenCheckout {
    /// The payment.
    pub checkout: NewCheckout,
    /// The processor's id of it; `None` if the response was lost.
    pub session: Option<String>,
}

/// A completed payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidCheckout {
    /// The payment.
    pub checkout: CheckoutId,
    /// The processor's id of it.
    pub session: String,
    /// The processor's id of the charge, used by refunds and disputes.
    pub payment: Option<String>,
    /// The paid amount.
    pub amount: Cents,
}

/// A reversed payment: refunded, or disputed by the card's holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reversal {
    /// Reference of the refunds of a charge, or of a dispute: `refund:…`, `dispute:…`.
    pub reference: String,
    /// The payment, if the processor names it.
    pub checkout: Option<CheckoutId>,
    /// The processor's id of the charge.
    pub payment: Option<String>,
    /// The total amount reversed so far.
    pub amount: Cents,
    /// True if the reversal was lifted, because a dispute was won.
    pub lifted: bool,
    /// The time of the report. The latest report determines the amount.
    pub reported_at: Timestamp,
}

/// A refund whose money returned to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRefund {
    /// The processor's id of the refund.
    pub refund: String,
    /// The [`Reversal::reference`] of the refunds of its charge.
    pub reversal: String,
    /// The processor's id of the charge.
    pub payment: Option<String>,
    /// The amount of the refund.
    pub amount: Cents,
    /// The time of the failure. Later reports of the charge no longer include the refund.
    pub failed_at: Timestamp,
}

/// The outcome of settling a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The account was credited.
    Credited,
    /// The account was credited earlier.
    Before,
    /// No payment has this id and amount; nothing changed.
    Unknown,
}

impl FromRow for OpenCheckout {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (id, user, amount): (_, _, MicroUsd) = columns.get()?;
        let (session, created_at) = columns.get()?;
        let cents = u32::try_from(amount.micro() / 10_000);
        let amount = Cents(cents.map_err(|_| failed(UnexpectedData::Value("an amount")))?);
        Ok(Self { checkout: NewCheckout { id, user, amount, created_at }, session })
    }
}
