//! The personal data of an account: reading all of it, and deleting it.

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
    /// Its email address; for a wallet, a placeholder under `wallet.invalid`.
    pub email: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// True if the account may not spend.
    pub frozen: bool,
    /// The cost above which a poll is confirmed first, in micro-USD; null for never.
    pub confirm_above_micro_usd: Option<i64>,
    /// Its funds, holds included, in micro-USD.
    pub balance_micro_usd: i64,
    /// The part of them that is held for running polls, in micro-USD.
    pub held_micro_usd: i64,
    /// The identities that sign in to it.
    pub identities: Vec<IdentityRecord>,
    /// Its browser sessions.
    pub sessions: Vec<SessionRecord>,
    /// Its card payments, oldest first.
    pub card_payments: Vec<CheckoutRecord>,
    /// Its payments on chain, oldest first.
    pub chain_payments: Vec<DepositRecord>,
    /// The address of its webhook; null if it has none.
    pub webhook_url: Option<String>,
    /// The account that funds this one, if it belongs to a pre-funded key.
    #[serde(skip)]
    pub funder: Option<UserId>,
}

/// A browser session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SessionRecord {
    /// When the browser signed in.
    pub created_at: Timestamp,
    /// When it was last used, to within a minute.
    pub last_used_at: Timestamp,
}

/// A card payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CheckoutRecord {
    /// Its id here.
    pub id: CheckoutId,
    /// The amount, in micro-USD.
    pub amount_micro_usd: i64,
    /// `open`, `paid` or `closed`.
    pub status: String,
    /// The id of its session at the card processor.
    pub session_id: Option<String>,
    /// The id of the payment at the card processor.
    pub payment_id: Option<String>,
    /// When it was begun.
    pub created_at: Timestamp,
}

/// A payment on chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DepositRecord {
    /// Its id.
    pub id: DepositId,
    /// The payer's address.
    pub payer: String,
    /// The amount, in micro-USD.
    pub amount_micro_usd: i64,
    /// `settled`, `failed`, or the state of a payment that is not final yet.
    pub status: String,
    /// The hash of its transaction, once it is known.
    pub tx_hash: Option<String>,
    /// When it was begun.
    pub created_at: Timestamp,
}

/// A transfer, with its place in the ledger.
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
    /// Its id.
    pub id: String,
    /// The conversation it belongs to.
    pub context_id: String,
    /// The id that the client gave it, if any.
    pub client_id: Option<String>,
    /// Its poll, if it has one.
    pub poll_id: Option<String>,
    /// Its state.
    pub state: String,
    /// When that state began.
    pub status_at: Timestamp,
    /// Its messages, as they were received.
    pub content: Map<String, Value>,
    /// The push URL of the agent.
    pub push_urls: Vec<String>,
}

/// A request to delete an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountDeletion {
    /// The account.
    pub user: UserId,
    /// True if its remaining balance is forfeited.
    pub forfeit_balance: bool,
    /// True if the operator deletes it. Its owner cannot delete a frozen account.
    pub by_operator: bool,
    /// When.
    pub at: Timestamp,
}

/// The result of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountDeletionOutcome {
    /// The account is deleted.
    Deleted {
        /// The balance that it forfeited.
        forfeited: MicroUsd,
    },
    /// Something is in the way; nothing changed.
    Refused(DeletionObstacles),
}

/// The reasons why an account cannot be deleted now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletionObstacles {
    /// Polls that run, or are not charged yet; those of its pre-funded keys included.
    pub polls: u64,
    /// Payments by card that are neither paid nor closed.
    pub checkouts: u64,
    /// USDC deposits that are not final.
    pub deposits: u64,
    /// The balance that would be forfeited without consent; that of its pre-funded keys included.
    pub balance: MicroUsd,
    /// True if the account is frozen.
    pub frozen: bool,
}

/// Reads and deletes the personal data of accounts. An unknown user is [`StoreError::NotFound`].
#[async_trait]
pub trait AccountDataStore: Send + Sync {
    /// An account as stored, read in one snapshot.
    async fn account_record(&self, user: UserId) -> Result<AccountRecord, StoreError>;

    /// Up to `limit` transfers of a user, oldest first, after the one with this number.
    async fn transfers_after(
        &self,
        user: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<NumberedTransfer>, StoreError>;

    /// Up to `limit` feedback entries of a user in the order of their polls' ids, after this one.
    async fn feedback_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OwnFeedback>, StoreError>;

    /// Up to `limit` notifications of a user in the order of their polls' ids, after this one.
    async fn notifications_after(
        &self,
        user: UserId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError>;

    /// Up to `limit` agent tasks of a user in the order of their ids, after this one.
    async fn tasks_after(&self, user: UserId, after: &str, limit: u32)
    -> Result<Vec<TaskRecord>, StoreError>;

    /// Deletes the personal data of an account, in one transaction: its address, its identities, its sessions, the
    /// labels of its keys, its webhook, its notifications, its agent tasks and its feedback. Its keys are revoked. Its
    /// polls and its part of the ledger stay under its id, and deposits under the payer's address. Refused while one of
    /// the [`DeletionObstacles`] remains. Acknowledged once a power loss cannot undo it.
    async fn delete_account(&self, deletion: AccountDeletion) -> Result<AccountDeletionOutcome, StoreError>;

    /// Removes deleted data from the database's log. `false` if readers prevented it; then it is done later.
    async fn purge_deleted(&self) -> Result<bool, StoreError>;
}
