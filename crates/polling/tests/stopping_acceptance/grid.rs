//! Simulated polls: every kind of question with every dispatch policy. Agreement must reach the threshold in
//! each combination, including adversarial ones. `scripts/long/stopping-grid/run` simulates 50 times as many.

use crate::rule;
use crate::simulation::{Member, agrees, answers, in_flight, lognormal, members, run};
use ep_polling::{Pace, Responses, Rule};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Returns the number of polls per cell.
fn polls_per_cell() -> usize {
    std::env::var("EP_GRID_POLLS")
        .map_or(400, |polls| polls.parse().expect("EP_GRID_POLLS is a number of polls"))
}

const LEVELS: [f64; 4] = [0.8, 0.9, 0.95, 0.99];

#[derive(Debug, Clone, Copy)]
enum Question {
    /// Dirichlet-multinomial responses.
    Natural(f64),
    /// Two options with equal votes; the others have none.
    Tie,
    /// Two options one vote apart, or two votes in an even roster.
    SmallestMargin,
    /// All options with equal votes.
    AllLevel,
}

const QUESTIONS: [Question; 8] = [
    Question::Natural(0.2),
    Question::Natural(0.5),
    Question::Natural(1.0),
    Question::Natural(3.0),
    Question::Natural(10.0),
    Question::Tie,
    Question::SmallestMargin,
    Question::AllLevel,
];

#[derive(Debug, Clone, Copy)]
enum DispatchPolicy {
    OneByOne,
    /// As many as a stop needs; all must respond before the next are asked.
    BarrierZeroWaste,
    /// Eight at once; all must respond before the next are asked.
    BarrierEight,
    /// As many as a stop needs, always in flight.
    Rolling,
    /// Twice as many, always in flight.
    Balanced,
}

fn answers_to(question: Question, roster: usize, options: usize, rng: &mut ChaCha8Rng) -> Vec<Option<usize>> {
    let fixed = |option: &dyn Fn(usize) -> Option<usize>| (0..roster).map(option).collect::<Vec<_>>();
    let mut answers = match question {
        Question::Natural(a) => answers(rng, roster, options, a),
        Question::Tie => fixed(&|member| (member < roster / 2 * 2).then_some(member % 2)),
        Question::SmallestMargin => {
            let first = roster / 2 + 1;
            fixed(&|member| Some(usize::from(member >= first)))
        }
        Question::AllLevel => {
            fixed(&|member| (member < roster / options * options).then_some(member % options))
        }
    };
    answers.shuffle(rng);
    answers
}

fn calls_in_flight(asking: DispatchPolicy, rule: &Rule, responses: &Responses) -> usize {
    let barrier = |size: usize| if responses.in_flight() == 0 { size } else { responses.in_flight() };
    match asking {
        DispatchPolicy::OneByOne => 1,
        DispatchPolicy::BarrierZeroWaste => barrier(in_flight(Pace::Thrifty, rule, responses)),
        DispatchPolicy::BarrierEight => barrier(8),
        DispatchPolicy::Rolling => in_flight(Pace::Thrifty, rule, responses),
        DispatchPolicy::Balanced => in_flight(Pace::Balanced, rule, responses),
    }
}

fn check(roster: usize, options: usize, asking: DispatchPolicy) {
    let polls = polls_per_cell();
    for (index, question) in QUESTIONS.into_iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64((roster * 1000 + options * 10 + index) as u64);
        let mut agreed = [0_u32; LEVELS.len()];
        let rules = LEVELS.map(rule);
        for _ in 0..polls {
            let members: Vec<Member> = answers_to(question, roster, options, &mut rng)
                .into_iter()
                .map(|answer| {
                    // Members that choose 0 are slow, so that latency and vote are correlated.
                    let median = if answer == Some(0) { 8.0 } else { 2.0 };
                    Member { answer, unknown: false, seconds: lognormal(&mut rng, median, 0.8) }
                })
                .collect();
            for (rule, agreed) in rules.iter().zip(&mut agreed) {
                let run = run(&members, options, rule, |responses| calls_in_flight(asking, rule, responses));
                *agreed += u32::from(agrees(&run, &members, options));
            }
        }
        for (level, agreed) in LEVELS.into_iter().zip(agreed) {
            let agreement = f64::from(agreed) / polls as f64;
            let error = (level * (1.0 - level) / polls as f64).sqrt();
            assert!(
                agreement >= level - 3.0 * error,
                "N = {roster}, K = {options}, {question:?}, {asking:?}, c = {level}: {agreement}"
            );
        }
    }
}

fn check_every(roster: usize, options: [usize; 2]) {
    use DispatchPolicy::{Balanced, BarrierEight, BarrierZeroWaste, OneByOne, Rolling};
    for options in options {
        for asking in [OneByOne, BarrierZeroWaste, BarrierEight, Rolling, Balanced] {
            check(roster, options, asking);
        }
    }
}

#[test]
fn agreement_holds_in_every_cell_of_small_rosters() {
    for roster in [10, 25, 50] {
        check_every(roster, [2, 3]);
        check_every(roster, [5, 10]);
    }
}

#[test]
fn agreement_holds_in_every_cell_of_large_rosters_with_few_options() {
    check_every(100, [2, 3]);
}

#[test]
fn agreement_holds_in_every_cell_of_large_rosters_with_many_options() {
    check_every(100, [5, 10]);
}

#[test]
fn keeping_calls_in_flight_makes_no_extra_calls() {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    for trial in 0..20_000 {
        let (roster, options) = (rng.random_range(1..=150), rng.random_range(2..=10));
        let rule = rule(LEVELS[trial % LEVELS.len()]);
        let a = [0.2, 0.5, 1.0, 3.0, 10.0][trial % 5];
        let members = members(&mut rng, roster, options, a);
        let slow = run(&members, options, &rule, |_| 1);
        let rolling = run(&members, options, &rule, |responses| in_flight(Pace::Thrifty, &rule, responses));
        assert_eq!(rolling.calls, slow.calls, "trial {trial}");
        assert!(rolling.seconds <= slow.seconds && rolling.most_in_flight >= slow.most_in_flight);
    }
}
