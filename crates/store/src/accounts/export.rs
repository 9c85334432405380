//! The personal data of an account, as stored.

use ep_polling::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ids::{CheckoutId, DepositId, UserId};
use crate::row::from_row;

/// An account as stored, without the lists that grow with its polls and without secrets and hashes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AccountRecord {
    /// The account's id.
    pub id: UserId,
    /// The email address; for a wallet, a placeholder under `wallet.invalid`.
    pub email: String,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// True if the account is frozen and cannot spend.
    pub frozen: bool,
    /// Cost above which a poll must be confirmed first, in micro-USD; null for never.
    pub confirm_above_micro_usd: Option<i64>,
    /// The account's money, including holds, in micro-USD.
    pub balance_micro_usd: i64,
    /// The money held for running polls, in micro-USD.
    pub held_micro_usd: i64,
    /// The identities that sign in to the account.
    pub identities: Vec<IdentityRecord>,
    /// The account's browser sessions.
    pub sessions: Vec<SessionRecord>,
    /// The account's card payments, oldest first.
    pub card_payments: Vec<CheckoutRecord>,
    /// The account's payments on chain, oldest first.
    pub chain_payments: Vec<DepositRecord>,
    /// The account's files, oldest first, without their content.
    pub files: Vec<ExportedFile>,
    /// The account's batches, oldest first, without their rows.
    pub batches: Vec<ExportedBatch>,
    /// The account's evaluations, oldest first, without their reports (`get_evaluation`).
    pub evaluations: Vec<ExportedEvaluation>,
    /// The webhook URL; null if it has none.
    pub webhook_url: Option<String>,
    /// The account that funds this one, if this one belongs to a pre-funded key.
    #[serde(skip)]
    pub funder: Option<UserId>,
}

/// A browser session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SessionRecord {
    /// The time of signing in.
    pub created_at: Timestamp,
    /// The time of the last use, to within a minute.
    pub last_used_at: Timestamp,
}

/// A card payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CheckoutRecord {
    /// The payment's id.
    pub id: CheckoutId,
    /// The amount, in micro-USD.
    pub amount_micro_usd: i64,
    /// `open`, `paid` or `closed`.
    pub status: String,
    /// The id of the session at the card processor.
    pub session_id: Option<String>,
    /// The id of the payment at the card processor.
    pub payment_id: Option<String>,
    /// The time when it started.
    pub created_at: Timestamp,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ExportedFile {
    /// The file's id.
    pub id: String,
    /// The file's name.
    pub name: String,
    /// Its size in bytes; null while it is received.
    pub bytes: Option<i64>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its deletion.
    pub expires_at: Timestamp,
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ExportedBatch {
    /// The batch's id.
    pub id: String,
    /// The id of its file.
    pub file: String,
    /// The state of the batch.
    pub status: String,
    /// The terms of its rows, and its labels.
    pub terms: Map<String, Value>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its end.
    pub ended_at: Option<Timestamp>,
}

/// An evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ExportedEvaluation {
    /// The evaluation's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// True if everyone with the link may read it.
    pub shared: bool,
    /// The time when it was stored.
    pub created_at: Timestamp,
}

/// A payment on chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DepositRecord {
    /// The payment's id.
    pub id: DepositId,
    /// The payer's address.
    pub payer: String,
    /// The amount, in micro-USD.
    pub amount_micro_usd: i64,
    /// `settled`, `failed`, or the state of a payment that is not final yet.
    pub status: String,
    /// The hash of the transaction, if known.
    pub tx_hash: Option<String>,
    /// The time when it started.
    pub created_at: Timestamp,
}

/// An identity that signs in to an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct IdentityRecord {
    /// `wallet` or `oidc`.
    pub kind: String,
    /// The provider's issuer URL; empty for a wallet.
    pub issuer: String,
    /// The wallet's address, or the user's id at the provider.
    pub subject: String,
    /// The time of the first sign-in.
    pub created_at: Timestamp,
}

/// A transfer of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TransferRecord {
    /// The purpose of the transfer.
    pub reference: String,
    /// The account that paid.
    pub from: String,
    /// The account that was paid.
    pub to: String,
    /// The amount, in micro-USD.
    pub amount_micro_usd: i64,
    /// The time of the transfer.
    pub at: Timestamp,
}

/// A transfer and its number in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedTransfer {
    /// Its number in the ledger.
    pub number: i64,
    /// The transfer.
    pub transfer: TransferRecord,
}

/// A task of an agent (A2A).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TaskRecord {
    /// The task's id.
    pub id: String,
    /// The id of the conversation.
    pub context_id: String,
    /// The id chosen by the client, if any.
    pub client_id: Option<String>,
    /// The id of the poll, if any.
    pub poll_id: Option<String>,
    /// The id of the batch, if any.
    pub batch_id: Option<String>,
    /// The state of the task.
    pub state: String,
    /// The time when the task entered this state.
    pub status_at: Timestamp,
    /// The messages, as received.
    pub content: Map<String, Value>,
    /// The push URLs of the agent.
    pub push_urls: Vec<String>,
}

from_row!(SessionRecord { created_at, last_used_at });
from_row!(CheckoutRecord { id, amount_micro_usd, status, session_id, payment_id, created_at });
from_row!(ExportedFile { id, name, bytes, created_at, expires_at });
from_row!(ExportedEvaluation { id, name, shared, created_at });
from_row!(DepositRecord { id, payer, amount_micro_usd, status, tx_hash, created_at });
from_row!(IdentityRecord { kind, issuer, subject, created_at });
from_row!(TransferRecord { reference, from, to, amount_micro_usd, at });
from_row!(NumberedTransfer { number, transfer });
from_row!(ExportedBatch { id, file, status, terms: json, created_at, ended_at });
// Another statement reads the URLs.
from_row!(TaskRecord {
    id,
    context_id,
    client_id,
    poll_id,
    batch_id,
    state,
    status_at,
    content: json,
    push_urls: default,
});
// Other statements read the lists.
from_row!(AccountRecord {
    id,
    email,
    created_at,
    frozen,
    confirm_above_micro_usd,
    balance_micro_usd,
    held_micro_usd,
    funder,
    webhook_url,
    identities: default,
    sessions: default,
    card_payments: default,
    chain_payments: default,
    files: default,
    batches: default,
    evaluations: default,
});
