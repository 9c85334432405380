//! Rows that were not fully asked, in a file that is an input for another run.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ep_polling::ballot::first_reader;
use ep_polling::counted::{counted, counted_with};
use ep_polling::{MicroUsd, Reason, Timestamp, Usd};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::entry::{EntryVote, Key, lack_votes};
use crate::files::replacement::{Replacement, beside};
use crate::files::table::{FAILURE, Row};
use crate::journal::Journal;

/// Maximum number of reasons that are counted one by one.
const MAX_REASONS: usize = 5;

/// The attempts after which a row is labelled by the models that voted.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// The attempts after which a proof no longer waits for a row with too few votes. An outage can last for some runs.
const MAX_SILENT_ATTEMPTS: u32 = 10;

/// The attempts to ask about a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Attempts {
    count: u32,
    /// Those that a rate limit or a busy upstream ended, which do not count against the row.
    limited: u32,
    /// Their cost.
    cost: MicroUsd,
    /// The beginning of the row's last line.
    line: u64,
    /// True if too few models of its polls responded with a vote.
    lacks_votes: bool,
    /// True if a model had no time left to respond.
    is_late: bool,
}

impl Attempts {
    /// Describes the attempts for a row by their number, how many of them were limited, their cost, its last line and the votes of
    /// its models.
    fn new((count, limited): (u32, u32), cost: MicroUsd, line: u64, votes: &[EntryVote]) -> Self {
        let is_late = |vote: &EntryVote| matches!(vote.error, Some(Reason::Timeout | Reason::Deadline));
        // Without a poll, there are no votes.
        let lacks_votes = !votes.is_empty() && lack_votes(votes);
        Self { count, limited, cost, line, lacks_votes, is_late: votes.iter().any(is_late) }
    }

    /// True if a further attempt can give the row a label.
    const fn may_succeed(&self) -> bool {
        self.count - self.limited < if self.lacks_votes { MAX_SILENT_ATTEMPTS } else { MAX_ATTEMPTS }
    }
}

/// True if a model did not vote because the upstream limits requests or is busy.
pub(crate) fn is_limited(votes: &[EntryVote]) -> bool {
    votes
        .iter()
        .any(|vote| vote.vote.is_none() && matches!(vote.error, Some(Reason::RateLimited | Reason::Busy)))
}

/// Votes and cost of a row from earlier attempts.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) attempts: u32,
    /// Those that a rate limit or a busy upstream ended.
    pub(crate) limited: u32,
    pub(crate) cost: MicroUsd,
    /// The time of the first attempt with votes.
    pub(crate) asked_at: Option<Timestamp>,
    /// The votes of the whole panel, with the models that did not respond; empty if there was no poll.
    pub(crate) votes: Vec<EntryVote>,
    /// True if some of the votes are simulated.
    pub(crate) simulated: bool,
    /// The earliest version of the reader of its votes; `None` without votes.
    pub(crate) reader: Option<u32>,
}

/// The failure of a row, in a field of its own.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    key: Key,
    attempts: u32,
    #[serde(default)]
    limited: u32,
    cost_usd: Usd,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    votes: Vec<EntryVote>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    simulated: bool,
    #[serde(default = "of_the_first_reader")]
    reader: Option<u32>,
}

/// The reader of lines that do not name it.
#[expect(clippy::unnecessary_wraps, reason = "it is the default of an optional field")]
const fn of_the_first_reader() -> Option<u32> {
    Some(first_reader())
}

/// A failed attempt.
pub(crate) struct Failed {
    /// The reason, for a person.
    pub(crate) reason: String,
    pub(crate) asked_at: Option<Timestamp>,
    /// The votes of all attempts.
    pub(crate) votes: Vec<EntryVote>,
    /// True if some of the votes are simulated.
    pub(crate) simulated: bool,
    /// The earliest version of the reader of its votes; `None` without votes.
    pub(crate) reader: Option<u32>,
}

/// The rows of earlier runs and of this one. The last line of a row counts.
pub(crate) struct FailedRows {
    path: PathBuf,
    file: Option<File>,
    /// The length of the file.
    end: u64,
    attempts: HashMap<Key, Attempts>,
    /// Rows that failed in this run, with the place of the reason.
    this_run: HashMap<Key, usize>,
    /// The reasons of this run; the last place is for others.
    reasons: Vec<String>,
}

impl FailedRows {
    /// Reads the rows of earlier runs: for `labels.jsonl`, those of `labels.failed.jsonl`.
    pub(crate) fn open(out: &Path) -> anyhow::Result<Self> {
        let path = beside(out, "failed.jsonl");
        let (mut attempts, mut end) = (HashMap::new(), 0);
        for line in lines(&path)? {
            let line = line?;
            if let Some(Failure { key, attempts: count, limited, cost_usd, votes, .. }) = failure(&line) {
                attempts.insert(key, Attempts::new((count, limited.min(count)), cost_usd.0, end, &votes));
            }
            end += line.len() as u64;
        }
        Ok(Self { path, file: None, end, attempts, this_run: HashMap::new(), reasons: Vec::new() })
    }

    /// Returns the votes and the cost of a row from earlier attempts.
    pub(crate) fn earlier(&self, key: Key) -> anyhow::Result<Earlier> {
        let Some(Attempts { count, limited, cost, line, .. }) = self.attempts.get(&key).copied() else {
            return Ok(Earlier::default());
        };
        let unreadable = || format!("cannot read {}", self.path.display());
        let mut reader = BufReader::new(File::open(&self.path).with_context(unreadable)?);
        reader.seek(SeekFrom::Start(line)).with_context(unreadable)?;
        let mut text = Vec::new();
        reader.read_until(b'\n', &mut text).with_context(unreadable)?;
        let earlier = Earlier { attempts: count, limited, cost, ..Earlier::default() };
        Ok(match failure(&text) {
            Some(Failure { asked_at, votes, simulated, reader, .. }) => {
                Earlier { asked_at, votes, simulated, reader, ..earlier }
            }
            None => earlier,
        })
    }

    /// Returns the cost of the attempts for rows that have no label.
    pub(crate) fn cost(&self, journal: &Journal) -> MicroUsd {
        let unlabelled = self.attempts.iter().filter(|(key, _)| !journal.has(**key));
        unlabelled.map(|(_, attempts)| attempts.cost).sum()
    }

    /// Returns the number of these rows that have no label, and that another run may label.
    pub(crate) fn unfinished<'k>(&self, keys: impl IntoIterator<Item = &'k Key>, journal: &Journal) -> usize {
        let is_left = |key: &Key| self.attempts.get(key).is_none_or(Attempts::may_succeed);
        let may_succeed = |key: &&Key| !journal.has(**key) && is_left(key);
        keys.into_iter().filter(may_succeed).count()
    }

    /// Returns the number of rows that failed in this run, and have no label.
    pub(crate) fn count(&self, journal: &Journal) -> u64 {
        self.this_run.keys().filter(|key| !journal.has(**key)).count() as u64
    }

    /// Appends a row after an attempt of this cost. It is on disk when this returns. Returns true if it is the first
    /// failure of the row in this run.
    pub(crate) fn add(
        &mut self,
        row: &Row,
        key: Key,
        cost: MicroUsd,
        failed: Failed,
    ) -> anyhow::Result<bool> {
        let Attempts { count, limited, cost: earlier, .. } =
            self.attempts.get(&key).copied().unwrap_or_default();
        let Failed { reason, asked_at, votes, simulated, reader } = failed;
        let numbers = (count + 1, limited + u32::from(is_limited(&votes)));
        let attempts = Attempts::new(numbers, earlier.plus(cost), self.end, &votes);
        let mut fields = row.fields.clone();
        let failure = Failure {
            key,
            attempts: attempts.count,
            limited: attempts.limited,
            cost_usd: Usd(attempts.cost),
            reason: reason.clone(),
            asked_at,
            votes,
            simulated,
            reader,
        };
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
        self.end += line.len() as u64;
        self.attempts.insert(key, attempts);
        let place = match self.reasons.iter().position(|known| *known == reason) {
            Some(known) => known,
            None if self.reasons.len() < MAX_REASONS => {
                self.reasons.push(reason);
                self.reasons.len() - 1
            }
            None => MAX_REASONS,
        };
        Ok(self.this_run.insert(key, place).is_none())
    }

    /// Returns lines for a person: how many rows failed, and why; for models that were too slow, with this advice.
    pub(crate) fn reasons(&self, journal: &Journal, for_slow_models: &str) -> Vec<String> {
        let mut said = Vec::new();
        let (mut counts, mut late) = ([0_u64; MAX_REASONS + 1], 0_u64);
        for (key, place) in self.this_run.iter().filter(|(key, _)| !journal.has(**key)) {
            if let Some(count) = counts.get_mut(*place) {
                *count += 1;
            }
            late += u64::from(self.attempts.get(key).is_some_and(|attempts| attempts.is_late));
        }
        let reasons = self.reasons.iter().map(String::as_str).chain(std::iter::repeat("other reasons"));
        for (rows, reason) in counts.into_iter().zip(reasons).filter(|(rows, _)| *rows > 0) {
            said.push(format!("{}: {reason}", counted(rows, "row")));
        }
        if late > 0 {
            said.push(format!(
                "{} had models that did not respond in time: {for_slow_models}",
                counted(late, "row")
            ));
        }
        let rows = self.count(journal);
        if rows > 0 && journal.is_copied() {
            said.push(format!(
                "{} not fully asked, without a line; --out FILE keeps such rows for another run",
                counted_with(rows, "row", ["was", "were"])
            ));
        } else if rows > 0 {
            said.push(format!(
                "{} not fully asked, and stored for another run: {}",
                counted_with(rows, "row", ["was", "were"]),
                self.path.display()
            ));
        }
        said
    }

    /// Removes rows from the file that have a label, and earlier lines of a row.
    pub(crate) fn finish(self, journal: &Journal) -> anyhow::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        let mut left = Replacement::new(&self.path)?;
        let mut count = 0_u64;
        let mut begins = 0;
        for line in lines(&self.path)? {
            let line = line?;
            let is_done = failure(&line).is_some_and(|failure| {
                let last = self.attempts.get(&failure.key).map(|attempts| attempts.line);
                journal.has(failure.key) || last != Some(begins)
            });
            begins += line.len() as u64;
            if !is_done {
                count += 1;
                left.write_all(&line)?;
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

/// Returns the lines of a file with their ends; none if there is no file.
fn lines(path: &Path) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Vec<u8>>>> {
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut reader = file.map(BufReader::new);
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.as_mut()?.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error.into())),
        }
    }))
}

/// Returns the failure in a line, if it has one.
fn failure(line: &[u8]) -> Option<Failure> {
    let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    serde_json::from_value(fields.get(FAILURE)?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_votes_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("labels.jsonl");
        let fields = json!({ "id": "r1" }).as_object().unwrap().clone();
        let key = Key([1; 16]);
        let failed = Failed {
            reason: "m did not respond".to_owned(),
            asked_at: None,
            votes: Vec::new(),
            simulated: true,
            reader: None,
        };
        let mut rows = FailedRows::open(&out).unwrap();
        rows.add(&Row { number: 1, fields }, key, MicroUsd::ZERO, failed).unwrap();
        let line = std::fs::read_to_string(beside(&out, "failed.jsonl")).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["id"], &line[FAILURE]["simulated"]), (&json!("r1"), &json!(true)));
        assert!(FailedRows::open(&out).unwrap().earlier(key).unwrap().simulated);
    }
}
