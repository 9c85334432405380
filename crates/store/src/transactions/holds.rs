//! Money reserved for polls and batches.

use ep_polling::money::{Hold, MicroUsd};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::accounts::{self, LockedAccount};
use super::batches::LockedBatch;
use super::{day, exactly_one, transfers};
use crate::batch_id::BatchId;
use crate::connection::Connection;
use crate::ids::{KeyId, UserId};
use crate::key_terms::CappedKey;
use crate::records::{KeySpending, NewPoll, StoreError};
use crate::row::from_row;
use crate::statements as sql;
use crate::value::values;

/// Reserves money for a poll opened in this transaction; returns the amount. Other transactions do not see
/// the poll yet, so its hold may be locked after its account.
pub(super) async fn reserve(
    db: &mut Connection<'_>,
    poll: &NewPoll,
    hold: Hold,
) -> Result<MicroUsd, StoreError> {
    let NewPoll { id, owner, capped, created_at, .. } = poll;
    let owner = owner.ok_or(StoreError::NotFound("account"))?;
    let today = day(*created_at);
    let amount = set_aside(db, owner, *capped, hold, today).await?;
    if !amount.is_zero() {
        let key = capped.map(|capped| capped.key);
        let day = key.map(|_| today);
        db.execute(sql::ADD_HOLD, values![id, owner, amount, key, day, None::<&str>]).await?;
    }
    Ok(amount)
}

/// Reserves money for the rows of a locked batch; returns the amount.
pub(super) async fn reserve_for_batch(
    db: &mut Connection<'_>,
    batch: &LockedBatch,
    hold: Hold,
    at: Timestamp,
) -> Result<MicroUsd, StoreError> {
    let capped = match batch.key {
        Some(key) => Some(CappedKey { key, caps: db.fetch_one(sql::KEY_CAPS, values![Some(key)]).await? }),
        None => None,
    };
    set_aside(db, batch.user, capped, hold, day(at)).await
}

/// Sets available money of an account aside; returns the amount.
async fn set_aside(
    db: &mut Connection<'_>,
    owner: UserId,
    capped: Option<CappedKey>,
    hold: Hold,
    today: i64,
) -> Result<MicroUsd, StoreError> {
    let LockedAccount { available, frozen, .. } = accounts::lock(db, owner).await?;
    if frozen && !hold.at_most.is_zero() {
        return Err(StoreError::Frozen);
    }
    if available < hold.at_least {
        return Err(StoreError::InsufficientBalance { available, needed: hold.at_least });
    }
    let left = match capped {
        Some(key) => cap_left(db, key, today).await?,
        None => MicroUsd::MAX,
    };
    if left < hold.at_least {
        return Err(StoreError::CapReached { left, needed: hold.at_least });
    }
    let amount = hold.at_most.min(available).min(left);
    if !amount.is_zero() {
        exactly_one(db.execute(sql::RESERVE, values![owner, amount]).await?)?;
        if let Some(CappedKey { key, .. }) = capped {
            db.execute(sql::ADD_KEY_SPENDING, values![key, today, amount]).await?;
        }
    }
    Ok(amount)
}

/// Moves money of a batch to the hold of a poll opened in this transaction; returns the amount. The account has set it
/// aside already.
pub(super) async fn draw_from_batch(
    db: &mut Connection<'_>,
    poll: &NewPoll,
    batch: BatchId,
    hold: Hold,
) -> Result<MicroUsd, StoreError> {
    let locked: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![batch]).await?;
    let locked = locked.ok_or(StoreError::NotFound("open batch"))?;
    let left = locked.held;
    if left < hold.at_least {
        return Err(StoreError::BatchSpent { left, needed: hold.at_least });
    }
    let amount = hold.at_most.min(left);
    if !amount.is_zero() {
        let row = values![&poll.id, locked.user, amount, locked.key, locked.day, batch];
        db.execute(sql::ADD_HOLD, row).await?;
        let drawn = values![batch, -amount.micro()];
        exactly_one(db.execute(sql::CHANGE_BATCH_MONEY, drawn).await?)?;
    }
    Ok(amount)
}

/// Releases the money of a locked batch that ends.
pub(super) async fn release_from_batch(
    db: &mut Connection<'_>,
    id: BatchId,
    batch: &LockedBatch,
    at: Timestamp,
) -> Result<(), StoreError> {
    if batch.held.is_zero() {
        return Ok(());
    }
    let LockedBatch { user: account, key, day, funder, .. } = *batch;
    let reserved = Reserved { account, key, day, funder };
    release(db, reserved, batch.held, MicroUsd::ZERO, &format!("return:{id}"), at).await
}

/// The account and the key that reserved money counts against.
struct Reserved {
    account: UserId,
    key: Option<KeyId>,
    day: Option<i64>,
    funder: Option<UserId>,
}

/// Releases a reserved amount and debits another one, which is reserved, too. Then returns the remaining balance of a
/// revoked pre-funded key to its funder, under this reference.
async fn release(
    db: &mut Connection<'_>,
    Reserved { account, key, day, funder }: Reserved,
    released: MicroUsd,
    debited: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    if let Some(funder) = funder {
        accounts::lock(db, funder).await?;
    }
    exactly_one(
        db.execute(sql::RELEASE_AND_DEBIT, values![account, released.plus(debited), debited]).await?,
    )?;
    if let (Some(key), Some(day)) = (key, day) {
        exactly_one(db.execute(sql::REDUCE_KEY_SPENDING, values![key, day, released]).await?)?;
    }
    match funder {
        Some(funder) => transfers::return_funds(db, account, funder, reference, at).await,
        None => Ok(()),
    }
}

/// Returns the remaining spending cap of a key. Locks its account, which all polls of the key need.
async fn cap_left(
    db: &mut Connection<'_>,
    CappedKey { key, caps }: CappedKey,
    today: i64,
) -> Result<MicroUsd, StoreError> {
    let KeySpending { total, today } = db.fetch_one(sql::KEY_SPENDING, values![key, today]).await?;
    Ok(caps.left(total, today).unwrap_or(MicroUsd::MAX))
}

/// A hold that has just ended.
struct EndedHold {
    account: UserId,
    amount: MicroUsd,
    captured: MicroUsd,
    key: Option<KeyId>,
    day: Option<i64>,
    batch: Option<BatchId>,
    funder: Option<UserId>,
}

from_row!(EndedHold { account, amount, captured, key, day, batch, funder });

/// Ends the poll's hold, if it has one, and captures the amount spent. Locks the account late, because every
/// poll of its owner needs it.
pub(super) async fn capture(
    db: &mut Connection<'_>,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let hold: Option<EndedHold> = db.fetch_optional(sql::END_HOLD, values![poll, amount]).await?;
    let Some(EndedHold { account, amount: held, captured, key, day, batch, funder }) = hold else {
        return Ok(());
    };
    let returned = held.minus(captured);
    if !captured.is_zero() {
        let reference = format!("hold:{poll}");
        let transfer = values![reference, account, sql::REVENUE_ACCOUNT, captured, at];
        exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
    }
    let returns = match batch {
        Some(batch) => db.execute(sql::RETURN_TO_BATCH, values![batch, returned]).await? == 1,
        None => false,
    };
    // What returns to a batch stays set aside.
    let released = if returns { MicroUsd::ZERO } else { returned };
    let reserved = Reserved { account, key, day, funder };
    release(db, reserved, released, captured, &format!("return:{poll}"), at).await
}
