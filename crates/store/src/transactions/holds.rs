//! Money reserved for polls and batches.

use ep_polling::money::{Hold, MicroUsd};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::{accounts, day, exactly_one, transfers};
use crate::batch_id::BatchId;
use crate::connection::Connection;
use crate::error::failed;
use crate::ids::UserId;
use crate::key_terms::CappedKey;
use crate::key_terms::SpendingCaps;
use crate::records::{NewPoll, StoreError};
use crate::rows::{self, AvailableRow, EndedHoldRow, KeyCapsRow, KeySpendingRow, LockedBatchRow};
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
    batch: &LockedBatchRow,
    hold: Hold,
    at: Timestamp,
) -> Result<MicroUsd, StoreError> {
    let capped = match &batch.key_id {
        Some(key) => {
            let KeyCapsRow { cap, daily_cap } = db.fetch_one(sql::KEY_CAPS, values![&**key]).await?;
            let caps = SpendingCaps { total: cap.map(MicroUsd::new), daily: daily_cap.map(MicroUsd::new) };
            Some(CappedKey { key: key.parse().map_err(failed)?, caps })
        }
        None => None,
    };
    set_aside(db, rows::user_id(&batch.user_id)?, capped, hold, day(at)).await
}

/// Sets available money of an account aside; returns the amount.
async fn set_aside(
    db: &mut Connection<'_>,
    owner: UserId,
    capped: Option<CappedKey>,
    hold: Hold,
    today: i64,
) -> Result<MicroUsd, StoreError> {
    let account: Option<AvailableRow> = db.fetch_optional(sql::by_engine::AVAILABLE, values![owner]).await?;
    let account = account.ok_or(StoreError::NotFound("account"))?;
    if account.frozen != 0 && !hold.at_most.is_zero() {
        return Err(StoreError::Frozen);
    }
    let available = MicroUsd::new(account.available);
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
    let locked: Option<LockedBatchRow> = db.fetch_optional(sql::LOCK_BATCH, values![batch]).await?;
    let locked = locked.ok_or(StoreError::NotFound("open batch"))?;
    let left = MicroUsd::new(locked.held);
    if left < hold.at_least {
        return Err(StoreError::BatchSpent { left, needed: hold.at_least });
    }
    let amount = hold.at_most.min(left);
    if !amount.is_zero() {
        let (key, batch_id) = (locked.key_id.as_deref(), batch.to_string());
        let row = values![&poll.id, &*locked.user_id, amount, key, locked.day, &*batch_id];
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
    batch: &LockedBatchRow,
    at: Timestamp,
) -> Result<(), StoreError> {
    if batch.held == 0 {
        return Ok(());
    }
    let LockedBatchRow { user_id, key_id, day, funder, .. } = batch;
    let reserved =
        Reserved { account: user_id, key: key_id.as_deref(), day: *day, funder: funder.as_deref() };
    release(db, reserved, batch.held, 0, &format!("return:{id}"), at).await
}

/// The account and the key that reserved money counts against.
struct Reserved<'a> {
    account: &'a str,
    key: Option<&'a str>,
    day: Option<i64>,
    funder: Option<&'a str>,
}

/// Releases a reserved amount and debits another one, which is reserved, too. Then returns the remaining balance of a
/// revoked pre-funded key to its funder, under this reference.
async fn release(
    db: &mut Connection<'_>,
    Reserved { account, key, day, funder }: Reserved<'_>,
    released: i64,
    debited: i64,
    reference: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let (account, funder) = (rows::user_id(account)?, funder.map(rows::user_id).transpose()?);
    if let Some(funder) = funder {
        accounts::lock(db, funder).await?;
    }
    exactly_one(db.execute(sql::RELEASE_AND_DEBIT, values![account, released + debited, debited]).await?)?;
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
    let spent: KeySpendingRow = db.fetch_one(sql::KEY_SPENDING, values![key, today]).await?;
    let left = caps.left(MicroUsd::new(spent.total), MicroUsd::new(spent.today));
    Ok(left.unwrap_or(MicroUsd::MAX))
}

/// Ends the poll's hold, if it has one, and captures the amount spent. Locks the account late, because every
/// poll of its owner needs it.
pub(super) async fn capture(
    db: &mut Connection<'_>,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let hold: Option<EndedHoldRow> = db.fetch_optional(sql::END_HOLD, values![poll, amount]).await?;
    let Some(EndedHoldRow { account, amount: held, captured, key_id, day, batch, funder }) = hold else {
        return Ok(());
    };
    if captured > 0 {
        let reference = format!("hold:{poll}");
        let transfer = values![reference, &*account, sql::REVENUE_ACCOUNT, captured, at];
        exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
    }
    let returns = match &batch {
        Some(batch) => db.execute(sql::RETURN_TO_BATCH, values![&**batch, held - captured]).await? == 1,
        None => false,
    };
    // What returns to a batch stays set aside.
    let released = if returns { 0 } else { held - captured };
    let reserved = Reserved { account: &account, key: key_id.as_deref(), day, funder: funder.as_deref() };
    release(db, reserved, released, captured, &format!("return:{poll}"), at).await
}
