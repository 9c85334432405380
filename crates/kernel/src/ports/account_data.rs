//! The personal data of an account: export and deletion.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{IdentityRecord, NotificationRecord, OwnFeedback, StoreError, TransferRecord};
use crate::caller::{CheckoutId, DepositId, UserId};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// Depth of a check of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// Every page and every row.
    Quick,
    /// Also every index against its table.
    Full,
}

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
    /// The state of the task.
    pub state: String,
    /// The time when the task entered this state.
    pub status_at: Timestamp,
    /// The messages, as received.
    pub content: Map<String, Value>,
    /// The push URLs of the agent.
    pub push_urls: Vec<String>,
}

/// A request to delete an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountDeletion {
    /// The account.
    pub user: UserId,
    /// True if the remaining balance is forfeited.
    pub forfeit_balance: bool,
    /// True if the operator deletes it. Its owner cannot delete a frozen account.
    pub by_operator: bool,
    /// The time of the deletion.
    pub at: Timestamp,
}

/// The result of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountDeletionOutcome {
    /// The account is deleted.
    Deleted {
        /// The forfeited balance.
        forfeited: MicroUsd,
    },
    /// Obstacles remain; nothing changed.
    Rejected(DeletionObstacles),
}

/// The obstacles to deleting an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletionObstacles {
    /// Polls that run or are not charged yet, including those of its pre-funded keys.
    pub polls: u64,
    /// Card payments that are neither paid nor closed.
    pub checkouts: u64,
    /// USDC deposits that are not final.
    pub deposits: u64,
    /// The balance that would be forfeited without consent, including that of its pre-funded keys.
    pub balance: MicroUsd,
    /// True if the account is frozen.
    pub frozen: bool,
}

/// Reads and deletes the personal data of accounts. An unknown user is [`StoreError::NotFound`].
#[async_trait]
pub trait AccountDataStore: Send + Sync {
    /// Returns an account as stored, read in one snapshot.
    async fn account_record(&self, user: UserId) -> Result<AccountRecord, StoreError>;

    /// Returns up to `limit` transfers of a user, oldest first, after the one with this number.
    async fn transfers_after(
        &self,
        user: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<NumberedTransfer>, StoreError>;

    /// Returns up to `limit` feedback entries of a user, ordered by poll id, after this one.
    async fn feedback_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OwnFeedback>, StoreError>;

    /// Returns up to `limit` notifications of a user, ordered by poll id, after this one.
    async fn notifications_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError>;

    /// Returns up to `limit` agent tasks of a user, ordered by id, after this one.
    async fn tasks_after(&self, user: UserId, after: &str, limit: u32)
    -> Result<Vec<TaskRecord>, StoreError>;

    /// Deletes the personal data of an account, in one transaction: its address, identities, sessions,
    /// webhook, notifications, agent tasks, feedback and the labels of its keys. Its keys are revoked. Its
    /// polls and ledger entries stay under its id, and deposits under the payer's address. Returns
    /// [`AccountDeletionOutcome::Rejected`] while one of the [`DeletionObstacles`] remains. Acknowledged once
    /// a power loss cannot undo it.
    async fn delete_account(&self, deletion: AccountDeletion) -> Result<AccountDeletionOutcome, StoreError>;

    /// Removes deleted data from the database's log. Returns `false` if readers prevented it; a later call
    /// retries.
    async fn purge_deleted(&self) -> Result<bool, StoreError>;
}
