//! USDC deposits.

use ep_polling::Timestamp;

use crate::accounts::account;
use crate::accounts::users;
use crate::accounts::users::{NewSignUp, SignedUp};
use crate::connection::{Connection, Durability};
use crate::database::exactly_one;
use crate::deposits::{
    BegunDeposit, CreditedDeposit, DepositState, NewDeposit, Payment, Received, StoredDeposit, Transfer,
};
use crate::error::{UnexpectedData, failed};
use crate::handles::Treasury;
use crate::ids::DepositId;
use crate::ledger::transactions as ledger;
use crate::store_error::{Result, StoreError};
use crate::value::values;

macro_rules! deposit_columns {
    () => {
        "ref AS reference, id, payer, user_id, amount, status, payment, valid_before, since, tx_hash, created_at, \
         block, looks"
    };
}

/// Begins a deposit, or begins a failed one again.
const BEGIN_DEPOSIT: &str = "INSERT INTO deposits \
         (ref, id, payer, user_id, amount, payment, valid_before, since, created_at, look_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (ref) DO UPDATE SET status = 'settling', look_at = excluded.look_at, looks = 0 \
     WHERE deposits.status = 'failed'";
const DEPOSIT: &str = concat!("SELECT ", deposit_columns!(), " FROM deposits WHERE ref = $1");
const DEPOSIT_BY_ID: &str = concat!("SELECT ", deposit_columns!(), " FROM deposits WHERE id = $1");
const LOCK_DEPOSIT: &str =
    concat!("UPDATE deposits SET status = status WHERE ref = $1 RETURNING ", deposit_columns!());
/// Records the transfer of a deposit.
const DEPOSIT_RECEIVED: &str = "UPDATE deposits \
     SET status = $2, tx_hash = $3, block = $4, user_id = $5, look_at = $6, looks = 0 WHERE ref = $1";
const DEPOSIT_FAILED: &str = "UPDATE deposits SET status = 'failed', look_at = $2, looks = 0 \
     WHERE ref = $1 AND status IN ('settling', 'unknown', 'confirming', 'failed')";
const POSTPONE_DEPOSIT: &str = "UPDATE deposits SET look_at = $3, looks = looks + 1, \
     status = CASE WHEN status = 'settling' AND $2 = 1 THEN 'unknown' ELSE status END \
     WHERE ref = $1 AND status <> 'settled'";
const VANISH_DEPOSIT: &str = "UPDATE deposits SET status = 'vanished', look_at = $2, looks = 0 \
     WHERE ref = $1 AND status = 'settled' RETURNING user_id AS id";
/// Due deposits, alternating between payers.
const DUE_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM (SELECT deposits.*, ROW_NUMBER() OVER (PARTITION BY payer ORDER BY look_at, ref) AS turn \
         FROM deposits WHERE look_at <= $1 AND status <> 'settled') AS due \
     WHERE turn <= $3 ORDER BY turn, look_at, ref LIMIT $2"
);
/// Open deposits after a given one ($1).
pub(crate) const OPEN_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM deposits WHERE status <> 'settled' AND look_at IS NOT NULL AND ref > $1 ORDER BY ref LIMIT $2"
);
pub(crate) const SETTLED_DEPOSITS: &str = concat!(
    "SELECT ",
    deposit_columns!(),
    " FROM deposits WHERE status = 'settled' AND (created_at, ref) > ($1, $2) ORDER BY created_at, ref LIMIT $3"
);
/// The source account of USDC deposits.
const USDC_ACCOUNT: &str = "sys:usdc";

/// Stores deposits. Changes are acknowledged once a power loss cannot undo them.
impl Treasury {
    /// Starts a deposit, unless one with this payment exists that has not failed. `reconcile_at` is the time of
    /// its first reconciliation.
    pub async fn begin_deposit(&self, deposit: &NewDeposit, reconcile_at: Timestamp) -> Result<BegunDeposit> {
        let NewDeposit { id, payment, user, since, created_at } = deposit.clone();
        let is_new = transact!(self.0, PowerLoss, |db| {
            // No deposit begins for an account once it is deleted.
            if let Some(user) = user {
                account::lock_live(db, user).await?;
            }
            let Payment { reference, payer, amount, valid_before, body } = payment;
            let since = i64::try_from(since).unwrap_or(i64::MAX);
            let payer = payer.lower_case();
            let values = values![
                &*reference,
                id,
                payer,
                user,
                amount,
                &*body,
                valid_before,
                since,
                created_at,
                reconcile_at,
            ];
            Ok(db.execute(BEGIN_DEPOSIT, values).await? == 1)
        })?;
        if is_new {
            return Ok(BegunDeposit::New);
        }
        let known = self.deposit(&deposit.payment.reference).await?;
        known
            .map(|known| BegunDeposit::Known(Box::new(known)))
            .ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    /// Returns the deposit with this payment.
    pub async fn deposit(&self, reference: &str) -> Result<Option<StoredDeposit>> {
        self.0.fetch_optional(DEPOSIT, values![reference]).await
    }

    /// Returns the deposit with this id.
    pub async fn deposit_by_id(&self, id: DepositId) -> Result<Option<StoredDeposit>> {
        self.0.fetch_optional(DEPOSIT_BY_ID, values![id]).await
    }

    /// Records the transfer of a deposit. If the transfer is final, credits the deposit's account, or the
    /// payer's, once; `payer` creates the payer's account if it is missing. A transfer that is not final is
    /// looked up again at `reconcile_at`.
    pub async fn credit_deposit(
        &self,
        reference: &str,
        transfer: &Transfer,
        payer: &NewSignUp,
        at: Timestamp,
        reconcile_at: Timestamp,
    ) -> Result<CreditedDeposit> {
        let (reference, transfer, payer) = (reference.to_owned(), transfer.clone(), payer.clone());
        transact!(self.0, PowerLoss, |db| credit(db, &reference, &transfer, &payer, at, reconcile_at).await)
    }

    /// Records that the money has not moved, unless the account was credited. The deposit is looked up again
    /// at `reconcile_at`, or never.
    pub async fn fail_deposit(&self, reference: &str, reconcile_at: Option<Timestamp>) -> Result<()> {
        let values = values![reference, reconcile_at];
        self.0.execute(Durability::PowerLoss, DEPOSIT_FAILED, values).await.map(drop)
    }

    /// Counts an unsuccessful look-up and sets the time of the next one. `is_unknown` turns
    /// [`DepositState::Settling`] into [`DepositState::Unknown`].
    pub async fn postpone_deposit(
        &self,
        reference: &str,
        is_unknown: bool,
        reconcile_at: Option<Timestamp>,
    ) -> Result<()> {
        let values = values![reference, is_unknown, reconcile_at];
        self.0.execute(Durability::PowerLoss, POSTPONE_DEPOSIT, values).await.map(drop)
    }

    /// Marks a settled deposit as vanished and freezes its account. Returns false if it is not settled.
    pub async fn vanish_deposit(&self, reference: &str, reconcile_at: Timestamp) -> Result<bool> {
        let reference = reference.to_owned();
        transact!(self.0, PowerLoss, |db| {
            let user = db.fetch_optional(VANISH_DEPOSIT, values![&*reference, reconcile_at]).await?;
            let Some(user) = user else { return Ok(false) };
            account::freeze(db, user, true).await?;
            Ok(true)
        })
    }

    /// Returns due deposits: at most `limit`, and at most `per_payer` of one payer. Every payer's first
    /// deposit comes before any payer's second.
    pub async fn due_deposits(
        &self,
        now: Timestamp,
        limit: u32,
        per_payer: u32,
    ) -> Result<Vec<StoredDeposit>> {
        self.0.fetch_all(DUE_DEPOSITS, values![now, limit, per_payer]).await
    }

    /// Returns up to `limit` open deposits, due or not, ordered by reference, after this one.
    pub async fn open_deposits(&self, after: &str, limit: u32) -> Result<Vec<StoredDeposit>> {
        self.0.fetch_all(OPEN_DEPOSITS, values![after, limit]).await
    }

    /// Returns up to `limit` settled deposits, oldest first, after this creation time and reference.
    pub async fn settled_deposits(&self, after: (Timestamp, &str), limit: u32) -> Result<Vec<StoredDeposit>> {
        self.0.fetch_all(SETTLED_DEPOSITS, values![after.0, after.1, limit]).await
    }
}

/// Records a transfer, and credits the account once if it is final. Locks the deposit's row first, so that
/// concurrent attempts wait for each other.
async fn credit(
    db: &mut Connection<'_>,
    reference: &str,
    transfer: &Transfer,
    payer: &NewSignUp,
    at: Timestamp,
    reconcile_at: Timestamp,
) -> Result<CreditedDeposit> {
    let stored = db.fetch_optional(LOCK_DEPOSIT, values![reference]).await?;
    let StoredDeposit { deposit, state, .. } = stored.ok_or(StoreError::NotFound("deposit"))?;
    let known = |user, credited, is_settled| CreditedDeposit {
        user,
        now: false,
        is_new_user: false,
        credited,
        is_settled,
    };
    let (user, is_new_user) = match (&state, deposit.user) {
        (DepositState::Settled(Received { user, .. }), _) => return Ok(known(*user, false, true)),
        (_, Some(user)) => (user, false),
        (_, None) => match users::add(db, payer).await? {
            SignedUp::New { .. } => (payer.user.id, true),
            SignedUp::Known(user) => (user, false),
        },
    };
    let Transfer { transaction, block, is_final } = transfer;
    let was_credited = matches!(state, DepositState::Vanished(_));
    let status = match (is_final, was_credited) {
        (true, _) => "settled",
        (false, true) => "vanished",
        (false, false) => "confirming",
    };
    let block = block.map(|block| i64::try_from(block).unwrap_or(i64::MAX));
    let reconcile_at = (!is_final).then_some(reconcile_at);
    let values = values![reference, status, &**transaction, block, user, reconcile_at];
    exactly_one(db.execute(DEPOSIT_RECEIVED, values).await?)?;
    let credited = *is_final && !was_credited;
    if credited {
        let transfer = format!("x402:{reference}");
        ledger::credit_from(db, USDC_ACCOUNT, user, deposit.payment.amount, &transfer, at).await?;
    }
    let is_first = matches!(state, DepositState::Settling | DepositState::Unknown | DepositState::Failed);
    Ok(CreditedDeposit { now: is_first, is_new_user, ..known(user, credited, *is_final) })
}
