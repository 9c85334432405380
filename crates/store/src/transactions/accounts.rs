//! Accounts: creation, locks and freezing.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use crate::connection::Connection;
use crate::email::Email;
use crate::ids::UserId;
use crate::records::StoreError;
use crate::row::from_row;
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

/// A locked account.
pub(super) struct LockedAccount {
    pub(super) available: MicroUsd,
    pub(super) frozen: bool,
    deleted: bool,
}

from_row!(LockedAccount { available, frozen, deleted });

/// Locks an account until the transaction ends.
pub(super) async fn lock(db: &mut Connection<'_>, user: UserId) -> Result<LockedAccount, StoreError> {
    let account = db.fetch_optional(sql::by_engine::AVAILABLE, values![user]).await?;
    account.ok_or(StoreError::NotFound("account"))
}

/// Locks an account until the transaction ends. [`StoreError::NotFound`] if it was deleted: a request that was admitted
/// before the deletion must not begin anything new.
pub(super) async fn lock_live(db: &mut Connection<'_>, user: UserId) -> Result<LockedAccount, StoreError> {
    let account = lock(db, user).await?;
    if account.deleted { Err(StoreError::NotFound("account")) } else { Ok(account) }
}

/// Freezes or unfreezes an account and those of its pre-funded keys. Locks the account before the others.
pub(super) async fn freeze(db: &mut Connection<'_>, user: UserId, frozen: bool) -> Result<(), StoreError> {
    lock(db, user).await?;
    db.execute(sql::FREEZE, values![user, frozen]).await.map(drop)
}

/// Locks an account; fails if it is frozen.
pub(super) async fn may_spend(db: &mut Connection<'_>, user: UserId) -> Result<(), StoreError> {
    if lock(db, user).await?.frozen { Err(StoreError::Frozen) } else { Ok(()) }
}
