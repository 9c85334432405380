//! Rows that were not fully asked, in a file that is an input for another run.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ep_polling::money::{MicroUsd, Usd};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::journal::{Journal, Key};
use super::replacement::Replacement;
use super::table::{FAILURE, Row};
use crate::cli::printable::printable;

/// Maximum number of reasons that are counted one by one.
const MAX_REASONS: usize = 5;

/// The attempts after which a row is labelled by the models that responded.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// The attempts to ask about a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    pub(super) count: u32,
    /// Their cost.
    pub(super) cost: MicroUsd,
}

/// The failure of a row, in a field of its own.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    key: Key,
    attempts: u32,
    cost_usd: Usd,
    reason: String,
}

/// The rows of earlier runs and of this one. The last line of a row counts.
pub(super) struct FailedRows {
    path: PathBuf,
    file: Option<File>,
    attempts: HashMap<Key, Attempts>,
    /// Rows of this run.
    pub(super) rows: u64,
    /// The reasons of this run, with the number of rows.
    reasons: BTreeMap<String, u64>,
}

impl FailedRows {
    /// Reads the rows of earlier runs: for `labels.jsonl`, those of `labels.failed.jsonl`.
    pub(super) fn open(out: &Path) -> anyhow::Result<Self> {
        let path = if out.extension().is_some_and(|extension| extension == "jsonl") {
            out.with_extension("failed.jsonl")
        } else {
            let mut name = out.as_os_str().to_owned();
            name.push(".failed.jsonl");
            name.into()
        };
        let mut attempts = HashMap::new();
        for line in lines(&path)? {
            if let Some(Failure { key, attempts: count, cost_usd, .. }) = failure(&line?) {
                attempts.insert(key, Attempts { count, cost: cost_usd.0 });
            }
        }
        Ok(Self { path, file: None, attempts, rows: 0, reasons: BTreeMap::new() })
    }

    /// Returns the earlier attempts to ask about a row.
    pub(super) fn attempts(&self, key: Key) -> Attempts {
        self.attempts.get(&key).copied().unwrap_or_default()
    }

    /// Returns the cost of the attempts for rows that have no label.
    pub(super) fn cost(&self, journal: &Journal) -> MicroUsd {
        let unlabelled = self.attempts.iter().filter(|(key, _)| !journal.has(**key));
        unlabelled.map(|(_, attempts)| attempts.cost).sum()
    }

    /// Returns the number of these rows that have no label, and that another run may label.
    pub(super) fn unfinished<'k>(&self, keys: impl IntoIterator<Item = &'k Key>, journal: &Journal) -> usize {
        let may_succeed = |key: &&Key| !journal.has(**key) && self.attempts(**key).count < MAX_ATTEMPTS;
        keys.into_iter().filter(may_succeed).count()
    }

    /// Appends a row. It is on disk when this returns.
    pub(super) fn add(&mut self, row: &Row, key: Key, cost: MicroUsd, reason: String) -> anyhow::Result<()> {
        let Attempts { count, cost: earlier } = self.attempts(key);
        let attempts = Attempts { count: count + 1, cost: earlier.plus(cost) };
        let mut fields = row.fields.clone();
        let failure =
            Failure { key, attempts: attempts.count, cost_usd: Usd(attempts.cost), reason: reason.clone() };
        fields.insert(FAILURE.to_owned(), json!(failure));
        let mut line = serde_json::to_vec(&fields)?;
        line.push(b'\n');
        let unwritable = || format!("cannot write {}", self.path.display());
        if self.file.is_none() {
            let file = OpenOptions::new().append(true).create(true).open(&self.path);
            self.file = Some(file.with_context(unwritable)?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&line).and_then(|()| file.sync_data()).with_context(unwritable)?;
        }
        self.attempts.insert(key, attempts);
        self.rows += 1;
        let reason = if self.reasons.len() < MAX_REASONS || self.reasons.contains_key(&reason) {
            reason
        } else {
            "other reasons".to_owned()
        };
        *self.reasons.entry(reason).or_default() += 1;
        Ok(())
    }

    /// Tells how many rows failed, and why. Removes rows from the file that have a label, and earlier lines of a row.
    pub(super) fn finish(self, journal: &Journal) -> anyhow::Result<()> {
        for (reason, rows) in &self.reasons {
            eprintln!("{rows} rows: {}", printable(reason));
        }
        if self.rows > 0 {
            eprintln!(
                "{} rows were not fully asked; they are in {}, for another run",
                self.rows,
                self.path.display()
            );
        }
        if !self.path.exists() {
            return Ok(());
        }
        let mut left = Replacement::new(&self.path)?;
        let mut count = 0_u64;
        for line in lines(&self.path)? {
            let line = line?;
            let is_done = failure(&line).is_some_and(|failure| {
                journal.has(failure.key) || self.attempts(failure.key).count != failure.attempts
            });
            if !is_done {
                count += 1;
                writeln!(left, "{line}")?;
            }
        }
        if count == 0 {
            std::fs::remove_file(&self.path)?;
        } else {
            left.finish()?;
        }
        Ok(())
    }
}

/// Returns the lines of a file; none if there is no file.
fn lines(path: &Path) -> anyhow::Result<impl Iterator<Item = anyhow::Result<String>>> {
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines());
    Ok(lines.map(|line| line.map_err(Into::into)))
}

/// Returns the failure in a line, if it has one.
fn failure(line: &str) -> Option<Failure> {
    let fields: Map<String, Value> = serde_json::from_str(line).ok()?;
    serde_json::from_value(fields.get(FAILURE)?.clone()).ok()
}
