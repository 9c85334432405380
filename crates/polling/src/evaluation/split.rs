//! The split of gold rows into those that choose a panel and those that prove it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The usual number of rows that choose a panel.
pub const USUAL_CHOOSE: usize = 50;

/// The use of a gold row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Its label may choose models, panels and prompts.
    Choose,
    /// Its label is read once, for a proof.
    Prove,
}

/// Splits rows by a seeded hash of their content: the same rows get the same parts in any order. Rows with equal content
/// are in the same part, so it can have more than `choose` rows.
///
/// ```
/// use ep_polling::evaluation::split::{split, Part};
///
/// let rows: Vec<String> = (0..250).map(|row| format!("row {row}")).collect();
/// let parts = split(rows.iter().map(String::as_bytes), 50, 7);
/// assert_eq!(parts.iter().filter(|part| **part == Part::Choose).count(), 50);
/// ```
pub fn split<'a>(contents: impl IntoIterator<Item = &'a [u8]>, choose: usize, seed: u64) -> Vec<Part> {
    let digests: Vec<[u8; 32]> = contents.into_iter().map(|content| digest(content, seed)).collect();
    let distinct: BTreeSet<_> = digests.iter().collect();
    let Some(last) =
        choose.checked_sub(1).and_then(|last| distinct.iter().nth(last).or(distinct.last()).copied())
    else {
        return vec![Part::Prove; digests.len()];
    };
    digests.iter().map(|digest| if digest <= last { Part::Choose } else { Part::Prove }).collect()
}

fn digest(content: &[u8], seed: u64) -> [u8; 32] {
    Sha256::new().chain_update(seed.to_be_bytes()).chain_update(content).finalize().into()
}
