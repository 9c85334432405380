//! The journal of labels: one line per row, each on disk before the next row is counted as done.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ep_polling::MicroUsd;

use crate::decision::LabelRule;
use crate::entry::{Entry, Key};
use crate::files::replacement::Replacement;

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
    /// Receives further labels, too, if the file is removed afterwards.
    copy: Option<Box<dyn Write + Send>>,
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
        Ok(Self { file, path: path.to_owned(), labelled, cost, timed, copy: None })
    }

    /// Writes further labels here, too, because the file is removed afterwards.
    pub fn copy_to(&mut self, copy: Box<dyn Write + Send>) {
        self.copy = Some(copy);
    }

    /// True if the labels are written elsewhere, too, and the file is removed.
    pub const fn is_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// Returns the mean time of a row, in milliseconds, of the labels that the file had when it was opened.
    pub(crate) fn mean_row_ms(&self) -> Option<f64> {
        let (rows, ms) = self.timed;
        (rows > 0).then(|| ms as f64 / rows as f64)
    }

    /// True if the file has a label with this key.
    pub(crate) fn has(&self, key: Key) -> bool {
        self.labelled.contains(&key)
    }

    /// Returns the cost of the labels that the file had when it was opened.
    pub(crate) const fn cost(&self) -> MicroUsd {
        self.cost
    }

    /// Appends labels. They are on disk when this returns.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        self.file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data())
            .context("cannot write the labels")?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&lines).and_then(|()| copy.flush()).context("cannot write to standard output")?;
        }
        self.labelled.extend(entries.iter().map(|entry| entry.key));
        Ok(())
    }

    /// Returns the number of labels with these keys that this rule for ties decides otherwise, from the same votes.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn decided_otherwise(&self, keys: &HashSet<Key>, rule: LabelRule<'_>) -> anyhow::Result<u64> {
        let mut others = 0;
        for entry in self.entries()? {
            let entry = entry?;
            others += u64::from(keys.contains(&entry.key) && rule.decides_otherwise(&entry));
        }
        Ok(others)
    }

    /// Decides the labels with these keys anew by this rule for ties, from the same votes. Other lines stay as they are. The
    /// file has the earlier labels or the new ones, whenever the process is killed.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn decide_anew(&mut self, keys: &HashSet<Key>, rule: LabelRule<'_>) -> anyhow::Result<()> {
        let unwritable = || format!("cannot write {}", self.path.display());
        let mut file = Replacement::new(&self.path).with_context(unwritable)?;
        // Before it has its name, so that no other process can write it.
        file.lock().with_context(unwritable)?;
        for line in lines(&self.file)? {
            let line = line?;
            let entry: Entry = serde_json::from_slice(&line)?;
            if keys.contains(&entry.key) && rule.decides_otherwise(&entry) {
                serde_json::to_writer(&mut file, &rule.decided(entry))?;
                file.write_all(b"\n").with_context(unwritable)?;
            } else {
                file.write_all(&line).with_context(unwritable)?;
            }
        }
        self.file = file.finish().with_context(unwritable)?;
        Ok(())
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
    loop {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.with_context(|| format!("cannot write {name}"))?;
        if file.try_lock().is_err() {
            bail!("another process is writing {name}; wait until it has ended, or choose another file");
        }
        // Another process can have replaced the file before it released this one.
        let (opened, named) = (file.metadata()?, std::fs::metadata(path).ok());
        if named.is_some_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Ok(file);
        }
    }
}

/// Reads complete lines with their line breaks, from the beginning. A cut line at the end is left out.
fn lines(file: &File) -> anyhow::Result<impl Iterator<Item = std::io::Result<Vec<u8>>> + use<>> {
    let mut reader = BufReader::new(file.try_clone()?);
    reader.seek(SeekFrom::Start(0))?;
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Err(error) => Some(Err(error)),
            Ok(_) if line.last() != Some(&b'\n') => None,
            Ok(_) => Some(Ok(line)),
        }
    }))
}

/// Reads labels, each with the end of its line in the file.
pub(crate) fn entries(
    file: &File,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<(Entry, u64)>> + use<>> {
    let mut end = 0;
    Ok(lines(file)?.map(move |line| {
        let (line, begin) = (line?, end);
        end += line.len() as u64;
        let entry = serde_json::from_slice(&line).with_context(|| format!("the line at byte {begin}"))?;
        Ok((entry, end))
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use ep_polling::TieRule;
    use ep_polling::ballot::first_reader;
    use ep_polling::{Timestamp, Usd};

    use super::*;
    use crate::entry::{DecidedBy, EntryVote};
    use crate::settings::Panel;

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

    /// The file behind a link keeps its permissions, its lock, and the lines of other rows to the byte.
    #[test]
    fn another_rule_decides_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.jsonl"), folder.path().join("labels.jsonl"));
        let vote = |model: &str, vote: &str| EntryVote {
            model: model.to_owned(),
            vote: Some(vote.to_owned()),
            ..entry(1).votes[0].clone()
        };
        let tied = |number| Entry {
            label: None,
            by: DecidedBy::None,
            score: 0.0,
            votes: vec![vote("a", "x"), vote("b", "y")],
            ..entry(number)
        };
        // With a field that this release does not know.
        let other =
            format!("{},\"note\": 1}}", serde_json::to_string(&tied(2)).unwrap().trim_end_matches('}'));
        let first = serde_json::to_string(&tied(1)).unwrap();
        std::fs::write(&real, format!("{first}\n{other}\n")).unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();

        let panel = Panel::Models(vec!["a".to_owned(), "b".to_owned()]);
        let rule = LabelRule { panel: &panel, on_tie: TieRule::Strongest };
        let keys = HashSet::from([entry(1).key]);
        let mut journal = Journal::open(&link).unwrap();
        assert_eq!(journal.decided_otherwise(&keys, rule).unwrap(), 1);
        journal.decide_anew(&keys, rule).unwrap();
        assert_eq!(journal.decided_otherwise(&keys, rule).unwrap(), 0);
        assert!(Journal::open(&link).is_err(), "the new file is locked");
        journal.append(&[entry(3)]).unwrap();
        drop(journal);

        let text = std::fs::read_to_string(&real).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("\"label\":\"x\"") && lines[1] == other && lines.len() == 3, "{text}");
        assert!(link.is_symlink());
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
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
