//! An account's evaluations as rows of a table.

use ep_polling::Timestamp;
use ep_site::layout::one_line;
use ep_tools::evaluations::StoredEvaluation;

use super::moments::Moment;

/// An evaluation of the account.
pub(crate) struct EvaluationRow {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) shared: bool,
    pub(super) stored: Moment,
}

impl EvaluationRow {
    /// Converts a stored evaluation. `page_of` returns the URL of its page.
    pub(crate) fn new(stored: StoredEvaluation, now: Timestamp, page_of: impl Fn(&str) -> String) -> Self {
        Self {
            path: page_of(&stored.evaluation_id.to_string()),
            name: stored.title,
            shared: stored.shared,
            stored: Moment::new(stored.created_at, now),
        }
    }

    /// Returns the name as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&self.name)
    }
}
