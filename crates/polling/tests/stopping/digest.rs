//! A digest of what the rule decides. The whole grid of simulated polls takes ten minutes, so it runs again only if this
//! digest changes (`scripts/long/stopping-grid/run`).

use ep_polling::stopping::{decide, responses_needed};
use ep_polling::{Evidence, Pace, Responses, Rule};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::simulation::{Member, in_flight, members, run_from};
use crate::{LEVELS, evidence, rule};

/// The largest roster of which every state is decided.
const MOST: u32 = 100;
/// The number of simulated polls.
const POLLS: usize = 20_000;
const PACES: [Pace; 3] = [Pace::Thrifty, Pace::Balanced, Pace::Fast];
/// The summary of the last run of the whole grid.
const SUMMARY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/long/stopping-grid/summary.md"));

/// Adds the decision in every state: whether the rule stops, the responses that it needs, and the calls in flight.
fn states(rule: &Rule, digest: &mut Sha256) {
    for x in 0..=MOST {
        for y in 0..=x.min(MOST - x) {
            // Large rosters first: their decisions need those of all smaller ones.
            for r in (0..=MOST - x - y).rev() {
                let standing: Evidence = evidence(x, y, r);
                let needed = responses_needed(rule, standing);
                let calls = PACES.map(|pace| pace.in_flight(needed, r) as u8);
                digest.update([u8::from(rule.stops(standing)), needed as u8]);
                digest.update(calls);
            }
        }
    }
}

/// Adds the end of polls with failures, unknown votes, ties that have a winner, and budgets.
fn polls(digest: &mut Sha256) {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_129);
    for poll in 0..POLLS {
        let rule = rule(LEVELS[poll % LEVELS.len()]);
        let (roster, options) = (rng.random_range(1..=100), rng.random_range(2..=10));
        let mut members = members(&mut rng, roster, options, [0.2, 1.0, 10.0][poll % 3]);
        for member in &mut members {
            member.unknown = rng.random_bool(0.05);
        }
        let responses = || match poll % 4 {
            0 => Responses::with_tie_won_by(poll % options, options, roster),
            _ => Responses::new(options, roster),
        };
        let pace = PACES[poll % PACES.len()];
        let run = run_from(responses(), &members, &rule, |responses| in_flight(pace, &rule, responses));
        digest.update(format!("{:?} {:?} {}\n", run.decision.reason, run.decision.option, run.calls));
        digest.update(out_of_budget(responses(), &members, &rule, rng.random_range(0..=roster)));
    }
}

/// Returns the end of a poll whose budget is this number of calls.
fn out_of_budget(mut responses: Responses, members: &[Member], rule: &Rule, calls: usize) -> String {
    for member in &members[..calls] {
        let position = responses.launch().unwrap();
        responses.record(position, member.answer);
    }
    let decision = decide(&responses, rule, true).unwrap();
    format!("{:?} {:?}\n", decision.reason, decision.option)
}

#[test]
fn the_whole_grid_has_run_for_these_decisions() {
    let mut digest = Sha256::new();
    for level in LEVELS {
        states(&rule(level), &mut digest);
    }
    polls(&mut digest);
    let digest = hex::encode(digest.finalize());
    println!("digest of the decisions: {digest}");
    assert!(
        SUMMARY.contains(&digest),
        "the rule decides differently: run scripts/long/stopping-grid/run, which takes ten minutes, and commit its summary \
         (the digest is now {digest})"
    );
}
