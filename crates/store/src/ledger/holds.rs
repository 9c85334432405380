//! Money reserved for polls and batches.

use ep_polling::{Hold, MicroUsd, PollId, Timestamp};

use crate::accounts::account;
use crate::accounts::account::LockedAccount;
use crate::batches::BatchId;
use crate::batches::locked::LockedBatch;
use crate::connection::Connection;
use crate::database::exactly_one;
use crate::ids::{KeyId, UserId};
use crate::keys::CappedKey;
use crate::keys::KeySpending;
use crate::ledger::transfers;
use crate::ledger::transfers::ADD_TRANSFER;
use crate::polls::NewPoll;
use crate::row::from_row;
use crate::store_error::{Result, StoreError};
use crate::value::{day, values};

const ADD_HOLD: &str =
    "INSERT INTO holds (ref, account, amount, key_id, day, batch) VALUES ($1, $2, $3, $4, $5, $6)";
/// The total spending of a key, and its spending on one day.
const KEY_SPENDING: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS total, \
     CAST(COALESCE(SUM(CASE day WHEN $2 THEN amount ELSE 0 END), 0) AS BIGINT) AS today \
     FROM key_spending WHERE key_id = $1";
const ADD_KEY_SPENDING: &str = "INSERT INTO key_spending (key_id, day, amount) VALUES ($1, $2, $3) \
     ON CONFLICT (key_id, day) DO UPDATE SET amount = key_spending.amount + excluded.amount";
const REDUCE_KEY_SPENDING: &str =
    "UPDATE key_spending SET amount = amount - $3 WHERE key_id = $1 AND day = $2";
const RESERVE: &str = "UPDATE accounts SET held = held + $2 WHERE id = $1 AND posted - held >= $2";
/// Ends a hold once; captures at most its amount.
const END_HOLD: &str = "UPDATE holds SET \
     captured = CASE WHEN $2 < amount THEN $2 ELSE amount END, \
     status = CASE WHEN $2 > 0 THEN 'captured' ELSE 'released' END \
     WHERE ref = $1 AND status = 'open' RETURNING account, amount, captured, key_id, day, batch, \
         (SELECT funder FROM accounts WHERE id = account) AS funder";
const RELEASE_AND_DEBIT: &str = "UPDATE accounts SET held = held - $2, posted = posted - $3 WHERE id = $1";
/// The target account of captures.
const REVENUE_ACCOUNT: &str = "sys:revenue";
/// The caps of a key.
const KEY_CAPS: &str = "SELECT cap, daily_cap FROM api_keys WHERE id = $1";

/// Reserves money for a poll opened in this transaction; returns the amount. Other transactions do not see
/// the poll yet, so its hold may be locked after its account.
pub(crate) async fn reserve(db: &mut Connection<'_>, poll: &NewPoll, hold: Hold) -> Result<MicroUsd> {
    let NewPoll { id, owner, capped, created_at, .. } = poll;
    let owner = owner.ok_or(StoreError::NotFound("account"))?;
    let today = day(*created_at);
    let amount = set_aside(db, owner, *capped, hold, today).await?;
    if !amount.is_zero() {
        let key = capped.map(|capped| capped.key);
        let day = key.map(|_| today);
        db.execute(ADD_HOLD, values![id, owner, amount, key, day, None::<&str>]).await?;
    }
    Ok(amount)
}

/// Reserves money for the rows of a locked batch; returns the amount.
pub(crate) async fn reserve_for_batch(
    db: &mut Connection<'_>,
    batch: &LockedBatch,
    hold: Hold,
    at: Timestamp,
) -> Result<MicroUsd> {
    let capped = match batch.key {
        Some(key) => Some(CappedKey { key, caps: db.fetch_one(KEY_CAPS, values![Some(key)]).await? }),
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
) -> Result<MicroUsd> {
    let LockedAccount { available, frozen, .. } = account::lock(db, owner).await?;
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
        exactly_one(db.execute(RESERVE, values![owner, amount]).await?)?;
        if let Some(CappedKey { key, .. }) = capped {
            db.execute(ADD_KEY_SPENDING, values![key, today, amount]).await?;
        }
    }
    Ok(amount)
}

/// Moves money of a batch to the hold of a poll opened in this transaction; returns the amount. The account has set it
/// aside already.
pub(crate) async fn draw_from_batch(
    db: &mut Connection<'_>,
    poll: &NewPoll,
    batch: BatchId,
    hold: Hold,
) -> Result<MicroUsd> {
    let locked: Option<LockedBatch> =
        db.fetch_optional(crate::batches::sql::LOCK_BATCH, values![batch]).await?;
    let locked = locked.ok_or(StoreError::NotFound("open batch"))?;
    let left = locked.held;
    if left < hold.at_least {
        return Err(StoreError::BatchSpent { left, needed: hold.at_least });
    }
    let amount = hold.at_most.min(left);
    if !amount.is_zero() {
        db.execute(ADD_HOLD, values![&poll.id, locked.user, amount, locked.key, locked.day, batch]).await?;
        let drawn = values![batch, -amount.micro()];
        exactly_one(db.execute(crate::batches::sql::CHANGE_BATCH_MONEY, drawn).await?)?;
    }
    Ok(amount)
}

/// Releases the money of a locked batch that ends.
pub(crate) async fn release_from_batch(
    db: &mut Connection<'_>,
    id: BatchId,
    batch: &LockedBatch,
    at: Timestamp,
) -> Result<()> {
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
) -> Result<()> {
    if let Some(funder) = funder {
        account::lock(db, funder).await?;
    }
    exactly_one(db.execute(RELEASE_AND_DEBIT, values![account, released.plus(debited), debited]).await?)?;
    if let (Some(key), Some(day)) = (key, day) {
        exactly_one(db.execute(REDUCE_KEY_SPENDING, values![key, day, released]).await?)?;
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
) -> Result<MicroUsd> {
    let KeySpending { total, today } = db.fetch_one(KEY_SPENDING, values![key, today]).await?;
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
pub(crate) async fn capture(
    db: &mut Connection<'_>,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<()> {
    let hold: Option<EndedHold> = db.fetch_optional(END_HOLD, values![poll, amount]).await?;
    let Some(EndedHold { account, amount: held, captured, key, day, batch, funder }) = hold else {
        return Ok(());
    };
    let returned = held.minus(captured);
    if !captured.is_zero() {
        let reference = format!("hold:{poll}");
        let transfer = values![reference, account, REVENUE_ACCOUNT, captured, at];
        exactly_one(db.execute(ADD_TRANSFER, transfer).await?)?;
    }
    let returns = match batch {
        Some(batch) => db.execute(crate::batches::sql::RETURN_TO_BATCH, values![batch, returned]).await? == 1,
        None => false,
    };
    // What returns to a batch stays set aside.
    let released = if returns { MicroUsd::ZERO } else { returned };
    let reserved = Reserved { account, key, day, funder };
    release(db, reserved, released, captured, &format!("return:{poll}"), at).await
}
