//! Errors of the store.

use ep_polling::MicroUsd;

/// A result of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

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
    /// The database could not be reached, or returned unexpected data.
    #[error("the database failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}
