//! Replays recorded votes in random orders, one member at a time. Measures the calls that each rule makes,
//! and its agreement with the outcome of the full roster.
//!
//! ```sh
//! EP_VOTES_DATA=<folder> cargo bench -p ep-polling --bench replay_votes
//! ```
//!
//! With `-- figures`, it prints the content of `docs/stopping-figures.json`, and nothing else.
//!
//! The folder contains third-party votes, which are not part of this project: `<set>_votes.csv` with the
//! columns question_id, model and choice. A (question, model) pair without a row is a model that responded
//! without a vote; its call still counts. The data contain no transport failures. A last table adds random
//! failures and shows the cost of counting unknown responses for the rival.

#[path = "../examples/votes/mod.rs"]
mod votes;

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use ep_polling::stopping::{decide, locked, p_value};
use ep_polling::{Decision, Evidence, FinalResponse, Responses, Rule, Tally, Threshold};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use votes::RecordedVotes;

const SETS: [VoteSet; 2] = [
    VoteSet {
        name: "MMLU-Pro",
        file: "mmlupro",
        source: "TIGER-AI-Lab/MMLU-Pro, eval_results, commit f418b116 (Apache-2.0)",
    },
    VoteSet {
        name: "GSM8K",
        file: "zeroeval_gsm8k",
        source: "WildEval/ZeroEval, result_dirs/gsm, commit 8c1485ed (Apache-2.0)",
    },
];
const THRESHOLDS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];
/// The maximum vote difference between the first two options of a close question.
const MARGIN: usize = 2;
/// The minimum number of random orders per set and rule. Every question is replayed equally often.
const ORDERS: usize = 40_000;

/// Shares of failing calls in the table of failures.
const FAILURES: [f64; 3] = [0.01, 0.05, 0.2];

/// The target at 0.95 on MMLU-Pro: mean calls as a share of the roster, and agreement.
const TARGET: (f64, f64) = (0.72, 0.999);

/// Adaptive-Consistency's Beta rule: stop once the posterior probability that the leader is likelier than
/// its rival, under a uniform prior, reaches the threshold. It ignores the size of the roster and the
/// repeated checks after every vote.
fn beta(evidence: Evidence) -> f64 {
    let n = evidence.leader + evidence.rival + 1;
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = 0.0;
    for k in 0..=evidence.leader {
        sum += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    sum
}

/// A set of votes and its source.
struct VoteSet {
    name: &'static str,
    file: &'static str,
    source: &'static str,
}

/// Results of replayed polls, as counts to avoid rounding.
#[derive(Serialize)]
struct ReplayResult {
    polls: usize,
    calls: usize,
    /// Polls with another outcome than the full roster.
    different: usize,
}

impl ReplayResult {
    fn mean_calls(&self) -> f64 {
        self.calls as f64 / self.polls as f64
    }

    fn agreement(&self) -> f64 {
        1.0 - self.different as f64 / self.polls as f64
    }
}

/// The results of the rules on one set of votes.
#[derive(Serialize)]
struct RuleComparison {
    set: String,
    source: &'static str,
    questions: usize,
    models: usize,
    lock: ReplayResult,
    thresholds: Vec<AtThreshold>,
}

/// The results written to `docs/stopping-figures.json`.
#[derive(Serialize)]
struct Figures {
    command: &'static str,
    close_margin: usize,
    sets: Vec<RuleComparison>,
}

#[derive(Serialize)]
struct AtThreshold {
    threshold: f64,
    bridge: ReplayResult,
    beta: ReplayResult,
}

impl RuleComparison {
    fn new(set: String, source: &'static str, votes: &RecordedVotes) -> Self {
        let lock = |responses: &Responses| {
            locked(responses.overall().evidence).then_some(responses.overall().leader)
        };
        let at = |threshold: f64| {
            let rule = Rule::for_threshold(Threshold::new(threshold).ok()?);
            let bridge = replay(votes, |responses| {
                decide(responses, &rule, false).map(|Decision { option, .. }| option)
            });
            let beta = replay(votes, |responses| {
                let standing = responses.overall();
                let sure = standing.leader.is_some() && beta(standing.evidence) >= threshold;
                (sure || locked(standing.evidence)).then_some(standing.leader)
            });
            Some(AtThreshold { threshold, bridge, beta })
        };
        Self {
            set,
            source,
            questions: votes.questions.len(),
            models: votes.models,
            lock: replay(votes, lock),
            thresholds: THRESHOLDS.into_iter().filter_map(at).collect(),
        }
    }

    fn print(&self) {
        let show = |rule: &str, threshold: &str, found: &ReplayResult| {
            let share = found.mean_calls() / self.models as f64;
            let saved = 100.0 * (1.0 - share);
            println!(
                "{rule:<10} {threshold:>5} {:>7.2} {share:>7.3} {saved:>7.1} % {:>10.4}",
                found.mean_calls(),
                found.agreement()
            );
        };
        println!("\n{}: {} questions, {} models", self.set, self.questions, self.models);
        println!(
            "{:<10} {:>5} {:>7} {:>7} {:>9} {:>10}",
            "rule", "c", "calls", "share", "saved", "agreement"
        );
        show("lock alone", "", &self.lock);
        for AtThreshold { threshold, bridge, beta } in &self.thresholds {
            show("Bridge", &threshold.to_string(), bridge);
            show("Beta", &threshold.to_string(), beta);
        }
    }
}

/// Keeps only the questions with a difference of at most `MARGIN` votes between the top two options.
fn close(mut votes: RecordedVotes) -> RecordedVotes {
    let options = votes.options;
    votes.questions.retain(|_, answers| {
        let mut counts = vec![0_usize; options.max(2)];
        for option in answers.iter().flatten() {
            counts[*option] += 1;
        }
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts[0] - counts[1] <= MARGIN
    });
    votes
}

/// Asks in random orders until `stop` returns an outcome. The orders are the same for every rule.
fn replay(votes: &RecordedVotes, stop: impl Fn(&Responses) -> Option<Option<usize>>) -> ReplayResult {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let rounds = ORDERS.div_ceil(votes.questions.len());
    let (mut calls, mut agreed) = (0, 0);
    for _ in 0..rounds {
        for answers in votes.questions.values() {
            let mut answers = answers.clone();
            let full_outcome = Tally::of(votes.options, answers.iter().copied()).leader();
            answers.shuffle(&mut rng);
            let mut responses = Responses::new(votes.options, answers.len());
            for answer in answers {
                if let Some(position) = responses.launch() {
                    responses.record(position, answer);
                }
                let named = if responses.is_exhausted() {
                    Some(responses.overall().leader)
                } else {
                    stop(&responses)
                };
                if let Some(option) = named {
                    calls += responses.launched();
                    agreed += usize::from(option == full_outcome);
                    break;
                }
            }
        }
    }
    let polls = rounds * votes.questions.len();
    ReplayResult { polls, calls, different: polls - agreed }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(folder) = std::env::var_os("EP_VOTES_DATA") else {
        println!("EP_VOTES_DATA is not set: nothing to replay");
        return Ok(ExitCode::SUCCESS);
    };
    let read = |set: &VoteSet| -> Result<RecordedVotes, Box<dyn Error>> {
        RecordedVotes::read(File::open(Path::new(&folder).join(format!("{}_votes.csv", set.file)))?)
    };
    let mut compared = Vec::new();
    for set in &SETS {
        compared.push(RuleComparison::new(set.name.to_owned(), set.source, &read(set)?));
    }
    let [set, _] = &SETS;
    compared.push(RuleComparison::new(format!("{}, close", set.name), set.source, &close(read(set)?)));
    if std::env::args().any(|argument| argument == "figures") {
        let command = "EP_VOTES_DATA=<folder> cargo bench -p ep-polling --bench replay_votes -- figures";
        let figures = Figures { command, close_margin: MARGIN, sets: compared };
        println!("{}", serde_json::to_string_pretty(&figures)?);
        return Ok(ExitCode::SUCCESS);
    }
    compared.iter().for_each(RuleComparison::print);
    let at_default = compared[0].thresholds.iter().find(|at| at.threshold == 0.95);
    let reached = at_default.is_some_and(|AtThreshold { bridge, .. }| {
        let (share, agreement) = TARGET;
        bridge.mean_calls() <= share * compared[0].models as f64 && bridge.agreement() >= agreement
    });
    with_failures(Path::new(&folder))?;
    let (share, agreement) = TARGET;
    let verdict = if reached { "reached" } else { "MISSED" };
    println!(
        "\ntarget {verdict}: at 0.95 on MMLU-Pro at most {share} of the calls, agreement at least {agreement}"
    );
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The treatment of a failed call by the stopping rule.
#[derive(Clone, Copy)]
enum FailureTreatment {
    /// As a response without a vote.
    NoVote,
    /// As a member that is still to be asked: valid only if failures are independent of votes.
    Remaining,
    /// As an unknown response, which counts for the rival.
    Unknown,
}

struct FailureResult {
    calls: f64,
    /// The share of polls that claim a confidence of 0.95 or more for another option than the full outcome.
    wrong: f64,
}

/// Asks one by one, at 0.95. A share of all calls fails, or only a share of the calls that would dissent from
/// the full outcome.
fn replay_failing(
    votes: &RecordedVotes,
    share: f64,
    dissent_only: bool,
    failed: FailureTreatment,
) -> FailureResult {
    let rule = Rule::for_threshold(Threshold::DEFAULT);
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let rounds = ORDERS.div_ceil(votes.questions.len());
    let (mut calls, mut wrong) = (0, 0);
    for _ in 0..rounds {
        for answers in votes.questions.values() {
            let full_outcome = Tally::of(votes.options, answers.iter().copied()).leader();
            let mut members: Vec<(Option<usize>, bool)> = answers
                .iter()
                .map(|answer| {
                    let can_fail = !dissent_only || *answer != full_outcome;
                    (*answer, can_fail && share > 0.0 && rng.random_bool(share))
                })
                .collect();
            members.shuffle(&mut rng);
            let mut responses = Responses::new(votes.options, members.len());
            let claimed = members.iter().find_map(|&(answer, fails)| {
                let position = responses.launch()?;
                responses.record(
                    position,
                    match failed {
                        FailureTreatment::NoVote if fails => FinalResponse::NoVote,
                        _ if fails => FinalResponse::Unknown,
                        _ => answer.into(),
                    },
                );
                if !matches!(failed, FailureTreatment::Remaining) {
                    return decide(&responses, &rule, false).map(|end| (end.option, end.p));
                }
                let standing = responses.overall();
                let unknown = responses.unknown() as u32;
                let Evidence { leader, rival, remaining } = standing.evidence;
                let evidence = Evidence { leader, rival: rival - unknown, remaining: remaining + unknown };
                let ends = rule.stops(evidence) || responses.is_exhausted();
                ends.then(|| (standing.leader, p_value(evidence)))
            });
            calls += responses.launched();
            wrong += usize::from(claimed.is_some_and(|(option, p)| p <= 0.05 && option != full_outcome));
        }
    }
    let polls = (rounds * votes.questions.len()) as f64;
    FailureResult { calls: calls as f64 / polls, wrong: wrong as f64 / polls }
}

/// Prints the cost of failing calls for each treatment.
fn with_failures(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("\nBridge at 0.95 with failing calls: calls (against no failures), share of wrong claims");
    println!(
        "{:<9} {:>4}  {:<8} {:>24} {:>24} {:>24}",
        "set", "fail", "which", "as no votes", "as still to be asked", "as unknown"
    );
    for VoteSet { name, file, .. } in SETS {
        let votes = RecordedVotes::read(File::open(folder.join(format!("{file}_votes.csv")))?)?;
        let none = replay_failing(&votes, 0.0, false, FailureTreatment::NoVote);
        for share in FAILURES {
            for (dissent_only, which) in [(false, "any"), (true, "dissent")] {
                let column = |failed| {
                    let found = replay_failing(&votes, share, dissent_only, failed);
                    let more = 100.0 * (found.calls / none.calls - 1.0);
                    format!("{:.2} ({more:+.1} %) {:.4}", found.calls, found.wrong)
                };
                let [one, two, three] =
                    [FailureTreatment::NoVote, FailureTreatment::Remaining, FailureTreatment::Unknown]
                        .map(column);
                let percent = 100.0 * share;
                println!("{name:<9} {percent:>2.0} %  {which:<8} {one:>24} {two:>24} {three:>24}");
            }
        }
    }
    Ok(())
}
