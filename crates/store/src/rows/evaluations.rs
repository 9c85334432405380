//! Rows of evaluations.

use ep_polling::time::Timestamp;

use crate::error::failed;
use crate::records::{EvaluationRecord, StoreError, StoredEvaluationRecord};

row! {
    /// An evaluation.
    EvaluationRow { id: String, name: String, report: String, shared: i64, created_at: i64 }
}

impl From<EvaluationRow> for StoredEvaluationRecord {
    fn from(row: EvaluationRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            shared: row.shared != 0,
            created_at: Timestamp::from_millis(row.created_at),
        }
    }
}

impl TryFrom<EvaluationRow> for EvaluationRecord {
    type Error = StoreError;

    fn try_from(row: EvaluationRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse().map_err(failed)?,
            name: row.name,
            report: row.report,
            shared: row.shared != 0,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}
