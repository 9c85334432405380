//! The votes of a panel on the rows of a file.

use std::collections::HashMap;

use ep_evaluation::proof::{GoldRow, Score, Scores};

use super::constant::LabelCounts;
use crate::cli::label::journal::Key;

/// The votes of a panel of one size: the scores of the file's rows, and the gold rows by their keys.
#[derive(Default)]
pub(super) struct Scored {
    pub(super) scores: Scores,
    /// The levels of these scores, by their lowest one, the strictest first.
    pub(super) levels: Vec<(Score, u64)>,
    pub(super) labels: LabelCounts,
    pub(super) gold: HashMap<Key, ScoredGold>,
}

/// A gold row with the label of the models.
pub(super) struct ScoredGold {
    pub(super) row: GoldRow,
    pub(super) label: Option<String>,
}

impl ScoredGold {
    pub(super) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}
