//! The ports of the kernel: small object-safe traits for everything external, held as `Arc<dyn …>`.
//!
//! Each trait documents its contract. One conformance suite tests every database against it.

mod account_data;
mod account_record;
mod agent_pushes;
mod agent_tasks;
mod batches;
mod cards;
mod confirmations;
mod credentials;
mod deposits;
mod evaluations;
mod feedback;
mod files;
mod history;
mod idempotency;
mod keys;
mod ledger;
mod models;
mod operator;
mod panels;
mod poll_changes;
mod polls;
mod reputation;
mod sessions;
mod upstreams;
mod users;
mod wallets;
mod webhooks;

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;

pub use account_data::{AccountDataStore, AccountDeletion, AccountDeletionOutcome, DeletionObstacles};
pub use account_record::{
    AccountRecord, CheckoutRecord, DepositRecord, IdentityRecord, NumberedTransfer, SessionRecord,
    StoredBatchRecord, StoredEvaluationRecord, StoredFileRecord, TaskRecord, TransferRecord,
};
pub use agent_pushes::{AgentPush, AgentPushes, MAX_PUSHES};
pub use agent_tasks::{
    AgentTask, AgentTasks, MAX_TASKS_WITHOUT_WORK, TaskFilter, TaskPage, TaskState, TaskWork,
};
pub use batches::{
    AnswerCounts, AnswerRecord, BatchError, BatchLimits, BatchMoney, BatchNotification, BatchRecord,
    BatchStart, BatchStatus, BatchStore, BatchTerms, CheckedRows, LeasedRows, NewBatch, RowAnswer, RowBudget,
    RowCounts, RowEnd, RowKind, RowResult,
};
pub use cards::{
    CardEvent, CardProcessor, Cents, CheckoutPage, CheckoutStore, FailedRefund, NewCheckout, OpenCheckout,
    PaidCheckout, Reversal, Settled,
};
pub use confirmations::Confirmations;
pub use credentials::{ProvenToken, TokenVerifier};
pub use deposits::{
    BegunDeposit, CreditedDeposit, DepositState, DepositStore, NewDeposit, Payment, PaymentNetwork,
    PaymentRejection, Presence, Received, StoredDeposit, Transfer, TransferOutcome, Verification,
};
pub use evaluations::{EvaluationRecord, EvaluationStore, MAX_EVALUATION_BYTES, MAX_EVALUATIONS};
pub use feedback::{
    FeedbackEntry, FeedbackStore, MAX_LISTED_FEEDBACK, NewFeedback, OwnFeedback, PollFeedback,
};
pub use files::{
    BegunFile, EarlierFile, FileContent, FileDeletion, FileRecord, FileStore, ListPosition, NewFile,
};
pub use history::{DaySpending, PastEnd, PastPoll, PollHistory, PollScope, PollSearch};
pub use idempotency::{ClaimRecord, ClaimState, IdempotencyStore};
pub use keys::{
    Added, KeyAccount, KeyFunds, KeyOwner, KeySpending, KeyStore, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey,
    StoredKey,
};
pub use ledger::{Audit, Balance, Balances, CreditOutcome, Ledger};
pub use models::{
    AbandonPolicy, CallLimits, ExplanationResponse, Models, PanelOrder, RankedPanel, Registry, Turn, Variant,
    VariantPricing,
};
pub use operator::{
    DatabaseSize, FreePages, IntegrityCheck, MAX_LISTED_USERS, RevokedCredentials, UserAdmin, UserRecord,
};
pub use panels::{MAX_PANEL_VERSIONS, MAX_PANELS, PanelStore, SavedPanel, StoredPanel};
pub use poll_changes::{Change, MAX_ANNOUNCED, PollChange, PollChanges};
pub use polls::{
    AdoptedPoll, Closing, Epoch, Lease, NewPoll, Opened, PollDeletion, PollOpening, PollProgress, PollRecord,
    PollStore,
};
pub use reputation::{Heartbeats, ReputationStore, minute};
pub use sessions::{NewSession, SessionStore, StoredSession};
pub use upstreams::{CachedModelList, SavedFallbackLevel, UpstreamCache};
pub use users::{MAX_USERS_OF_EMAIL, NewSignUp, NewUser, Profiles, SignedUp, StarterCreditLimits, UserStore};
pub use wallets::{MessageError, WalletMessage, WalletMessages};
pub use webhooks::{
    AttemptOutcome, DueBatchNotification, DueNotification, NotDelivered, NotificationRecord,
    NotificationState, PreparedNotification, Webhook, WebhookSecretNumber, WebhookSender, WebhookStore,
};

use crate::fault::{Fault, Kind};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// The time of day. Durations are measured by tokio's clock, which tests can pause.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Maximum difference between the clocks of two processes: each may be wrong by a minute. Times written by
/// another process are read with this tolerance.
pub const CLOCKS_APART: Duration = Duration::from_mins(2);

/// A source of random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy + '_ {
    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

/// Counts requests per caller.
#[async_trait]
pub trait Limiter: Send + Sync {
    /// Takes one request of `key` out of `policy`'s allowance. If the shared store of counts is unavailable,
    /// the request is allowed: the limiter fails open.
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance;

    /// Removes callers with a full allowance from memory, if they are stored there. Called every few seconds.
    fn sweep(&self) {}
}

/// A rate limit and its remaining allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The policy's name in the headers.
    pub policy: &'static str,
    /// Requests per window.
    pub limit: u32,
    /// The window.
    pub window: Duration,
    /// Remaining requests.
    pub remaining: u32,
    /// Time until the allowance is full.
    pub reset: Duration,
    /// Set if this request exceeded the limit: time until the next one is allowed.
    pub exhausted: Option<Duration>,
}

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The available balance is less than the poll needs to start.
    #[error("insufficient balance: {available} available, {needed} needed")]
    InsufficientBalance {
        /// The available balance.
        available: MicroUsd,
        /// The maximum cost of the first calls.
        needed: MicroUsd,
    },
    /// The cap of the key leaves less than the poll needs to start.
    #[error("spending cap reached: {left} left, {needed} needed")]
    CapReached {
        /// The remaining amount under the cap.
        left: MicroUsd,
        /// The maximum cost of the first calls.
        needed: MicroUsd,
    },
    /// The money of the batch is set aside for its other polls, or spent.
    #[error("the batch has {left} left, {needed} needed")]
    BatchSpent {
        /// The remaining amount.
        left: MicroUsd,
        /// The maximum cost of the first calls.
        needed: MicroUsd,
    },
    /// The account is frozen.
    #[error("the account is frozen")]
    Frozen,
    /// The account would hold more than [`MicroUsd::MAX`].
    #[error("the balance would exceed {}", MicroUsd::MAX)]
    BalanceLimit,
    /// The files of the account would take more than this number of bytes.
    #[error("the files of the account would exceed {0} bytes")]
    FilesQuota(u64),
    /// An object with this name exists.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// The object does not exist, or is not in the state required by the change.
    #[error("not found: {0}")]
    NotFound(&'static str),
    /// The poll was stored in a format known only to newer versions of the program.
    #[error("a newer version of the program stored this poll")]
    UnknownForm,
    /// The database rejected the operation; nothing was changed.
    #[error("the database rejected the operation")]
    Rejected(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be reached, or violated the contract of its port.
    #[error("the database failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InsufficientBalance { available, needed } => {
                let text = if available <= MicroUsd::ZERO {
                    "insufficient balance: nothing is available; add funds, or choose the preset free, which costs nothing"
                        .to_owned()
                } else {
                    format!(
                        "insufficient balance: {available} is available, and {needed} must be set aside to begin; add \
                         funds, choose a cheaper preset (free costs nothing), or lower max_cost_usd (a complete poll \
                         needs enough for all its models)"
                    )
                };
                Fault::new(Kind::InsufficientBalance, text).lacking(needed.minus(available))
            }
            StoreError::CapReached { left, needed } => Fault::new(
                Kind::SpendingCapReached,
                format!(
                    "this API key may spend only {left} more, and {needed} must be set aside to begin; wait until \
                     running polls have ended or, for a daily cap, until 00:00 UTC, use another key, or choose \
                     the preset free, which costs nothing"
                ),
            ),
            StoreError::BatchSpent { left, needed } => Fault::new(
                Kind::InsufficientBalance,
                format!(
                    "the batch has {left} left, and this row needs {needed} to begin; create a batch of the remaining \
                     rows with more funds, a higher max_cost_usd or a cheaper preset"
                ),
            )
            .lacking(needed.minus(left)),
            StoreError::Frozen => Fault::new(
                Kind::AccountFrozen,
                "this account is frozen because a payment to it was reversed; contact the operator, or choose \
                 the preset free, which costs nothing",
            ),
            StoreError::BalanceLimit => Fault::new(
                Kind::Conflict,
                "the balance would exceed 1,000,000,000,000 USD (10^12), the most that an account can hold; credit \
                 less",
            ),
            StoreError::FilesQuota(bytes) => Fault::new(
                Kind::Conflict,
                format!("the files of the account would take more than {} MiB; delete some first", bytes >> 20),
            ),
            StoreError::Conflict(what) => Fault::new(Kind::Conflict, what),
            StoreError::NotFound(what) => Fault::new(Kind::NotFound, format!("{what} not found")),
            StoreError::UnknownForm => Fault::new(
                Kind::Unavailable,
                "a newer version of this program stored this poll, and this server cannot read it; send the request \
                 again in a few seconds to reach a server of the newer version",
            )
            .retry_after(Duration::from_secs(5)),
            StoreError::Rejected(source) | StoreError::Failed(source) => Fault::new(
                Kind::Unavailable,
                "the database is not available; try again in a moment",
            )
            .retry_after(Duration::from_secs(2))
            .caused_by(source),
        }
    }
}
