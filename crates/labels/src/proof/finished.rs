//! The finished file: the rows with the labels that a proof accepts, and those of a person.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail};

use super::accepted;
use super::file_part::FilePart;
use super::record::ProofRecord;
use super::result::Verdict;
use crate::entry::{DecidedBy, Key};
use crate::files::replacement::Replacement;
use crate::files::table::{Table, columns};
use crate::review::REVIEWED;
use crate::settings::ReadRequest;

/// The columns that are added: the label, and who or what decided it. A column of the file keeps its name, and the added one
/// has a number.
const ADDED: [&str; 2] = ["label", "label_by"];

/// Rows of a finished file.
pub struct Finished {
    /// Rows with a label.
    pub labelled: u64,
    /// Rows without one.
    pub unlabelled: u64,
    /// The column of the labels.
    pub column: String,
}

/// The label of a row.
struct Decided {
    label: String,
    by: &'static str,
    /// The number of the row in the file of reviewed rows, until its row in the file is found.
    reviewed: Option<u64>,
}

/// Writes all rows of the file as CSV, with their labels. Fails unless these labels have a proof, and the file of rows is
/// unchanged.
pub fn finish(labels: &Path, path: &Path, read_request: ReadRequest) -> anyhow::Result<Finished> {
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
    declaration.check_tie_rule()?;
    if FilePart::of(rows)?.sha256 != declaration.file.sha256 {
        bail!("{} has changed since it was labelled", rows.display());
    }
    let settings = declaration.settings(read_request);
    let mut decided: HashMap<Key, Decided> = HashMap::new();
    if accepted::check(&record, labels)?.is_none() {
        bail!(
            "{} does not exist; run the command that labelled the rows again: it writes this file",
            accepted::path(labels).display()
        );
    }
    for entry in accepted::accepted_rows(&record, labels)? {
        let entry = entry?;
        let by = if entry.by == DecidedBy::Gold { "person" } else { "models" };
        decided.insert(entry.key, Decided { label: entry.label.unwrap_or_default(), by, reviewed: None });
    }
    for row in Table::of_file(&accepted::review_path(labels))? {
        let row = row?;
        let label = row.text(REVIEWED).unwrap_or_default().trim().to_owned();
        let question = settings.question(row, &declaration.panel_version)?;
        if label.is_empty() {
            continue;
        }
        question.check_label(&label).with_context(|| accepted::review_path(labels).display().to_string())?;
        let reviewed = Some(question.row.number);
        decided.insert(question.key, Decided { label, by: "person", reviewed });
    }
    if path.exists() {
        bail!("{} exists already; name a new file", path.display());
    }
    let columns = columns(Table::of_file(rows)?, &[])?;
    let added = ADDED.map(|name| free_name(name, &columns));
    let mut csv = csv::Writer::from_writer(Replacement::new(path)?);
    csv.write_record(columns.iter().chain(&added))?;
    let [column, _] = added;
    let mut finished = Finished { labelled: 0, unlabelled: 0, column };
    for row in Table::of_file(rows)? {
        let question = settings.question(row?, &declaration.panel_version)?;
        let (label, by) = match decided.get_mut(&question.key) {
            Some(decided) => {
                decided.reviewed = None;
                (decided.label.clone(), decided.by)
            }
            None => (String::new(), ""),
        };
        let count = if label.is_empty() { &mut finished.unlabelled } else { &mut finished.labelled };
        *count += 1;
        let fields = columns.iter().map(|column| question.row.text(column).unwrap_or_default());
        csv.write_record(fields.chain([label, by.to_owned()]))?;
    }
    if let Some(row) = decided.values().filter_map(|decided| decided.reviewed).min() {
        bail!(
            "row {row} of {} has a label, and is no row of {}: its id or its text was edited; restore it",
            accepted::review_path(labels).display(),
            rows.display()
        );
    }
    let file = csv.into_inner().map_err(csv::IntoInnerError::into_error)?;
    file.finish().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(finished)
}

/// Returns this name for a column, with a number if these columns have it.
fn free_name(name: &str, columns: &[String]) -> String {
    let numbered = (2..).map(|number: u32| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !columns.contains(name)).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_the_file_keep_their_names() {
        let columns = ["id", "label", "label_2"].map(str::to_owned);
        assert_eq!(ADDED.map(|name| free_name(name, &columns)), ["label_3", "label_by"]);
    }
}
