//! Labels one file: price, confirmation, rows, summary and proof.

use std::collections::HashSet;
use std::io::IsTerminal;

use anyhow::bail;
use ep_evaluation::agreement::Classes;
use ep_kernel::tool::Entry as Operation;
use ep_polling::money::MicroUsd;
use ep_tools::entry_of;
use ep_tools::models::ListModels;
use ep_tools::polls::PollQuestion;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::cost_bound::CostBound;
use super::failed_rows::FailedRows;
use super::journal::{Entry, Journal, Key};
use super::price::{Quote, price};
use super::progress::LabelProgress;
use super::proof::{Proof, ProofRun};
use super::report::{Report, Summary};
use super::review::Review;
use super::rows::{InputCounts, Rows};
use super::run::{Run, RunEnd};
use super::settings::{LabelSettings, OptionsOf, Panel};
use crate::cli::printable::printable;
use crate::cli::prompt;
use crate::cli::target::Target;
use crate::config::Config;

/// A file to label.
pub(super) struct LabelFile<'f> {
    pub(super) config: &'f Config,
    pub(super) target: &'f Target,
    pub(super) arguments: &'f Arguments,
    pub(super) settings: &'f LabelSettings,
}

/// The work on a file, as it is known before the first call.
struct Work<'f> {
    rows: Rows<'f>,
    bound: CostBound,
    quote: Quote,
    /// The rows of the file; `None` for standard input.
    input: Option<InputCounts>,
    proof: Option<Proof<'f>>,
}

/// The rows after a run.
struct RunOutcome {
    end: RunEnd,
    /// Rows that are known: of standard input, those that were reached.
    keys: HashSet<Key>,
    /// Rows of the file, if that is known.
    rows: Option<u64>,
    /// Rows that another run may label.
    unfinished: usize,
    /// Rows that failed in this run.
    failed: u64,
    cost: MicroUsd,
}

impl<'f> LabelFile<'f> {
    /// Labels the rows that the journal lacks.
    pub(super) async fn label(&self, journal: &mut Journal) -> anyhow::Result<(RunEnd, Summary)> {
        let operation = entry_of::<PollQuestion>()?;
        let panel = version(self.target, &self.settings.panel).await?;
        let work = self.prepare(operation, &panel, journal).await?;
        let models = work.bound.models as usize;
        let (outcome, proof) = self.ask(work, operation, journal).await?;
        let mut summary = self.summary(&outcome, journal)?;
        summary.proof = match proof {
            Some(proof) if proof.is_opened() || outcome.unfinished == 0 => Some(proof.finish()?),
            Some(_) => {
                let rows = outcome.unfinished;
                eprintln!(
                    "the gold labels stay unread until {rows} more rows are asked; run the same command again"
                );
                None
            }
            None => None,
        };
        if let Some(path) = &self.arguments.review {
            let review =
                Review { input: &self.arguments.input, settings: self.settings, panel: &panel, models };
            let rows = review.write(&self.arguments.out, &HashSet::new(), path)?;
            eprintln!("{rows} rows are in {}, the most doubtful first", path.display());
        }
        Ok((outcome.end, summary))
    }

    /// Reads the whole input, so that a wrong row is found before the first call.
    async fn prepare<'p>(
        &self,
        operation: &'static Operation,
        panel: &'p str,
        journal: &Journal,
    ) -> anyhow::Result<Work<'p>>
    where
        'f: 'p,
    {
        let (arguments, settings) = (self.arguments, self.settings);
        let mut rows = Rows::new(&arguments.input, settings, panel)?;
        let Some((bound, quote)) = price(self.target, operation, settings, rows.first()).await? else {
            bail!("{} has no rows", arguments.input.display());
        };
        if arguments.max_cost_usd.is_some() && quote.unpriced > 0 {
            bail!(
                "{} of the models have no listed price, so no cost limit can hold; choose others",
                quote.unpriced
            );
        }
        let mut input = rows.count_input(journal, &bound)?;
        let run = ProofRun {
            config: self.config,
            input: &arguments.input,
            labels: &arguments.out,
            question: arguments.question.as_deref().unwrap_or_default(),
            settings,
            panel,
            models: bound.models as usize,
            seed: arguments.seed,
        };
        let mut proof = Proof::prepare(&arguments.proof, run, input.as_ref(), journal)?;
        if let (Some(proof), Some(input)) = (&mut proof, &mut input) {
            let count = input.keys.len() as u64;
            let more = proof.take_more();
            for question in &more {
                input.add(question, journal, &bound);
                input.keys.insert(question.key);
            }
            rows.add_gold(more, count, arguments.seed);
        }
        Ok(Work { rows, bound, quote, input, proof })
    }

    /// Asks about the rows without a label, after a confirmation. After the gold labels were read, nothing is asked any
    /// more: the proof is about the labels of that time.
    async fn ask<'p>(
        &self,
        work: Work<'p>,
        operation: &'static Operation,
        journal: &mut Journal,
    ) -> anyhow::Result<(RunOutcome, Option<Proof<'p>>)> {
        let Work { rows, bound, quote, input, proof } = work;
        let arguments = self.arguments;
        let is_opened = proof.as_ref().is_some_and(Proof::is_opened);
        let is_asking = !is_opened && input.as_ref().is_none_or(|input| input.rows > 0);
        if is_asking {
            let quote = quote.text(input.as_ref(), arguments.at_once, arguments.max_cost_usd);
            eprintln!("{}", printable(&quote));
            if let Some(proof) = &proof {
                eprintln!("{}", printable(&proof.notice()?));
            }
            confirm(arguments.yes)?;
        }
        let mut progress = LabelProgress::new(input.as_ref().map(|input| input.rows));
        let failed = FailedRows::open(&arguments.out)?;
        let mut run = Run {
            target: self.target,
            operation,
            settings: self.settings,
            bound,
            cap: arguments.max_cost_usd,
            spent: journal.cost().plus(failed.cost(journal)),
            journal,
            progress: &mut progress,
            failed,
            seen: HashSet::new(),
        };
        let at_once = usize::from(arguments.at_once);
        let ended = if is_asking { run.all(rows, at_once).await } else { Ok(RunEnd::Complete) };
        let Run { failed, seen, spent: cost, .. } = run;
        progress.finish();
        let rows = input.as_ref().map(|input| input.keys.len() as u64);
        let keys = input.map_or(seen, |input| input.keys);
        let (unfinished, failed_rows) = (failed.unfinished(&keys, journal), failed.rows);
        failed.finish(journal)?;
        Ok((RunOutcome { end: ended?, keys, rows, unfinished, failed: failed_rows, cost }, proof))
    }

    /// Sums over the labels of the file's rows.
    fn summary(&self, outcome: &RunOutcome, journal: &Journal) -> anyhow::Result<Summary> {
        let mut report = Report::new(match self.settings.options {
            OptionsOf::All(_) => Classes::Shared,
            OptionsOf::Column(_) => Classes::PerRow,
        });
        for entry in journal.entries()? {
            let entry: Entry = entry?;
            if outcome.keys.contains(&entry.key) {
                report.add(&entry);
            }
        }
        Ok(report.finish(outcome.rows, outcome.failed, outcome.cost))
    }
}

/// Returns the models of a panel as text, which changes with its members.
async fn version(target: &Target, panel: &Panel) -> anyhow::Result<String> {
    let name = match panel {
        Panel::Models(models) => return Ok(json!(models).to_string()),
        Panel::Preset(preset) => preset,
    };
    let list = target.call(entry_of::<ListModels>()?, json!({}), None).await?;
    let has_preset = |model: &&Value| {
        model["presets"].as_array().is_some_and(|presets| presets.iter().any(|preset| *preset == **name))
    };
    let models = list["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids: Vec<&str> =
        models.iter().filter(has_preset).filter_map(|model| model["id"].as_str()).collect();
    ids.sort_unstable();
    Ok(json!([name, ids]).to_string())
}

/// Asks whether to begin. A script says so with --yes.
fn confirm(yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("nothing was asked: add --yes to begin");
    }
    let answer = prompt::line(&mut std::io::stdin().lock(), &mut std::io::stderr(), "Begin? [y/N] ")?;
    if answer.eq_ignore_ascii_case("y") { Ok(()) } else { bail!("nothing was asked") }
}
