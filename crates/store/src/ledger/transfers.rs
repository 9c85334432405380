//! Transfers between accounts, each made once per reference.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::TransferRecord;
use crate::accounts::account;
use crate::accounts::account::LockedAccount;
use crate::connection::Connection;
use crate::ids::{KeyId, UserId};
use crate::ledger::CreditOutcome;
use crate::store_error::{Result, StoreError};
use crate::value::values;

/// The columns of [`crate::TransferRecord`].
macro_rules! transfer_columns {
    () => {
        "ref AS reference, debit_account, credit_account, amount, created_at"
    };
}

pub(crate) const ADD_TRANSFER: &str = "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (ref) DO NOTHING";
const TRANSFER: &str = concat!("SELECT ", transfer_columns!(), " FROM transfers WHERE ref = $1");
/// Credits an account, up to the limit of `MicroUsd::MAX`.
const CREDIT: &str =
    "UPDATE accounts SET posted = posted + $2 WHERE id = $1 AND posted <= 1000000000000000000 - $2";
const IS_ACTIVE: &str = "SELECT id FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL";
pub(crate) const DEBIT: &str =
    "UPDATE accounts SET posted = posted - $2 WHERE id = $1 AND posted - held >= $2";

/// Moves an amount between two accounts, once per reference, if the first has enough available.
pub(crate) async fn move_funds(
    db: &mut Connection<'_>,
    from: UserId,
    to: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome> {
    let debited = debit(db, from, &to.to_string(), amount, reference, at).await?;
    if debited == CreditOutcome::Credited {
        add(db, to, amount).await?;
    }
    Ok(debited)
}

/// Adds an amount to the posted balance of an account.
pub(crate) async fn add(db: &mut Connection<'_>, user: UserId, amount: MicroUsd) -> Result<()> {
    if db.execute(CREDIT, values![user, amount]).await? == 0 {
        account::lock(db, user).await?;
        return Err(StoreError::BalanceLimit);
    }
    Ok(())
}

/// Moves an available amount from an account to an account of the service or of another user, once per
/// reference.
pub(crate) async fn debit(
    db: &mut Connection<'_>,
    from: UserId,
    to: &str,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome> {
    let LockedAccount { available, .. } = account::lock(db, from).await?;
    if db.execute(ADD_TRANSFER, values![reference, from, to, amount, at]).await? == 0 {
        return made_before(db, reference, &from.to_string(), to, amount).await;
    }
    match db.execute(DEBIT, values![from, amount]).await? {
        0 => Err(StoreError::InsufficientBalance { available, needed: amount }),
        _ => Ok(CreditOutcome::Credited),
    }
}

/// Returns `true` if a transfer with this reference exists; fails if it differs from this one.
pub(crate) async fn made_before(
    db: &mut Connection<'_>,
    reference: &str,
    from: &str,
    to: &str,
    amount: MicroUsd,
) -> Result<CreditOutcome> {
    let earlier: TransferRecord = db.fetch_one(TRANSFER, values![reference]).await?;
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
pub(crate) async fn return_funds(
    db: &mut Connection<'_>,
    account: UserId,
    funder: UserId,
    reference: &str,
    at: Timestamp,
) -> Result<()> {
    let active: Option<KeyId> = db.fetch_optional(IS_ACTIVE, values![account]).await?;
    let left = account::lock(db, account).await?.available;
    if active.is_some() || left.is_zero() {
        return Ok(());
    }
    move_funds(db, account, funder, left, reference, at).await.map(drop)
}
