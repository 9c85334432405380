//! Transfers between accounts, each made once per reference.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::accounts::{self, LockedAccount};
use crate::connection::Connection;
use crate::ids::{KeyId, UserId};
use crate::records::{CreditOutcome, StoreError, TransferRecord};
use crate::statements as sql;
use crate::value::values;

/// Moves an amount between two accounts, once per reference, if the first has enough available.
pub(super) async fn move_funds(
    db: &mut Connection<'_>,
    from: UserId,
    to: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    let debited = debit(db, from, &to.to_string(), amount, reference, at).await?;
    if debited == CreditOutcome::Credited {
        add(db, to, amount).await?;
    }
    Ok(debited)
}

/// Adds an amount to the posted balance of an account.
pub(super) async fn add(db: &mut Connection<'_>, user: UserId, amount: MicroUsd) -> Result<(), StoreError> {
    if db.execute(sql::CREDIT, values![user, amount]).await? == 0 {
        accounts::lock(db, user).await?;
        return Err(StoreError::BalanceLimit);
    }
    Ok(())
}

/// Moves an available amount from an account to an account of the service or of another user, once per
/// reference.
pub(super) async fn debit(
    db: &mut Connection<'_>,
    from: UserId,
    to: &str,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    let LockedAccount { available, .. } = accounts::lock(db, from).await?;
    let transfer = values![reference, from, to, amount, at];
    if db.execute(sql::ADD_TRANSFER, transfer).await? == 0 {
        return made_before(db, reference, &from.to_string(), to, amount).await;
    }
    match db.execute(sql::DEBIT, values![from, amount]).await? {
        0 => Err(StoreError::InsufficientBalance { available, needed: amount }),
        _ => Ok(CreditOutcome::Credited),
    }
}

/// Returns `true` if a transfer with this reference exists; fails if it differs from this one.
pub(super) async fn made_before(
    db: &mut Connection<'_>,
    reference: &str,
    from: &str,
    to: &str,
    amount: MicroUsd,
) -> Result<CreditOutcome, StoreError> {
    let earlier: TransferRecord = db.fetch_one(sql::TRANSFER, values![reference]).await?;
    if earlier.to != to || earlier.from != from {
        Err(StoreError::Conflict("this reference was already used for another account; use a new one"))
    } else if earlier.amount_micro_usd != amount.micro() {
        Err(StoreError::Conflict("this reference was already used for another amount; use a new one"))
    } else {
        Ok(CreditOutcome::AlreadyCredited)
    }
}

/// Returns the available balance of a revoked pre-funded key to its funder. The funder's account must be
/// locked.
pub(super) async fn return_funds(
    db: &mut Connection<'_>,
    account: UserId,
    funder: UserId,
    reference: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let active: Option<KeyId> = db.fetch_optional(sql::IS_ACTIVE, values![account]).await?;
    let left = accounts::lock(db, account).await?.available;
    if active.is_some() || left.is_zero() {
        return Ok(());
    }
    move_funds(db, account, funder, left, reference, at).await.map(drop)
}
