//! Money reserved for polls.

use ep_kernel::caller::CappedKey;
use ep_kernel::ports::{NewPoll, StoreError};
use ep_polling::money::{Hold, MicroUsd};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::{accounts, day, exactly_one, transfers};
use crate::engine::Connection;
use crate::rows::{self, AvailableRow, EndedHoldRow, KeySpendingRow};
use crate::statements as sql;
use crate::value::values;

/// Reserves money for a poll opened in this transaction; returns the amount. Other transactions do not see
/// the poll yet, so its hold may be locked after its account.
pub(super) async fn reserve<C: Connection>(
    db: &mut C,
    poll: &NewPoll,
    hold: Hold,
) -> Result<MicroUsd, StoreError> {
    let NewPoll { id, owner, capped, created_at, .. } = poll;
    let owner = owner.ok_or(StoreError::NotFound("account"))?;
    let account: Option<AvailableRow> = db.fetch_optional(C::AVAILABLE, values![owner]).await?;
    let account = account.ok_or(StoreError::NotFound("account"))?;
    if account.frozen != 0 && !hold.at_most.is_zero() {
        return Err(StoreError::Frozen);
    }
    let available = MicroUsd::new(account.available);
    if available < hold.at_least {
        return Err(StoreError::InsufficientBalance { available, needed: hold.at_least });
    }
    let today = day(*created_at);
    let left = match capped {
        Some(key) => cap_left(db, *key, today).await?,
        None => MicroUsd::MAX,
    };
    if left < hold.at_least {
        return Err(StoreError::CapReached { left, needed: hold.at_least });
    }
    let amount = hold.at_most.min(available).min(left);
    if !amount.is_zero() {
        let key = capped.map(|capped| capped.key);
        db.execute(sql::ADD_HOLD, values![id, owner, amount, key, key.map(|_| today)]).await?;
        exactly_one(db.execute(sql::RESERVE, values![owner, amount]).await?)?;
        if let Some(key) = key {
            db.execute(sql::ADD_KEY_SPENDING, values![key, today, amount]).await?;
        }
    }
    Ok(amount)
}

/// Returns the remaining spending cap of a key. Locks its account, which all polls of the key need.
async fn cap_left<C: Connection>(
    db: &mut C,
    CappedKey { key, caps }: CappedKey,
    today: i64,
) -> Result<MicroUsd, StoreError> {
    let spent: KeySpendingRow = db.fetch_one(sql::KEY_SPENDING, values![key, today]).await?;
    let left = caps.left(MicroUsd::new(spent.total), MicroUsd::new(spent.today));
    Ok(left.unwrap_or(MicroUsd::MAX))
}

/// Ends the poll's hold, if it has one, and captures the amount spent. Locks the account late, because every
/// poll of its owner needs it. Then returns the remaining balance of a revoked pre-funded key to its funder.
pub(super) async fn capture<C: Connection>(
    db: &mut C,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let hold: Option<EndedHoldRow> = db.fetch_optional(sql::END_HOLD, values![poll, amount]).await?;
    let Some(EndedHoldRow { account, amount: held, captured, key_id, day, funder }) = hold else {
        return Ok(());
    };
    let (account, funder) = (rows::user_id(&account)?, funder.as_deref().map(rows::user_id).transpose()?);
    if captured > 0 {
        let reference = format!("hold:{poll}");
        let transfer = values![reference, account, sql::REVENUE_ACCOUNT, captured, at];
        exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
    }
    if let Some(funder) = funder {
        accounts::lock(db, funder).await?;
    }
    exactly_one(db.execute(sql::RELEASE_AND_DEBIT, values![account, held, captured]).await?)?;
    if let (Some(key), Some(day)) = (key_id, day) {
        let released = held - captured;
        exactly_one(db.execute(sql::REDUCE_KEY_SPENDING, values![&*key, day, released]).await?)?;
    }
    match funder {
        Some(funder) => transfers::return_funds(db, account, funder, &format!("return:{poll}"), at).await,
        None => Ok(()),
    }
}
