//! Card payments.

mod records;
pub(crate) mod transactions;

pub use self::records::{Cents, FailedRefund, NewCheckout, OpenCheckout, PaidCheckout, Reversal, Settled};
