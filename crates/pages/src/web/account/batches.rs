//! An account's batches as rows of a table.

use ep_polling::Timestamp;
use ep_polling::text::single_line;
use ep_site::layout::one_line;
use ep_store::{BatchStatus, RowCounts};
use ep_tools::batches::{BatchState, status_text};

use super::amounts::figure;
use super::moments::Moment;

/// A batch of the account.
pub(crate) struct BatchRow {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) status: String,
    /// Rows with a result, and all rows.
    pub(super) rows: String,
    pub(super) cost: String,
    pub(super) created: Moment,
}

impl BatchRow {
    /// Converts a listed batch. `page_of` returns the URL of a batch's page.
    pub(crate) fn new(batch: BatchState, now: Timestamp, page_of: impl Fn(&str) -> String) -> Self {
        let id = batch.batch_id.to_string();
        let RowCounts { total, completed, failed } = batch.rows;
        let status = status_text(batch.status);
        Self {
            path: page_of(&id),
            name: batch.metadata.get("name").and_then(|name| name.as_str()).map_or(id, single_line),
            status: match batch.status {
                BatchStatus::Completed if failed > 0 => format!("{status}, {failed} failed"),
                _ => status.to_owned(),
            },
            rows: if completed == total { total.to_string() } else { format!("{completed} of {total}") },
            cost: figure(batch.cost_usd.0.as_usd()),
            created: Moment::new(batch.created_at, now),
        }
    }

    /// Returns the name as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&self.name)
    }
}
