//! Checks a proof again, from the labels and its record.

use std::collections::HashMap;
use std::path::Path;

use anyhow::bail;
use serde::Serialize;

use super::file_part::FilePart;
use super::record::ProofRecord;
use super::result::Verdict;
use super::statement::statement;
use super::test;
use crate::cli::label::openings::{OpeningId, Openings};
use crate::config::Config;

/// A check of a proof.
#[derive(Debug, Serialize)]
pub(in crate::cli::label) struct Verification {
    /// True if a bound is proved.
    pub(in crate::cli::label) is_proved: bool,
    /// The result in words.
    statement: String,
    /// What was checked.
    checks: Vec<String>,
}

/// Computes the result of a proof again. Fails if it is not what the labels and the gold rows show.
pub(in crate::cli::label) fn verify(labels: &Path, config: &Config) -> anyhow::Result<Verification> {
    let name = labels.display();
    let Some(record) = ProofRecord::read(labels)? else {
        bail!("{name} has no proof: {} does not exist", ProofRecord::path(labels).display());
    };
    let ProofRecord { declaration, journal, opening, opened_before, result, .. } = &record;
    if FilePart::first(labels, journal.bytes)? != *journal {
        bail!("not verified: {name} has other labels than at the opening of the gold rows");
    }
    if declaration.opening(journal)? != *opening {
        bail!("not verified: the rules or the gold labels of the record were changed after the opening");
    }
    let mut checks =
        vec![format!("the first {} bytes of {name} and the rules are those of the opening", journal.bytes)];

    let other = OpeningId(String::new());
    let mut opened: HashMap<_, _> = opened_before.iter().map(|row| (row.clone(), other.clone())).collect();
    let recorded = Openings::new(&config.data_dir()?).first(declaration.proof_rows().map(|row| &row.row))?;
    let reopened =
        recorded.iter().filter(|(row, first)| *first != opening && !opened.contains_key(row)).count();
    if reopened > 0 {
        bail!("not verified: {reopened} gold rows were opened before, for another rule or other votes");
    }
    checks.push(match recorded.values().filter(|first| *first == opening).count() {
        0 => "this machine has no record of an opening of these gold rows".to_owned(),
        rows => {
            format!("no earlier opening of {rows} gold rows is on record, except those that the result names")
        }
    });
    opened.extend(recorded.into_iter().filter(|(_, first)| first == opening));
    if test(declaration, labels, journal, &opened, opening)? != *result {
        bail!("not verified: the labels and the gold rows show another result than the record");
    }
    checks.push(format!("all tests on {} gold rows have the same result again", result.gold));

    let file = &declaration.file;
    checks.push(match FilePart::of(&file.name) {
        Ok(now) if now.sha256 == file.sha256 => format!("{} is unchanged", file.name.display()),
        Ok(_) => format!(
            "{} has changed: the proof is about the file with the SHA-256 {}",
            file.name.display(),
            file.sha256
        ),
        Err(_) => format!("{} is not here: its SHA-256 was {}", file.name.display(), file.sha256),
    });
    Ok(Verification { is_proved: result.verdict == Verdict::Proved, statement: statement(&record), checks })
}

impl Verification {
    /// Returns the check as text.
    pub(in crate::cli::label) fn text(&self) -> String {
        let checks: Vec<String> = self.checks.iter().map(|check| format!("- {check}")).collect();
        format!("Verified:\n{}\n\n{}", checks.join("\n"), self.statement)
    }
}
