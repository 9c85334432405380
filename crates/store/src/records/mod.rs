//! Records, and traits with a second implementation. The methods of the handles document the contract of everything else.

mod account_data;
mod account_record;
mod agent_pushes;
mod agent_tasks;
mod batches;
mod cards;
mod deposits;
mod evaluations;
mod feedback;
mod files;
mod history;
mod idempotency;
mod keys;
mod ledger;
mod limiter;
mod operator;
mod panels;
mod poll_changes;
mod polls;
mod reputation;
mod sessions;
mod upstreams;
mod users;
mod webhooks;

use std::time::Duration;

pub use account_data::{AccountDeletion, AccountDeletionOutcome, DeletionObstacles};
pub use account_record::{
    AccountRecord, CheckoutRecord, DepositRecord, IdentityRecord, NumberedTransfer, SessionRecord,
    StoredBatchRecord, StoredEvaluationRecord, StoredFileRecord, TaskRecord, TransferRecord,
};
pub use agent_pushes::{AgentPush, MAX_PUSHES};
pub use agent_tasks::{AgentTask, MAX_TASKS_WITHOUT_WORK, TaskFilter, TaskPage, TaskState, TaskWork};
pub use batches::{
    AnswerCounts, AnswerRecord, BatchError, BatchLimits, BatchMoney, BatchNotification, BatchRecord,
    BatchStart, BatchStatus, BatchTerms, CheckedRows, LeasedRows, NewBatch, RowAnswer, RowBudget, RowCounts,
    RowEnd, RowKind, RowResult,
};
pub use cards::{Cents, FailedRefund, NewCheckout, OpenCheckout, PaidCheckout, Reversal, Settled};
pub use deposits::{
    BegunDeposit, CreditedDeposit, DepositState, NewDeposit, Payment, Received, StoredDeposit, Transfer,
};
pub use evaluations::{EvaluationRecord, MAX_EVALUATION_BYTES, MAX_EVALUATIONS};
pub use feedback::{FeedbackEntry, MAX_LISTED_FEEDBACK, NewFeedback, OwnFeedback, PollFeedback};
pub use files::{
    BegunFile, EarlierFile, FileContent, FileDeletion, FileRecord, FileStore, ListPosition, NewFile,
};
pub use history::{DaySpending, PastEnd, PastPoll, PollScope, PollSearch};
pub use idempotency::{ClaimRecord, ClaimState};
pub use keys::{
    Added, KeyAccount, KeyFunds, KeyOwner, KeySpending, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey, StoredKey,
};
pub use ledger::{Audit, Balance, CreditOutcome};
pub use limiter::{Allowance, Limiter};
pub use operator::{
    DatabaseSize, FreePages, IntegrityCheck, MAX_LISTED_USERS, RevokedCredentials, UserRecord,
};
pub use panels::{MAX_PANEL_VERSIONS, MAX_PANELS, SavedPanel, StoredPanel};
pub use poll_changes::{Change, MAX_ANNOUNCED, PollChange, PollChanges};
pub use polls::{
    AdoptedPoll, Closing, Epoch, Lease, NewPoll, Opened, PollDeletion, PollOpening, PollProgress, PollRecord,
    PollStore,
};
pub use reputation::{Heartbeats, ReputationStore, minute};
pub use sessions::{NewSession, StoredSession};
pub use upstreams::{CachedModelList, SavedFallbackLevel, UpstreamCache};
pub use users::{MAX_USERS_OF_EMAIL, NewSignUp, NewUser, SignedUp, StarterCreditLimits};
pub use webhooks::{
    AttemptOutcome, DueBatchNotification, DueNotification, NotificationRecord, NotificationState, Webhook,
    WebhookSecretNumber,
};

pub use crate::store_error::StoreError;

/// Maximum difference between the clocks of two processes: each may be wrong by a minute. Times written by
/// another process are read with this tolerance.
pub const CLOCKS_APART: Duration = Duration::from_mins(2);
