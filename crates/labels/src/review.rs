//! The rows for a person, the most doubtful first, as CSV.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use ep_polling::evaluation::proof::Score;

use crate::Note;
use crate::decision::decide;
use crate::entry::{Entry, Key};
use crate::files::replacement::Replacement;
use crate::files::table::{Row, Table, columns};
use crate::journal::entries;
use crate::settings::LabelSettings;

/// The columns that are added: the panel's label, its share of the votes, all votes, and room for a person's label.
const ADDED: [&str; 4] = ["panel_label", "panel_share", "panel_votes", REVIEWED];
/// The column for the label of a person.
pub(crate) const REVIEWED: &str = "reviewed";

/// The file of rows and the way it was labelled.
pub struct Review<'r> {
    /// The file of rows.
    pub input: &'r Path,
    /// The settings that all rows share.
    pub settings: &'r LabelSettings,
    /// The models and their version.
    pub panel: &'r str,
    /// The number of models whose labels are shown, the strongest first.
    pub models: usize,
}

/// The place of a label.
#[derive(Clone, Copy)]
struct Labelled {
    score: Score,
    /// The beginning of its line.
    line: u64,
}

impl Review<'_> {
    /// Writes the rows that are not `accepted` by their scores, the lowest first; rows without a label begin. Returns their
    /// number. A file in which a person has labelled rows stays as it is. Holds a few bytes per row in memory.
    pub fn write(
        &self,
        labels: &Path,
        accepted: &HashSet<Key>,
        path: &Path,
        note: Note<'_>,
    ) -> anyhow::Result<u64> {
        if let Some(rows) = reviewed(path)? {
            note(&format!("{} has rows that a person reviewed, and stays as it is", path.display()));
            return Ok(rows);
        }
        let labels = File::open(labels).with_context(|| format!("cannot read {}", labels.display()))?;
        let index = self.index(&labels)?;
        let columns = columns(Table::open(self.input)?, &ADDED)?;
        let mut labels = BufReader::new(labels);
        // The rows of each score are in a file of their own: there are few scores, and any number of rows.
        let mut levels: BTreeMap<Score, csv::Writer<File>> = BTreeMap::new();
        let mut count = 0;
        for row in Table::open(self.input)? {
            let question = self.settings.question(row?, self.panel)?;
            if accepted.contains(&question.key) {
                continue;
            }
            count += 1;
            let place = index.get(&question.key).copied();
            let entry = place.map(|place| entry_at(&mut labels, place.line)).transpose()?;
            let level = match levels.entry(place.map_or(Score::NO_LABEL, |place| place.score)) {
                std::collections::btree_map::Entry::Occupied(level) => level.into_mut(),
                std::collections::btree_map::Entry::Vacant(level) => {
                    level.insert(csv::Writer::from_writer(tempfile::tempfile()?))
                }
            };
            level.write_record(self.record(&columns, &question.row, entry.as_ref()))?;
        }
        let mut file = Replacement::new(path)?;
        let mut header = csv::Writer::from_writer(Vec::new());
        header.write_record(columns.iter().map(String::as_str).chain(ADDED))?;
        file.write_all(&header.into_inner()?)?;
        for level in levels.into_values() {
            let mut rows = level.into_inner()?;
            rows.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut rows, &mut file)?;
        }
        file.finish().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(count)
    }

    /// Returns the places and the scores of all labels.
    fn index(&self, labels: &File) -> anyhow::Result<HashMap<Key, Labelled>> {
        let (mut index, mut line) = (HashMap::new(), 0);
        for entry in entries(labels)? {
            let (entry, end) = entry?;
            let score = decide(&entry.votes, &self.settings.panel, self.models, self.settings.on_tie).score;
            index.insert(entry.key, Labelled { score, line });
            line = end;
        }
        Ok(index)
    }

    fn record(&self, columns: &[String], row: &Row, entry: Option<&Entry>) -> Vec<String> {
        let mut record: Vec<String> =
            columns.iter().map(|column| row.text(column).unwrap_or_default()).collect();
        let Some(entry) = entry else {
            record.extend(ADDED.map(|_| String::new()));
            return record;
        };
        let settings = self.settings;
        let decision = decide(&entry.votes, &settings.panel, self.models, settings.on_tie);
        let mut votes: Vec<_> = entry.votes.iter().collect();
        votes.sort_by_key(|vote| settings.panel.rank(&vote.model));
        let votes: Vec<&str> =
            votes.iter().take(self.models).map(|vote| vote.vote.as_deref().unwrap_or("-")).collect();
        record.push(decision.label.unwrap_or_default().to_owned());
        record.push(format!("{:.2}", decision.share));
        record.push(votes.join(" | "));
        record.push(String::new());
        record
    }
}

/// Returns the number of rows of such a file, if a person has filled a cell of its last column.
fn reviewed(path: &Path) -> anyhow::Result<Option<u64>> {
    if !path.exists() {
        return Ok(None);
    }
    let (mut rows, mut is_reviewed) = (0, false);
    for row in Table::open(path)? {
        let row = row.with_context(|| not_ours(path))?;
        rows += 1;
        is_reviewed |= !row.text(REVIEWED).with_context(|| not_ours(path))?.trim().is_empty();
    }
    Ok(is_reviewed.then_some(rows))
}

fn not_ours(path: &Path) -> String {
    format!("{} exists and was not written by ep; name another file", path.display())
}

/// Reads the label at this place.
fn entry_at(labels: &mut BufReader<File>, line: u64) -> anyhow::Result<Entry> {
    labels.seek(SeekFrom::Start(line))?;
    let mut text = Vec::new();
    labels.read_until(b'\n', &mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
