//! Recorded votes of real models, replayed one by one in random orders.

use std::collections::HashSet;

use crate::data;
use crate::recorded::RecordedVotes;
use crate::simulation::{Member, agrees, run};
use ep_polling::Rule;
use ep_polling::stopping::MAX_ROSTER;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

/// Polls per set, spread evenly over its questions.
const POLLS: usize = 40_000;
/// The maximum number of options of a question.
const OPTIONS: usize = 10;

type Questions = Vec<Vec<Option<usize>>>;

/// Returns the responses to the selected questions, by question.
fn questions(file: &str, selected: impl Fn(&str) -> bool) -> Questions {
    let votes = RecordedVotes::read(data("EP_VOTES_DATA", file)).expect(file);
    assert!(votes.options <= OPTIONS && votes.models <= MAX_ROSTER);
    votes.questions.into_iter().filter(|(id, _)| selected(id)).map(|(_, answers)| answers).collect()
}

/// Returns the questions of MMLU-Pro with this number of options.
fn mmlu_pro(options: u32) -> Questions {
    #[derive(Deserialize)]
    struct Row {
        question_id: String,
        n_options: u32,
    }
    let table = csv::Reader::from_reader(data("EP_VOTES_DATA", "mmlupro_questions.csv"));
    let rows = table.into_deserialize().map(|row: Result<Row, _>| row.unwrap());
    let ids: HashSet<String> =
        rows.filter(|row| row.n_options == options).map(|row| row.question_id).collect();
    questions("mmlupro_votes.csv", |id| ids.contains(id))
}

/// Returns the mean calls, their standard error, and the share of polls that agree with the full roster.
fn replay(questions: &Questions, rule: &Rule) -> (f64, f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let (mut sum, mut squares, mut agreed) = (0.0, 0.0, 0.0);
    for poll in 0..POLLS {
        let answers = &questions[poll % questions.len()];
        let mut members: Vec<Member> =
            answers.iter().map(|answer| Member { answer: *answer, unknown: false, seconds: 1.0 }).collect();
        members.shuffle(&mut rng);
        let run = run(&members, OPTIONS, rule, |_| 1);
        let calls = run.calls as f64;
        (sum, squares) = (sum + calls, squares + calls * calls);
        agreed += f64::from(u8::from(agrees(&run, &members, OPTIONS)));
    }
    let polls = POLLS as f64;
    let mean = sum / polls;
    (mean, ((squares / polls - mean * mean) / polls).sqrt(), agreed / polls)
}

/// Thresholds with the minimum agreement on such questions.
const FLOORS: [(f64, f64); 5] = [(0.5, 0.975), (0.8, 0.992), (0.9, 0.998), (0.95, 0.999), (0.99, 0.9998)];

/// Checks the calls at each level, and the ratio to the calls of two rules with the same guarantee at 0.95:
/// ALPHA and PPR-WOR, as published for this set.
fn check(name: &str, questions: &Questions, calls: [f64; 5], rivals: [f64; 2]) -> [f64; 2] {
    let mut at_095 = 0.0;
    for ((level, floor), expected) in FLOORS.into_iter().zip(calls) {
        let (mean, error, agreement) = replay(questions, &crate::rule(level));
        println!("{name} c = {level}: {mean:.2} calls (expected {expected}), agreement {agreement:.4}");
        // The expected means are also rounded samples, from as many polls.
        let tolerance = 3.0 * error * std::f64::consts::SQRT_2 + 0.005;
        assert!((mean - expected).abs() <= tolerance, "{name} c = {level}: {mean} calls, not {expected}");
        let sampling = 3.0 * (floor * (1.0 - floor) / POLLS as f64).sqrt();
        assert!(agreement >= floor - sampling, "{name} c = {level}: agreement {agreement}");
        at_095 = if level == 0.95 { mean } else { at_095 };
    }
    rivals.map(|rival| at_095 / rival)
}

#[test]
#[ignore = "reads data of others: see the head of main.rs"]
fn data_real_votes_cost_and_agree_as_measured() {
    let gsm8k = questions("zeroeval_gsm8k_votes.csv", |_| true);
    let ratios = [
        check("MMLU-Pro, ten options", &mmlu_pro(10), [15.95, 18.17, 19.56, 20.45, 21.79], [22.0, 22.6]),
        check("MMLU-Pro, four options", &mmlu_pro(4), [11.50, 14.02, 15.73, 16.87, 18.77], [18.0, 18.9]),
        check("GSM8K", &gsm8k, [4.88, 6.78, 8.19, 9.51, 11.99], [12.7, 13.9]),
    ];
    let mean = |rival: usize| ratios.iter().map(|ratio| ratio[rival]).sum::<f64>() / ratios.len() as f64;
    println!("calls at 0.95: {:.3} x ALPHA's, {:.3} x PPR-WOR's", mean(0), mean(1));
    assert!(mean(0) <= 0.92 && mean(1) <= 0.87);
}
