//! Replays recorded votes as polls that stop early, and compares each with the outcome of its full roster:
//!
//! ```sh
//! cargo run -p ep-polling --example replay_csv -- crates/polling/examples/made_up_votes.csv --threshold 0.95
//! ```
//!
//! `made_up_votes.csv` contains invented votes for a first run. Use your own votes to measure the savings of
//! early stopping.

mod votes;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;

use clap::Parser;
use ep_polling::stopping::{MAX_ROSTER, decide};
use ep_polling::{Decision, Responses, Rule, Seed, Tally, Threshold};
use votes::RecordedVotes;

/// Replays recorded votes as polls that stop early.
#[derive(Parser)]
struct Arguments {
    /// A CSV file with the columns question_id, model and choice; a missing row or an empty choice is a
    /// failure
    file: PathBuf,
    /// The confidence at which a poll may stop early, from 0 to 1
    #[arg(long, default_value_t = Threshold::DEFAULT.get())]
    threshold: f64,
    /// The number of random orders in which each question is asked
    #[arg(long, default_value_t = 1000)]
    orders: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(&Arguments::parse())?);
    Ok(())
}

fn run(arguments: &Arguments) -> Result<Summary, Box<dyn Error>> {
    let file =
        File::open(&arguments.file).map_err(|error| format!("{}: {error}", arguments.file.display()))?;
    let votes = RecordedVotes::read(file)?;
    let rule = Rule::for_threshold(Threshold::new(arguments.threshold)?);
    let mut summary = Summary { members: votes.models, ..Summary::default() };
    for answers in votes.questions.values() {
        let full_outcome = Tally::of(votes.options, answers.iter().copied()).leader();
        for order in 0..arguments.orders {
            let mut answers = answers.clone();
            seed(order).shuffle(&mut answers);
            let (decision, calls) = poll(&answers, votes.options, &rule);
            summary.polls += 1;
            summary.calls += calls;
            summary.agreed += usize::from(decision.option == full_outcome);
            *summary.ends.entry(decision.reason.as_str()).or_default() += 1;
        }
    }
    Ok(summary)
}

/// Asks members one by one until the rule stops. Returns the decision and the number of calls.
fn poll(answers: &[Option<usize>], options: usize, rule: &Rule) -> (Decision, usize) {
    let mut responses = Responses::new(options, answers.len());
    loop {
        if let Some(decision) = decide(&responses, rule, false) {
            return (decision, responses.launched());
        }
        if let Some(position) = responses.launch() {
            responses.record(position, answers[position]);
        }
    }
}

/// Returns the same seed on every run. A real poll takes the 32 bytes from the operating system.
fn seed(order: u64) -> Seed {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&order.to_le_bytes());
    Seed::new(bytes)
}

#[derive(Debug, Default)]
struct Summary {
    members: usize,
    polls: usize,
    calls: usize,
    agreed: usize,
    /// Polls by reason of their end.
    ends: BTreeMap<&'static str, usize>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let polls = self.polls.max(1) as f64;
        let calls = self.calls as f64 / polls;
        let saved = 100.0 * (1.0 - calls / self.members.max(1) as f64);
        writeln!(f, "{} polls of {} members", self.polls, self.members)?;
        writeln!(f, "calls: {calls:.2} per poll, {saved:.1} % saved")?;
        write!(f, "agreement with the full roster: {:.4}", self.agreed as f64 / polls)?;
        for (reason, polls_ended) in &self.ends {
            write!(f, "\nended by {reason}: {:.1} %", 100.0 * *polls_ended as f64 / polls)?;
        }
        if self.members > MAX_ROSTER {
            write!(f, "\nmore than {MAX_ROSTER} members: polls stop early by the mathematical lock alone")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_with(flags: &[&str]) -> Result<Summary, Box<dyn Error>> {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/made_up_votes.csv");
        run(&Arguments::try_parse_from(["replay_csv", shipped].iter().chain(flags))?)
    }

    #[test]
    fn the_shipped_votes_save_calls_and_keep_the_guarantee() {
        let summary = run_with(&["--threshold", "0.95", "--orders", "200"]).unwrap();
        assert_eq!((summary.members, summary.polls), (25, 12 * 200));
        assert!(summary.calls < 25 * summary.polls);
        assert!(summary.agreed as f64 >= 0.95 * summary.polls as f64, "{summary}");
        assert_eq!(summary.ends.values().sum::<usize>(), summary.polls);
        assert!(summary.to_string().contains("ended by confidence"), "{summary}");
    }

    #[test]
    fn a_lower_threshold_makes_fewer_calls_and_a_threshold_of_one_never_errs() {
        let [low, high] =
            ["0.8", "1"].map(|level| run_with(&["--threshold", level, "--orders", "50"]).unwrap());
        assert!(low.calls < high.calls);
        assert_eq!(high.agreed, high.polls);
    }

    #[test]
    fn unreadable_input_is_an_error() {
        assert!(run_with(&["--threshold", "1.5"]).is_err());
        assert!(RecordedVotes::read("question_id,model\n1,a\n".as_bytes()).is_err());
        let twice = "question_id,model,choice\n1,a,yes\n1,a,no\n";
        assert!(
            RecordedVotes::read(twice.as_bytes()).unwrap_err().to_string().contains("question 1, model a")
        );
    }

    #[test]
    fn missing_rows_and_empty_choices_are_failures() {
        let votes =
            RecordedVotes::read("question_id,model,choice\n1,a,yes\n1,b,\n2,b,no\n".as_bytes()).unwrap();
        assert_eq!((votes.models, votes.options), (2, 2));
        assert_eq!(votes.questions["1"], [Some(0), None]);
        assert_eq!(votes.questions["2"], [None, Some(1)]);
    }
}
