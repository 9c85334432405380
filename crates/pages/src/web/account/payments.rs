//! Payments to and from an account.

use ep_polling::{MicroUsd, Timestamp};
use ep_site::Offer;
use ep_site::layout::capitalized;
use ep_store::{TransferRecord, UserId};

use super::moments::Moment;

/// A payment as a row of a table.
pub(crate) struct PaymentRow {
    pub(super) what: String,
    /// The amount with its sign.
    pub(super) amount: String,
    pub(super) at: Moment,
}

impl PaymentRow {
    /// Converts a transfer of this account.
    pub(crate) fn new(transfer: &TransferRecord, user: UserId, offer: &Offer, now: Timestamp) -> Self {
        let incoming = transfer.to == user.to_string();
        let other = if incoming { &transfer.from } else { &transfer.to };
        let what = match offer.rail_of_ledger(other) {
            Some(rail) if incoming => capitalized(&format!("paid {}", rail.words.pay)),
            Some(rail) => capitalized(&format!("refunded, paid {}", rail.words.pay)),
            None if transfer.reference.starts_with(STARTER) => "Starter credit".to_owned(),
            None if other.starts_with(SYSTEM) && incoming => "Credit from the operator".to_owned(),
            None if other.starts_with(SYSTEM) => "Taken by the operator".to_owned(),
            None if incoming => "Returned from a key".to_owned(),
            None => "Moved to a key".to_owned(),
        };
        let amount = MicroUsd::new(transfer.amount_micro_usd);
        let sign = if incoming { '+' } else { '\u{2212}' };
        Self { what, amount: format!("{sign}{amount}"), at: Moment::new(transfer.at, now) }
    }
}

/// Prefix of the reference of a starter credit.
const STARTER: &str = "starter:";
/// Prefix of accounts that belong to no user.
const SYSTEM: &str = "sys:";
