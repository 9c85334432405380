//! Accounts: creation, locks and freezing.

use ep_polling::time::Timestamp;

use crate::connection::Connection;
use crate::email::Email;
use crate::ids::UserId;
use crate::records::StoreError;
use crate::rows::AvailableRow;
use crate::statements as sql;
use crate::value::values;

/// Adds a user and its account.
pub(super) async fn create(
    db: &mut Connection<'_>,
    id: UserId,
    email: &Email,
    funder: Option<UserId>,
    at: Timestamp,
) -> Result<(), StoreError> {
    db.execute(sql::ADD_USER, values![id, email.as_str(), at]).await?;
    db.execute(sql::ADD_ACCOUNT, values![id, funder]).await.map(drop)
}

/// Locks an account until the transaction ends.
pub(super) async fn lock(db: &mut Connection<'_>, user: UserId) -> Result<AvailableRow, StoreError> {
    let account: Option<AvailableRow> = db.fetch_optional(sql::by_engine::AVAILABLE, values![user]).await?;
    account.ok_or(StoreError::NotFound("account"))
}

/// Locks an account until the transaction ends. [`StoreError::NotFound`] if it was deleted: a request that was admitted
/// before the deletion must not begin anything new.
pub(super) async fn lock_live(db: &mut Connection<'_>, user: UserId) -> Result<AvailableRow, StoreError> {
    let account = lock(db, user).await?;
    if account.deleted == 0 { Ok(account) } else { Err(StoreError::NotFound("account")) }
}

/// Freezes or unfreezes an account and those of its pre-funded keys. Locks the account before the others.
pub(super) async fn freeze(db: &mut Connection<'_>, user: UserId, frozen: bool) -> Result<(), StoreError> {
    lock(db, user).await?;
    db.execute(sql::FREEZE, values![user, frozen]).await.map(drop)
}

/// Locks an account; fails if it is frozen.
pub(super) async fn may_spend(db: &mut Connection<'_>, user: UserId) -> Result<(), StoreError> {
    match lock(db, user).await?.frozen {
        0 => Ok(()),
        _ => Err(StoreError::Frozen),
    }
}
