//! The record of gold rows whose labels were read for a proof. A label proves once, for rules that were fixed before.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::gold::RowHash;

/// The name of the record in the data directory.
const NAME: &str = "gold-openings.jsonl";

/// The digest of the rules, the gold labels and the votes of an opening.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpeningId(pub(crate) String);

impl OpeningId {
    /// Returns the id of all evaluations: labels that chose models prove nothing.
    pub fn of_evaluation() -> Self {
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
pub struct Openings(PathBuf);

/// The openings, while no other process reads gold labels.
pub struct LockedOpenings {
    file: File,
    path: PathBuf,
}

impl Openings {
    /// Finds the record in the data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self(data_dir.join(NAME))
    }

    /// Waits until no other process reads gold labels.
    pub fn lock(&self) -> anyhow::Result<LockedOpenings> {
        let path = self.0.clone();
        let unwritable = || format!("cannot write {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(unwritable)?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.with_context(unwritable)?;
        file.lock().with_context(unwritable)?;
        Ok(LockedOpenings { file, path })
    }
}

impl LockedOpenings {
    /// Returns the first opening of each of these digests; nothing for one that was never opened.
    pub fn first<'r>(
        &self,
        hashes: impl IntoIterator<Item = &'r RowHash>,
    ) -> anyhow::Result<HashMap<RowHash, OpeningId>> {
        let wanted: HashSet<&RowHash> = hashes.into_iter().collect();
        let mut first = HashMap::new();
        let unreadable = || format!("cannot read {}", self.path.display());
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(0)).with_context(unreadable)?;
        for line in reader.lines() {
            let line = line.with_context(unreadable)?;
            // A line that was cut by a kill is followed by the same opening, because nothing was proved before.
            let Ok(Opened { row, opening }) = serde_json::from_str(&line) else { continue };
            if wanted.contains(&row) {
                first.entry(row).or_insert(opening);
            }
        }
        Ok(first)
    }

    /// Records digests. They are on disk when this returns.
    pub fn add<'r>(
        &self,
        hashes: impl IntoIterator<Item = &'r RowHash>,
        opening: &OpeningId,
    ) -> anyhow::Result<()> {
        let unwritable = || format!("cannot write {}", self.path.display());
        let mut writer = BufWriter::new(&self.file);
        // Ends a line that was cut.
        let mut last = [b'\n'];
        let mut file = &self.file;
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last).with_context(unwritable)?;
        }
        if last != [b'\n'] {
            writeln!(writer).with_context(unwritable)?;
        }
        for row in hashes {
            serde_json::to_writer(&mut writer, &Opened { row: row.clone(), opening: opening.clone() })?;
            writeln!(writer).with_context(unwritable)?;
        }
        writer.flush().with_context(unwritable)?;
        self.file.sync_all().with_context(unwritable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_opening_of_a_row_counts() {
        let folder = tempfile::tempdir().unwrap();
        let openings = Openings::new(&folder.path().join("data"));
        let opening = |text: &str| OpeningId(text.to_owned());
        let [a, b, c] = ["a", "b", "c"].map(|text| RowHash::of([text]));
        let record = openings.lock().unwrap();
        assert!(record.first([&a]).unwrap().is_empty());
        record.add([&a, &b], &opening("one")).unwrap();
        drop(record);
        // A kill cuts a line.
        let path = folder.path().join("data").join(NAME);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"row\":\"c\",\"ope").unwrap();
        let record = openings.lock().unwrap();
        record.add([&b, &c], &opening("two")).unwrap();
        let first = record.first([&a, &b, &c]).unwrap();
        assert_eq!(first, [(a, opening("one")), (b, opening("one")), (c, opening("two"))].into());
    }
}
