//! Repeats the work of a user on published votes: choose a panel on a few labelled rows, prove an error bound on further
//! rows, and count the rows that the proof accepts.
//!
//! ```sh
//! EP_VOTES_DATA=<folder>[:<folder>] cargo bench -p ep-polling --bench published_votes
//! ```
//!
//! With `-- figures`, it prints the content of `docs/labels-figures.json`, and nothing else.
//!
//! The folders contain third-party votes, which are not part of this project: `mmlupro_votes.csv` with
//! `mmlupro_questions.csv`, and the files that `scripts/long/published-votes/extract.py` writes.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a bench prints, and fails by panicking")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use ep_polling::agreement::STRONGEST;
use ep_polling::evaluation::choice::size_to_prove;
use ep_polling::evaluation::panel::{Accuracy, accuracies, gold_rows, label, ranked};
use ep_polling::evaluation::proof::{Claim, GoldRow, Scope, Scores, prove};
use ep_polling::evaluation::{Fraction, Votes};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The published sets: their names, files and bounds.
const SETS: [(&str, &str, &[f64]); 4] = [
    ("CRUX", "crux", &[0.05]),
    ("GSM8K", "gsm8k", &[0.05]),
    ("MATH level 5", "math", &[0.05, 0.1]),
    ("MMLU-Pro", "mmlupro", &[0.2, 0.1]),
];
/// Sizes of the panels; the last one is everyone.
const SIZES: [usize; 5] = [1, 3, 5, 9, usize::MAX];
/// The panel that accepts the most rows, of all five, with a shared risk.
const BEST_OF_FIVE: &str = "best of five";
/// Labelled rows that choose the panel.
const CHOOSE: usize = 50;
/// Labelled rows that prove the bound.
const PROVE: [usize; 2] = [200, 400];
/// Repetitions of each cell.
const RUNS: usize = 1_000;

/// One cell of the table: a set, a bound, a number of gold rows and a panel.
#[derive(Debug, Serialize)]
struct Cell {
    set: &'static str,
    max_error: f64,
    gold: usize,
    panel: String,
    order: Order,
    /// The share of the rows that the proof accepts: its mean and its standard deviation.
    accepted: f64,
    deviation: f64,
    /// The share of the runs in which more than `max_error` of the accepted rows are wrong.
    broken: f64,
    /// Accuracy of all labels of the panel. The best of five has none: it is another panel in each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
}

/// The order in which the labels of a panel are believed. Panels of one and of three have the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// By the votes of the strongest three, then by all votes: the order of `ep label`.
    StrongestFirst,
    /// By all votes.
    AllVotes,
}

fn main() {
    let figures = std::env::args().any(|argument| argument == "figures");
    let Some(folders) = std::env::var_os("EP_VOTES_DATA") else {
        println!("EP_VOTES_DATA is not set: nothing to replay");
        return;
    };
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let mut cells = Vec::new();
    for (name, file, bounds) in SETS {
        let Some((votes, gold)) = read(&folders, file) else {
            assert!(!figures, "the figures need {name}");
            println!("{name}: no votes in EP_VOTES_DATA");
            continue;
        };
        for &max_error in bounds {
            for prove in PROVE {
                for order in [Order::StrongestFirst, Order::AllVotes] {
                    cells.extend(measure(name, &votes, &gold, max_error, prove, order));
                }
            }
        }
        if !figures {
            one_strong_model(name, &votes, &gold);
        }
    }
    if figures {
        let head = serde_json::json!({
            "command": "EP_VOTES_DATA=<folder> cargo bench -p ep-polling --bench published_votes -- figures",
            "choose": CHOOSE,
            "runs": RUNS,
            "risk": Fraction::FIVE_PERCENT.get(),
            "sources": [
                "TIGER-AI-Lab/MMLU-Pro, eval_results, commit f418b116 (Apache-2.0)",
                "WildEval/ZeroEval, result_dirs, commit 8c1485ed (Apache-2.0)",
            ],
            "cells": cells,
        });
        println!("{}", serde_json::to_string_pretty(&head).expect("JSON"));
        return;
    }
    println!("set, bound, gold rows, panel, order: share accepted (deviation), bound broken, accuracy");
    for Cell { set, max_error, gold, panel, order, accepted, deviation, broken, accuracy } in cells {
        let order = format!("{order:?}");
        let accuracy = accuracy.map(|accuracy| format!("{accuracy:.3}")).unwrap_or_default();
        println!(
            "{set:<14} {max_error:.2} {gold:>4}  {panel:<12} {order:<14} {accepted:.2} ({deviation:.2})  {broken:.3}  \
             {accuracy}"
        );
    }
}

/// Measures the panels of all sizes, and the best of them with a shared risk.
fn measure(
    set: &'static str,
    votes: &Votes,
    gold: &[u16],
    max_error: f64,
    prove_rows: usize,
    order: Order,
) -> Vec<Cell> {
    let claim = Claim {
        scope: Scope::Accepted,
        max_error: Fraction::new(max_error).expect("a fraction"),
        risk: Fraction::FIVE_PERCENT,
    };
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); SIZES.len() + 2];
    for _ in 0..RUNS {
        let mut places: Vec<usize> = (0..gold.len()).collect();
        places.shuffle(&mut random);
        let (choose, rest) = places.split_at(CHOOSE);
        let (chosen, chosen_gold) = part(votes, gold, choose);
        let strongest = ranked(&accuracies(&chosen, &chosen_gold));
        let (file, file_gold) = part(votes, gold, rest);
        let mut best = Outcome::default();
        let size_to_prove = size_to_prove(&chosen, &chosen_gold);
        let mut to_prove = Outcome::default();
        for (size, outcomes) in SIZES.into_iter().zip(&mut outcomes) {
            let panel = strongest.get(..size).unwrap_or(&strongest);
            let few = match order {
                Order::StrongestFirst => STRONGEST.min(panel.len()),
                Order::AllVotes => panel.len(),
            };
            // All labels of a single model have the same score: they are accepted, or none is.
            let rows = gold_rows(&file, &file_gold, panel, few);
            let labels = file.rows().map(|row| label(row, panel));
            let accuracy = Accuracy::of(labels, &file_gold).share();
            let outcome = Outcome { accuracy, ..Outcome::of(&rows, prove_rows, &claim) };
            outcomes.push(outcome);
            if size == size_to_prove {
                to_prove = outcome;
            }
            let shared = Outcome::of(&rows, prove_rows, &claim.for_rules(SIZES.len() as u32));
            if shared.accepted > best.accepted {
                best = shared;
            }
        }
        outcomes[SIZES.len()].push(best);
        outcomes[SIZES.len() + 1].push(to_prove);
    }
    let names = SIZES.map(|size| match size {
        1 => "best single".to_owned(),
        usize::MAX => "all".to_owned(),
        size => format!("best {size}"),
    });
    let names = names.into_iter().chain([BEST_OF_FIVE.to_owned(), "chosen size".to_owned()]);
    let cell = |(panel, outcomes): (String, Vec<Outcome>)| {
        let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64;
        let accepted = mean(|outcome| outcome.accepted);
        let squares = mean(|outcome| outcome.accepted.powi(2));
        let round = |number: f64| (number * 1e4).round() / 1e4;
        Cell {
            set,
            max_error,
            gold: prove_rows,
            accepted: round(accepted),
            deviation: round((squares - accepted.powi(2)).max(0.0).sqrt()),
            broken: round(mean(|outcome| f64::from(u8::from(outcome.error > outcome.max_error)))),
            accuracy: (panel != BEST_OF_FIVE).then(|| round(mean(|outcome| outcome.accuracy))),
            panel,
            order,
        }
    };
    names.zip(outcomes).map(cell).collect()
}

/// Prints how often one model is chosen where it is better than every panel: beside it, only models that are at least 20
/// points less accurate.
fn one_strong_model(set: &str, votes: &Votes, gold: &[u16]) {
    let all = accuracies(votes, gold);
    let strongest = ranked(&all)[0];
    let is_in = |&member: &usize| member == strongest || all[member].share() + 0.2 < all[strongest].share();
    let members: Vec<usize> = (0..votes.members()).filter(is_in).collect();
    let mut pool = Votes::new(members.len());
    for row in votes.rows() {
        pool.push(&members.iter().map(|&member| row[member]).collect::<Vec<_>>());
    }
    let of_pool = accuracies(&pool, gold);
    let trio: Vec<usize> = ranked(&of_pool).into_iter().take(3).collect();
    let trio = Accuracy::of(pool.rows().map(|row| label(row, &trio)), gold).share();
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for choose in [50, 100, 200] {
        let mut single = 0;
        for _ in 0..RUNS {
            let mut order: Vec<usize> = (0..gold.len()).collect();
            order.shuffle(&mut random);
            let (chosen, chosen_gold) = part(&pool, gold, &order[..choose]);
            single += usize::from(size_to_prove(&chosen, &chosen_gold) == 1);
        }
        println!(
            "{set}, one strong model ({:.3}; three with it {trio:.3}) of {}: chosen alone in {single} of {RUNS} runs on \
             {choose} rows",
            all[strongest].share(),
            members.len(),
        );
    }
}

/// The outcome of one run.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    accepted: f64,
    /// The error rate of the accepted rows.
    error: f64,
    max_error: f64,
    accuracy: f64,
}

impl Outcome {
    /// Proves a claim with the first rows of a shuffled file, and looks at all of them.
    fn of(rows: &[GoldRow], prove_rows: usize, claim: &Claim) -> Self {
        let mut scores = Scores::default();
        for row in rows {
            scores.add(row.score);
        }
        let gold = &rows[..prove_rows.min(rows.len())];
        let nothing = Self { max_error: claim.max_error.get(), ..Self::default() };
        let Some(test) = prove(&scores.thresholds_with_gold(gold, claim), gold, claim) else {
            return nothing;
        };
        let accepted = rows.iter().filter(|row| row.score >= test.threshold);
        let count = accepted.clone().count() as f64;
        Self {
            accepted: count / rows.len() as f64,
            error: accepted.filter(|row| row.is_wrong).count() as f64 / count,
            ..nothing
        }
    }
}

/// Returns these rows.
fn part(votes: &Votes, gold: &[u16], places: &[usize]) -> (Votes, Vec<u16>) {
    (votes.select(places), places.iter().map(|&place| gold[place]).collect())
}

#[derive(Deserialize)]
struct VoteRow {
    question_id: String,
    model: String,
    choice: String,
}

#[derive(Deserialize)]
struct GoldLabel {
    question_id: String,
    answer: String,
}

/// Reads a set from the first folder that has it with gold labels.
fn read(folders: &[PathBuf], set: &str) -> Option<(Votes, Vec<u16>)> {
    let gold = |folder: &PathBuf| {
        let names = [format!("{set}_gold.csv"), format!("{set}_questions.csv")];
        names.iter().find_map(|name| File::open(folder.join(name)).ok())
    };
    let (folder, labels) = folders.iter().find_map(|folder| Some((folder, gold(folder)?)))?;
    let votes = File::open(folder.join(format!("{set}_votes.csv"))).ok()?;
    let mut options: BTreeMap<String, u16> = BTreeMap::new();
    let mut option = |text: String| {
        let next = options.len() as u16;
        *options.entry(text).or_insert(next)
    };
    let gold: BTreeMap<String, u16> = csv::Reader::from_reader(labels)
        .into_deserialize()
        .map(|row| row.expect("a label"))
        .map(|row: GoldLabel| (row.question_id, option(row.answer)))
        .collect();
    let mut models: BTreeMap<String, usize> = BTreeMap::new();
    let mut cells: BTreeMap<&str, BTreeMap<usize, u16>> = BTreeMap::new();
    for row in csv::Reader::from_reader(votes).into_deserialize() {
        let VoteRow { question_id, model, choice } = row.expect("a vote");
        let next = models.len();
        let model = *models.entry(model).or_insert(next);
        let (question, _) = gold.get_key_value(&question_id).expect("a label for each question");
        cells.entry(question).or_default().insert(model, option(choice));
    }
    let mut table = Votes::new(models.len());
    for question in gold.keys() {
        let row = cells.get(question.as_str());
        let vote = |model: usize| row.and_then(|row| row.get(&model).copied());
        table.push(&(0..models.len()).map(vote).collect::<Vec<_>>());
    }
    Some((table, gold.into_values().collect()))
}
