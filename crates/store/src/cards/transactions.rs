//! Card payments.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::account;
use crate::cards::{FailedRefund, NewCheckout, OpenCheckout, PaidCheckout, Reversal, Settled};
use crate::connection::{Connection, Durability};
use crate::database::exactly_one;
use crate::handles::Treasury;
use crate::ids::{CheckoutId, UserId};
use crate::keys::transactions as keys;
use crate::ledger::transactions as ledger;
use crate::ledger::transfers::{ADD_TRANSFER, DEBIT};
use crate::row::from_row;
use crate::store_error::Result;
use crate::value::values;

const ADD_CHECKOUT: &str = "INSERT INTO checkouts (id, user_id, amount, created_at) VALUES ($1, $2, $3, $4)";
const CHECKOUT_OPENED: &str = "UPDATE checkouts SET session_id = $2 WHERE id = $1 AND session_id IS NULL";
/// Marks a payment as made, once, if its amount matches the request.
const CHECKOUT_PAID: &str = "UPDATE checkouts SET status = 'paid', session_id = $2, payment_id = $3 \
     WHERE id = $1 AND amount = $4 AND status <> 'paid' AND (session_id IS NULL OR session_id = $2) \
     RETURNING user_id AS id";
const CHECKOUT_WAS_PAID: &str =
    "SELECT id FROM checkouts WHERE id = $1 AND session_id = $2 AND amount = $3 AND status = 'paid'";
const CLOSE_CHECKOUT: &str = "UPDATE checkouts SET status = 'closed' WHERE id = $1 AND status = 'open'";
/// Finds the reversed payment and locks it, so that it is not settled concurrently.
const LOCK_CHECKOUT: &str =
    "UPDATE checkouts SET status = status WHERE id = $1 OR payment_id = $2 RETURNING id";
const OPEN_CHECKOUTS: &str = "SELECT id, user_id, amount, session_id, created_at FROM checkouts \
     WHERE status = 'open' AND created_at < $1 ORDER BY created_at, id LIMIT $2";
/// Adds a reversal. The latest report counts, in any order of arrival; of reports in the same second, the
/// larger amount counts. A lifted reversal stays lifted.
const ADD_REVERSAL: &str = "INSERT INTO card_reversals (ref, checkout_id, payment_id, amount, lifted, reported_at) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (ref) DO UPDATE SET \
         amount = CASE WHEN excluded.reported_at > card_reversals.reported_at \
             OR (excluded.reported_at = card_reversals.reported_at AND excluded.amount > card_reversals.amount) \
             THEN excluded.amount ELSE card_reversals.amount END, \
         reported_at = CASE WHEN excluded.reported_at > card_reversals.reported_at \
             THEN excluded.reported_at ELSE card_reversals.reported_at END, \
         lifted = CASE WHEN excluded.lifted = 1 THEN 1 ELSE card_reversals.lifted END";
const ADD_REFUND_FAILURE: &str = "INSERT INTO card_refund_failures (refund_id, reversal, amount, failed_at) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (refund_id) DO NOTHING";
/// The payment of a reversal.
const CHECKOUT_OF_REVERSAL: &str =
    "SELECT checkout_id AS id FROM card_reversals WHERE ref = $1 AND checkout_id IS NOT NULL";
/// Reversals of a settled payment that are not yet applied to the ledger.
pub(crate) const WAITING_REVERSALS: &str = "SELECT ref AS reference, checkouts.user_id AS user_id, applied, bad_debt, changes, target \
     FROM card_reversal_targets AS reversals JOIN checkouts ON checkouts.status = 'paid' \
         AND (checkouts.id = reversals.checkout_id OR checkouts.payment_id = reversals.payment_id) \
     WHERE checkouts.id = $1 AND applied <> target ORDER BY ref";
/// Settled payments with reversals that are not yet applied to the ledger.
const REVERSED_CHECKOUTS: &str = "SELECT DISTINCT checkouts.id AS id FROM card_reversal_targets AS reversals \
     JOIN checkouts ON checkouts.status = 'paid' \
         AND (checkouts.id = reversals.checkout_id OR checkouts.payment_id = reversals.payment_id) \
     WHERE applied <> target LIMIT 100";
/// Advances a reversal from one state to the next, unless another transaction has.
const REVERSAL_APPLIED: &str = "UPDATE card_reversals SET applied = $3, bad_debt = $4, changes = changes + 1 WHERE ref = $1 AND applied = $2 AND changes = $5";
/// The source account of card payments.
const CARD_ACCOUNT: &str = "sys:card";
/// The account that covers unrecoverable reversals.
const BAD_DEBT_ACCOUNT: &str = "sys:bad_debt";

/// Stores card payments. Changes are acknowledged once a power loss cannot undo them.
impl Treasury {
    /// Adds a payment. [`StoreError::NotFound`](crate::StoreError::NotFound) for an unknown user.
    pub async fn add_checkout(&self, checkout: &NewCheckout) -> Result<()> {
        let NewCheckout { id, user, amount, created_at } = *checkout;
        transact!(self.0, PowerLoss, |db| {
            // No payment begins once the account is deleted.
            account::lock_live(db, user).await?;
            let values = values![id, user, MicroUsd::from(amount), created_at];
            db.execute(ADD_CHECKOUT, values).await.map(drop)
        })
    }

    /// Stores the processor's id of a payment.
    pub async fn checkout_opened(&self, checkout: CheckoutId, session: &str) -> Result<()> {
        self.0.execute(Durability::PowerLoss, CHECKOUT_OPENED, values![checkout, session]).await.map(drop)
    }

    /// Credits the account of a payment, once, and applies its pending reversals.
    pub async fn settle_checkout(&self, paid: &PaidCheckout, at: Timestamp) -> Result<Settled> {
        let PaidCheckout { checkout, session, payment, amount } = paid.clone();
        let amount = MicroUsd::from(amount);
        transact!(self.0, PowerLoss, |db| {
            let values = values![checkout, &*session, payment.as_deref(), amount];
            let Some(user) = db.fetch_optional(CHECKOUT_PAID, values).await? else {
                let values = values![checkout, &*session, amount];
                let before: Option<CheckoutId> = db.fetch_optional(CHECKOUT_WAS_PAID, values).await?;
                return Ok(before.map_or(Settled::Unknown, |_| Settled::Before));
            };
            let reference = format!("stripe:{session}");
            ledger::credit_from(db, CARD_ACCOUNT, user, amount, &reference, at).await?;
            apply_to(db, checkout, at).await?;
            Ok(Settled::Credited)
        })
    }

    /// Closes a payment that was not made.
    pub async fn close_checkout(&self, checkout: CheckoutId) -> Result<()> {
        self.0.execute(Durability::PowerLoss, CLOSE_CHECKOUT, values![checkout]).await.map(drop)
    }

    /// Reverses a payment: debits the available balance, books the rest as bad debt, and freezes the account
    /// for it. A reversal reported before its payment waits for it; a repeated one changes nothing.
    pub async fn reverse_checkout(&self, reversal: &Reversal, at: Timestamp) -> Result<()> {
        let Reversal { reference, checkout, payment, amount, lifted, reported_at } = reversal.clone();
        transact!(self.0, PowerLoss, |db| {
            let checkout = checkout.map(|checkout| checkout.to_string());
            let (checkout, payment) = (checkout.as_deref(), payment.as_deref());
            let found = db.fetch_optional(LOCK_CHECKOUT, values![checkout, payment]).await?;
            let values = values![&*reference, checkout, payment, MicroUsd::from(amount), lifted, reported_at];
            db.execute(ADD_REVERSAL, values).await?;
            match found {
                Some(checkout) => apply_to(db, checkout, at).await.map(drop),
                None => Ok(()),
            }
        })
    }

    /// Credits the amount of a failed refund again, once per refund. A failure reported before its refund
    /// waits for it.
    pub async fn refund_failed(&self, failed: &FailedRefund, at: Timestamp) -> Result<()> {
        let FailedRefund { refund, reversal, payment, amount, failed_at } = failed.clone();
        transact!(self.0, PowerLoss, |db| {
            let named: Option<String> = db.fetch_optional(CHECKOUT_OF_REVERSAL, values![&*reversal]).await?;
            let of = values![named.as_deref(), payment.as_deref()];
            let found = db.fetch_optional(LOCK_CHECKOUT, of).await?;
            let values = values![&*refund, &*reversal, MicroUsd::from(amount), failed_at];
            db.execute(ADD_REFUND_FAILURE, values).await?;
            match found {
                Some(checkout) => apply_to(db, checkout, at).await.map(drop),
                None => Ok(()),
            }
        })
    }

    /// Applies pending reversals. Returns their number.
    pub async fn apply_reversals(&self, at: Timestamp) -> Result<u64> {
        let checkouts: Vec<CheckoutId> = self.0.fetch_all(REVERSED_CHECKOUTS, values![]).await?;
        let mut applied = 0;
        // One transaction per payment, so that none locks two accounts.
        for checkout in checkouts {
            applied += transact!(self.0, PowerLoss, |db| {
                // Lock the payment first, as everywhere: a report on it may arrive concurrently.
                let of = values![checkout, None::<&str>];
                let _: Option<CheckoutId> = db.fetch_optional(LOCK_CHECKOUT, of).await?;
                apply_to(db, checkout, at).await
            })?;
        }
        Ok(applied)
    }

    /// Returns up to `limit` unsettled payments that started before a time, oldest first.
    pub async fn open_checkouts(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenCheckout>> {
        self.0.fetch_all(OPEN_CHECKOUTS, values![before, limit]).await
    }
}

/// A reversal of a card payment that is not yet applied to the ledger. Amounts are in micro-USD.
struct WaitingReversal {
    reference: String,
    user: UserId,
    applied: i64,
    bad_debt: i64,
    changes: i64,
    target: i64,
}

from_row!(WaitingReversal { reference, user, applied, bad_debt, changes, target });

/// Applies the pending reversals of a settled payment to the ledger. Returns the number of changes.
async fn apply_to(db: &mut Connection<'_>, checkout: CheckoutId, at: Timestamp) -> Result<u64> {
    let waiting: Vec<WaitingReversal> = db.fetch_all(WAITING_REVERSALS, values![checkout]).await?;
    let mut applied = 0;
    for row in waiting {
        applied += u64::from(apply(db, &row, at).await?);
    }
    Ok(applied)
}

/// Applies one reversal; returns `false` if another transaction has applied it.
async fn apply(db: &mut Connection<'_>, row: &WaitingReversal, at: Timestamp) -> Result<bool> {
    let WaitingReversal { reference, user, applied, bad_debt, changes, target } = row;
    let user = *user;
    let of_account = account::lock(db, user).await?.available.micro();
    // A positive amount is debited. A negative one is credited, after the service's bad debt is repaid.
    let amount = target - applied;
    let on_keys = if amount > of_account { keys::available_on_keys(db, user).await? } else { Vec::new() };
    let available = of_account + on_keys.iter().map(|(_, available)| available.micro()).sum::<i64>();
    let debt = if amount > 0 { bad_debt + (amount - available).max(0) } else { (bad_debt + amount).max(0) };
    if db.execute(REVERSAL_APPLIED, values![&**reference, *applied, *target, debt, *changes]).await? == 0 {
        return Ok(false);
    }
    let of_service = debt - bad_debt;
    // A target amount may recur, if a refund fails and another one of the same amount follows.
    let reference = format!("stripe:{reference}:{changes}:{target}");
    let needed = MicroUsd::new(amount - of_service - of_account);
    keys::reclaim(db, user, on_keys, needed, &reference, at).await?;
    move_of_account(db, user, amount - of_service, &reference, at).await?;
    move_of_service(db, user, of_service, &reference, at).await?;
    Ok(true)
}

async fn move_of_account(
    db: &mut Connection<'_>,
    user: UserId,
    amount: i64,
    reference: &str,
    at: Timestamp,
) -> Result<()> {
    if amount > 0 {
        exactly_one(db.execute(ADD_TRANSFER, values![reference, user, CARD_ACCOUNT, amount, at]).await?)?;
        exactly_one(db.execute(DEBIT, values![user, amount]).await?)?;
    } else if amount < 0 {
        ledger::credit_from(db, CARD_ACCOUNT, user, MicroUsd::new(-amount), reference, at).await?;
    }
    Ok(())
}

/// Books an amount that the account cannot pay as bad debt, and freezes the account for the operator to decide.
/// A negative amount repays bad debt.
async fn move_of_service(
    db: &mut Connection<'_>,
    user: UserId,
    debt: i64,
    reference: &str,
    at: Timestamp,
) -> Result<()> {
    let (from, to) = match debt {
        0 => return Ok(()),
        1.. => (BAD_DEBT_ACCOUNT, CARD_ACCOUNT),
        _ => (CARD_ACCOUNT, BAD_DEBT_ACCOUNT),
    };
    let transfer = values![format!("{reference}:bad_debt"), from, to, debt.abs(), at];
    exactly_one(db.execute(ADD_TRANSFER, transfer).await?)?;
    if debt > 0 {
        account::freeze(db, user, true).await?;
    }
    Ok(())
}
