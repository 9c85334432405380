//! An account's batches as rows of a table.

use ep_polling::time::Timestamp;
use ep_tools::batches::BatchState;

use super::amounts::figure;
use super::moments::Moment;
use crate::layout::one_line;
use crate::web::batch::{is_open, word};

/// A batch of the account.
pub(crate) struct BatchRow {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) status: &'static str,
    /// Rows that have ended, and all rows.
    pub(super) rows: String,
    pub(super) cost: String,
    pub(super) created: Moment,
}

impl BatchRow {
    /// Converts a listed batch. `page_of` returns the URL of a batch's page.
    pub(crate) fn new(batch: BatchState, now: Timestamp, page_of: impl Fn(&str) -> String) -> Self {
        let id = batch.batch_id.to_string();
        let rows = batch.rows;
        let done = rows.completed + rows.failed;
        Self {
            path: page_of(&id),
            name: batch.metadata.get("name").and_then(|name| name.as_str()).map_or(id, str::to_owned),
            status: word(batch.status),
            rows: if is_open(batch.status) {
                format!("{done} of {}", rows.total)
            } else {
                rows.total.to_string()
            },
            cost: figure(batch.cost_usd.0.as_usd()),
            created: Moment::new(batch.created_at, now),
        }
    }

    /// Returns the name as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&self.name)
    }
}
