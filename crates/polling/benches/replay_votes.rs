//! Replays recorded votes in random orders, one member at a time: how many calls each rule makes, and how
//! often its answer is that of the full roster.
//!
//! ```sh
//! EP_VOTES_DATA=<folder> cargo bench -p ep-polling --bench replay_votes
//! ```
//!
//! With `-- figures`, it prints what stands in `docs/stopping-figures.json`, and nothing else.
//!
//! The folder holds third-party votes, which are not part of this project: `<set>_votes.csv` with the
//! columns question_id, model and choice. A (question, model) pair without a row is a model that was heard and
//! gave no vote, which still costs its call. Failures of transport are not in the data: a last table adds them
//! at random and shows what it costs to count their unknown answers for the rival.

#[path = "../examples/votes/mod.rs"]
mod votes;

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use ep_polling::stopping::{Decision, Evidence, FinalAnswer, Responses, Rule, decide, locked, p_value};
use ep_polling::tally::Tally;
use ep_polling::threshold::Threshold;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use votes::RecordedVotes;

const SETS: [Set; 2] = [
    Set {
        name: "MMLU-Pro",
        file: "mmlupro",
        source: "TIGER-AI-Lab/MMLU-Pro, eval_results, commit f418b116 (Apache-2.0)",
    },
    Set {
        name: "GSM8K",
        file: "zeroeval_gsm8k",
        source: "WildEval/ZeroEval, result_dirs/gsm, commit 8c1485ed (Apache-2.0)",
    },
];
const THRESHOLDS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];
/// Votes that lie between the first two options of a contested question, at most.
const MARGIN: usize = 2;
/// Random orders per set and rule, at least. Every question is replayed equally often.
const ORDERS: usize = 40_000;

/// Shares of calls that fail, in the table of failures.
const FAILURES: [f64; 3] = [0.01, 0.05, 0.2];

/// What the rule must reach at 0.95 on MMLU-Pro: mean calls as a share of the roster, and agreement.
const TARGET: (f64, f64) = (0.72, 0.999);

/// Adaptive-Consistency's Beta rule: stop when the posterior probability, under a uniform prior, that the
/// leader is likelier than its rival reaches the threshold. It takes into account neither the size of the
/// roster nor that it is applied after every vote.
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

/// Votes, and where they come from.
struct Set {
    name: &'static str,
    file: &'static str,
    source: &'static str,
}

/// What became of polls: counts, so that nothing is rounded.
#[derive(Serialize)]
struct Replayed {
    polls: usize,
    calls: usize,
    /// Polls whose answer was not the full roster's.
    different: usize,
}

impl Replayed {
    fn mean_calls(&self) -> f64 {
        self.calls as f64 / self.polls as f64
    }

    fn agreement(&self) -> f64 {
        1.0 - self.different as f64 / self.polls as f64
    }
}

/// The rules on one set of votes.
#[derive(Serialize)]
struct Compared {
    set: String,
    source: &'static str,
    questions: usize,
    models: usize,
    lock: Replayed,
    thresholds: Vec<AtThreshold>,
}

/// What is kept of a run.
#[derive(Serialize)]
struct Figures {
    command: &'static str,
    contested_margin: usize,
    sets: Vec<Compared>,
}

#[derive(Serialize)]
struct AtThreshold {
    threshold: f64,
    bridge: Replayed,
    beta: Replayed,
}

impl Compared {
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
        let show = |rule: &str, threshold: &str, found: &Replayed| {
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

/// Only the questions on which the two options with the most votes are at most `MARGIN` votes apart.
fn contested(mut votes: RecordedVotes) -> RecordedVotes {
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

/// Asks in random orders until `stop` names an answer. The orders are the same for every rule.
fn replay(votes: &RecordedVotes, stop: impl Fn(&Responses) -> Option<Option<usize>>) -> Replayed {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let rounds = ORDERS.div_ceil(votes.questions.len());
    let (mut calls, mut agreed) = (0, 0);
    for _ in 0..rounds {
        for answers in votes.questions.values() {
            let mut answers = answers.clone();
            let full_answer = Tally::of(votes.options, answers.iter().copied()).leader();
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
                    agreed += usize::from(option == full_answer);
                    break;
                }
            }
        }
    }
    let polls = rounds * votes.questions.len();
    Replayed { polls, calls, different: polls - agreed }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(folder) = std::env::var_os("EP_VOTES_DATA") else {
        println!("EP_VOTES_DATA names no folder with votes: nothing to replay");
        return Ok(ExitCode::SUCCESS);
    };
    let read = |set: &Set| -> Result<RecordedVotes, Box<dyn Error>> {
        RecordedVotes::read(File::open(Path::new(&folder).join(format!("{}_votes.csv", set.file)))?)
    };
    let mut compared = Vec::new();
    for set in &SETS {
        compared.push(Compared::new(set.name.to_owned(), set.source, &read(set)?));
    }
    let [set, _] = &SETS;
    compared.push(Compared::new(format!("{}, contested", set.name), set.source, &contested(read(set)?)));
    if std::env::args().any(|argument| argument == "figures") {
        let command = "EP_VOTES_DATA=<folder> cargo bench -p ep-polling --bench replay_votes -- figures";
        let figures = Figures { command, contested_margin: MARGIN, sets: compared };
        println!("{}", serde_json::to_string_pretty(&figures)?);
        return Ok(ExitCode::SUCCESS);
    }
    compared.iter().for_each(Compared::print);
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

/// How the stopping rule takes a call that failed.
#[derive(Clone, Copy)]
enum Failed {
    /// As a member that chose none.
    NoVote,
    /// As a member that is still to be asked: valid only if failing has nothing to do with the answer.
    Remaining,
    /// As an unknown answer, which counts for the rival.
    Unknown,
}

struct WithFailures {
    calls: f64,
    /// The share of polls that claim a confidence of 0.95 or more for another answer than all members'.
    wrong: f64,
}

/// Asks one by one, at 0.95. A share of the calls fails: any, or only those whose answer is not the full one.
fn replay_failing(votes: &RecordedVotes, share: f64, dissent_only: bool, failed: Failed) -> WithFailures {
    let rule = Rule::for_threshold(Threshold::DEFAULT);
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let rounds = ORDERS.div_ceil(votes.questions.len());
    let (mut calls, mut wrong) = (0, 0);
    for _ in 0..rounds {
        for answers in votes.questions.values() {
            let full_answer = Tally::of(votes.options, answers.iter().copied()).leader();
            let mut members: Vec<(Option<usize>, bool)> = answers
                .iter()
                .map(|answer| {
                    let can_fail = !dissent_only || *answer != full_answer;
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
                        Failed::NoVote if fails => FinalAnswer::NoVote,
                        _ if fails => FinalAnswer::Unknown,
                        _ => answer.into(),
                    },
                );
                if !matches!(failed, Failed::Remaining) {
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
            wrong += usize::from(claimed.is_some_and(|(option, p)| p <= 0.05 && option != full_answer));
        }
    }
    let polls = (rounds * votes.questions.len()) as f64;
    WithFailures { calls: calls as f64 / polls, wrong: wrong as f64 / polls }
}

/// Prints what failing calls cost, by how the rule takes them.
fn with_failures(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("\nBridge at 0.95 with failing calls: calls (against no failures), share of wrong claims");
    println!(
        "{:<9} {:>4}  {:<8} {:>24} {:>24} {:>24}",
        "set", "fail", "which", "as no votes", "as still to be asked", "as unknown"
    );
    for Set { name, file, .. } in SETS {
        let votes = RecordedVotes::read(File::open(folder.join(format!("{file}_votes.csv")))?)?;
        let none = replay_failing(&votes, 0.0, false, Failed::NoVote);
        for share in FAILURES {
            for (dissent_only, which) in [(false, "any"), (true, "dissent")] {
                let column = |failed| {
                    let found = replay_failing(&votes, share, dissent_only, failed);
                    let more = 100.0 * (found.calls / none.calls - 1.0);
                    format!("{:.2} ({more:+.1} %) {:.4}", found.calls, found.wrong)
                };
                let [one, two, three] = [Failed::NoVote, Failed::Remaining, Failed::Unknown].map(column);
                let percent = 100.0 * share;
                println!("{name:<9} {percent:>2.0} %  {which:<8} {one:>24} {two:>24} {three:>24}");
            }
        }
    }
    Ok(())
}
