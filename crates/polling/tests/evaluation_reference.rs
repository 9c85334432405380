//! Compares the crate with values that other libraries computed (krippendorff, SciPy) and with published votes.
//!
//! The data are third-party and no part of this project: `EP_AGGREGATION_DATA` names a file of reference values, and
//! `EP_VOTES_DATA` a folder of votes. Without them these tests fail, so they are ignored unless asked for:
//!
//! ```sh
//! cargo test -p ep-polling --test evaluation_reference -- --ignored
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use ep_polling::Tally;
use ep_polling::evaluation::agreement::{Agreement, Classes};
use ep_polling::evaluation::effective_votes::ErrorCorrelation;
use ep_polling::evaluation::panel::{self, accuracies, label, ranked, score};
use ep_polling::evaluation::proof::{GoldRow, Score};
use ep_polling::evaluation::{Fraction, Vote, Votes, binomial, risk_coverage};
use serde::Deserialize;
use serde_json::Value;

/// The number of letters A to J.
const OPTIONS: usize = 10;

fn data(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set")).into()
}

fn reference() -> Value {
    let text = std::fs::read_to_string(data("EP_AGGREGATION_DATA")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Asserts that a value equals one with this many decimals.
#[track_caller]
fn assert_close(value: f64, expected: &Value, decimals: i32) {
    let expected = expected.as_f64().unwrap();
    assert!((value - expected).abs() <= 0.5001 * 10_f64.powi(-decimals), "{value} instead of {expected}");
}

fn letter(letter: u8) -> Vote {
    letter.is_ascii_uppercase().then(|| u16::from(letter - b'A'))
}

/// Sums of a set of votes with gold labels.
struct Sums {
    shared: Agreement,
    correlation: ErrorCorrelation,
}

fn sums(votes: &Votes, gold: &[u16]) -> Sums {
    let mut shared = Agreement::new(Classes::Shared);
    let mut correlation = ErrorCorrelation::new(votes.members());
    for (row, &gold) in votes.rows().zip(gold) {
        shared.add(Tally::of(OPTIONS, row.iter().map(|vote| vote.map(usize::from))).counts());
        correlation.add_gold(row, gold);
    }
    Sums { shared, correlation }
}

#[test]
#[ignore = "needs EP_AGGREGATION_DATA"]
fn agreement_of_the_fixture() {
    let reference = reference();
    let fixture = &reference["fixture"];
    let texts: Vec<&[u8]> =
        fixture["votes"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().as_bytes()).collect();
    let gold: Vec<u16> =
        fixture["gold"].as_str().unwrap().bytes().map(|gold| letter(gold).unwrap()).collect();
    let mut votes = Votes::new(texts.len());
    for place in 0..gold.len() {
        votes.push(&texts.iter().map(|text| letter(text[place])).collect::<Vec<_>>());
    }
    let sums = sums(&votes, &gold);
    assert_close(sums.shared.alpha().unwrap(), &fixture["krippendorff_alpha"], 6);
    assert_close(sums.shared.pair_agreement().unwrap(), &fixture["pair_agreement"], 6);
    assert_close(sums.correlation.mean().unwrap(), &fixture["error_correlation"], 6);
    assert_close(sums.correlation.effective_votes().unwrap(), &fixture["n_eff"], 6);
}

#[test]
#[ignore = "needs EP_AGGREGATION_DATA"]
fn bounds_of_clopper_and_pearson() {
    let reference = reference();
    let rows = reference["clopper_pearson_upper"].as_array().unwrap();
    assert!(rows.len() > 10);
    for row in rows {
        let number = |name: &str| row[name].as_u64().unwrap();
        let risk = Fraction::new(row["delta"].as_f64().unwrap()).unwrap();
        assert_close(binomial::upper_bound(number("errors"), number("n"), risk), &row["bound"], 8);
    }
}

#[derive(Deserialize)]
struct QuestionRow {
    question_id: String,
    answer: String,
}

#[derive(Deserialize)]
struct VoteRow {
    question_id: String,
    model: usize,
    choice: String,
}

/// Reads the votes and the gold labels of MMLU-Pro.
fn mmlu_pro(folder: &Path) -> (Votes, Vec<u16>) {
    let read = |name: &str| csv::Reader::from_reader(File::open(folder.join(name)).unwrap());
    let index = |text: &str| letter(text.as_bytes()[0]).unwrap();
    let gold: BTreeMap<String, u16> = read("mmlupro_questions.csv")
        .deserialize()
        .map(|row: Result<QuestionRow, _>| row.unwrap())
        .map(|row| (row.question_id, index(&row.answer)))
        .collect();
    let rows: Vec<VoteRow> = read("mmlupro_votes.csv").deserialize().map(Result::unwrap).collect();
    let models = rows.iter().map(|row| row.model).max().unwrap() + 1;
    let mut cells: BTreeMap<String, Vec<Vote>> =
        gold.keys().map(|id| (id.clone(), vec![None; models])).collect();
    for row in rows {
        cells.get_mut(&row.question_id).unwrap()[row.model] = Some(index(&row.choice));
    }
    let mut votes = Votes::new(models);
    for row in cells.values() {
        votes.push(row);
    }
    (votes, gold.into_values().collect())
}

#[test]
#[ignore = "needs EP_AGGREGATION_DATA and EP_VOTES_DATA"]
fn panels_on_mmlu_pro() {
    let reference = reference();
    let expected = &reference["sets"]["mmlupro"];
    let (votes, gold) = mmlu_pro(&data("EP_VOTES_DATA"));
    assert_eq!((votes.members(), votes.len()), (29, 12_032));
    let sums = sums(&votes, &gold);
    assert_close(sums.shared.alpha().unwrap(), &expected["krippendorff_alpha"], 6);
    assert_close(sums.shared.pair_agreement().unwrap(), &expected["pair_agreement"], 6);
    assert_close(sums.correlation.mean().unwrap(), &expected["error_correlation"], 4);
    assert_close(sums.correlation.effective_votes().unwrap(), &expected["n_eff"], 4);

    let accuracies = accuracies(&votes, &gold);
    let strongest = ranked(&accuracies);
    assert_close(accuracies[strongest[0]].share(), &expected["accuracy"]["best_single"], 5);
    let mean = accuracies.iter().map(panel::Accuracy::share).sum::<f64>() / accuracies.len() as f64;
    assert_close(mean, &expected["accuracy"]["mean_member"], 4);

    // Labels and scores as they are used: chosen on one half of the questions, judged on the other.
    let labels: Vec<Vote> = votes.rows().map(|row| label(row, &strongest[..3])).collect();
    let right = panel::Accuracy::of(labels.iter().copied(), &gold);
    assert!((right.share() - 0.7188).abs() < 0.003, "{}", right.share());
    let scored = |few: usize, all: bool| {
        let rows = votes.rows().zip(&gold).zip(&labels);
        let rows: Vec<GoldRow> = rows
            .map(|((row, &gold), &label)| {
                let members = if all { &strongest[..] } else { &strongest[..few] };
                GoldRow { score: score(row, label, members, few), is_wrong: label != Some(gold) }
            })
            .collect();
        risk_coverage::area(&rows).unwrap()
    };
    let areas = [scored(3, false), scored(3, true)];
    assert!((areas[0] - 0.1542).abs() < 0.003 && (areas[1] - 0.1412).abs() < 0.003, "{areas:?}");
    // Without a signal, the area is the error rate.
    let random: Vec<GoldRow> = std::iter::zip(&gold, &labels)
        .map(|(gold, label)| GoldRow { score: Score(0), is_wrong: *label != Some(*gold) })
        .collect();
    assert!((risk_coverage::area(&random).unwrap() - (1.0 - right.share())).abs() < 1e-9);
}
