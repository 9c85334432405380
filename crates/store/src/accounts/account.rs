//! Accounts: creation, locks and freezing.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::Email;
use crate::connection::Connection;
use crate::ids::UserId;
use crate::row::from_row;
use crate::statement::{Statement, statement};
use crate::store_error::{Result, StoreError};
use crate::value::values;

/// The accounts with keys that an account may see and revoke: its own, and those of its pre-funded keys.
macro_rules! accounts_of {
    ($user:literal) => {
        concat!("(SELECT id FROM accounts WHERE id = ", $user, " OR funder = ", $user, ")")
    };
}
pub(crate) use accounts_of;

/// Reads the available balance of an account and locks it until the transaction ends.
const AVAILABLE: Statement = statement!(
    "SELECT posted - held AS available, frozen, \
         CAST(CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END AS BIGINT) AS deleted FROM accounts WHERE id = $1",
    ("", " FOR UPDATE")
);
const ADD_USER: &str = "INSERT INTO users (id, email, created_at) VALUES ($1, $2, $3)";
const ADD_ACCOUNT: &str = "INSERT INTO accounts (id, funder) VALUES ($1, $2)";
/// Freezes an account and the accounts of its pre-funded keys.
const FREEZE: &str = "UPDATE accounts SET frozen = $2 WHERE id = $1 OR funder = $1";

/// Adds a user and its account.
pub(crate) async fn create(
    db: &mut Connection<'_>,
    id: UserId,
    email: &Email,
    funder: Option<UserId>,
    at: Timestamp,
) -> Result<()> {
    db.execute(ADD_USER, values![id, email.as_str(), at]).await?;
    db.execute(ADD_ACCOUNT, values![id, funder]).await.map(drop)
}

/// A locked account.
pub(crate) struct LockedAccount {
    pub(crate) available: MicroUsd,
    pub(crate) frozen: bool,
    deleted: bool,
}

from_row!(LockedAccount { available, frozen, deleted });

/// Locks an account until the transaction ends.
pub(crate) async fn lock(db: &mut Connection<'_>, user: UserId) -> Result<LockedAccount> {
    let account = db.fetch_optional(AVAILABLE, values![user]).await?;
    account.ok_or(StoreError::NotFound("account"))
}

/// Locks an account until the transaction ends. [`StoreError::NotFound`] if it was deleted: a request that was admitted
/// before the deletion must not begin anything new.
pub(crate) async fn lock_live(db: &mut Connection<'_>, user: UserId) -> Result<LockedAccount> {
    let account = lock(db, user).await?;
    if account.deleted { Err(StoreError::NotFound("account")) } else { Ok(account) }
}

/// Freezes or unfreezes an account and those of its pre-funded keys. Locks the account before the others.
pub(crate) async fn freeze(db: &mut Connection<'_>, user: UserId, frozen: bool) -> Result<()> {
    lock(db, user).await?;
    db.execute(FREEZE, values![user, frozen]).await.map(drop)
}

/// Locks an account; fails if it is frozen.
pub(crate) async fn may_spend(db: &mut Connection<'_>, user: UserId) -> Result<()> {
    if lock(db, user).await?.frozen { Err(StoreError::Frozen) } else { Ok(()) }
}
