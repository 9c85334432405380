//! The finished file: the rows with the labels that a proof accepts, and those of a person.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail};

use super::accepted;
use super::file_part::FilePart;
use super::record::ProofRecord;
use super::result::Verdict;
use crate::cli::label::journal::{DecidedBy, Key, entries};
use crate::cli::label::replacement::Replacement;
use crate::cli::label::review::REVIEWED;
use crate::cli::label::table::{Table, columns};

/// The columns that are added: the label, and who or what decided it.
const ADDED: [&str; 2] = ["label", "label_by"];

/// Rows of a finished file.
pub(in crate::cli::label) struct Finished {
    pub(in crate::cli::label) labelled: u64,
    pub(in crate::cli::label) unlabelled: u64,
}

/// Writes all rows of the file as CSV, with their labels. Fails unless these labels have a proof, and the file of rows is
/// unchanged.
pub(in crate::cli::label) fn finish(labels: &Path, path: &Path) -> anyhow::Result<Finished> {
    let Some(record) = ProofRecord::read(labels)? else {
        bail!("{} has no proof: {} does not exist", labels.display(), ProofRecord::path(labels).display());
    };
    if record.result.verdict != Verdict::Proved {
        bail!(
            "nothing is proved for {}, so no label is accepted: label all rows in {}, or new gold rows for a run with \
             another --out",
            labels.display(),
            accepted::review_path(labels).display()
        );
    }
    let (declaration, rows) = (&record.declaration, &record.names.rows);
    if FilePart::of(rows)?.sha256 != declaration.file.sha256 {
        bail!("{} has changed since it was labelled", rows.display());
    }
    let settings = declaration.settings();
    let mut decided: HashMap<Key, (String, &'static str)> = HashMap::new();
    let file = accepted::path(labels);
    let accepted = File::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
    for entry in entries(&accepted)? {
        let (entry, _) = entry?;
        let by = if entry.by == DecidedBy::Gold { "person" } else { "models" };
        decided.insert(entry.key, (entry.label.unwrap_or_default(), by));
    }
    for row in Table::open(&accepted::review_path(labels))? {
        let row = row?;
        let label = row.text(REVIEWED).unwrap_or_default().trim().to_owned();
        let question = settings.question(row, &declaration.panel_version)?;
        if label.is_empty() {
            continue;
        }
        question.check_label(&label).with_context(|| accepted::review_path(labels).display().to_string())?;
        decided.insert(question.key, (label, "person"));
    }
    if path.exists() {
        bail!("{} exists already; name a new file", path.display());
    }
    let columns = columns(Table::open(rows)?, &ADDED)?;
    let mut csv = csv::Writer::from_writer(Replacement::new(path)?);
    csv.write_record(columns.iter().map(String::as_str).chain(ADDED))?;
    let mut finished = Finished { labelled: 0, unlabelled: 0 };
    for row in Table::open(rows)? {
        let question = settings.question(row?, &declaration.panel_version)?;
        let (label, by) = decided.remove(&question.key).unwrap_or_default();
        let count = if label.is_empty() { &mut finished.unlabelled } else { &mut finished.labelled };
        *count += 1;
        let fields = columns.iter().map(|column| question.row.text(column).unwrap_or_default());
        csv.write_record(fields.chain([label, by.to_owned()]))?;
    }
    let file = csv.into_inner().map_err(csv::IntoInnerError::into_error)?;
    file.finish().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(finished)
}
