//! The questions of a file, and the rows that have no label yet.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use ep_polling::money::MicroUsd;

use super::cost_bound::CostBound;
use super::journal::{Journal, Key};
use super::question::{RowQuestion, digest};
use super::settings::LabelSettings;
use super::table::{Row, Table};

/// The rows of a file, with the first one read ahead.
pub(super) struct Rows<'t> {
    path: PathBuf,
    settings: &'t LabelSettings,
    panel: &'t str,
    first: Option<RowQuestion>,
    rest: Table,
}

/// Rows without a label.
pub(super) struct InputCounts {
    pub(super) rows: u64,
    /// Rows that have one.
    pub(super) labelled: u64,
    pub(super) at_most: MicroUsd,
    /// Sum of the bytes of the prompts that depend on the rows.
    pub(super) bytes: u64,
    /// The keys of all rows.
    pub(super) keys: HashSet<Key>,
}

impl<'t> Rows<'t> {
    pub(super) fn new(path: &Path, settings: &'t LabelSettings, panel: &'t str) -> anyhow::Result<Self> {
        let mut rest = Table::open(path)?;
        let first = rest.next().transpose()?.map(|row| settings.question(row, panel)).transpose()?;
        Ok(Self { path: path.to_owned(), settings, panel, first, rest })
    }

    pub(super) const fn first(&self) -> Option<&RowQuestion> {
        self.first.as_ref()
    }

    /// Reads the whole file once, so that a wrong row is found before the first call. `None` for standard input.
    pub(super) fn count_input(
        &self,
        journal: &Journal,
        bound: &CostBound,
    ) -> anyhow::Result<Option<InputCounts>> {
        if self.path == Path::new("-") {
            return Ok(None);
        }
        let mut missing =
            InputCounts { rows: 0, labelled: 0, at_most: MicroUsd::ZERO, bytes: 0, keys: HashSet::new() };
        let mut ids = HashSet::new();
        for row in Table::open(&self.path)? {
            let question = self.settings.question(row?, self.panel)?;
            if !missing.keys.insert(question.key) {
                continue;
            }
            if !ids.insert(digest(&question.id)) {
                bail!("row {}: the id {} was used before, for another row", question.row.number, question.id);
            }
            if journal.has(question.key) {
                missing.labelled += 1;
            } else {
                missing.rows += 1;
                missing.at_most = missing.at_most.plus(bound.of(&question));
                missing.bytes += question.bytes() as u64;
            }
        }
        Ok(Some(missing))
    }
}

impl Iterator for Rows<'_> {
    type Item = anyhow::Result<RowQuestion>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let row: anyhow::Result<Row> = self.rest.next()?;
        Some(row.and_then(|row| self.settings.question(row, self.panel)))
    }
}
