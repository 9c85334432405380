//! Rows that were not fully asked, in a file that is an input for another run.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ep_polling::money::MicroUsd;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::journal::{Journal, Key};
use super::table::Row;
use crate::cli::printable::printable;

/// The field with what is known about the failure.
pub(super) const FAILURE: &str = "_failed";
/// Maximum number of reasons that are shown.
const MAX_REASONS: usize = 5;

/// The attempts to ask about a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    pub(super) count: u32,
    /// Their cost.
    pub(super) cost: MicroUsd,
}

/// A row in the file: its fields, and the failure.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    key: Key,
    attempts: u32,
    cost_micro_usd: i64,
    reason: String,
}

/// The rows of earlier runs and of this one.
pub(super) struct FailedRows {
    path: PathBuf,
    earlier: HashMap<Key, (Attempts, String)>,
    file: tempfile::NamedTempFile,
    /// Rows of this run.
    pub(super) rows: u64,
    /// The reasons, with the number of rows.
    reasons: BTreeMap<String, u64>,
}

impl FailedRows {
    /// Reads the rows of earlier runs: for `labels.jsonl`, those of `labels.failed.jsonl`.
    pub(super) fn open(out: &Path) -> anyhow::Result<Self> {
        let path = out.with_extension("failed.jsonl");
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::NamedTempFile::new_in(folder);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let mut earlier = HashMap::new();
        if let Ok(known) = File::open(&path) {
            for line in BufReader::new(known).lines() {
                let line = line.with_context(|| format!("cannot read {}", path.display()))?;
                let fields: Map<String, Value> = serde_json::from_str(&line).unwrap_or_default();
                let failure = fields.get(FAILURE).cloned().unwrap_or_default();
                if let Ok(Failure { key, attempts, cost_micro_usd, .. }) = serde_json::from_value(failure) {
                    let attempts = Attempts { count: attempts, cost: MicroUsd::new(cost_micro_usd) };
                    earlier.insert(key, (attempts, line));
                }
            }
        }
        Ok(Self { path, earlier, file, rows: 0, reasons: BTreeMap::new() })
    }

    /// Returns the earlier attempts to ask about a row.
    pub(super) fn attempts(&self, key: Key) -> Attempts {
        self.earlier.get(&key).map(|(attempts, _)| *attempts).unwrap_or_default()
    }

    /// Returns the cost of all earlier attempts.
    pub(super) fn cost(&self) -> MicroUsd {
        self.earlier.values().map(|(attempts, _)| attempts.cost).sum()
    }

    /// Adds a row.
    pub(super) fn add(
        &mut self,
        row: &Row,
        key: Key,
        attempts: Attempts,
        reason: String,
    ) -> anyhow::Result<()> {
        self.earlier.remove(&key);
        let mut fields = row.fields.clone();
        let Attempts { count, cost } = attempts;
        let failure = Failure { key, attempts: count, cost_micro_usd: cost.micro(), reason: reason.clone() };
        fields.insert(FAILURE.to_owned(), json!(failure));
        let mut writer = BufWriter::new(self.file.as_file_mut());
        serde_json::to_writer(&mut writer, &fields)?;
        writer.write_all(b"\n")?;
        writer.flush()?;
        self.rows += 1;
        *self.reasons.entry(reason).or_default() += 1;
        Ok(())
    }

    /// Tells how many rows there are, and why. Replaces the file of the last run; its rows that were not asked remain.
    pub(super) fn finish(mut self, journal: &Journal) -> anyhow::Result<()> {
        let mut left = self.rows;
        for (key, (_, line)) in self.earlier {
            if !journal.has(key) {
                writeln!(self.file, "{line}")?;
                left += 1;
            }
        }
        for (reason, rows) in self.reasons.iter().take(MAX_REASONS) {
            eprintln!("{rows} rows: {}", printable(reason));
        }
        if left > 0 {
            eprintln!(
                "{left} rows were not fully asked; they are in {}, for another run",
                self.path.display()
            );
            self.file.as_file().sync_all()?;
            self.file.persist(&self.path)?;
        } else if self.path.exists() {
            std::fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}
