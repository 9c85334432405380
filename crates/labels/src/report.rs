//! The summary of a file of labels.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ep_polling::counted::counted;
use ep_polling::evaluation::agreement::{Agreement, Classes};
use ep_polling::evaluation::effective_votes::{ErrorCorrelation, formula};
use ep_polling::{MicroUsd, Usd};
use serde::Serialize;

use crate::entry::{DecidedBy, Entry, are_without_vote};
use crate::proof::ProofSummary;

/// Below this alpha, votes are hardly more alike than by chance. (Krippendorff asks for .667 to conclude anything.)
const HARDLY_ALIKE: f64 = 0.2;

/// The fewest votes of a row that count for the effective votes. Of three votes, two never err together, because the option
/// that most of the others voted for judges each of them.
const FEWEST_VOTES: u32 = 4;

/// Figures of the rows of a file.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Rows with a label.
    pub labelled: u64,
    /// Rows whose panel was tied.
    pub ties: u64,
    /// Rows on which every model responded without a vote.
    pub without_votes: u64,
    /// Rows without a text, about which no model was asked.
    pub empty: u64,
    /// Rows whose label was decided by the strongest model.
    pub tie_breaks: u64,
    /// Rows whose label is contested, or that are tied.
    pub contested: u64,
    /// Rows that failed in this run, and have no label.
    pub failed: u64,
    /// Rows by label.
    pub labels: BTreeMap<String, u64>,
    /// Krippendorff's alpha of the votes; null if it is not defined.
    pub alpha: Option<f64>,
    /// The share of equal pairs of votes.
    pub pair_agreement: Option<f64>,
    /// The number of models, n.
    pub panel: u64,
    /// The mean correlation r of the errors of two models, where the option that most of the others voted for stands for
    /// the truth; null if it is not defined.
    pub error_correlation: Option<f64>,
    /// The effective number of votes, n / (1 + (n - 1) r), with this correlation. Measured with gold labels, it is lower.
    pub effective_votes_at_most: Option<f64>,
    /// Rows that were not asked.
    pub unasked: u64,
    /// The cost of the file in all its runs, in USD.
    pub cost_usd: Usd,
    /// The models, by their ids.
    pub models: BTreeMap<String, ModelSummary>,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// The result of a proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofSummary>,
}

/// Figures of one model.
#[derive(Debug, Default, Serialize)]
pub struct ModelSummary {
    /// Rows on which it voted.
    pub votes: u64,
    /// Rows on which it was asked.
    pub rows: u64,
    /// Rows on which its vote is the label.
    pub agrees: u64,
    /// The known cost of its votes, in USD.
    pub cost_usd: Usd,
    /// Its mean time until the response, in milliseconds.
    pub mean_ms: f64,
}

/// Sums over labels. Its size does not depend on the number of rows.
pub struct Report {
    summary: Summary,
    agreement: Agreement,
    errors: ErrorCorrelation,
    /// The numbers of the models.
    members: BTreeMap<String, usize>,
    /// The numbers of the labels, shared by all rows.
    classes: BTreeMap<String, usize>,
}

impl Report {
    /// Creates an empty report about this number of models. `classes` tells whether all rows have the same options.
    pub fn new(models: usize, classes: Classes) -> Self {
        Self {
            summary: Summary { panel: models as u64, ..Summary::default() },
            agreement: Agreement::new(classes),
            errors: ErrorCorrelation::new(models),
            members: BTreeMap::new(),
            classes: BTreeMap::new(),
        }
    }

    /// Adds a label.
    pub fn add(&mut self, entry: &Entry) {
        let summary = &mut self.summary;
        match &entry.label {
            Some(label) => {
                summary.labelled += 1;
                // Options of single rows are not counted: there can be as many as rows.
                if !self.agreement.is_per_row() {
                    *summary.labels.entry(label.clone()).or_default() += 1;
                }
            }
            None if entry.empty => summary.empty += 1,
            None if are_without_vote(&entry.votes) => summary.without_votes += 1,
            None => summary.ties += 1,
        }
        summary.tie_breaks += u64::from(entry.by == DecidedBy::TieBreak);
        summary.contested += u64::from(entry.contested);
        summary.simulated |= entry.simulated;
        let mut counts: Vec<u32> = vec![0; self.classes.len()];
        let mut choices: Vec<Option<usize>> = Vec::new();
        for vote in &entry.votes {
            let model = summary.models.entry(vote.model.clone()).or_default();
            model.rows += 1;
            model.mean_ms += (f64::from(vote.ms) - model.mean_ms) / model.rows as f64;
            model.cost_usd = Usd(model.cost_usd.0.plus(vote.usd.unwrap_or_default().0));
            let Some(option) = &vote.vote else { continue };
            model.votes += 1;
            model.agrees += u64::from(entry.label.as_ref() == Some(option));
            let next = self.classes.len();
            let class = *self.classes.entry(option.clone()).or_insert(next);
            if counts.len() <= class {
                counts.resize(class + 1, 0);
            }
            if let Some(count) = counts.get_mut(class) {
                *count += 1;
            }
            let next = self.members.len();
            let member = *self.members.entry(vote.model.clone()).or_insert(next);
            choices.resize(choices.len().max(member + 1), None);
            if let Some(choice) = choices.get_mut(member) {
                *choice = Some(class);
            }
        }
        self.agreement.add(&counts);
        if counts.iter().sum::<u32>() >= FEWEST_VOTES {
            let errors = choices.iter().map(|choice| is_error(&counts, (*choice)?));
            self.errors.add(&errors.collect::<Vec<_>>());
        }
        if self.agreement.is_per_row() {
            self.classes.clear();
        }
    }

    /// Returns the summary of a file with this many rows, if that is known, and this cost.
    pub fn finish(mut self, rows: Option<u64>, failed: u64, cost: MicroUsd) -> Summary {
        let summary = &mut self.summary;
        (summary.failed, summary.cost_usd) = (failed, Usd(cost));
        let asked = summary.labelled + summary.ties + summary.without_votes + summary.empty + failed;
        summary.unasked = rows.unwrap_or(0).saturating_sub(asked);
        // Options of single rows have no class in common, which alpha would need.
        summary.alpha = self.agreement.alpha().filter(|_| !self.agreement.is_per_row());
        summary.pair_agreement = self.agreement.pair_agreement();
        summary.error_correlation = self.errors.mean();
        summary.effective_votes_at_most = self.errors.effective_votes();
        self.summary
    }
}

/// True if a vote differs from the option that most of the other models voted for; `None` if they are tied, or did not
/// vote.
fn is_error(counts: &[u32], choice: usize) -> Option<bool> {
    let others = || counts.iter().enumerate().map(|(class, count)| count - u32::from(class == choice));
    let most = others().max().filter(|most| *most > 0)?;
    let mut leaders = others().enumerate().filter(|(_, count)| *count == most);
    let (leader, _) = leaders.next()?;
    leaders.next().is_none().then_some(leader != choice)
}

impl Summary {
    /// Returns the summary of this file of labels as text.
    pub fn text(&self, file: &Path) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<22} {value}");
        };
        let labels: Vec<String> = self.labels.iter().map(|(label, rows)| format!("{label} {rows}")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) };
        line("labelled", format!("{}{labels}", counted(self.labelled, "row")));
        line("ties", format!("{} ({} more decided by the strongest model)", self.ties, self.tie_breaks));
        line("without votes", counted(self.without_votes, "row"));
        if self.empty > 0 {
            line("without a text", format!("{}, not asked (--ask-empty)", counted(self.empty, "row")));
        }
        line("contested", format!("{}, ties among them", counted(self.contested, "row")));
        line("not fully asked", counted(self.failed, "row"));
        line("not asked", counted(self.unasked, "row"));
        line("cost", self.cost_usd.0.to_string());
        if let Some(pairs) = self.pair_agreement {
            let alpha = self.alpha.map_or_else(String::new, |alpha| format!("alpha {alpha:.3}, "));
            let hint = match self.alpha {
                Some(alpha) if alpha < HARDLY_ALIKE => ": hardly more alike than by chance",
                _ => "",
            };
            line("agreement", format!("{alpha}{:.1} % of pairs of votes are equal{hint}", pairs * 100.0));
        }
        line("effective votes", self.effective_votes());
        let width = self.models.keys().map(String::len).max().unwrap_or_default().max(5);
        let _ = writeln!(
            text,
            "\n{:<width$}  {:>7}  {:>7}  {:>10}  {:>8}",
            "model", "voted", "agrees", "cost", "mean"
        );
        for (name, model) in &self.models {
            let share = |part: u64, of: u64| format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64);
            let _ = writeln!(
                text,
                "{name:<width$}  {:>7}  {:>7}  {:>10}  {:>5.0} ms",
                share(model.votes, model.rows),
                share(model.agrees, model.votes),
                model.cost_usd.0.to_string(),
                model.mean_ms
            );
        }
        if self.simulated {
            text.push_str("\nThese voters are simulated: the labels mean nothing.\n");
        }
        if let Some(proof) = &self.proof {
            let _ = writeln!(text, "\n{}", proof.text(file));
        }
        text
    }

    /// Describes the effective number of votes.
    fn effective_votes(&self) -> String {
        let Some((votes, correlation)) = self.effective_votes_at_most.zip(self.error_correlation) else {
            return "unknown: it needs four models whose votes differ, or gold labels (ep panel evaluate)"
                .to_owned();
        };
        format!(
            "at most {votes:.1} of n = {}: {}\n\
             {:<22} (the option that most of the others voted for stands for the truth)",
            self.panel,
            formula(correlation),
            ""
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_stand_for_the_truth() {
        let is_wrong = |counts: &[u32]| [0, 1].map(|choice| is_error(counts, choice));
        assert_eq!(is_wrong(&[3, 1]), [Some(false), Some(true)]);
        // Without one of the three votes, the others are tied.
        assert_eq!(is_wrong(&[2, 1]), [None, Some(true)]);
        assert_eq!(is_wrong(&[1, 1]), [Some(true), Some(true)]);
        assert_eq!(is_error(&[1], 0), None, "nobody else voted");
    }
}
