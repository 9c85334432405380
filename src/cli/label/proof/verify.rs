//! Checks a proof again, from the labels and its record.

use std::path::Path;

use anyhow::bail;
use serde::Serialize;

use super::file_part::FilePart;
use super::opening::{entries_of, hashes};
use super::record::ProofRecord;
use super::result::{ProofResult, Verdict, broken_conditions};
use super::statement::statement;
use crate::cli::label::openings::Openings;
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
    check(&record, labels)?;
    let ProofRecord { names, declaration, journal, opening, opened_before, result, .. } = &record;
    let mut checks = vec![
        format!("the first {} bytes of {name} and the rules are those of the opening", journal.bytes),
        format!("all tests on {} gold rows have the same result again", result.gold),
    ];

    let openings = Openings::new(&config.data_dir()?).lock()?;
    let mut known = 0;
    let recorded = openings.first(hashes(declaration))?;
    for row in declaration.proof_rows().filter(|row| !opened_before.contains(&row.key)) {
        let first: Vec<_> = row.hashes.each().into_iter().filter_map(|hash| recorded.get(hash)).collect();
        known += u64::from(!first.is_empty());
        if first.iter().any(|first| *first != opening) {
            bail!("not verified: a gold row was opened before, for another rule or other votes");
        }
    }
    checks.push(match known {
        0 => "this machine cannot tell whether the gold rows were opened before".to_owned(),
        rows => format!("this is the first opening of {rows} gold rows in the record of this machine"),
    });

    let (file, path) = (&declaration.file, &names.rows);
    checks.push(match FilePart::of(path) {
        Ok(now) if now.sha256 == file.sha256 => {
            if declaration.gold.is_drawn && !declaration.is_drawn_from(path)? {
                bail!(
                    "not verified: the gold rows are not those that --sample draws from {}",
                    path.display()
                );
            }
            format!("{} is unchanged", path.display())
        }
        Ok(_) => {
            format!(
                "{} has changed: the proof is about the file with the SHA-256 {}",
                path.display(),
                file.sha256
            )
        }
        Err(_) => format!("{} is not here: its SHA-256 was {}", path.display(), file.sha256),
    });
    Ok(Verification { is_proved: result.verdict == Verdict::Proved, statement: statement(&record), checks })
}

/// Fails if the result of a record does not follow from its rules, its gold rows and these labels.
pub(super) fn check(record: &ProofRecord, labels: &Path) -> anyhow::Result<()> {
    let ProofRecord { declaration, journal, opening, opened_before, result, .. } = record;
    let name = labels.display();
    if FilePart::first(labels, journal.bytes)? != *journal {
        bail!("not verified: {name} has other labels than at the opening; label anew with another --out");
    }
    if declaration.opening(journal, opened_before)? != *opening {
        bail!("not verified: the rules or the gold labels of the record were changed after the opening");
    }
    let broken = broken_conditions(entries_of(labels, journal)?)?;
    let again = ProofResult::of(declaration, entries_of(labels, journal)?, opened_before)?;
    if !broken.is_empty() || again != *result {
        bail!("not verified: the labels and the gold rows show another result than the record");
    }
    Ok(())
}

impl Verification {
    /// Returns the check as text.
    pub(in crate::cli::label) fn text(&self) -> String {
        let checks: Vec<String> = self.checks.iter().map(|check| format!("- {check}")).collect();
        format!("Verified:\n{}\n\n{}", checks.join("\n"), self.statement)
    }
}
