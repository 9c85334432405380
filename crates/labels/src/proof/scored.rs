//! The votes of a panel on the rows of a file.

use std::collections::HashMap;

use ep_polling::evaluation::proof::{GoldRow, Score, Scores};

use super::constant::LabelCounts;
use crate::entry::Key;

/// The votes of a panel of one size: the scores of the file's rows, and the gold rows by their keys.
#[derive(Default)]
pub(crate) struct Scored {
    pub(crate) scores: Scores,
    /// The levels of these scores, by their lowest one, the strictest first.
    pub(crate) levels: Vec<(Score, u64)>,
    pub(crate) labels: LabelCounts,
    pub(crate) gold: HashMap<Key, ScoredGold>,
}

/// A gold row with the label of the models.
pub(crate) struct ScoredGold {
    pub(crate) row: GoldRow,
    pub(crate) label: Option<String>,
}

impl ScoredGold {
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}
