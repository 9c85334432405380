//! The figures of an evaluation, from the votes and the gold labels of the rows that choose.

use ep_polling::evaluation::choice::{FOLDS, SIZES, size_to_prove};
use ep_polling::evaluation::constant::Constant;
use ep_polling::evaluation::effective_votes::ErrorCorrelation;
use ep_polling::evaluation::panel::{Accuracy, accuracies, cross_fitted, label, ranked};
use ep_polling::evaluation::report::{Candidate, Difference, Evaluation};
use ep_polling::evaluation::{Vote, Votes, weights};

use crate::entry::Entry;
use crate::question::RowQuestion;

/// A judged row: its label by hand, its question, and the votes.
pub struct Judged {
    /// The label of a person.
    pub gold: String,
    /// Its question.
    pub question: RowQuestion,
    /// Its votes.
    pub entry: Entry,
}

/// Sums over the votes of one model.
#[derive(Debug, Clone, Default)]
struct ModelSums {
    name: String,
    votes: u64,
    usd: f64,
    ms: f64,
}

/// Computes the figures of all candidates. `None` without rows.
pub fn evaluation_of(rows: &[Judged]) -> Option<Evaluation> {
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
    let models = ranking
        .iter()
        .zip(&sums)
        .filter_map(|(&member, sums)| Some(candidate(sums.name.clone(), *each.get(member)?, &[sums], count)));
    let sizes = SIZES.into_iter().filter(|size| *size < sums.len()).chain([sums.len()]);
    let panels = sizes.map(|size| {
        let name = match size {
            size if size == sums.len() => format!("all {size} models"),
            1 => "best model".to_owned(),
            size => format!("best {size} models"),
        };
        let accuracy = Accuracy::count(&cross_fitted(&votes, &gold, size, FOLDS));
        candidate(name, accuracy, &sums[..size], count)
    });
    let weighted = (rows.len() >= weights::FEWEST_ROWS).then(|| {
        let accuracy = Accuracy::count(&weights::cross_fitted(&votes, &options, &gold, FOLDS));
        candidate("all models, weighted".to_owned(), accuracy, &sums, count)
    });
    let guess = options.iter().map(|&options| 1.0 / options as f64).sum::<f64>() / count;
    let size = size_to_prove(&votes, &gold);
    let by_hand: Vec<&str> = rows.iter().map(|row| row.gold.as_str()).collect();
    let constant = Constant::of(&by_hand, &cross_fitted(&votes, &gold, size, FOLDS));
    let guess = guess.max(constant.as_ref().map_or(0.0, |constant| constant.share));
    let to_prove: Vec<String> = sums.iter().take(size).map(|sums| sums.name.clone()).collect();
    Some(Evaluation {
        rows: rows.len() as u32,
        models: models.collect(),
        panels: panels.collect(),
        weighted,
        effective_votes: errors.effective_votes(),
        error_correlation: errors.mean(),
        guess,
        constant,
        differences: differences(rows, &votes, &ranking[..size.min(ranking.len())]),
        to_prove,
        simulated: rows.iter().any(|row| row.entry.simulated),
    })
}

/// Returns the rows on which these models, the strongest first, and the person differ.
fn differences(rows: &[Judged], votes: &Votes, models: &[usize]) -> Vec<Difference> {
    let different = rows.iter().zip(votes.rows()).filter_map(|(row, votes)| {
        let label = label(votes, models).and_then(|option| row.question.options.get(usize::from(option)));
        let label = label.map(String::as_str);
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

/// Returns the figures of a candidate whose models have these sums.
fn candidate(name: String, accuracy: Accuracy, sums: &[&ModelSums], rows: f64) -> Candidate {
    let interval = accuracy.interval();
    let total = |of: fn(&ModelSums) -> f64| sums.iter().map(|sums| of(sums)).sum::<f64>();
    Candidate {
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
