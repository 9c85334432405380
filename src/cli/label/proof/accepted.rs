//! The labels that a proved rule accepts, and the rows that are left for a person.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use super::ProofRun;
use super::declaration::DeclaredGold;
use super::record::ProofRecord;
use super::statement::chosen;
use crate::cli::label::decision::decide;
use crate::cli::label::journal::{DecidedBy, Entry, Key, entries};
use crate::cli::label::replacement::{Replacement, beside};
use crate::cli::label::review::Review;

/// Returns the path of the accepted labels: for `labels.jsonl`, `labels.accepted.jsonl`.
pub(in crate::cli::label) fn path(labels: &Path) -> PathBuf {
    beside(labels, "accepted.jsonl")
}

/// Returns the path of the rows for a person: for `labels.jsonl`, `labels.review.csv`.
pub(in crate::cli::label) fn review_path(labels: &Path) -> PathBuf {
    beside(labels, "review.csv")
}

/// Rows of both files.
#[derive(Debug, Serialize)]
pub(super) struct FileCounts {
    /// Accepted rows with the label of a person.
    pub(super) by_person: u64,
    /// Accepted rows with the label of the models.
    pub(super) by_models: u64,
    /// Rows that are left for a person.
    pub(super) left: u64,
}

/// Writes both files. A row with a gold label is accepted with this label. `None` if no rule is proved.
pub(super) fn write(record: &ProofRecord, run: &ProofRun<'_>) -> anyhow::Result<Option<FileCounts>> {
    let Some((rule, result)) = chosen(record) else { return Ok(None) };
    let gold: HashMap<Key, &DeclaredGold> =
        record.declaration.gold.rows.iter().map(|row| (row.key, row)).collect();
    let out = path(run.labels);
    let mut file = Replacement::new(&out)?;
    let (mut accepted, mut by_person) = (HashSet::new(), 0);
    let labels = File::open(run.labels).with_context(|| format!("cannot read {}", run.labels.display()))?;
    for entry in entries(&labels)? {
        let (entry, end) = entry?;
        let gold = gold.get(&entry.key).copied();
        if end > record.journal.bytes {
            break;
        }
        if gold.is_some_and(|gold| !gold.is_in_file) {
            continue;
        }
        let decision = decide(&entry.votes, &run.settings.panel, rule.models, run.settings.on_tie);
        let is_accepted = result.threshold.is_some_and(|threshold| decision.score.0 >= threshold);
        let (label, by, score) = match gold.and_then(|gold| gold.label.clone()) {
            Some(label) => {
                let share = share(&entry, &label);
                by_person += 1;
                (Some(label), DecidedBy::Gold, share)
            }
            None if is_accepted => (decision.label.map(str::to_owned), decision.by, decision.share),
            None => continue,
        };
        accepted.insert(entry.key);
        serde_json::to_writer(
            &mut file,
            &Entry { label, by, score, contested: decision.contested, ..entry },
        )?;
        file.write_all(b"\n")?;
    }
    file.finish().with_context(|| format!("cannot write {}", out.display()))?;
    let review = Review { input: run.input, settings: run.settings, panel: run.panel, models: rule.models };
    let left = review.write(run.labels, &accepted, &review_path(run.labels))?;
    Ok(Some(FileCounts { by_person, by_models: accepted.len() as u64 - by_person, left }))
}

/// Returns the share of a row's votes for a label.
fn share(entry: &Entry, label: &str) -> f64 {
    let votes = entry.votes.iter().filter(|vote| vote.vote.as_deref() == Some(label));
    votes.count() as f64 / entry.votes.len().max(1) as f64
}
