//! The record of gold rows whose labels were read for a proof. A label proves once, for rules that were fixed before.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::gold::RowHash;

/// The name of the record in the data directory.
const NAME: &str = "gold-openings.jsonl";

/// The digest of the rules, the gold labels and the votes of an opening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpeningId(pub(super) String);

impl OpeningId {
    /// Returns the id of all evaluations: labels that chose models prove nothing.
    pub(super) fn of_evaluation() -> Self {
        Self("evaluation".to_owned())
    }
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
struct Opened {
    row: RowHash,
    opening: OpeningId,
}

/// The openings on this machine.
pub(super) struct Openings(PathBuf);

impl Openings {
    /// Finds the record in the data directory.
    pub(super) fn new(data_dir: &Path) -> Self {
        Self(data_dir.join(NAME))
    }

    /// Returns the first opening of each of these rows; nothing for a row that was never opened.
    pub(super) fn first<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r RowHash>,
    ) -> anyhow::Result<HashMap<RowHash, OpeningId>> {
        let wanted: HashSet<&RowHash> = rows.into_iter().collect();
        let mut first = HashMap::new();
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(first),
            Err(error) => return Err(error).with_context(|| self.unreadable()),
        };
        for line in BufReader::new(file).lines() {
            let line = line.with_context(|| self.unreadable())?;
            // A line that was cut by a kill is followed by the same opening, because nothing was proved before.
            let Ok(Opened { row, opening }) = serde_json::from_str(&line) else { continue };
            if wanted.contains(&row) {
                first.entry(row).or_insert(opening);
            }
        }
        Ok(first)
    }

    /// Records rows. They are on disk when this returns.
    pub(super) fn add(&self, rows: &[RowHash], opening: &OpeningId) -> anyhow::Result<()> {
        let unwritable = || format!("cannot write {}", self.0.display());
        if let Some(folder) = self.0.parent() {
            std::fs::create_dir_all(folder).with_context(unwritable)?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&self.0).with_context(unwritable)?;
        let mut writer = BufWriter::new(&file);
        // Ends a line that was cut.
        if file.metadata().is_ok_and(|file| file.len() > 0) {
            writeln!(writer)?;
        }
        for row in rows {
            serde_json::to_writer(&mut writer, &Opened { row: row.clone(), opening: opening.clone() })?;
            writeln!(writer)?;
        }
        writer.flush().with_context(unwritable)?;
        file.sync_all().with_context(unwritable)
    }

    fn unreadable(&self) -> String {
        format!("cannot read {}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_opening_of_a_row_counts() {
        let folder = tempfile::tempdir().unwrap();
        let openings = Openings::new(&folder.path().join("data"));
        let row = |text: &str| serde_json::from_value::<RowHash>(text.into()).unwrap();
        let opening = |text: &str| OpeningId(text.to_owned());
        let (a, b, c) = (row("a"), row("b"), row("c"));
        assert!(openings.first([&a]).unwrap().is_empty());
        openings.add(&[a.clone(), b.clone()], &opening("one")).unwrap();
        // A kill cuts a line.
        let path = folder.path().join("data").join(NAME);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"row\":\"c\",\"ope").unwrap();
        openings.add(&[b.clone(), c.clone()], &opening("two")).unwrap();
        let first = openings.first([&a, &b, &c]).unwrap();
        assert_eq!(first, [(a, opening("one")), (b, opening("one")), (c, opening("two"))].into());
    }
}
