//! Money of accounts.

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::caller::UserId;
use ep_kernel::ports::{Audit, Balance, Balances, CreditOutcome, Lease, Ledger, StoreError};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::{Database, keys, reputation};
use crate::engine::{Connection, Durability, Engine};
use crate::rows::{self, AuditSizeRow, AvailableRow, BalanceRow, IdRow, TransferRow};
use crate::statements as sql;
use crate::value::{Value, values};

#[async_trait]
impl<E: Engine> Balances for Database<E> {
    async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError> {
        let balance: Option<BalanceRow> = self.0.fetch_optional(sql::BALANCE, values![user]).await?;
        Ok(balance.map(Into::into))
    }
}

#[async_trait]
impl<E: Engine> Ledger for Database<E> {
    async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError> {
        let reference = reference.to_owned();
        self.0
            .transact(Durability::PowerLoss, move |db| {
                async move { credit(db, user, amount, &reference, at).await }.boxed()
            })
            .await
    }

    async fn audit(&self, settled_within: Duration) -> Result<Audit, StoreError> {
        self.0.snapshot(move |db| audit(db, settled_within).boxed()).await
    }
}

/// Credits an account once per reference. Inserts the transfer first: a second one with the same reference
/// waits for the first transaction and then inserts nothing.
pub(super) async fn credit<C: Connection>(
    db: &mut C,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    credit_from(db, sql::CREDITS_ACCOUNT, user, amount, reference, at).await
}

/// Credits an account once per reference, from this account of the service.
pub(super) async fn credit_from<C: Connection>(
    db: &mut C,
    source: &'static str,
    user: UserId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    let transfer = values![reference, source, user, amount, at];
    if db.execute(sql::ADD_TRANSFER, transfer).await? == 0 {
        return made_before(db, reference, source, &user.to_string(), amount).await;
    }
    let funder: Option<IdRow> = db.fetch_optional(sql::FUNDER, values![user]).await?;
    let funder = funder.map(|funder| rows::user_id(&funder.id)).transpose()?;
    if let Some(funder) = funder {
        lock(db, funder).await?;
    }
    add(db, user, amount).await?;
    if let Some(funder) = funder {
        // The key may have been revoked since.
        keys::return_funds(db, user, funder, &format!("return:{reference}"), at).await?;
    }
    Ok(CreditOutcome::Credited)
}

/// Locks an account until the transaction ends.
pub(super) async fn lock<C: Connection>(db: &mut C, user: UserId) -> Result<AvailableRow, StoreError> {
    let account: Option<AvailableRow> = db.fetch_optional(C::AVAILABLE, values![user]).await?;
    account.ok_or(StoreError::NotFound("account"))
}

/// Locks an account until the transaction ends. [`StoreError::NotFound`] if it was deleted: a request that was admitted
/// before the deletion must not begin anything new.
pub(super) async fn lock_live<C: Connection>(db: &mut C, user: UserId) -> Result<AvailableRow, StoreError> {
    let account = lock(db, user).await?;
    if account.deleted == 0 { Ok(account) } else { Err(StoreError::NotFound("account")) }
}

/// Freezes or unfreezes an account and those of its pre-funded keys. Locks the account before the others.
pub(super) async fn freeze<C: Connection>(db: &mut C, user: UserId, frozen: bool) -> Result<(), StoreError> {
    lock(db, user).await?;
    db.execute(sql::FREEZE, values![user, frozen]).await.map(drop)
}

/// Moves an amount between two accounts, once per reference, if the first has enough available.
pub(super) async fn move_funds<C: Connection>(
    db: &mut C,
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
async fn add<C: Connection>(db: &mut C, user: UserId, amount: MicroUsd) -> Result<(), StoreError> {
    if db.execute(sql::CREDIT, values![user, amount]).await? == 0 {
        lock(db, user).await?;
        return Err(StoreError::BalanceLimit);
    }
    Ok(())
}

/// Moves an available amount from an account to an account of the service or of another user, once per
/// reference.
pub(super) async fn debit<C: Connection>(
    db: &mut C,
    from: UserId,
    to: &str,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<CreditOutcome, StoreError> {
    let AvailableRow { available, .. } = lock(db, from).await?;
    let transfer = values![reference, from, to, amount, at];
    if db.execute(sql::ADD_TRANSFER, transfer).await? == 0 {
        return made_before(db, reference, &from.to_string(), to, amount).await;
    }
    match db.execute(sql::DEBIT, values![from, amount]).await? {
        0 => Err(StoreError::InsufficientBalance { available: MicroUsd::new(available), needed: amount }),
        _ => Ok(CreditOutcome::Credited),
    }
}

/// Returns `true` if a transfer with this reference exists; fails if it differs from this one.
pub(super) async fn made_before<C: Connection>(
    db: &mut C,
    reference: &str,
    from: &str,
    to: &str,
    amount: MicroUsd,
) -> Result<CreditOutcome, StoreError> {
    let earlier: TransferRow = db.fetch_one(sql::TRANSFER, values![reference]).await?;
    if earlier.credit_account != to || earlier.debit_account != from {
        Err(StoreError::Conflict("this reference was already used for another account; use a new one"))
    } else if earlier.amount != amount.micro() {
        Err(StoreError::Conflict("this reference was already used for another amount; use a new one"))
    } else {
        Ok(CreditOutcome::AlreadyCredited)
    }
}

async fn audit<C: Connection>(db: &mut C, settled_within: Duration) -> Result<Audit, StoreError> {
    let size: AuditSizeRow = db.fetch_one(sql::AUDIT_SIZE, values![]).await?;
    Ok(Audit {
        accounts: size.accounts.unsigned_abs(),
        transfers: size.transfers.unsigned_abs(),
        wrong_posted: ids(db, sql::WRONG_POSTED, values![]).await?,
        wrong_held: ids(db, sql::WRONG_HELD, values![]).await?,
        orphaned_holds: ids(db, sql::ORPHANED_HOLDS, values![]).await?,
        wrong_captures: ids(db, sql::WRONG_CAPTURES, values![]).await?,
        wrong_spending: ids(db, sql::WRONG_SPENDING, values![]).await?,
        unreturned_funds: ids(db, sql::UNRETURNED_FUNDS, values![]).await?,
        unproven_credits: ids(db, sql::UNPROVEN_CREDITS, values![]).await?,
        unknown_deposits: ids(db, sql::DEPOSITS_IN_STATUS, values!["unknown"]).await?,
        vanished_deposits: ids(db, sql::DEPOSITS_IN_STATUS, values!["vanished"]).await?,
        wrong_reputation: reputation::audit(db).await?,
        stranded_polls: ids(db, sql::STRANDED_POLLS, values![settled_within]).await?,
        false_leases: ids(db, sql::FALSE_LEASES, values![Lease::longest(settled_within)]).await?,
    })
}

async fn ids<C: Connection>(
    db: &mut C,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<String>, StoreError> {
    let rows: Vec<IdRow> = db.fetch_all(sql, values).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}
