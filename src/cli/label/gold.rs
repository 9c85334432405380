//! Gold rows: rows that a person labelled.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, bail};
use ep_evaluation::split::{Part, USUAL_CHOOSE, split};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::question::RowQuestion;
use super::sample;
use super::settings::{LabelSettings, Questions};
use super::table::{Row, Table};

/// The digest of texts of a row, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct RowHash(String);

/// Two digests of a gold row without its label: of the texts that the question names, and of all cells. An edit of either
/// leaves the other as it was. Spaces do not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct RowHashes {
    pub(super) asked: RowHash,
    pub(super) all: RowHash,
}

/// A row of the gold file.
pub(super) struct GoldRow {
    pub(super) question: RowQuestion,
    pub(super) hashes: RowHashes,
    /// The label of a person; `None` if the cell is empty.
    pub(super) label: Option<String>,
    pub(super) part: Part,
}

impl RowHash {
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut digest = Sha256::new();
        for text in texts {
            for word in text.split_whitespace() {
                digest.update((word.len() as u64).to_be_bytes());
                digest.update(word);
            }
            digest.update(u64::MAX.to_be_bytes());
        }
        Self(hex::encode(digest.finalize()))
    }
}

impl RowHashes {
    fn of(asked: &RowQuestion, gold_column: &str, settings: &LabelSettings) -> Self {
        let row = &asked.row;
        let asked: Vec<String> = match &settings.questions {
            Questions::Columns { question, .. } => {
                question.columns().map(|column| row.text(column).unwrap_or_default()).collect()
            }
            Questions::Requests { .. } => {
                [&asked.question].into_iter().chain(&asked.options).cloned().collect()
            }
        };
        let mut columns: Vec<&str> =
            row.fields.keys().map(String::as_str).filter(|name| *name != gold_column).collect();
        columns.sort_unstable();
        let cells = columns.into_iter().map(|name| (name, row.text(name).unwrap_or_default()));
        let cells: Vec<(&str, String)> = cells.filter(|(_, text)| !text.is_empty()).collect();
        Self {
            asked: RowHash::of(asked.iter().map(String::as_str)),
            all: RowHash::of(cells.iter().flat_map(|(name, text)| [*name, text.as_str()])),
        }
    }

    /// Returns both digests.
    pub(super) fn each(&self) -> [&RowHash; 2] {
        [&self.asked, &self.all]
    }
}

/// The usual seed of --sample.
pub(super) const USUAL_SEED: u64 = 1;
/// The seed of the split of gold rows, which is the same in an evaluation and in a proof.
const SPLIT_SEED: u64 = 0;

/// The arguments about gold rows.
#[derive(clap::Args)]
pub(super) struct GoldArguments {
    /// Column of the gold file with the labels
    #[arg(long, value_name = "COLUMN", default_value = sample::GOLD, requires = "gold")]
    gold_column: String,
    /// Gold rows that are set apart to choose the panel, and prove nothing
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_CHOOSE, requires = "gold")]
    pub(super) choose: usize,
    /// Seed of the random rows of --sample
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_SEED)]
    pub(super) seed: u64,
}

impl GoldArguments {
    /// Returns the arguments that are not the usual ones.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        if self.gold_column != sample::GOLD {
            add("gold-column", self.gold_column.clone());
        }
        if self.choose != USUAL_CHOOSE {
            add("choose", self.choose.to_string());
        }
        if self.seed != USUAL_SEED {
            add("seed", self.seed.to_string());
        }
        words
    }
}

/// Reads gold rows, and sets some apart to choose a panel.
pub(super) fn read_gold(
    path: &Path,
    arguments: &GoldArguments,
    settings: &LabelSettings,
    panel: &str,
) -> anyhow::Result<Vec<GoldRow>> {
    let GoldArguments { gold_column: column, choose, .. } = arguments;
    let name = path.display();
    let mut rows = Vec::new();
    let mut keys = HashSet::new();
    for row in Table::open(path)? {
        let row = row.with_context(|| name.to_string())?;
        let gold = gold_row(row, column, settings, panel).with_context(|| name.to_string())?;
        if !keys.insert(gold.question.key) {
            bail!("{name}: row {} equals an earlier row; remove one of them", gold.question.row.number);
        }
        rows.push(gold);
    }
    let parts = split(rows.iter().map(|row| row.hashes.asked.0.as_bytes()), *choose, SPLIT_SEED);
    if rows.is_empty() {
        bail!("{name} has no rows");
    }
    for (row, part) in rows.iter_mut().zip(parts) {
        row.part = part;
    }
    Ok(rows)
}

fn gold_row(row: Row, column: &str, settings: &LabelSettings, panel: &str) -> anyhow::Result<GoldRow> {
    let label = row.text(column).ok_or_else(|| row.no_column(column))?.trim().to_owned();
    let question = settings.question(row, panel)?;
    let hashes = RowHashes::of(&question, column, settings);
    let label = Some(label).filter(|label| !label.is_empty());
    if let Some(label) = &label {
        question.check_label(label)?;
    }
    Ok(GoldRow { question, hashes, label, part: Part::Prove })
}
