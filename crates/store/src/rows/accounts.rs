//! Rows of users, keys, sessions and money.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::{from_name, unreadable, user_id};
use crate::error::failed;
use crate::ids::{CheckoutId, DepositId, KeyId};
use crate::key_terms::{KeyTerms, SpendingCaps};
use crate::records::{
    Balance, Cents, DepositState, IdentityRecord, KeyFunds, KeyOwner, KeySpending, NewCheckout, NewDeposit,
    OpenCheckout, Payment, Received, StoreError, StoredDeposit, StoredKey, StoredSession, TransferRecord,
};

row! {
    /// The available balance of an account, and its state.
    AvailableRow { available: i64, frozen: i64, deleted: i64 }
}

row! {
    /// A hold that has just ended.
    EndedHoldRow {
        account: String,
        amount: i64,
        captured: i64,
        key_id: Option<String>,
        day: Option<i64>,
        batch: Option<String>,
        funder: Option<String>,
    }
}

row! {
    /// The spending of a key.
    KeySpendingRow { total: i64, today: i64 }
}

row! {
    /// The money of a pre-funded key.
    FundsRow { available: i64, held: i64 }
}

row! {
    /// A transfer.
    TransferRow { reference: String, debit_account: String, credit_account: String, amount: i64, created_at: i64 }
}

row! {
    /// The balance of an account.
    BalanceRow { posted: i64, held: i64, used: i64 }
}

row! {
    /// The numbers of audited accounts and transfers.
    AuditSizeRow { accounts: i64, transfers: i64 }
}

row! {
    /// An active key and its user.
    KeyOwnerRow {
        id: String,
        user_id: String,
        scope: String,
        expires_at: Option<i64>,
        cap: Option<i64>,
        daily_cap: Option<i64>,
    }
}

row! {
    /// A key as shown to its owner.
    StoredKeyRow {
        id: String,
        prefix: String,
        label: String,
        last_used_at: Option<i64>,
        revoked_at: Option<i64>,
        created_at: i64,
        expires_at: Option<i64>,
        scope: String,
        cap: Option<i64>,
        daily_cap: Option<i64>,
        available: Option<i64>,
        funds_held: Option<i64>,
        spent: i64,
        spent_today: i64,
    }
}

row! {
    /// An unsettled card payment.
    OpenCheckoutRow { id: String, user_id: String, amount: i64, session_id: Option<String>, created_at: i64 }
}

row! {
    /// [`crate::statements::deposit_columns`].
    DepositRow {
        reference: String,
        id: String,
        payer: String,
        user_id: Option<String>,
        amount: i64,
        status: String,
        payment: String,
        valid_before: i64,
        since: i64,
        tx_hash: Option<String>,
        created_at: i64,
        block: Option<i64>,
        looks: i64,
    }
}

row! {
    /// A reversal of a card payment that is not yet applied to the ledger.
    WaitingReversalRow { reference: String, user_id: String, applied: i64, bad_debt: i64, changes: i64, target: i64 }
}

row! {
    /// A user as shown to the operator.
    UserRow { id: String, email: String, created_at: i64, frozen: i64 }
}

row! {
    /// An identity that signs in to an account.
    IdentityRow { user_id: String, kind: String, issuer: String, subject: String, created_at: i64 }
}

row! {
    /// The amount above which an account confirms polls.
    ConfirmationRow { confirm_above: Option<i64> }
}

row! {
    /// The email address of a user.
    EmailRow { email: String }
}

row! {
    /// A browser session.
    SessionRow { user_id: String, created_at: i64, used_at: i64, provider_token: Option<String> }
}

impl TryFrom<KeyOwnerRow> for KeyOwner {
    type Error = StoreError;

    fn try_from(row: KeyOwnerRow) -> Result<Self, StoreError> {
        Ok(Self {
            key: row.id.parse::<KeyId>().map_err(failed)?,
            user: user_id(&row.user_id)?,
            terms: terms(&row.scope, row.expires_at, row.cap, row.daily_cap)?,
        })
    }
}

impl TryFrom<StoredKeyRow> for StoredKey {
    type Error = StoreError;

    fn try_from(row: StoredKeyRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse::<KeyId>().map_err(failed)?,
            prefix: row.prefix,
            label: row.label,
            terms: terms(&row.scope, row.expires_at, row.cap, row.daily_cap)?,
            funds: row
                .available
                .zip(row.funds_held)
                .map(|(available, held)| FundsRow { available, held }.into()),
            spent: KeySpending { total: MicroUsd::new(row.spent), today: MicroUsd::new(row.spent_today) },
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}

fn terms(
    scope: &str,
    expires_at: Option<i64>,
    cap: Option<i64>,
    daily_cap: Option<i64>,
) -> Result<KeyTerms, StoreError> {
    Ok(KeyTerms {
        scope: from_name(scope).ok_or_else(|| unreadable("a scope"))?,
        expires_at: expires_at.map(Timestamp::from_millis),
        caps: SpendingCaps { total: cap.map(MicroUsd::new), daily: daily_cap.map(MicroUsd::new) },
    })
}

impl From<FundsRow> for KeyFunds {
    fn from(row: FundsRow) -> Self {
        Self { available: MicroUsd::new(row.available), held: MicroUsd::new(row.held) }
    }
}

impl From<TransferRow> for TransferRecord {
    fn from(row: TransferRow) -> Self {
        Self {
            reference: row.reference,
            from: row.debit_account,
            to: row.credit_account,
            amount_micro_usd: row.amount,
            at: Timestamp::from_millis(row.created_at),
        }
    }
}

impl From<IdentityRow> for IdentityRecord {
    fn from(row: IdentityRow) -> Self {
        let IdentityRow { kind, issuer, subject, created_at, .. } = row;
        Self { kind, issuer, subject, created_at: Timestamp::from_millis(created_at) }
    }
}

impl TryFrom<OpenCheckoutRow> for OpenCheckout {
    type Error = StoreError;

    fn try_from(row: OpenCheckoutRow) -> Result<Self, StoreError> {
        let cents = u32::try_from(row.amount / 10_000).map_err(|_| unreadable("an amount"))?;
        let checkout = NewCheckout {
            id: row.id.parse::<CheckoutId>().map_err(failed)?,
            user: user_id(&row.user_id)?,
            amount: Cents(cents),
            created_at: Timestamp::from_millis(row.created_at),
        };
        Ok(Self { checkout, session: row.session_id })
    }
}

impl TryFrom<DepositRow> for StoredDeposit {
    type Error = StoreError;

    fn try_from(row: DepositRow) -> Result<Self, StoreError> {
        let user = row.user_id.as_deref().map(user_id).transpose()?;
        let received = || {
            let (user, transaction) = user.zip(row.tx_hash.clone()).ok_or_else(|| unreadable("a deposit"))?;
            Ok::<_, StoreError>(Received { user, transaction, block: row.block.map(i64::unsigned_abs) })
        };
        let state = match row.status.as_str() {
            "settling" => DepositState::Settling,
            "unknown" => DepositState::Unknown,
            "confirming" => DepositState::Confirming(received()?),
            "settled" => DepositState::Settled(received()?),
            "vanished" => DepositState::Vanished(received()?),
            "failed" => DepositState::Failed,
            _ => return Err(unreadable("a deposit")),
        };
        let payment = Payment {
            reference: row.reference,
            payer: row.payer.parse().map_err(failed)?,
            amount: MicroUsd::new(row.amount),
            valid_before: Timestamp::from_millis(row.valid_before),
            body: row.payment,
        };
        let deposit = NewDeposit {
            id: row.id.parse::<DepositId>().map_err(failed)?,
            payment,
            user,
            since: row.since.unsigned_abs(),
            created_at: Timestamp::from_millis(row.created_at),
        };
        let attempts = u32::try_from(row.looks).unwrap_or(u32::MAX);
        Ok(Self { deposit, state, attempts })
    }
}

impl TryFrom<SessionRow> for StoredSession {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        Ok(Self {
            user: user_id(&row.user_id)?,
            created_at: Timestamp::from_millis(row.created_at),
            used_at: Timestamp::from_millis(row.used_at),
            provider_token: row.provider_token,
        })
    }
}

impl From<BalanceRow> for Balance {
    fn from(row: BalanceRow) -> Self {
        let BalanceRow { posted, held, used } = row;
        Self { posted: MicroUsd::new(posted), held: MicroUsd::new(held), used: MicroUsd::new(used) }
    }
}
