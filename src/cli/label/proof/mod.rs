//! A proof of an error bound: gold rows are asked among the rows of a file, and their labels are read once, for rules
//! that were fixed before.

mod accepted;
mod declaration;
mod file_part;
mod record;
mod result;
mod statement;
pub(super) mod verify;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::bail;
use ep_evaluation::Fraction;
use ep_evaluation::proof::Scope;
use ep_kernel::ports::Clock;
use serde::Serialize;

use super::gold::{GoldArguments, GoldRow, RowHash, read_gold};
use super::journal::{Journal, Key, entries};
use super::openings::{OpeningId, Openings};
use super::question::RowQuestion;
use super::rows::InputCounts;
use super::sample;
use super::settings::{LabelSettings, Panel};
use super::table::Table;
use crate::app::clock::SystemClock;
use crate::config::Config;
use declaration::{Declaration, DeclaredGold, GoldSet, InputFile, Rule};
use file_part::FilePart;
use record::ProofRecord;
use result::{ProofResult, Verdict};

/// The arguments of a proof.
#[derive(clap::Args)]
pub(super) struct ProofArguments {
    /// File of rows that a person labelled, in the column gold; proves an error bound with them
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    gold: Option<PathBuf>,
    /// Share of the accepted labels that may be wrong, such as 0.05; several are tried in this order
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SHARE,…",
        requires = "gold",
        conflicts_with = "max_set_error"
    )]
    max_error: Vec<Fraction>,
    /// Share of all labels of the file that may be accepted and wrong; the other rows are labelled by hand
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…", requires = "gold")]
    max_set_error: Vec<Fraction>,
    /// Numbers of models to prove, the strongest first, such as 1,3,5; by default all of them
    #[arg(long, value_delimiter = ',', value_name = "NUMBER,…", requires = "gold")]
    prove: Vec<usize>,
    #[command(flatten)]
    pub(super) rows: GoldArguments,
}

/// The run that a proof is about.
pub(super) struct ProofRun<'r> {
    pub(super) config: &'r Config,
    pub(super) input: &'r Path,
    pub(super) labels: &'r Path,
    pub(super) question: &'r str,
    pub(super) settings: &'r LabelSettings,
    /// The models and their version.
    pub(super) panel: &'r str,
    /// The number of models.
    pub(super) models: usize,
}

/// A proof, with everything that is fixed before the gold labels are read.
pub(super) struct Proof<'r> {
    run: ProofRun<'r>,
    declaration: Declaration,
    openings: Openings,
    /// Gold rows that are no rows of the file.
    more: Vec<RowQuestion>,
    /// The proof of these rules, if the gold labels were read before.
    earlier: Option<ProofRecord>,
}

/// The result for the summary.
#[derive(Debug, Serialize)]
pub(super) struct ProofSummary {
    #[serde(flatten)]
    result: ProofResult,
    statement: String,
    /// Rows in the file of accepted labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_rows: Option<u64>,
    /// Rows in the file for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_rows: Option<u64>,
}

impl<'r> Proof<'r> {
    /// Reads the gold file and fixes the rules. `None` without a gold file.
    pub(super) fn prepare(
        arguments: &ProofArguments,
        run: ProofRun<'r>,
        input: Option<&InputCounts>,
        journal: &Journal,
    ) -> anyhow::Result<Option<Self>> {
        let Some(path) = &arguments.gold else { return Ok(None) };
        let Some(input) = input else { bail!("a proof needs a file of rows, and this is standard input") };
        if input.equal > 0 {
            bail!(
                "{} rows equal another one; a proof needs an id for each row: name its column with --id",
                input.equal
            );
        }
        let ProofRun { settings, panel, .. } = run;
        let GoldArguments { seed, choose, .. } = arguments.rows;
        let rows = read_gold(path, &arguments.rows, settings, panel)?;
        let is_drawn = is_drawn(&run, &rows, seed)?;
        let FilePart { sha256, .. } = FilePart::of(run.input)?;
        let mut set = GoldSet { name: path.clone(), is_drawn, seed, rows: Vec::new() };
        let mut more = Vec::new();
        for GoldRow { question, hash, label, part } in rows {
            let (key, is_in_file) = (question.key, input.keys.contains(&question.key));
            set.rows.push(DeclaredGold { key, row: hash, label, part, is_in_file });
            if !is_in_file {
                more.push(question);
            }
        }
        let declaration = Declaration {
            file: InputFile { name: run.input.to_owned(), sha256, rows: input.keys.len() as u64 },
            question: run.question.to_owned(),
            options: settings.options.clone(),
            id: settings.id.clone(),
            panel: settings.panel.clone(),
            panel_version: panel.to_owned(),
            on_tie: settings.on_tie,
            risk: Fraction::FIVE_PERCENT,
            rules: rules(arguments, &run)?,
            gold: set,
        };
        let enough = declaration.proof_rows().count() as u64;
        if enough < declaration.fewest_gold() {
            bail!(
                "{} has {enough} labelled rows to prove with, and {} are the fewest that can prove this; label more \
                 rows, or set fewer apart with --choose (now {})",
                path.display(),
                declaration.fewest_gold(),
                choose
            );
        }
        let known: HashSet<Key> = declaration.gold.rows.iter().map(|row| row.key).collect();
        if journal.keys().iter().any(|key| !input.keys.contains(key) && !known.contains(key)) {
            bail!(
                "{} has labels of other rows, or of another question or panel; a proof needs a file of its own: name \
                 it with --out",
                run.labels.display()
            );
        }
        let openings = Openings::new(&run.config.data_dir()?);
        let earlier = earlier(run.labels, &declaration)?;
        Ok(Some(Self { run, declaration, openings, more, earlier }))
    }

    /// Takes the gold rows that are no rows of the file.
    pub(super) fn take_more(&mut self) -> Vec<RowQuestion> {
        std::mem::take(&mut self.more)
    }

    /// Describes the gold rows before the first call.
    pub(super) fn notice(&self) -> anyhow::Result<String> {
        let opened = self.openings.first(self.declaration.proof_rows().map(|row| &row.row))?;
        Ok(statement::notice(&self.declaration, opened.len()))
    }

    /// True if the gold labels were read before, for the same rules.
    pub(super) const fn is_opened(&self) -> bool {
        self.earlier.is_some()
    }

    /// Reads the gold labels, if they were not read before, and tests the rules. If a bound is proved, writes the accepted
    /// labels and the rows for a person.
    pub(super) fn finish(mut self) -> anyhow::Result<ProofSummary> {
        let record = match self.earlier.take() {
            Some(record) => record,
            None => self.open()?,
        };
        let statement = statement::statement(&record);
        let (accepted_rows, review_rows) = match record.result.verdict {
            Verdict::Proved => {
                let (accepted, review) = accepted::write(&record, &self.run)?;
                (Some(accepted), Some(review))
            }
            Verdict::Estimate | Verdict::Nothing => (None, None),
        };
        Ok(ProofSummary { result: record.result, statement, accepted_rows, review_rows })
    }

    /// Tests the rules and writes the record. The opening is on disk before the first test.
    fn open(&self) -> anyhow::Result<ProofRecord> {
        let labels = self.run.labels;
        let journal = FilePart::of(labels)?;
        let opening = self.declaration.opening(&journal)?;
        let hashes: Vec<_> = self.declaration.proof_rows().map(|row| row.row.clone()).collect();
        let mut opened = self.openings.first(&hashes)?;
        let new: Vec<_> = hashes.iter().filter(|hash| !opened.contains_key(*hash)).cloned().collect();
        self.openings.add(&new, &opening)?;
        opened.extend(new.into_iter().map(|hash| (hash, opening.clone())));
        let result = test(&self.declaration, labels, &journal, &opened, &opening)?;
        let is_other = |hash: &RowHash| opened.get(hash).is_some_and(|first| *first != opening);
        let opened_before = hashes.into_iter().filter(is_other).collect();
        let (declaration, opened_at) = (self.declaration.clone(), SystemClock.now());
        let record = ProofRecord { declaration, journal, opening, opened_at, opened_before, result };
        record.write(labels)?;
        Ok(record)
    }
}

/// Returns the record of the same rules and gold rows, if it is on disk. Fails if another proof is there.
fn earlier(labels: &Path, declaration: &Declaration) -> anyhow::Result<Option<ProofRecord>> {
    let Some(record) = ProofRecord::read(labels)? else { return Ok(None) };
    if record.declaration == *declaration {
        if FilePart::first(labels, record.journal.bytes)? != record.journal {
            bail!(
                "{} was changed after the gold labels were read; name another file with --out",
                labels.display()
            );
        }
        return Ok(Some(record));
    }
    if record.result.verdict == Verdict::Proved {
        bail!(
            "{} has the proof of other rules; name another file with --out",
            ProofRecord::path(labels).display()
        );
    }
    Ok(None)
}

impl ProofSummary {
    /// True if a bound is proved.
    pub(super) fn is_proved(&self) -> bool {
        self.result.verdict == Verdict::Proved
    }

    /// Returns the result in words, with the files beside this file of labels.
    pub(super) fn text(&self, labels: &Path) -> String {
        let statement = &self.statement;
        let Some((accepted, review)) = self.accepted_rows.zip(self.review_rows) else {
            return statement.clone();
        };
        let (accepted_path, review_path) = (accepted::path(labels), accepted::review_path(labels));
        format!(
            "{statement}\n\n{accepted} rows are in {}: the accepted labels, and the gold ones\n{review} rows are in {}, the \
             most doubtful first",
            accepted_path.display(),
            review_path.display()
        )
    }
}

/// Returns the rules: each bound with each number of models.
fn rules(arguments: &ProofArguments, run: &ProofRun<'_>) -> anyhow::Result<Vec<Rule>> {
    let (scope, bounds) = match (&arguments.max_error[..], &arguments.max_set_error[..]) {
        ([], []) => {
            bail!("a proof needs the share of labels that may be wrong: --max-error 0.05, for example")
        }
        (bounds, []) => (Scope::Accepted, bounds),
        (_, bounds) => (Scope::File, bounds),
    };
    let mut sizes = arguments.prove.clone();
    if sizes.is_empty() {
        sizes.push(run.models);
    }
    if let Some(size) = sizes.iter().find(|size| !(1..=run.models).contains(*size)) {
        bail!("--prove {size}: the panel has {} models", run.models);
    }
    if matches!(run.settings.panel, Panel::Preset(_)) && sizes != [run.models] {
        bail!("--prove needs the models in their order: name them with --model, the strongest first");
    }
    let mut rules: Vec<Rule> = Vec::new();
    for &max_error in bounds {
        for &models in &sizes {
            let rule = Rule { models, scope, max_error };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    Ok(rules)
}

/// True if the gold rows are exactly those that the seed draws from the file.
fn is_drawn(run: &ProofRun<'_>, gold: &[GoldRow], seed: u64) -> anyhow::Result<bool> {
    let drawn = sample::draw(Table::open(run.input)?, gold.len(), seed)?;
    let keys: HashSet<Key> = gold.iter().map(|row| row.question.key).collect();
    for row in drawn {
        if !keys.contains(&run.settings.question(row, run.panel)?.key) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tests the rules on the labels of this part of the file.
fn test(
    declaration: &Declaration,
    labels: &Path,
    journal: &FilePart,
    opened: &HashMap<RowHash, OpeningId>,
    opening: &OpeningId,
) -> anyhow::Result<ProofResult> {
    let file = File::open(labels)?;
    let bytes = journal.bytes;
    let entries = entries(&file)?
        .take_while(move |entry| entry.as_ref().map_or(true, |(_, end)| *end <= bytes))
        .map(|entry| entry.map(|(entry, _)| entry));
    ProofResult::of(declaration, entries, opened, opening)
}
