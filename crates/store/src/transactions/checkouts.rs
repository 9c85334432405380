//! Card payments.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{accounts, exactly_one, keys, ledger};
use crate::connection::{Connection, Durability};
use crate::handles::Treasury;
use crate::ids::{CheckoutId, UserId};
use crate::records::{FailedRefund, NewCheckout, OpenCheckout, PaidCheckout, Reversal, Settled, StoreError};
use crate::row::from_row;
use crate::statements as sql;
use crate::value::values;

/// Stores card payments. Changes are acknowledged once a power loss cannot undo them.
impl Treasury {
    /// Adds a payment. [`StoreError::NotFound`] for an unknown user.
    pub async fn add_checkout(&self, checkout: &NewCheckout) -> Result<(), StoreError> {
        let checkout = *checkout;
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { add(db, checkout).await }.boxed())
            .await
    }

    /// Stores the processor's id of a payment.
    pub async fn checkout_opened(&self, checkout: CheckoutId, session: &str) -> Result<(), StoreError> {
        let values = values![checkout, session];
        self.0.engine.execute(Durability::PowerLoss, sql::CHECKOUT_OPENED, values).await.map(drop)
    }

    /// Credits the account of a payment, once, and applies its pending reversals.
    pub async fn settle_checkout(&self, paid: &PaidCheckout, at: Timestamp) -> Result<Settled, StoreError> {
        let paid = paid.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { settle(db, &paid, at).await }.boxed())
            .await
    }

    /// Closes a payment that was not made.
    pub async fn close_checkout(&self, checkout: CheckoutId) -> Result<(), StoreError> {
        self.0.engine.execute(Durability::PowerLoss, sql::CLOSE_CHECKOUT, values![checkout]).await.map(drop)
    }

    /// Reverses a payment: debits the available balance, books the rest as bad debt, and freezes the account
    /// for it. A reversal reported before its payment waits for it; a repeated one changes nothing.
    pub async fn reverse_checkout(&self, reversal: &Reversal, at: Timestamp) -> Result<(), StoreError> {
        let reversal = reversal.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { reverse(db, &reversal, at).await }.boxed()
            })
            .await
    }

    /// Credits the amount of a failed refund again, once per refund. A failure reported before its refund
    /// waits for it.
    pub async fn refund_failed(&self, failed: &FailedRefund, at: Timestamp) -> Result<(), StoreError> {
        let failed = failed.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { refund_failed(db, &failed, at).await }.boxed()
            })
            .await
    }

    /// Applies pending reversals. Returns their number.
    pub async fn apply_reversals(&self, at: Timestamp) -> Result<u64, StoreError> {
        let checkouts: Vec<CheckoutId> = self.0.engine.fetch_all(sql::REVERSED_CHECKOUTS, values![]).await?;
        let mut applied = 0;
        // One transaction per payment, so that none locks two accounts.
        for checkout in checkouts {
            let apply = self.0.engine.transact(Durability::PowerLoss, move |db| {
                async move {
                    // Lock the payment first, as everywhere: a report on it may arrive concurrently.
                    let of = values![checkout, None::<&str>];
                    let _: Option<CheckoutId> = db.fetch_optional(sql::LOCK_CHECKOUT, of).await?;
                    apply_to(db, checkout, at).await
                }
                .boxed()
            });
            applied += apply.await?;
        }
        Ok(applied)
    }

    /// Returns up to `limit` unsettled payments that started before a time, oldest first.
    pub async fn open_checkouts(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<OpenCheckout>, StoreError> {
        self.0.engine.fetch_all(sql::OPEN_CHECKOUTS, values![before, limit]).await
    }
}

/// Stores a payment that is about to begin. The account is locked first, so that none begins once it is deleted.
async fn add(db: &mut Connection<'_>, checkout: NewCheckout) -> Result<(), StoreError> {
    let NewCheckout { id, user, amount, created_at } = checkout;
    accounts::lock_live(db, user).await?;
    let values = values![id, user, MicroUsd::from(amount), created_at];
    db.execute(sql::ADD_CHECKOUT, values).await.map(drop)
}

async fn settle(db: &mut Connection<'_>, paid: &PaidCheckout, at: Timestamp) -> Result<Settled, StoreError> {
    let PaidCheckout { checkout, session, payment, amount } = paid;
    let amount = MicroUsd::from(*amount);
    let values = values![*checkout, &**session, payment.as_deref(), amount];
    let Some(user) = db.fetch_optional(sql::CHECKOUT_PAID, values).await? else {
        let values = values![*checkout, &**session, amount];
        let before: Option<CheckoutId> = db.fetch_optional(sql::CHECKOUT_WAS_PAID, values).await?;
        return Ok(before.map_or(Settled::Unknown, |_| Settled::Before));
    };
    let reference = format!("stripe:{session}");
    ledger::credit_from(db, sql::CARD_ACCOUNT, user, amount, &reference, at).await?;
    apply_to(db, *checkout, at).await?;
    Ok(Settled::Credited)
}

async fn reverse(db: &mut Connection<'_>, reversal: &Reversal, at: Timestamp) -> Result<(), StoreError> {
    let Reversal { reference, checkout, payment, amount, lifted, reported_at } = reversal;
    let checkout = checkout.map(|checkout| checkout.to_string());
    let of = values![checkout.as_deref(), payment.as_deref()];
    let found = db.fetch_optional(sql::LOCK_CHECKOUT, of).await?;
    let amount = MicroUsd::from(*amount);
    let values =
        values![&**reference, checkout.as_deref(), payment.as_deref(), amount, *lifted, *reported_at];
    db.execute(sql::ADD_REVERSAL, values).await?;
    match found {
        Some(checkout) => apply_to(db, checkout, at).await.map(drop),
        None => Ok(()),
    }
}

async fn refund_failed(
    db: &mut Connection<'_>,
    failed: &FailedRefund,
    at: Timestamp,
) -> Result<(), StoreError> {
    let FailedRefund { refund, reversal, payment, amount, failed_at } = failed;
    let named: Option<String> = db.fetch_optional(sql::CHECKOUT_OF_REVERSAL, values![&**reversal]).await?;
    let of = values![named.as_deref(), payment.as_deref()];
    let found = db.fetch_optional(sql::LOCK_CHECKOUT, of).await?;
    let values = values![&**refund, &**reversal, MicroUsd::from(*amount), *failed_at];
    db.execute(sql::ADD_REFUND_FAILURE, values).await?;
    match found {
        Some(checkout) => apply_to(db, checkout, at).await.map(drop),
        None => Ok(()),
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
async fn apply_to(db: &mut Connection<'_>, checkout: CheckoutId, at: Timestamp) -> Result<u64, StoreError> {
    let waiting: Vec<WaitingReversal> = db.fetch_all(sql::WAITING_REVERSALS, values![checkout]).await?;
    let mut applied = 0;
    for row in waiting {
        applied += u64::from(apply(db, &row, at).await?);
    }
    Ok(applied)
}

/// Applies one reversal; returns `false` if another transaction has applied it.
async fn apply(db: &mut Connection<'_>, row: &WaitingReversal, at: Timestamp) -> Result<bool, StoreError> {
    let WaitingReversal { reference, user, applied, bad_debt, changes, target } = row;
    let user = *user;
    let of_account = accounts::lock(db, user).await?.available.micro();
    // A positive amount is debited. A negative one is credited, after the service's bad debt is repaid.
    let amount = target - applied;
    let on_keys = if amount > of_account { keys::available_on_keys(db, user).await? } else { Vec::new() };
    let available = of_account + on_keys.iter().map(|(_, available)| available.micro()).sum::<i64>();
    let debt = if amount > 0 { bad_debt + (amount - available).max(0) } else { (bad_debt + amount).max(0) };
    if db.execute(sql::REVERSAL_APPLIED, values![&**reference, *applied, *target, debt, *changes]).await? == 0
    {
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
) -> Result<(), StoreError> {
    if amount > 0 {
        let transfer = values![reference, user, sql::CARD_ACCOUNT, amount, at];
        exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
        exactly_one(db.execute(sql::DEBIT, values![user, amount]).await?)?;
    } else if amount < 0 {
        ledger::credit_from(db, sql::CARD_ACCOUNT, user, MicroUsd::new(-amount), reference, at).await?;
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
) -> Result<(), StoreError> {
    let (from, to) = match debt {
        0 => return Ok(()),
        1.. => (sql::BAD_DEBT_ACCOUNT, sql::CARD_ACCOUNT),
        _ => (sql::CARD_ACCOUNT, sql::BAD_DEBT_ACCOUNT),
    };
    let transfer = values![format!("{reference}:bad_debt"), from, to, debt.abs(), at];
    exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
    if debt > 0 {
        accounts::freeze(db, user, true).await?;
    }
    Ok(())
}
