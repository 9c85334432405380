//! Gold rows: rows that a person labelled.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, bail};
use ep_kernel::fault::shown;
use ep_polling::counted::counted;
use ep_polling::evaluation::split::{Part, split};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::table::{Row, Table};
use crate::question::RowQuestion;
use crate::settings::{LabelSettings, Questions};

/// The digest of texts of a row, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowHash(String);

/// The fewest characters of a text that tells a row from a row of another file with the same id.
const LONG: usize = 16;
/// The fewest characters of a text that tells a row from a row of another file without an id.
const LONG_ALONE: usize = 32;

/// Digests of a gold row without its label. An edit of some texts leaves the digests of others as they were. The amount
/// of white space does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowHashes {
    /// Of the texts that the question names.
    pub asked: RowHash,
    /// Of all cells.
    pub all: RowHash,
    /// Of each text that no other gold row has, if it is long, and of the row's id with each of these texts. Those of
    /// short texts count only for a gold file with the same ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<RowHash>,
}

/// A row of the gold file.
pub struct GoldRow {
    /// Its question.
    pub question: RowQuestion,
    /// Its digests.
    pub hashes: RowHashes,
    /// The label of a person: one of the row's options.
    pub label: String,
    /// Its purpose: to choose a panel, or to prove one.
    pub part: Part,
}

impl RowHash {
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut digest = Sha256::new();
        for text in texts {
            for word in text.split_whitespace() {
                digest.update((word.len() as u64).to_be_bytes());
                digest.update(word);
            }
            digest.update(u64::MAX.to_be_bytes());
        }
        Self(hex::encode(digest.finalize()))
    }
}

/// Returns the digest of the texts of a row that the question names.
pub(crate) fn asked_hash(asked: &RowQuestion, questions: &Questions) -> RowHash {
    let texts: Vec<String> = match questions {
        Questions::Columns { question, .. } => {
            let columns: BTreeSet<&str> = question.columns().collect();
            columns.into_iter().map(|column| asked.row.text(column).unwrap_or_default()).collect()
        }
        Questions::Requests { .. } => [&asked.question].into_iter().chain(&asked.options).cloned().collect(),
    };
    RowHash::of(texts.iter().map(String::as_str))
}

/// Sets rows apart to choose a panel, by these digests of what was asked.
pub(crate) fn parts<'h>(asked: impl IntoIterator<Item = &'h RowHash>, choose: usize) -> Vec<Part> {
    split(asked.into_iter().map(|hash| hash.0.as_bytes()), choose, SPLIT_SEED)
}

impl RowHashes {
    fn of(asked: &RowQuestion, gold_column: &str, questions: &Questions) -> Self {
        let row = &asked.row;
        let mut columns: Vec<&str> =
            row.fields.keys().map(String::as_str).filter(|name| *name != gold_column).collect();
        columns.sort_unstable();
        let cells = columns.into_iter().map(|name| (name, row.text(name).unwrap_or_default()));
        let cells: Vec<(&str, String)> = cells.filter(|(_, text)| !text.is_empty()).collect();
        Self {
            asked: asked_hash(asked, questions),
            all: RowHash::of(cells.iter().flat_map(|(name, text)| [*name, text.as_str()])),
            own: Vec::new(),
        }
    }

    /// Returns all digests.
    pub fn each(&self) -> impl Iterator<Item = &RowHash> {
        [&self.asked, &self.all].into_iter().chain(&self.own)
    }
}

/// Adds the digests of each row's own texts, so that a row is known after a change of the question.
fn add_own_texts(rows: &mut [GoldRow], gold_column: &str, questions: &Questions) {
    let texts: Vec<Vec<String>> = match questions {
        Questions::Columns { id, .. } => {
            let without: Vec<&str> = [gold_column].into_iter().chain(id.as_deref()).collect();
            rows.iter().map(|row| cells(&row.question.row, &without)).collect()
        }
        Questions::Requests { .. } => {
            let questions: Vec<&str> = rows.iter().map(|row| row.question.question.as_str()).collect();
            without_shared_words(&questions)
                .into_iter()
                .map(|text| [text].into_iter().filter(|text| !text.is_empty()).collect())
                .collect()
        }
    };
    let mut rows_with: HashMap<&str, usize> = HashMap::new();
    for text in texts.iter().flatten() {
        *rows_with.entry(text).or_default() += 1;
    }
    let mut ids: Vec<String> = rows.iter().map(|row| row.question.id_text()).collect();
    ids.sort_unstable();
    let RowHash(draw) = RowHash::of(ids.iter().map(String::as_str));
    for (row, texts) in rows.iter_mut().zip(&texts) {
        let own = || texts.iter().filter(|text| rows_with.get(text.as_str()) == Some(&1));
        let alone = own().filter(|text| text.chars().count() >= LONG_ALONE);
        row.hashes.own = alone.map(|text| RowHash::of(["text", text])).collect();
        if questions.have_ids() {
            let id = row.question.id_text();
            let hash = |text: &String| {
                let draw = if text.chars().count() < LONG { draw.as_str() } else { "" };
                RowHash::of(["own", &id, text, draw])
            };
            row.hashes.own.extend(own().map(hash));
        }
    }
}

/// Returns the different cells of a row, without those of some columns.
fn cells(row: &Row, without: &[&str]) -> Vec<String> {
    let columns = row.fields.keys().filter(|name| !without.contains(&name.as_str()));
    let cells = columns.filter_map(|name| row.text(name)).filter(|text| !text.trim().is_empty());
    let mut cells: Vec<String> = cells.collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

/// Returns the questions without the words with which all of them begin, and with which all of them end.
fn without_shared_words(questions: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = questions.iter().map(|text| text.split_whitespace().collect()).collect();
    let first = words.first().map(Vec::as_slice).unwrap_or_default();
    let from_end = |words: &[&str], number: usize| words.iter().rev().nth(number).copied().map(str::to_owned);
    let is_first = |place: &usize| words.iter().all(|words| words.get(*place) == first.get(*place));
    let is_last =
        |number: &usize| words.iter().all(|words| from_end(words, *number) == from_end(first, *number));
    let begin = (0..first.len()).take_while(is_first).count();
    let end = (0..first.len()).take_while(is_last).count();
    let own = |words: &Vec<&str>| {
        words.get(begin..words.len().saturating_sub(end)).map_or_else(String::new, |own| own.join(" "))
    };
    words.iter().map(own).collect()
}

/// The usual seed of a sample.
pub const USUAL_SEED: u64 = 1;
/// The seed of the split of gold rows, which is the same in an evaluation and in a proof.
const SPLIT_SEED: u64 = 0;

/// The settings for reading gold rows.
#[derive(Debug, Clone)]
pub struct GoldSettings {
    /// The column with the labels.
    pub column: String,
    /// The number of rows that are set apart to choose the panel, and prove nothing.
    pub choose: usize,
    /// The seed with which the rows were drawn.
    pub seed: u64,
}

/// Reads gold rows, and sets some apart to choose a panel.
pub fn read_gold(
    path: &Path,
    gold: &GoldSettings,
    settings: &LabelSettings,
    panel: &str,
) -> anyhow::Result<Vec<GoldRow>> {
    let GoldSettings { column, choose, .. } = gold;
    let name = path.display();
    let (mut rows, mut wrong) = (Vec::new(), WrongCells::default());
    let mut keys = HashSet::new();
    for row in Table::open(path)? {
        let row = row.with_context(|| name.to_string())?;
        let gold = gold_row(row, column, settings, panel).with_context(|| name.to_string())?;
        wrong.add(&gold);
        if !keys.insert(gold.question.key) {
            bail!("{name}: row {} equals an earlier row; remove one of them", gold.question.row.number);
        }
        rows.push(gold);
    }
    add_own_texts(&mut rows, column, &settings.questions);
    let parts = parts(rows.iter().map(|row| &row.hashes.asked), *choose);
    if rows.is_empty() {
        bail!("{name} has no rows");
    }
    wrong.refuse(&name.to_string(), column, rows.len())?;
    for (row, part) in rows.iter_mut().zip(parts) {
        row.part = part;
    }
    Ok(rows)
}

/// Cells of the gold column that are no label. Gold labels are read once, so a mistake would waste all of them.
#[derive(Default)]
struct WrongCells {
    empty: usize,
    misspelt: usize,
    /// The first ones, in words.
    shown: Vec<String>,
}

impl WrongCells {
    /// The most cells that are listed.
    const SHOWN: usize = 20;

    fn add(&mut self, gold: &GoldRow) {
        let GoldRow { question, label, .. } = gold;
        let problem = match question.options.contains(label) {
            true => return,
            false if label.is_empty() => "empty".to_owned(),
            false => format!("{:?} is none of the options {}", shown(label, 60), question.options.join(", ")),
        };
        *(if label.is_empty() { &mut self.empty } else { &mut self.misspelt }) += 1;
        if self.shown.len() < Self::SHOWN {
            self.shown.push(format!("\n- row {}: {problem}", question.row.number));
        }
    }

    /// Fails if a cell is no label.
    fn refuse(&self, name: &str, column: &str, rows: usize) -> anyhow::Result<()> {
        let Self { empty, misspelt, shown } = self;
        let count = empty + misspelt;
        if count == 0 {
            return Ok(());
        }
        if *empty == rows {
            bail!("{name} has no labels: fill its column {column}");
        }
        let more = match count - shown.len() {
            0 => String::new(),
            more => format!("\n- and {more} more"),
        };
        bail!(
            "{name}: the column {column} has {} ({empty} empty, {misspelt} misspelt); write an option of its row into each. No \
             gold label was read:{}{more}",
            counted(count, "invalid label"),
            shown.concat()
        );
    }
}

fn gold_row(row: Row, column: &str, settings: &LabelSettings, panel: &str) -> anyhow::Result<GoldRow> {
    let label = row.text(column).ok_or_else(|| row.no_column(column))?.trim().to_owned();
    let question = settings.question(row, panel)?;
    let hashes = RowHashes::of(&question, column, &settings.questions);
    Ok(GoldRow { question, hashes, label, part: Part::Prove })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_stay_when_the_question_is_reworded() {
        let texts = ["a fine pen", "an ink that smells", "a fine pen with ink"];
        let own = |before: &str, after: &str| {
            let questions = texts.map(|text| format!("{before} {text} {after}"));
            without_shared_words(&questions.each_ref().map(String::as_str))
        };
        assert_eq!(own("Is this good?", "Choose one."), texts);
        assert_eq!(own("Would you buy it?", ""), texts);
        assert_eq!(without_shared_words(&["the same", "the same"]), ["", ""]);
        assert!(without_shared_words(&[]).is_empty());
    }
}
