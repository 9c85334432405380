//! Evaluations that accounts store.

use ep_polling::time::Timestamp;

use crate::evaluation_id::EvaluationId;
use crate::row::from_row;

/// Maximum number of evaluations per account.
pub const MAX_EVALUATIONS: u32 = 100;

/// Maximum size of the reports of an account, together, in bytes.
pub const MAX_EVALUATION_BYTES: u64 = 8 << 20;

/// A stored evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationRecord {
    /// Its id.
    pub id: EvaluationId,
    /// Its name.
    pub name: String,
    /// The report, as JSON; empty in lists.
    pub report: String,
    /// True if everyone with the link may read it.
    pub shared: bool,
    /// The time when it was stored.
    pub created_at: Timestamp,
}

from_row!(EvaluationRecord { id, name, report, shared, created_at });
