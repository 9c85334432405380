//! Batches: many requests of an account, which the service works through in the background.

pub(crate) mod erased;
pub(crate) mod id;
pub(crate) mod locked;
mod records;
pub(crate) mod sql;
pub(crate) mod transactions;

pub use self::id::{BatchId, FileId, NotAnId};
pub use self::records::{
    AnswerCounts, AnswerRecord, BatchError, BatchLimits, BatchMoney, BatchNotification, BatchRecord,
    BatchStart, BatchStatus, BatchTerms, CheckedRows, LeasedRows, NewBatch, RowAnswer, RowBudget, RowCounts,
    RowEnd, RowKind, RowResult,
};
