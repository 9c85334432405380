//! Money set aside for polls.

use ep_kernel::caller::UserId;
use ep_kernel::ports::StoreError;
use ep_polling::money::{Hold, MicroUsd};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::exactly_one;
use crate::engine::Connection;
use crate::rows::{AvailableRow, EndedHoldRow};
use crate::statements as sql;
use crate::value::values;

/// Sets money aside for a poll that was opened in this transaction; returns the amount. No other
/// transaction sees the poll yet, so its hold may be locked after its account.
pub(super) async fn reserve<C: Connection>(
    db: &mut C,
    poll: &PollId,
    owner: Option<UserId>,
    hold: Hold,
) -> Result<MicroUsd, StoreError> {
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
    let amount = hold.at_most.min(available);
    if !amount.is_zero() {
        db.execute(sql::ADD_HOLD, values![poll, owner, amount]).await?;
        exactly_one(db.execute(sql::RESERVE, values![owner, amount]).await?)?;
    }
    Ok(amount)
}

/// Ends the poll's hold, if it has one, and captures what was spent of it. The account is locked last:
/// every poll of its owner needs it.
pub(super) async fn capture<C: Connection>(
    db: &mut C,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let hold: Option<EndedHoldRow> = db.fetch_optional(sql::END_HOLD, values![poll, amount]).await?;
    let Some(EndedHoldRow { account, amount: held, captured }) = hold else { return Ok(()) };
    if captured > 0 {
        let reference = format!("hold:{poll}");
        let transfer = values![reference, &*account, sql::REVENUE_ACCOUNT, captured, at];
        exactly_one(db.execute(sql::ADD_TRANSFER, transfer).await?)?;
    }
    exactly_one(db.execute(sql::RELEASE_AND_DEBIT, values![&*account, held, captured]).await?)
}
