//! Labels one file: rows, summary and proof.

use std::collections::HashSet;

use anyhow::bail;
use ep_evaluation::agreement::Classes;
use ep_polling::counted::counted_with;
use ep_site::config::Config;

use super::arguments::Arguments;
use super::failed_rows::FailedRows;
use super::journal::{Entry, Journal};
use super::labelling::{Labelling, Priced, RunOutcome};
use super::proof::{Proof, ProofRun};
use super::report::{Report, Summary};
use super::review::Review;
use super::rows::{InputCounts, Rows};
use super::run::RunEnd;
use super::settings::{LabelSettings, OptionsOf, Questions};
use crate::cli::printable::printable;
use crate::cli::target::Target;

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
    priced: Priced,
    /// The rows of the file; `None` for standard input.
    input: Option<InputCounts>,
    proof: Option<Proof<'f>>,
    classes: Classes,
}

impl<'f> LabelFile<'f> {
    /// Labels the rows that the journal lacks.
    pub(super) async fn label(&self, journal: &mut Journal) -> anyhow::Result<(RunEnd, Summary)> {
        let Self { target, arguments, settings, .. } = *self;
        let out = &arguments.out;
        let labelling =
            Labelling { target, arguments: &arguments.run, settings, input: &arguments.input, out };
        let panel = labelling.panel_version().await?;
        let Work { rows, priced, input, proof, classes } = self.prepare(&labelling, &panel, journal).await?;
        let models = priced.bound.models as usize;
        let outcome = match (&proof, input) {
            // After the gold labels were read, nothing is asked any more: the proof is about the labels of that time.
            (Some(proof), Some(input)) if proof.is_opened() => RunOutcome {
                end: RunEnd::Complete,
                rows: Some(input.keys.len() as u64),
                keys: input.keys,
                unfinished: 0,
                failed: 0,
                cost: journal.cost().plus(FailedRows::open(out)?.cost(journal)),
            },
            (proof, input) => {
                let notice = proof.as_ref().map(Proof::notice).transpose()?;
                labelling.ask(rows, input, &priced, notice, journal).await?
            }
        };
        let mut summary = Self::summary(&outcome, models, classes, journal)?;
        summary.proof = match proof {
            Some(_) if journal.keys().iter().any(|key| !outcome.keys.contains(key)) => bail!(
                "{} has changed during the run; the gold labels stay unread. Run the command again with another --out",
                arguments.input.display()
            ),
            Some(proof) if outcome.unfinished == 0 => Some(proof.finish()?),
            Some(_) => {
                let rows = outcome.unfinished;
                eprintln!(
                    "the gold labels stay unread until {} asked; run the same command again",
                    counted_with(rows, "more row", ["is", "are"])
                );
                None
            }
            None => None,
        };
        if let Some(path) = &arguments.review {
            let review = Review { input: &arguments.input, settings, panel: &panel, models };
            let rows = review.write(out, &HashSet::new(), path)?;
            eprintln!(
                "{}",
                printable(&format!(
                    "{} in {}, the most doubtful first",
                    counted_with(rows, "row", ["is", "are"]),
                    path.display()
                ))
            );
        }
        Ok((outcome.end, summary))
    }

    /// Reads the whole input, so that a wrong row is found before the first call.
    async fn prepare<'p>(
        &self,
        labelling: &Labelling<'_>,
        panel: &'p str,
        journal: &Journal,
    ) -> anyhow::Result<Work<'p>>
    where
        'f: 'p,
    {
        let (arguments, settings) = (self.arguments, self.settings);
        let mut rows = Rows::new(&arguments.input, settings, panel)?;
        let Some(priced) = labelling.price(rows.first(), journal).await? else {
            bail!("{} has no rows", arguments.input.display());
        };
        let mut input = rows.count_input(journal, &priced.bound)?;
        let run = ProofRun {
            config: self.config,
            input: &arguments.input,
            labels: &arguments.out,
            settings,
            panel,
            models: priced.bound.models as usize,
        };
        let mut proof = Proof::prepare(&arguments.proof, run, input.as_ref(), journal)?;
        if let (Some(proof), Some(input)) = (&mut proof, &mut input) {
            let count = input.keys.len() as u64;
            let more = proof.take_more();
            for question in &more {
                input.add(question, journal, &priced.bound);
            }
            rows.add_gold(more, count, arguments.proof.rows.seed);
        }
        let classes = match &settings.questions {
            Questions::Columns { options: OptionsOf::All(_), .. } => Classes::Shared,
            _ if input.as_ref().is_some_and(|input| input.options.are_shared()) => Classes::Shared,
            _ => Classes::PerRow,
        };
        Ok(Work { rows, priced, input, proof, classes })
    }

    /// Sums over the labels of the file's rows.
    fn summary(
        outcome: &RunOutcome,
        models: usize,
        classes: Classes,
        journal: &Journal,
    ) -> anyhow::Result<Summary> {
        let mut report = Report::new(models, classes);
        for entry in journal.entries()? {
            let entry: Entry = entry?;
            if outcome.keys.contains(&entry.key) {
                report.add(&entry);
            }
        }
        Ok(report.finish(outcome.rows, outcome.failed, outcome.cost))
    }
}
