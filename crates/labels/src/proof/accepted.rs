//! The labels that a proved rule accepts, and the rows that are left for a person.

use std::collections::{HashMap, HashSet};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use super::ProofRun;
use super::declaration::DeclaredGold;
use super::opening::entries_of;
use super::record::ProofRecord;
use super::statement::chosen;
use crate::Note;
use crate::decision::decide;
use crate::entry::{DecidedBy, Entry, Key};
use crate::files::regular_file;
use crate::files::replacement::{Replacement, beside};
use crate::journal::entries;
use crate::review::Review;

/// Returns the path of the accepted labels: for `labels.jsonl`, `labels.accepted.jsonl`.
pub(crate) fn path(labels: &Path) -> PathBuf {
    beside(labels, "accepted.jsonl")
}

/// Returns the path of the rows for a person: for `labels.jsonl`, `labels.review.csv`.
pub fn review_path(labels: &Path) -> PathBuf {
    beside(labels, "review.csv")
}

/// Rows of both files.
#[derive(Debug, Serialize)]
pub(crate) struct FileCounts {
    /// Accepted rows with the label of a person.
    pub(crate) by_person: u64,
    /// Accepted rows with the label of the models.
    pub(crate) by_models: u64,
    /// Rows that are left for a person.
    pub(crate) left: u64,
}

/// Writes both files. `None` if no rule is proved.
pub(crate) fn write(
    record: &ProofRecord,
    run: &ProofRun<'_>,
    note: Note<'_>,
) -> anyhow::Result<Option<FileCounts>> {
    let Some((rule, _)) = chosen(record) else { return Ok(None) };
    let out = path(run.labels);
    let mut file = Replacement::new(&out)?;
    let (mut accepted, mut by_person) = (HashSet::new(), 0);
    for entry in accepted_rows(record, run.labels)? {
        let entry = entry?;
        by_person += u64::from(entry.by == DecidedBy::Gold);
        accepted.insert(entry.key);
        serde_json::to_writer(&mut file, &entry)?;
        file.write_all(b"\n")?;
    }
    file.finish().with_context(|| format!("cannot write {}", out.display()))?;
    let review = Review { input: run.input, settings: run.settings, panel: run.panel, models: rule.models };
    let left = review.write(run.labels, &accepted, &review_path(run.labels), note)?;
    Ok(Some(FileCounts { by_person, by_models: accepted.len() as u64 - by_person, left }))
}

/// Returns the number of accepted rows in the file of accepted labels. `None` without this file. Fails unless its rows and
/// their labels are those that the proved rule accepts.
pub(crate) fn check(record: &ProofRecord, labels: &Path) -> anyhow::Result<Option<u64>> {
    let path = path(labels);
    let file = match regular_file::open(&path) {
        Ok(file) => file.into_inner(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut in_file = entries(&file)?.map(|entry| entry.map(|(entry, _)| (entry.key, entry.label)));
    let mut by_rule = accepted_rows(record, labels)?.map(|entry| entry.map(|entry| (entry.key, entry.label)));
    let mut rows = 0;
    loop {
        match (in_file.next().transpose(), by_rule.next().transpose()?) {
            (Ok(Some(in_file)), Some(by_rule)) if in_file == by_rule => rows += 1,
            (Ok(None), None) => return Ok(Some(rows)),
            _ => bail!(
                "line {} of {} is not what the proved rule accepts; run the command that labelled the rows \
                 again: it writes this file anew",
                rows + 1,
                path.display()
            ),
        }
    }
}

/// Returns the rows that the proved rule accepts. A row with a gold label is accepted with this label.
pub(crate) fn accepted_rows<'r>(
    record: &'r ProofRecord,
    labels: &Path,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Entry>> + use<'r>> {
    let declaration = &record.declaration;
    let gold: HashMap<Key, &DeclaredGold> = declaration.gold.rows.iter().map(|row| (row.key, row)).collect();
    let rule = chosen(record);
    let accept = move |entry: Entry| {
        let (rule, result) = rule?;
        let gold = gold.get(&entry.key).copied();
        if gold.is_some_and(|gold| !gold.is_in_file) {
            return None;
        }
        let decision = decide(&entry.votes, &declaration.panel, rule.models, declaration.on_tie);
        let is_accepted = result.threshold.is_some_and(|threshold| decision.score.0 >= threshold);
        let (label, by, score) = match gold.and_then(|gold| gold.label.clone()) {
            Some(label) => {
                let share = share(&entry, &label);
                (Some(label), DecidedBy::Gold, share)
            }
            None if is_accepted => (decision.label.map(str::to_owned), decision.by, decision.share),
            None => return None,
        };
        let contested = decision.contested;
        Some(Entry { label, by, score, contested, ..entry })
    };
    let rows =
        entries_of(labels, &record.journal).with_context(|| format!("cannot read {}", labels.display()))?;
    Ok(rows.filter_map(move |entry| entry.map(&accept).transpose()))
}

/// Returns the share of a row's votes for a label.
fn share(entry: &Entry, label: &str) -> f64 {
    let votes = entry.votes.iter().filter(|vote| vote.vote.as_deref() == Some(label));
    votes.count() as f64 / entry.votes.len().max(1) as f64
}
