//! The journal of labels: one line per row, each on disk before the next row is counted as done.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};
use ep_polling::ballot::{Reason, first_reader};
use ep_polling::money::{MicroUsd, Usd};
use ep_polling::no_answer::are_too_few;
use ep_polling::probabilities::OptionProbability;
use ep_polling::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A label, as a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The row's id.
    pub(super) id: Value,
    /// The digest of everything that was asked: see [`Key`].
    pub(super) key: Key,
    /// The label; null if there is none.
    pub(super) label: Option<String>,
    /// The rule that decided.
    pub(super) by: DecidedBy,
    /// The share of the panel that voted for the label; 0 without a label.
    pub(super) score: f64,
    /// True if the votes contest the label, or tie.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) contested: bool,
    /// The votes, in the order of the models' ids.
    pub(super) votes: Vec<EntryVote>,
    /// The cost of the row, in USD.
    pub(super) cost_usd: Usd,
    /// The poll's id.
    pub(super) poll_id: String,
    /// The time the first poll of the row was opened.
    pub(super) asked_at: Timestamp,
    /// The time its last poll was opened, if models were asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked_again_at: Option<Timestamp>,
    /// True if the voters are simulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) simulated: bool,
    /// The version of the reader of its votes; the earliest one of several.
    #[serde(default = "first_reader")]
    pub(super) reader: u32,
    /// The version of the reader of its last votes, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) later_reader: Option<u32>,
    /// True if the row has no text, so that no model was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) empty: bool,
}

/// The rule that decided a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecidedBy {
    /// The option had the most votes.
    Plurality,
    /// Options were tied, and the strongest model decided.
    TieBreak,
    /// A person labelled the row.
    Gold,
    /// A tie without a tie rule, or no votes.
    None,
}

/// The vote of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EntryVote {
    /// The model's id.
    pub(super) model: String,
    /// The option; null without a vote.
    pub(super) vote: Option<String>,
    /// The probabilities of a decision model, in the order of the options; absent for models that chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) probabilities: Option<Vec<OptionProbability>>,
    /// The reason for a missing vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Reason>,
    /// Time until the response, in milliseconds.
    pub(super) ms: u32,
    /// Its cost, in USD; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usd: Option<Usd>,
    /// The model that responded, if it has another name than the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answered_by: Option<String>,
}

/// True if none of these responses has a vote.
pub(super) fn are_without_vote(votes: &[EntryVote]) -> bool {
    votes.iter().all(|vote| vote.vote.is_none())
}

/// True if too few of these models voted for a label, because the calls of the others failed.
pub(super) fn lack_votes(votes: &[EntryVote]) -> bool {
    let known = votes.iter().filter(|vote| vote.vote.is_some()).count() as u32;
    let missing = votes.iter().filter(|vote| vote.has_failed()).count() as u32;
    are_too_few(known, missing)
}

impl EntryVote {
    /// True if the model gave no complete response.
    pub(super) fn has_failed(&self) -> bool {
        self.vote.is_none() && !self.error.is_some_and(Reason::is_final_response)
    }
}

/// The digest of a row's id, question, options, panel and rule, in hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Key(pub(super) [u8; 16]);

impl From<Key> for String {
    fn from(key: Key) -> Self {
        hex::encode(key.0)
    }
}

impl TryFrom<String> for Key {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut key = [0; 16];
        hex::decode_to_slice(text, &mut key).map(|()| Self(key))
    }
}

/// The beginning of a line.
const BEGINNING: &[u8] = b"{\"id\":";

/// The file of labels, open for more.
pub(super) struct Journal {
    file: File,
    labelled: HashSet<Key>,
    /// Digests of the polls that the labels come from. A poll that decides anew by another rule is paid once.
    polls: HashSet<[u8; 16]>,
    /// The cost of the labels that the file had when it was opened.
    cost: MicroUsd,
    /// Their number, and the sum of the times of their slowest votes, in milliseconds.
    timed: (u64, u64),
    /// True if the labels go to standard output, too.
    is_streamed: bool,
}

impl Journal {
    /// Opens the file, or creates it. A last line that was cut off is removed.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        {
            bail!("the folder {} does not exist; create it, or choose another file", folder.display());
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.with_context(|| format!("cannot write {name}"))?;
        if file.try_lock().is_err() {
            bail!("another process is writing {name}; wait until it has ended, or choose another file");
        }
        let (mut labelled, mut polls) = (HashSet::new(), HashSet::new());
        let (mut cost, mut complete, mut timed) = (MicroUsd::ZERO, 0, (0, 0));
        for entry in entries(&file)? {
            let (entry, end) = entry.with_context(|| match complete {
                0 => format!("{name} is not a file of labels; choose another one"),
                _ => format!("{name} has a line that is no label; repair it, or choose another file"),
            })?;
            labelled.insert(entry.key);
            let slowest = entry.votes.iter().map(|vote| vote.ms).max().unwrap_or_default();
            timed = (timed.0 + u64::from(!entry.empty), timed.1 + u64::from(slowest));
            if polls.insert(digest_of(&entry.poll_id)) {
                cost = cost.plus(entry.cost_usd.0);
            }
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
        Ok(Self { file, labelled, polls, cost, timed, is_streamed: false })
    }

    /// Writes further labels to standard output, too.
    pub(super) const fn stream(&mut self) {
        self.is_streamed = true;
    }

    /// True if the labels go to standard output, and to a file that is removed.
    pub(super) const fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// Returns the mean time of a row, in milliseconds, of the labels that the file had when it was opened.
    pub(super) fn mean_row_ms(&self) -> Option<f64> {
        let (rows, ms) = self.timed;
        (rows > 0).then(|| ms as f64 / rows as f64)
    }

    /// True if the file has a label with this key.
    pub(super) fn has(&self, key: Key) -> bool {
        self.labelled.contains(&key)
    }

    /// True if the file has a label by the votes of this poll.
    pub(super) fn has_poll(&self, poll_id: &str) -> bool {
        self.polls.contains(&digest_of(poll_id))
    }

    /// Returns the cost of the labels that the file had when it was opened.
    pub(super) const fn cost(&self) -> MicroUsd {
        self.cost
    }

    /// Appends labels. They are on disk when this returns.
    pub(super) fn append(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
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
        self.polls.extend(entries.iter().map(|entry| digest_of(&entry.poll_id)));
        Ok(())
    }

    /// Removes the file if it has no label, because nothing was asked.
    pub(super) fn remove_if_empty(&self, path: &Path) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Reads the labels from the beginning, one at a time.
    pub(super) fn entries(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Entry>>> {
        Ok(entries(&self.file)?.map(|entry| entry.map(|(entry, _)| entry)))
    }

    /// Returns the keys of all labels.
    pub(super) const fn keys(&self) -> &HashSet<Key> {
        &self.labelled
    }
}

fn digest_of(poll_id: &str) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(poll_id)[..16]);
    digest
}

/// Reads complete lines, each with its end in the file. A cut line at the end is left out.
pub(super) fn entries(
    file: &File,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<(Entry, u64)>> + use<>> {
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
    use super::*;

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
