//! The journal of labels: one line per row, each on disk before the next row is counted as done.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ep_polling::money::MicroUsd;
use ep_polling::tie_rule::TieRule;

use crate::decision::decide;
use crate::entry::{Entry, Key};
use crate::files::replacement::Replacement;
use crate::settings::Panel;

/// The beginning of a line.
const BEGINNING: &[u8] = b"{\"id\":";

/// The file of labels, open for more.
pub struct Journal {
    file: File,
    path: PathBuf,
    labelled: HashSet<Key>,
    /// The cost of the labels that the file had when it was opened.
    cost: MicroUsd,
    /// Their number, and the sum of the times of their slowest votes, in milliseconds.
    timed: (u64, u64),
    /// True if the labels go to standard output, too.
    is_streamed: bool,
}

impl Journal {
    /// Opens the file, or creates it. A last line that was cut off is removed.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        {
            bail!("the folder {} does not exist; create it, or choose another file", folder.display());
        }
        let file = locked(path)?;
        let mut labelled = HashSet::new();
        let (mut cost, mut complete, mut timed) = (MicroUsd::ZERO, 0, (0, 0));
        for entry in entries(&file)? {
            let (entry, end) = entry.with_context(|| match complete {
                0 => format!("{name} is not a file of labels; choose another one"),
                _ => format!("{name} has a line that is no label; repair it, or choose another file"),
            })?;
            labelled.insert(entry.key);
            let slowest = entry.votes.iter().map(|vote| vote.ms).max().unwrap_or_default();
            timed = (timed.0 + u64::from(!entry.empty), timed.1 + u64::from(slowest));
            cost = cost.plus(entry.cost_usd.0);
            complete = end;
        }
        // A process that was killed leaves the beginning of a line. Anything else is not ours.
        let mut rest = Vec::new();
        let mut tail = &file;
        tail.seek(SeekFrom::Start(complete))?;
        tail.take(BEGINNING.len() as u64).read_to_end(&mut rest)?;
        if !BEGINNING.starts_with(&rest) || (complete == 0 && !rest.is_empty()) {
            bail!("{name} is not a file of labels; choose another one");
        }
        file.set_len(complete).with_context(|| format!("cannot repair {name}"))?;
        Ok(Self { file, path: path.to_owned(), labelled, cost, timed, is_streamed: false })
    }

    /// Writes further labels to standard output, too.
    pub const fn stream(&mut self) {
        self.is_streamed = true;
    }

    /// True if the labels go to standard output, and to a file that is removed.
    pub const fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// Returns the mean time of a row, in milliseconds, of the labels that the file had when it was opened.
    pub fn mean_row_ms(&self) -> Option<f64> {
        let (rows, ms) = self.timed;
        (rows > 0).then(|| ms as f64 / rows as f64)
    }

    /// True if the file has a label with this key.
    pub fn has(&self, key: Key) -> bool {
        self.labelled.contains(&key)
    }

    /// Returns the cost of the labels that the file had when it was opened.
    pub const fn cost(&self) -> MicroUsd {
        self.cost
    }

    /// Appends labels. They are on disk when this returns.
    pub fn append(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        self.file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data())
            .context("cannot write the labels")?;
        if self.is_streamed {
            let mut out = std::io::stdout().lock();
            out.write_all(&lines).and_then(|()| out.flush()).context("cannot write to standard output")?;
        }
        self.labelled.extend(entries.iter().map(|entry| entry.key));
        Ok(())
    }

    /// Decides the labels with these keys anew, from their votes, by this rule for ties. Returns how many have changed. The new
    /// labels are on disk when this returns.
    pub fn decide_anew(
        &mut self,
        keys: &HashSet<Key>,
        panel: &Panel,
        on_tie: TieRule,
    ) -> anyhow::Result<u64> {
        let decided = |entry: Entry| {
            let decision = decide(&entry.votes, panel, entry.votes.len(), on_tie);
            let (label, by, score) = (decision.label.map(str::to_owned), decision.by, decision.share);
            Entry { label, by, score, ..entry }
        };
        let mut changed = 0;
        for entry in self.entries()? {
            let entry = entry?;
            changed += u64::from(keys.contains(&entry.key) && decided(entry.clone()) != entry);
        }
        if changed == 0 {
            return Ok(0);
        }
        let mut file = Replacement::new(&self.path)?;
        for entry in self.entries()? {
            let entry = entry?;
            let entry = if keys.contains(&entry.key) { decided(entry) } else { entry };
            serde_json::to_writer(&mut file, &entry)?;
            file.write_all(b"\n")?;
        }
        file.finish().with_context(|| format!("cannot write {}", self.path.display()))?;
        self.file = locked(&self.path)?;
        Ok(changed)
    }

    /// Removes the file if it has no label, because nothing was asked.
    pub fn remove_if_empty(&self, path: &Path) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Reads the labels from the beginning, one at a time.
    pub fn entries(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Entry>>> {
        Ok(entries(&self.file)?.map(|entry| entry.map(|(entry, _)| entry)))
    }

    /// Returns the keys of all labels.
    pub const fn keys(&self) -> &HashSet<Key> {
        &self.labelled
    }
}

/// Opens a file for more, or creates it. No other process may write it until it is closed.
fn locked(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    let file = OpenOptions::new().read(true).append(true).create(true).open(path);
    let file = file.with_context(|| format!("cannot write {name}"))?;
    if file.try_lock().is_err() {
        bail!("another process is writing {name}; wait until it has ended, or choose another file");
    }
    Ok(file)
}

/// Reads complete lines, each with its end in the file. A cut line at the end is left out.
pub fn entries(file: &File) -> anyhow::Result<impl Iterator<Item = anyhow::Result<(Entry, u64)>> + use<>> {
    let mut reader = BufReader::new(file.try_clone()?);
    reader.seek(SeekFrom::Start(0))?;
    let (mut end, mut line) = (0, Vec::new());
    Ok(std::iter::from_fn(move || {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Err(error) => Some(Err(error.into())),
            Ok(_) if line.last() != Some(&b'\n') => None,
            Ok(length) => {
                end += length as u64;
                let entry = serde_json::from_slice(&line)
                    .with_context(|| format!("the line at byte {}", end - length as u64));
                Some(entry.map(|entry| (entry, end)))
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use ep_polling::ballot::first_reader;
    use ep_polling::money::Usd;
    use ep_polling::time::Timestamp;

    use super::*;
    use crate::entry::{DecidedBy, EntryVote};

    fn entry(number: u8) -> Entry {
        Entry {
            id: number.into(),
            key: Key([number; 16]),
            label: Some("ü\n".to_owned()),
            by: DecidedBy::Plurality,
            score: 1.0,
            contested: false,
            votes: vec![EntryVote {
                model: "m".to_owned(),
                vote: None,
                probabilities: None,
                error: None,
                ms: 3,
                usd: None,
                answered_by: None,
            }],
            cost_usd: Usd(MicroUsd::new(500_000)),
            poll_id: "EP".to_owned(),
            asked_at: Timestamp::from_millis(7),
            asked_again_at: None,
            simulated: false,
            reader: first_reader(),
            later_reader: None,
            empty: false,
        }
    }

    #[test]
    fn a_cut_line_is_removed_and_labels_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        assert!(Journal::open(&path).is_err(), "two writers");
        journal.append(&[entry(1), entry(2)]).unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        // Wherever the second line is cut, the first one remains.
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            assert!(journal.has(entry(1).key) && !journal.has(entry(2).key), "{cut}");
            journal.append(&[entry(2)]).unwrap();
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn other_files_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "my notes\n").unwrap();
        assert!(Journal::open(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
        std::fs::write(&path, "my notes").unwrap();
        assert!(Journal::open(&path).is_err(), "a single line without an end is no cut label");
    }
}
