//! Gold rows: rows that a person labelled.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, bail};
use ep_evaluation::split::{Part, USUAL_CHOOSE, split};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::question::RowQuestion;
use super::sample;
use super::settings::LabelSettings;
use super::table::{Row, Table};

/// The digest of the content of a gold row without its label, in hexadecimal digits. It does not depend on a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct RowHash(String);

/// A row of the gold file.
pub(super) struct GoldRow {
    pub(super) question: RowQuestion,
    pub(super) hash: RowHash,
    /// The label of a person; `None` if the cell is empty.
    pub(super) label: Option<String>,
    pub(super) part: Part,
}

impl RowHash {
    fn of(row: &Row, column: &str) -> Self {
        let mut columns: Vec<&String> = row.fields.keys().filter(|name| *name != column).collect();
        columns.sort_unstable();
        let mut digest = Sha256::new();
        for name in columns {
            let text = row.text(name).unwrap_or_default();
            for part in [name, &text] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        }
        Self(hex::encode(digest.finalize()))
    }
}

/// The arguments about gold rows.
#[derive(clap::Args)]
pub(super) struct GoldArguments {
    /// Column of the gold file with the labels
    #[arg(long, value_name = "COLUMN", default_value = sample::GOLD, requires = "gold")]
    gold_column: String,
    /// Gold rows that are set apart to choose the panel, and prove nothing
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_CHOOSE, requires = "gold")]
    pub(super) choose: usize,
    /// Seed of the random rows, and of the gold rows that are set apart
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
}

/// Reads gold rows, and sets some apart to choose a panel.
pub(super) fn read_gold(
    path: &Path,
    arguments: &GoldArguments,
    settings: &LabelSettings,
    panel: &str,
) -> anyhow::Result<Vec<GoldRow>> {
    let GoldArguments { gold_column: column, choose, seed } = arguments;
    let name = path.display();
    let mut rows = Vec::new();
    let mut keys = HashSet::new();
    for row in Table::open(path)? {
        let row = row.with_context(|| name.to_string())?;
        let gold = gold_row(row, column, settings, panel).with_context(|| name.to_string())?;
        if !keys.insert(gold.question.key) {
            bail!("{name}: row {} is there twice; remove one of them", gold.question.row.number);
        }
        rows.push(gold);
    }
    let parts = split(rows.iter().map(|row| row.hash.0.as_bytes()), *choose, *seed);
    for (row, part) in rows.iter_mut().zip(parts) {
        row.part = part;
    }
    Ok(rows)
}

fn gold_row(row: Row, column: &str, settings: &LabelSettings, panel: &str) -> anyhow::Result<GoldRow> {
    let label = row.text(column).ok_or_else(|| row.no_column(column))?.trim().to_owned();
    let hash = RowHash::of(&row, column);
    let question = settings.question(row, panel)?;
    let label = Some(label).filter(|label| !label.is_empty());
    if let Some(label) = &label
        && !question.options.contains(label)
    {
        bail!(
            "row {}: the label {label:?} is none of the options {}",
            question.row.number,
            question.options.join(", ")
        );
    }
    Ok(GoldRow { question, hash, label, part: Part::Prove })
}
