//! Labels one file: rows, summary and proof.

use std::collections::HashSet;

use anyhow::bail;
use ep_labels::asking::{Labelling, Priced, RunEnd, RunOutcome};
use ep_labels::entry::{Entry, Key};
use ep_labels::journal::Journal;
use ep_labels::openings::Openings;
use ep_labels::proof::{Proof, ProofPlan, ProofRun, refuse_other_tie_rule};
use ep_labels::registry::panel_version;
use ep_labels::report::{Report, Summary};
use ep_labels::review::Review;
use ep_labels::rows::{InputCounts, Rows};
use ep_labels::settings::{LabelSettings, OptionsOf, Questions};
use ep_polling::counted::counted_with;
use ep_polling::evaluation::agreement::Classes;

use super::arguments::LabelArguments;
use super::labelling::{ask, stopped, way};
use crate::app::clock::SystemClock;
use crate::cli::say;
use crate::cli::target::Target;

/// A file to label.
pub(super) struct LabelFile<'f> {
    pub(super) target: &'f Target,
    pub(super) arguments: &'f LabelArguments,
    /// The proof that is wanted, if there is one.
    pub(super) plan: Option<&'f ProofPlan>,
    pub(super) openings: &'f Openings,
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
        let labelling = Labelling {
            operations: target,
            way: way(target, &arguments.run),
            settings,
            input: &arguments.input,
            out,
            max_cost: arguments.run.max_cost_usd,
            clock: &SystemClock,
            stop_signal: stopped,
        };
        let panel = panel_version(target, &settings.panel).await?;
        let Work { rows, priced, input, proof, classes } = self.prepare(&labelling, &panel, journal).await?;
        let models = priced.bound.models as usize;
        let differs_before = match &input {
            Some(input) => self.are_decided_otherwise(&input.keys, journal)?,
            None => false,
        };
        // Labels of this run follow the rule, except those of a server's batches of earlier runs.
        let may_differ = input.is_none() || labelling.way.server().is_some();
        let outcome = match (&proof, input) {
            // After the gold labels were read, nothing is asked any more: the proof is about the labels of that time.
            (Some(proof), Some(input)) if proof.is_opened() => RunOutcome {
                end: RunEnd::Complete,
                rows: Some(input.keys.len() as u64),
                keys: input.keys,
                unfinished: 0,
                failed: 0,
                cost: labelling.spent(journal)?,
            },
            (proof, input) => {
                let notice = proof.as_ref().map(Proof::notice).transpose()?;
                ask(&labelling, &arguments.run, rows, input, &priced, notice, journal).await?
            }
        };
        if differs_before || (may_differ && self.are_decided_otherwise(&outcome.keys, journal)?) {
            journal.decide_anew(&outcome.keys, settings.rule())?;
        }
        let mut summary = Self::summary(&outcome, models, classes, journal)?;
        summary.proof = match proof {
            Some(_) if journal.keys().iter().any(|key| !outcome.keys.contains(key)) => bail!(
                "{} has changed during the run; the gold labels stay unread. Run the command again with another --out",
                arguments.input.display()
            ),
            Some(proof) if outcome.unfinished == 0 => Some(proof.finish(&mut say)?),
            Some(_) => {
                let rows = outcome.unfinished;
                say(&format!(
                    "the gold labels stay unread until {} asked; run the same command again",
                    counted_with(rows, "more row", ["is", "are"])
                ));
                None
            }
            None => None,
        };
        if let Some(path) = &arguments.review {
            let review = Review { input: &arguments.input, settings, panel: &panel, models };
            let rows = review.write(out, &HashSet::new(), path, &mut say)?;
            say(&format!(
                "{} in {}, the most doubtful first",
                counted_with(rows, "row", ["is", "are"]),
                path.display()
            ));
        }
        Ok((outcome.end, summary))
    }

    /// True if labels with these keys follow another rule for ties. Says so. Fails if such labels have a proof.
    fn are_decided_otherwise(&self, keys: &HashSet<Key>, journal: &Journal) -> anyhow::Result<bool> {
        let LabelSettings { on_tie, .. } = *self.settings;
        let others = journal.decided_otherwise(keys, self.settings.rule())?;
        if others > 0 {
            refuse_other_tie_rule(&self.arguments.out, on_tie)?;
            say(&format!(
                "{} by another --on-tie, and will be decided by --on-tie {on_tie} from the same votes",
                counted_with(others, "label", ["was decided", "were decided"])
            ));
        }
        Ok(others > 0)
    }

    /// Reads the whole input, so that a wrong row is found before the first call.
    async fn prepare<'p>(
        &self,
        labelling: &Labelling<'_, Target>,
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
            openings: self.openings,
            clock: &SystemClock,
            input: &arguments.input,
            labels: &arguments.out,
            settings,
            panel,
            models: priced.bound.models as usize,
        };
        let proof = self.plan.map(|plan| Proof::prepare(plan, run, input.as_ref(), journal));
        let mut proof = proof.transpose()?;
        if let (Some(proof), Some(input)) = (&mut proof, &mut input) {
            let count = input.keys.len() as u64;
            let more = proof.take_more();
            for question in &more {
                input.add(question, journal, &priced.bound);
            }
            rows.add_gold(more, count, self.plan.map_or(0, |plan| plan.gold.seed));
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
