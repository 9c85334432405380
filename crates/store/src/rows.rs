//! Rows as both engines give them, and what they mean.

use std::time::Duration;

use ep_kernel::caller::{CheckoutId, DepositId, KeyId, UserId};
use ep_kernel::key_terms::KeyTerms;
use ep_kernel::ports::{
    Adopted, Balance, CachedModelList, Cents, ClaimRecord, ClaimState, Closing, DepositState, Epoch,
    IdentityRecord, KeyOwner, NewCheckout, NewDeposit, OpenCheckout, PastEnd, PastPoll, Payment, PollRecord,
    SavedFallbackLevel, StoreError, StoredDeposit, StoredKey, StoredSession, TransferRecord,
};
use ep_polling::ballot::{Ballot, Casting, NoVote, Reason};
use ep_polling::money::{MicroUsd, Spend, SpendBasis};
use ep_polling::poll_id::PollId;
use ep_polling::roster::ModelId;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;
use serde::de::value::Error as DecodeError;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use crate::error::{UnexpectedData, failed};

/// Declares a row: one field per column, of the same name.
///
/// `sqlx::FromRow` can be derived too, but that builds both drivers a second time, for the compiler.
macro_rules! row {
    ($(#[$attribute:meta])* $name:ident { $($column:ident: $type:ty),* $(,)? }) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $(pub(crate) $column: $type,)*
        }

        impl<'r, R: Row> FromRow<'r, R> for $name
        where
            &'static str: ColumnIndex<R>,
            $($type: Decode<'r, R::Database> + Type<R::Database>,)*
        {
            fn from_row(row: &'r R) -> sqlx::Result<Self> {
                Ok(Self { $($column: row.try_get(stringify!($column))?,)* })
            }
        }
    };
}

row! {
    /// A row's id.
    IdRow { id: String }
}

row! {
    /// [`crate::statements::poll_columns`].
    PollRow {
        id: String,
        owner: Option<String>,
        created_at: i64,
        billed: i64,
        settled: i64,
        held: Option<i64>,
        unused_cost: Option<i64>,
        plan: String,
        closing: Option<String>,
    }
}

row! {
    /// The answers of one poll of a list that made the same choice.
    PastPollRow {
        id: String,
        created_at: i64,
        closing: Option<String>,
        unused_cost: Option<i64>,
        options: String,
        captured: Option<i64>,
        choice: Option<i64>,
        answers: i64,
        cost: i64,
    }
}

row! {
    /// A poll that has just been adopted, and how much of its time is left.
    AdoptedRow { id: String, epoch: i64, left_ms: Option<i64> }
}

row! {
    /// What an agent sent.
    MessageRow { message: String }
}

row! {
    /// Whether a poll is settled.
    SettledRow { settled: i64 }
}

row! {
    /// [`crate::statements::ballot_columns`], in the same order: SQLite gives ballots as JSON arrays.
    #[derive(Deserialize)]
    BallotRow {
        seq: i64,
        position: i64,
        model: String,
        choice: Option<i64>,
        reason: Option<String>,
        detail: Option<String>,
        option_order: String,
        latency_ms: i64,
        at_ms: i64,
        cost: i64,
        basis: String,
        answered_by: Option<String>,
        ballot_mode: Option<String>,
        reasoned: Option<i64>,
    }
}

row! {
    /// What an account has available.
    AvailableRow { available: i64, frozen: i64 }
}

row! {
    /// A hold that has just ended.
    EndedHoldRow { account: String, amount: i64, captured: i64 }
}

row! {
    /// A transfer.
    TransferRow { reference: String, debit_account: String, credit_account: String, amount: i64, created_at: i64 }
}

row! {
    /// An account's money.
    BalanceRow { posted: i64, held: i64, used: i64 }
}

row! {
    /// How much an audit covers.
    AuditSizeRow { accounts: i64, transfers: i64 }
}

row! {
    /// An active key and its user.
    KeyOwnerRow { id: String, user_id: String, scope: String }
}

row! {
    /// A key as its owner sees it.
    StoredKeyRow {
        id: String,
        prefix: String,
        label: String,
        last_used_at: Option<i64>,
        revoked_at: Option<i64>,
        created_at: i64,
        expires_at: Option<i64>,
        scope: String,
    }
}

row! {
    /// A payment by card that is not settled.
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
    }
}

row! {
    /// What was taken back of a card payment, and is not moved yet.
    WaitingReversalRow { reference: String, user_id: String, applied: i64, bad_debt: i64, target: i64 }
}

row! {
    /// A user as the operator sees it.
    UserRow { id: String, email: String, created_at: i64, frozen: i64 }
}

row! {
    /// What signs in to an account.
    IdentityRow { user_id: String, kind: String, issuer: String, subject: String, created_at: i64 }
}

row! {
    /// The address of a user.
    EmailRow { email: String }
}

row! {
    /// A browser session.
    SessionRow { user_id: String, created_at: i64, used_at: i64, provider_token: Option<String> }
}

row! {
    /// An idempotency record.
    IdempotencyRow { fingerprint: String, reply: Option<String>, epoch: i64, expires_at: i64 }
}

row! {
    /// A request counted against a limit.
    CountedRow { until_full: i64, taken: bool }
}

row! {
    /// An upstream's model list.
    ModelListRow { fetched_at: i64, body: String }
}

row! {
    /// A model's fallback level.
    FallbackLevelRow { model: String, level: i64, saved_at: i64 }
}

/// A ballot as it is written: `poll_id` and the columns of [`BallotRow`].
pub(crate) struct NewBallotRow<'a> {
    pub(crate) poll_id: &'a str,
    pub(crate) seq: i64,
    pub(crate) position: i64,
    pub(crate) model: &'a str,
    pub(crate) choice: Option<i64>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) detail: Option<&'a str>,
    pub(crate) option_order: String,
    pub(crate) latency_ms: i64,
    pub(crate) at_ms: i64,
    pub(crate) cost: i64,
    pub(crate) basis: &'static str,
    pub(crate) answered_by: Option<&'a str>,
    pub(crate) ballot_mode: Option<&'static str>,
    pub(crate) reasoned: Option<i64>,
}

impl<'a> NewBallotRow<'a> {
    pub(crate) fn new(poll: &'a PollId, ballot: &'a Ballot) -> Self {
        let no_vote = ballot.vote.as_ref().err();
        Self {
            poll_id: poll.as_str(),
            seq: ballot.seq.into(),
            position: ballot.position.into(),
            model: ballot.model.as_str(),
            choice: ballot.vote.as_ref().ok().map(|option| *option as i64),
            reason: no_vote.map(|no_vote| no_vote.reason.as_str()),
            detail: no_vote.map(|no_vote| no_vote.detail.as_str()),
            option_order: format!("{:?}", ballot.option_order),
            latency_ms: ballot.latency_ms.into(),
            at_ms: ballot.at_ms.into(),
            cost: ballot.spend.amount.micro(),
            basis: basis_name(ballot.spend.basis),
            answered_by: ballot.answered_by.as_deref(),
            ballot_mode: ballot.casting.map(|casting| casting.mode.as_str()),
            reasoned: ballot.casting.and_then(|casting| casting.reasoned).map(i64::from),
        }
    }
}

const fn basis_name(basis: SpendBasis) -> &'static str {
    match basis {
        SpendBasis::Reported => "reported",
        SpendBasis::Priced => "priced",
        SpendBasis::Estimated => "estimated",
        SpendBasis::Unknown => "unknown",
    }
}

impl TryFrom<BallotRow> for Ballot {
    type Error = StoreError;

    fn try_from(row: BallotRow) -> Result<Self, StoreError> {
        let vote = match (row.choice, row.reason) {
            (Some(option), None) => Ok(usize::try_from(option).map_err(|_| unreadable("a vote"))?),
            (None, Some(reason)) => Err(NoVote {
                reason: from_name::<Reason>(&reason).ok_or_else(|| unreadable("a reason"))?,
                detail: row.detail.unwrap_or_default(),
            }),
            _ => return Err(unreadable("a vote")),
        };
        let casting = match row.ballot_mode {
            Some(mode) => Some(Casting {
                mode: from_name(&mode).ok_or_else(|| unreadable("a ballot mode"))?,
                reasoned: row.reasoned.map(|reasoned| reasoned != 0),
            }),
            None => None,
        };
        let number = |value: i64| u32::try_from(value).map_err(|_| unreadable("a ballot"));
        Ok(Self {
            seq: number(row.seq)?,
            position: number(row.position)?,
            model: ModelId::new(row.model),
            vote,
            option_order: serde_json::from_str(&row.option_order).map_err(failed)?,
            latency_ms: number(row.latency_ms)?,
            at_ms: number(row.at_ms)?,
            spend: Spend {
                amount: MicroUsd::new(row.cost),
                basis: from_name(&row.basis).ok_or_else(|| unreadable("a basis"))?,
            },
            answered_by: row.answered_by,
            casting,
        })
    }
}

impl TryFrom<PollRow> for PollRecord {
    type Error = StoreError;

    fn try_from(row: PollRow) -> Result<Self, StoreError> {
        let closing = match row.closing {
            Some(text) => Some(Closing {
                unused_calls_cost: row.unused_cost.map(MicroUsd::new),
                ..serde_json::from_str(&text).map_err(failed)?
            }),
            None => None,
        };
        Ok(Self {
            id: poll_id(&row.id)?,
            owner: row.owner.as_deref().map(user_id).transpose()?,
            plan: serde_json::from_str(&row.plan).map_err(failed)?,
            created_at: Timestamp::from_millis(row.created_at),
            held: (row.billed != 0).then(|| MicroUsd::new(row.held.unwrap_or_default())),
            closing,
            settled: row.settled != 0,
        })
    }
}

/// A listed poll, from its rows: one for each choice.
pub(crate) fn past_poll(rows: &[PastPollRow]) -> Result<PastPoll, StoreError> {
    let [first, ..] = rows else { return Err(failed(UnexpectedData::MissingRow)) };
    let options: Vec<String> = serde_json::from_str(&first.options).map_err(failed)?;
    let votes = rows.iter().flat_map(|row| {
        let option = row.choice.and_then(|choice| usize::try_from(choice).ok());
        std::iter::repeat_n(option, usize::try_from(row.answers).unwrap_or(0))
    });
    let tally = Tally::of(options.len(), votes);
    let spent = rows.iter().map(|row| MicroUsd::new(row.cost)).sum::<MicroUsd>();
    let cost = spent.plus(MicroUsd::new(first.unused_cost.unwrap_or_default()));
    let closing: Option<Closing> =
        first.closing.as_deref().map(serde_json::from_str).transpose().map_err(failed)?;
    Ok(PastPoll {
        id: poll_id(&first.id)?,
        created_at: Timestamp::from_millis(first.created_at),
        tally,
        answered: rows.iter().map(|row| row.answers).sum::<i64>() as u32,
        options,
        end: closing.map(|closing| PastEnd {
            unused_calls: closing.unused_calls,
            total_ms: closing.total_ms,
            cost: first.captured.map_or(cost, MicroUsd::new),
        }),
    })
}

impl TryFrom<AdoptedRow> for Adopted {
    type Error = StoreError;

    fn try_from(row: AdoptedRow) -> Result<Self, StoreError> {
        let left = row.left_ms.map(|left| Duration::from_millis(left.max(0).unsigned_abs()));
        Ok(Self { id: poll_id(&row.id)?, epoch: Epoch::new(row.epoch), left })
    }
}

/// A closing as it is written: without the cost of the unused calls, which becomes known later and has a
/// column of its own.
pub(crate) fn closing_json(closing: &Closing) -> Result<String, StoreError> {
    json(&Closing { unused_calls_cost: None, ..closing.clone() })
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(failed)
}

pub(crate) fn poll_id(text: &str) -> Result<PollId, StoreError> {
    text.parse().map_err(failed)
}

pub(crate) fn user_id(text: &str) -> Result<UserId, StoreError> {
    text.parse().map_err(failed)
}

impl TryFrom<KeyOwnerRow> for KeyOwner {
    type Error = StoreError;

    fn try_from(row: KeyOwnerRow) -> Result<Self, StoreError> {
        Ok(Self {
            key: row.id.parse::<KeyId>().map_err(failed)?,
            user: user_id(&row.user_id)?,
            scope: from_name(&row.scope).ok_or_else(|| unreadable("a scope"))?,
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
            terms: KeyTerms {
                scope: from_name(&row.scope).ok_or_else(|| unreadable("a scope"))?,
                expires_at: row.expires_at.map(Timestamp::from_millis),
            },
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(row.created_at),
        })
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
        let state = match (row.status.as_str(), user, row.tx_hash) {
            ("settling", _, None) => DepositState::Settling,
            ("failed", _, None) => DepositState::Failed,
            ("settled", Some(user), Some(transaction)) => DepositState::Settled { user, transaction },
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
        Ok(Self { deposit, state })
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

impl IdempotencyRow {
    /// What the record says to a request with this fingerprint that could not claim it.
    pub(crate) fn state(self, fingerprint: &str) -> ClaimState {
        let record = self.record();
        match self.reply {
            _ if self.fingerprint != fingerprint => ClaimState::Mismatch,
            Some(reply) => ClaimState::Done(record, reply),
            None => ClaimState::Running(record),
        }
    }

    /// The record without its reply.
    pub(crate) const fn record(&self) -> ClaimRecord {
        ClaimRecord { epoch: self.epoch, expires_at: Timestamp::from_millis(self.expires_at) }
    }
}

impl From<ModelListRow> for CachedModelList {
    fn from(row: ModelListRow) -> Self {
        Self { fetched_at: Timestamp::from_millis(row.fetched_at), body: row.body }
    }
}

impl From<FallbackLevelRow> for SavedFallbackLevel {
    fn from(row: FallbackLevelRow) -> Self {
        Self {
            model: ModelId::new(row.model),
            level: u8::try_from(row.level).unwrap_or_default(),
            saved_at: Timestamp::from_millis(row.saved_at),
        }
    }
}

/// The value that is serialised as this name.
fn from_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(IntoDeserializer::<DecodeError>::into_deserializer(name)).ok()
}

fn unreadable(what: &'static str) -> StoreError {
    failed(UnexpectedData::Value(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_the_values_they_name() {
        for reason in [Reason::Timeout, Reason::RateLimited, Reason::UpstreamError, Reason::Truncated] {
            assert_eq!(from_name(reason.as_str()), Some(reason));
        }
        for basis in [SpendBasis::Reported, SpendBasis::Priced, SpendBasis::Estimated, SpendBasis::Unknown] {
            assert_eq!(from_name(basis_name(basis)), Some(basis));
        }
        assert_eq!(from_name::<Reason>("laziness"), None);
    }
}
