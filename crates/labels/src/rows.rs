//! The questions of a file, and the rows that have no label yet.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use ep_polling::MicroUsd;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::asking::CostBound;
use crate::entry::Key;
use crate::files::table::Table;
use crate::journal::Journal;
use crate::question::{RowQuestion, digest};
use crate::settings::LabelSettings;

/// The rows of a file, with the first one read ahead, and gold rows of another file at random places between them.
pub struct Rows<'t> {
    path: PathBuf,
    settings: &'t LabelSettings,
    panel: &'t str,
    first: Option<RowQuestion>,
    /// `None` if there are only gold rows.
    rest: Option<Table>,
    /// Gold rows, each with the number of rows before it, the last one first.
    gold: Vec<(u64, RowQuestion)>,
    /// The number of rows of the file that were returned.
    returned: u64,
}

/// Counts of the rows of a file.
#[derive(Default)]
pub struct InputCounts {
    /// Rows to ask.
    pub rows: u64,
    /// Rows that have a label.
    pub labelled: u64,
    /// Rows without a label and without a text, which are not asked.
    pub empty: u64,
    /// Maximum cost of the rows to ask.
    pub at_most: MicroUsd,
    /// Sum of the bytes of the prompts that depend on the rows.
    pub bytes: u64,
    /// The keys of all rows.
    pub keys: HashSet<Key>,
    /// The digests of all ids.
    pub ids: HashSet<Key>,
    /// Rows with the same content as an earlier one.
    pub equal: u64,
    /// The options of all rows.
    pub options: OptionsOfRows,
}

/// The options of the rows of a file.
#[derive(Default)]
pub enum OptionsOfRows {
    /// There is no row.
    #[default]
    None,
    /// All rows have these.
    Shared(Vec<String>),
    /// Rows differ.
    Different,
}

impl OptionsOfRows {
    fn add(&mut self, options: &[String]) {
        match self {
            Self::None => *self = Self::Shared(options.to_vec()),
            Self::Shared(shared) if shared != options => *self = Self::Different,
            Self::Shared(_) | Self::Different => {}
        }
    }

    /// True if all rows have the same options.
    pub const fn are_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

impl<'t> Rows<'t> {
    /// Opens a file of rows, or standard input for `-`. `panel` names the models and their version.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its first row has no question.
    pub fn new(path: &Path, settings: &'t LabelSettings, panel: &'t str) -> anyhow::Result<Self> {
        let mut rest = Table::open(path)?;
        let first = rest.next().transpose()?.map(|row| settings.question(row, panel)).transpose()?;
        let rest = Some(rest);
        Ok(Self { path: path.to_owned(), settings, panel, first, rest, gold: Vec::new(), returned: 0 })
    }

    /// Creates rows of no file, to which gold rows can be added.
    pub const fn none(settings: &'t LabelSettings, panel: &'t str) -> Self {
        Self { path: PathBuf::new(), settings, panel, first: None, rest: None, gold: Vec::new(), returned: 0 }
    }

    /// Adds gold rows at random places of a file with this many rows.
    pub fn add_gold(&mut self, gold: Vec<RowQuestion>, rows: u64, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        self.gold.extend(gold.into_iter().map(|question| (random.random_range(0..=rows), question)));
        self.gold.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    }

    /// Returns the first row, unless it was returned before.
    pub const fn first(&self) -> Option<&RowQuestion> {
        self.first.as_ref()
    }

    /// Reads the whole file once, so that a wrong row is found before the first call. `None` for standard input.
    pub fn count_input(&self, journal: &Journal, bound: &CostBound) -> anyhow::Result<Option<InputCounts>> {
        if self.path == Path::new("-") {
            return Ok(None);
        }
        let mut counts = InputCounts::default();
        for row in Table::open(&self.path)? {
            let question = self.settings.question(row?, self.panel)?;
            if counts.add(&question, journal, bound) && !counts.ids.insert(digest(&question.id_text().into()))
            {
                bail!("row {}: the id {} was used before, for another row", question.row.number, question.id);
            }
        }
        Ok(Some(counts))
    }
}

impl InputCounts {
    /// Counts a row. Returns false if an equal one was counted before.
    pub fn add(&mut self, question: &RowQuestion, journal: &Journal, bound: &CostBound) -> bool {
        if !self.keys.insert(question.key) {
            self.equal += 1;
            return false;
        }
        self.options.add(&question.options);
        if journal.has(question.key) {
            self.labelled += 1;
        } else if question.is_empty {
            self.empty += 1;
        } else {
            self.rows += 1;
            self.at_most = self.at_most.plus(bound.of(question));
            self.bytes += question.bytes() as u64;
        }
        true
    }
}

impl Iterator for Rows<'_> {
    type Item = anyhow::Result<RowQuestion>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((_, question)) = self.gold.pop_if(|(place, _)| *place <= self.returned) {
            return Some(Ok(question));
        }
        self.returned += 1;
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let Some(row) = self.rest.as_mut().and_then(Iterator::next) else {
            return self.gold.pop().map(|(_, question)| Ok(question));
        };
        Some(row.and_then(|row| self.settings.question(row, self.panel)))
    }
}
