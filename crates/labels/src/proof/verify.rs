//! Checks a proof again, from the labels and its record.

use std::path::Path;

use anyhow::{Context, bail};
use ep_polling::counted::counted;
use serde::Serialize;

use super::accepted;
use super::file_part::FilePart;
use super::opening::{entries_of, hashes};
use super::record::ProofRecord;
use super::result::{ProofResult, Verdict, broken_conditions};
use super::statement::statement;
use crate::openings::Openings;
use crate::settings::ReadRequest;

/// A check of a proof.
#[derive(Debug, Serialize)]
pub struct Verification {
    /// True if a bound is proved.
    pub is_proved: bool,
    /// The result in words.
    statement: String,
    /// The checks that held.
    checks: Vec<String>,
    /// The checks that this machine cannot make.
    unchecked: Vec<String>,
}

/// Computes the result of a proof again. Fails if it is not what the labels and the gold rows show.
pub fn verify(labels: &Path, openings: &Openings, read_request: ReadRequest) -> anyhow::Result<Verification> {
    let name = labels.display();
    let Some(mut record) = ProofRecord::read(labels)? else {
        if [".accepted.jsonl", ".proof.json"].iter().any(|end| name.to_string().ends_with(end)) {
            bail!(
                "`ep label verify` takes the file of labels: labels.jsonl, and not labels.accepted.jsonl or labels.proof.json"
            );
        }
        bail!("{name} has no proof: {} does not exist", ProofRecord::path(labels).display());
    };
    record.result = check(&record, labels)?;
    let ProofRecord { names, declaration, opened_before, result, .. } = &record;
    let mut checks = vec![
        format!("the labels of {name}, the gold labels and the rules are those of the record"),
        format!("all tests on {} gold rows have the same result again", result.gold),
    ];
    let mut unchecked = Vec::new();

    match first_openings(&record, openings).context("not verified")? {
        0 if !opened_before.is_empty() => {
            checks.push(format!(
                "set aside, because they prove nothing: {} read before",
                counted(opened_before.len(), "gold row")
            ));
        }
        0 => unchecked
            .push("whether the gold rows were opened before: this machine has no record of them".to_owned()),
        rows => checks.push(format!(
            "this proof was the first to read the {} on this machine",
            counted(rows, "gold row")
        )),
    }

    let (file, path) = (&declaration.file, &names.rows);
    match FilePart::of(path) {
        Ok(now) if now.sha256 == file.sha256 => {
            if declaration.gold.is_drawn && !declaration.is_drawn_from(path, read_request)? {
                bail!(
                    "not verified: the gold rows are not those that `ep label sample` draws from {}",
                    path.display()
                );
            }
            if !declaration.has_digests_of(path, read_request)? {
                bail!(
                    "not verified: the gold rows of the record, or those set apart, do not follow from {}",
                    path.display()
                );
            }
            checks.push(format!(
                "{} is unchanged, and its gold rows have the recorded digests",
                path.display()
            ));
        }
        Ok(_) => unchecked.push(format!(
            "the file of rows: {} has changed since; its SHA-256 was {}",
            path.display(),
            file.sha256
        )),
        Err(error) => {
            unchecked.push(format!("the file of rows: {error:#}; its SHA-256 was {}", file.sha256));
        }
    }
    if result.verdict == Verdict::Proved {
        let accepted = accepted::path(labels);
        match accepted::check(&record, labels).context("not verified")? {
            Some(rows) => {
                checks.push(format!(
                    "{} has the {} that the rule accepts",
                    accepted.display(),
                    counted(rows, "row")
                ));
            }
            None => unchecked.push(format!("the accepted labels: {} is not here", accepted.display())),
        }
    }
    Ok(Verification {
        is_proved: result.verdict == Verdict::Proved,
        statement: statement(&record),
        checks,
        unchecked,
    })
}

/// Returns the number of gold rows that this proof was the first to read, by the record of this machine. Fails if it has
/// another opening of one of them.
pub(crate) fn first_openings(record: &ProofRecord, openings: &Openings) -> anyhow::Result<u64> {
    let ProofRecord { declaration, opening, opened_before, .. } = record;
    let openings = openings.lock()?;
    let recorded = openings.first(hashes(declaration))?;
    let mut known = 0;
    for row in declaration.proof_rows().filter(|row| !opened_before.contains(&row.key)) {
        let first: Vec<_> = row.hashes.each().filter_map(|hash| recorded.get(hash)).collect();
        known += u64::from(!first.is_empty());
        if first.iter().any(|first| *first != opening) {
            bail!(
                "a gold row was opened before on this machine, for another rule or other votes; name another \
                 file with --out for an estimate"
            );
        }
    }
    Ok(known)
}

/// Computes the result of a record again. Fails if the one of the record does not follow from its rules, its gold rows and
/// these labels.
pub(crate) fn check(record: &ProofRecord, labels: &Path) -> anyhow::Result<ProofResult> {
    let ProofRecord { declaration, journal, opening, opened_before, result, .. } = record;
    let name = labels.display();
    declaration.check_tie_rule().context("not verified")?;
    if FilePart::first(labels, journal.bytes)? != *journal {
        bail!(
            "not verified: {name} has changed since the gold labels were read; label again with another --out"
        );
    }
    if declaration.opening(journal, opened_before)? != *opening {
        bail!(
            "not verified: the rules or the gold labels of the record have changed since the gold labels were read"
        );
    }
    let broken = broken_conditions(entries_of(labels, journal)?)?;
    let again = ProofResult::of(declaration, entries_of(labels, journal)?, opened_before)?;
    if !broken.is_empty() || !again.is(result) {
        let of_earlier_release = match again.rules.iter().find_map(|rule| rule.without_gold.as_ref()) {
            Some(agreement) => format!(
                ". No gold row has an agreement of {agreement}; earlier releases accepted such labels, too"
            ),
            None => String::new(),
        };
        bail!(
            "not verified: the labels and the gold rows show another result than the record{of_earlier_release}"
        );
    }
    Ok(again)
}

impl Verification {
    /// Returns the check as text.
    pub fn text(&self) -> String {
        let list = |title: &str, items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| format!("\n- {item}")).collect();
            if items.is_empty() { String::new() } else { format!("{title}:{}\n\n", items.concat()) }
        };
        let (checked, unchecked) = (list("Verified", &self.checks), list("Not checked", &self.unchecked));
        format!("{checked}{unchecked}{}", self.statement)
    }
}
