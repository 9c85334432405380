//! The figures of an evaluation, from the votes and the gold labels of the rows that choose.

use std::collections::HashMap;

use ep_evaluation::choice::{FOLDS, SIZES, size_to_prove};
use ep_evaluation::effective_votes::ErrorCorrelation;
use ep_evaluation::panel::{Accuracy, accuracies, cross_fitted, ranked};
use ep_evaluation::{Vote, Votes, weights};
use ep_polling::tie_rule::TieRule;
use serde::Serialize;

use crate::cli::label::decision::decide;
use crate::cli::label::journal::Entry;
use crate::cli::label::question::RowQuestion;
use crate::cli::label::settings::Panel;

/// A judged row: its label by hand, its question, and the votes.
pub(super) struct Judged {
    pub(super) gold: String,
    pub(super) question: RowQuestion,
    pub(super) entry: Entry,
}

/// The figures of all candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::cli::label) struct Evaluation {
    /// Rows with a label by hand.
    pub(super) rows: usize,
    /// The models, the most accurate first.
    pub(super) models: Vec<Candidate>,
    /// Panels of the strongest models, and all models.
    pub(super) panels: Vec<Candidate>,
    /// The most probable option by weights of all models; null if there are too few rows to fit weights.
    pub(super) weighted: Option<Candidate>,
    /// The number of independent votes that all models are worth; null if it is not defined.
    pub(super) effective_votes: Option<f64>,
    /// The mean correlation of the errors of two models, from which it is computed.
    pub(super) error_correlation: Option<f64>,
    /// The accuracy without a model: of a random option, or of the most frequent label.
    pub(super) guess: f64,
    /// The models to prove, the most accurate first.
    pub(super) to_prove: Vec<String>,
    /// The rows on which these models and the person differ, in the order of the gold file.
    pub(super) differences: Vec<Difference>,
    /// True if the voters are simulated.
    pub(super) simulated: bool,
}

/// A row on which the panel to prove and the person differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::cli::label) struct Difference {
    /// The row's number in the gold file.
    pub(super) row: u64,
    /// The row's id.
    pub(super) id: String,
    pub(super) question: String,
    /// The label of the person.
    pub(super) gold: String,
    /// The label of the panel; null without one.
    pub(super) label: Option<String>,
}

/// The figures of a model or a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::cli::label) struct Candidate {
    pub(super) name: String,
    /// Its models, the most accurate first.
    pub(super) models: Vec<String>,
    /// Rows with the right label. For a panel that was chosen by accuracy: on rows that did not choose it.
    pub(super) right: u64,
    pub(super) accuracy: f64,
    /// The 95 % interval of the accuracy.
    pub(super) interval: [f64; 2],
    /// The share of the rows on which it voted.
    pub(super) voted: f64,
    /// The known cost of 1,000 labels, in USD.
    pub(super) usd_per_1000: f64,
    /// The mean time of its slowest model, in milliseconds.
    pub(super) mean_ms: f64,
}

/// Sums over the votes of one model.
#[derive(Debug, Clone, Default)]
struct ModelSums {
    name: String,
    votes: u64,
    usd: f64,
    ms: f64,
}

impl Evaluation {
    /// Computes the figures. `None` without rows.
    pub(super) fn of(rows: &[Judged]) -> Option<Self> {
        let first = rows.first()?;
        let mut sums: Vec<ModelSums> = first
            .entry
            .votes
            .iter()
            .map(|vote| ModelSums { name: vote.model.clone(), ..ModelSums::default() })
            .collect();
        let (mut votes, mut gold, mut options) = (Votes::new(sums.len()), Vec::new(), Vec::new());
        let mut errors = ErrorCorrelation::new(sums.len());
        for row in rows {
            let number = |text: &str| {
                let place = row.question.options.iter().position(|option| option == text);
                place.and_then(|place| u16::try_from(place).ok())
            };
            let mut choices: Vec<Vote> = vec![None; sums.len()];
            for vote in &row.entry.votes {
                let Some(place) = sums.iter().position(|sums| sums.name == vote.model) else { continue };
                let choice = vote.vote.as_deref().and_then(number);
                let sums = &mut sums[place];
                sums.votes += u64::from(choice.is_some());
                sums.usd += vote.usd.map_or(0.0, |usd| usd.0.as_usd());
                sums.ms += f64::from(vote.ms);
                choices[place] = choice;
            }
            let label = number(&row.gold).unwrap_or(u16::MAX);
            votes.push(&choices);
            errors.add_gold(&choices, label);
            gold.push(label);
            options.push(row.question.options.len());
        }
        let each = accuracies(&votes, &gold);
        let ranking = ranked(&each);
        let sums: Vec<&ModelSums> = ranking.iter().filter_map(|&member| sums.get(member)).collect();
        let count = rows.len() as f64;
        let models = ranking.iter().zip(&sums).filter_map(|(&member, sums)| {
            Some(Candidate::new(sums.name.clone(), *each.get(member)?, &[sums], count))
        });
        let sizes = SIZES.into_iter().filter(|size| *size < sums.len()).chain([sums.len()]);
        let panels = sizes.map(|size| {
            let name = match size {
                size if size == sums.len() => format!("all {size} models"),
                1 => "best model".to_owned(),
                size => format!("best {size} models"),
            };
            let accuracy = Accuracy::count(&cross_fitted(&votes, &gold, size, FOLDS));
            Candidate::new(name, accuracy, &sums[..size], count)
        });
        let weighted = (rows.len() >= weights::FEWEST_ROWS).then(|| {
            let accuracy = Accuracy::count(&weights::cross_fitted(&votes, &options, &gold, FOLDS));
            Candidate::new("all models, weighted".to_owned(), accuracy, &sums, count)
        });
        let guess = options.iter().map(|&options| 1.0 / options as f64).sum::<f64>() / count;
        let mut labels: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *labels.entry(&row.gold).or_default() += 1;
        }
        let most_frequent = labels.values().copied().max().unwrap_or(0) as f64 / count;
        let guess = guess.max(most_frequent);
        let size = size_to_prove(&votes, &gold);
        let to_prove: Vec<String> = sums.iter().take(size).map(|sums| sums.name.clone()).collect();
        Some(Self {
            rows: rows.len(),
            models: models.collect(),
            panels: panels.collect(),
            weighted,
            effective_votes: errors.effective_votes(),
            error_correlation: errors.mean(),
            guess,
            differences: differences(rows, &to_prove),
            to_prove,
            simulated: rows.iter().any(|row| row.entry.simulated),
        })
    }

    /// Returns the panels, the weighted one, and the models, in this order.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.panels.iter().chain(&self.weighted).chain(&self.models)
    }

    /// True if the panel to prove is more often right than a guess, with 95 % confidence.
    pub(super) fn is_better_than_a_guess(&self) -> bool {
        let size = self.to_prove.len();
        let panel = self.candidates().find(|candidate| candidate.models.len() == size);
        panel.is_some_and(|panel| panel.interval[0] > self.guess)
    }

    /// Returns the panels and the models that no other one beats in both accuracy and cost, the cheapest first.
    pub(super) fn frontier(&self) -> Vec<&Candidate> {
        let mut all: Vec<&Candidate> = self.candidates().collect();
        all.sort_by(|one, two| {
            one.usd_per_1000.total_cmp(&two.usd_per_1000).then(two.accuracy.total_cmp(&one.accuracy))
        });
        let mut best = f64::NEG_INFINITY;
        all.retain(|candidate| {
            let is_better = candidate.accuracy > best;
            best = best.max(candidate.accuracy);
            is_better
        });
        all
    }
}

/// Returns the rows on which these models, the strongest first, and the person differ.
fn differences(rows: &[Judged], models: &[String]) -> Vec<Difference> {
    let panel = Panel::Models(models.to_vec());
    let different = rows.iter().filter_map(|row| {
        let label = decide(&row.entry.votes, &panel, models.len(), TieRule::Strongest).label;
        (label != Some(row.gold.as_str())).then(|| Difference {
            row: row.question.row.number,
            id: row.question.id_text(),
            question: row.question.question.clone(),
            gold: row.gold.clone(),
            label: label.map(str::to_owned),
        })
    });
    let mut different: Vec<Difference> = different.collect();
    different.sort_by_key(|difference| difference.row);
    different
}

impl Candidate {
    fn new(name: String, accuracy: Accuracy, sums: &[&ModelSums], rows: f64) -> Self {
        let interval = accuracy.interval();
        let total = |of: fn(&ModelSums) -> f64| sums.iter().map(|sums| of(sums)).sum::<f64>();
        Self {
            name,
            models: sums.iter().map(|sums| sums.name.clone()).collect(),
            right: accuracy.right,
            accuracy: accuracy.share(),
            interval: [*interval.start(), *interval.end()],
            voted: total(|sums| sums.votes as f64) / rows / sums.len().max(1) as f64,
            usd_per_1000: total(|sums| sums.usd) / rows * 1000.0,
            mean_ms: sums.iter().map(|sums| sums.ms / rows).fold(0.0, f64::max),
        }
    }
}
