//! Deposits of USDC.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::ports::{
    BegunDeposit, CreditedDeposit, DepositState, DepositStore, NewDeposit, NewSignUp, SignedUp, StoreError,
    StoredDeposit,
};
use ep_polling::time::Timestamp;

use super::{Database, exactly_one, ledger, users};
use crate::engine::{Connection, Durability, Engine};
use crate::error::{UnexpectedData, failed};
use crate::rows::DepositRow;
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl<E: Engine> DepositStore for Database<E> {
    async fn begin_deposit(&self, deposit: &NewDeposit) -> Result<BegunDeposit, StoreError> {
        let NewDeposit { id, payment, user, since, created_at } = deposit;
        let since = i64::try_from(*since).unwrap_or(i64::MAX);
        let (payer, reference) = (payment.payer.lower_case(), &*payment.reference);
        let values = values![
            reference,
            *id,
            payer,
            *user,
            payment.amount,
            &*payment.body,
            payment.valid_before,
            since,
            *created_at,
        ];
        if self.0.execute(Durability::PowerLoss, sql::BEGIN_DEPOSIT, values).await? == 1 {
            return Ok(BegunDeposit::New);
        }
        let known = self.deposit(reference).await?;
        known.map(BegunDeposit::Known).ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    async fn deposit(&self, reference: &str) -> Result<Option<StoredDeposit>, StoreError> {
        let row: Option<DepositRow> = self.0.fetch_optional(sql::DEPOSIT, values![reference]).await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn credit_deposit(
        &self,
        reference: &str,
        transaction: &str,
        payer: &NewSignUp,
        at: Timestamp,
    ) -> Result<CreditedDeposit, StoreError> {
        let (reference, transaction, payer) = (reference.to_owned(), transaction.to_owned(), payer.clone());
        self.0
            .transact(Durability::PowerLoss, move |db| {
                async move { credit(db, &reference, &transaction, &payer, at).await }.boxed()
            })
            .await
    }

    async fn fail_deposit(&self, reference: &str) -> Result<(), StoreError> {
        self.0.execute(Durability::PowerLoss, sql::DEPOSIT_FAILED, values![reference]).await.map(drop)
    }

    async fn settling_deposits(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredDeposit>, StoreError> {
        let rows: Vec<DepositRow> = self.0.fetch_all(sql::SETTLING_DEPOSITS, values![before, limit]).await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }
}

/// Credits a deposit once. Its row is locked first, so that of two attempts one waits for the other.
async fn credit<C: Connection>(
    db: &mut C,
    reference: &str,
    transaction: &str,
    payer: &NewSignUp,
    at: Timestamp,
) -> Result<CreditedDeposit, StoreError> {
    let row: Option<DepositRow> = db.fetch_optional(sql::LOCK_DEPOSIT, values![reference]).await?;
    let StoredDeposit { deposit, state } = row.ok_or(StoreError::NotFound("deposit"))?.try_into()?;
    if let DepositState::Settled { user, .. } = state {
        return Ok(CreditedDeposit { user, now: false, is_new_user: false });
    }
    let (user, is_new_user) = match deposit.user {
        Some(user) => (user, false),
        None => match users::add(db, payer).await? {
            SignedUp::New { .. } => (payer.user.id, true),
            SignedUp::Known(user) => (user, false),
        },
    };
    exactly_one(db.execute(sql::DEPOSIT_SETTLED, values![reference, transaction, user]).await?)?;
    let transfer = format!("x402:{reference}");
    ledger::credit_from(db, sql::USDC_ACCOUNT, user, deposit.payment.amount, &transfer, at).await?;
    Ok(CreditedDeposit { user, now: true, is_new_user })
}
