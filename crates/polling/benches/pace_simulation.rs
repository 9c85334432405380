//! Calls and waiting time of simulated polls, by the number of calls they keep in flight.
//!
//! ```sh
//! cargo bench -p ep-polling --bench pace_simulation
//! ```
//!
//! Every policy polls the same rosters with the same latencies (fixed seeds), so differences between rows are
//! differences between policies. docs/pace.md shows the results and the choice.

#[expect(dead_code, clippy::unwrap_used, reason = "shared with the tests, which use all of it")]
#[path = "../tests/stopping/simulation.rs"]
mod simulation;

use ep_polling::stopping::responses_needed;
use ep_polling::{Pace, Responses, Rule, Threshold};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use simulation::{Member, agrees, answers, lognormal, run, standing};

const POLLS: usize = 2000;

/// The latencies of a roster.
#[derive(Clone, Copy)]
enum Latency {
    /// Lognormal, median 4 s, σ = 0.8.
    Healthy,
    /// The same, but a fifth of the models have a median of 20 s, and a tenth fail after 60 s.
    SlowTail,
}

struct Scenario {
    roster: usize,
    options: usize,
    /// Dirichlet parameter per option: the smaller, the more the models agree.
    a: f64,
    latency: Latency,
}

impl Scenario {
    fn members(&self, rng: &mut ChaCha8Rng) -> Vec<Member> {
        let mut members: Vec<Member> = answers(rng, self.roster, self.options, self.a)
            .into_iter()
            .enumerate()
            .map(|(model, answer)| match self.latency {
                Latency::SlowTail if model % 10 == 0 => Member { answer, unknown: true, seconds: 60.0 },
                Latency::SlowTail if model % 5 == 1 => {
                    Member { answer, unknown: false, seconds: lognormal(rng, 20.0, 0.8) }
                }
                _ => Member { answer, unknown: false, seconds: lognormal(rng, 4.0, 0.8) },
            })
            .collect();
        members.shuffle(rng);
        members
    }
}

/// A policy: the number of calls to keep in flight, given the calls needed and the members without a
/// response.
type Policy = (&'static str, fn(u32, u32) -> u32);

const POLICIES: [Policy; 13] = [
    ("thrifty: k", |k, _| k),
    ("max(k, 4)", |k, _| k.max(4)),
    ("max(k, 8)", |k, _| k.max(8)),
    ("max(k, 12)", |k, _| k.max(12)),
    ("ceil(1.25 k)", |k, _| (k * 5).div_ceil(4)),
    ("ceil(1.5 k)", |k, _| (k * 3).div_ceil(2)),
    ("balanced: 2 k", |k, open_responses| Pace::Balanced.in_flight(k, open_responses)),
    ("3 k", |k, _| k * 3),
    ("k + 2", |k, _| k + 2),
    ("k + 4", |k, _| k + 4),
    ("k + 8", |k, _| k + 8),
    ("k + unanswered / 8", |k, open_responses| k + open_responses.div_ceil(8)),
    ("fast: all", |_, open_responses| open_responses),
];

#[derive(Clone, Copy, Default)]
struct Measurement {
    calls: f64,
    seconds: f64,
    slowest_tenth: f64,
    /// The share of polls that claim a confidence of 0.95 or more for another option than the roster's
    /// outcome.
    wrong: f64,
}

fn measure(scenario: &Scenario, rule: &Rule, policy: fn(u32, u32) -> u32) -> Measurement {
    let mut rng = ChaCha8Rng::seed_from_u64((scenario.roster * 10 + scenario.options) as u64);
    let mut times = Vec::with_capacity(POLLS);
    let mut sum = Measurement::default();
    for _ in 0..POLLS {
        let members = scenario.members(&mut rng);
        let in_flight = |responses: &Responses| {
            let standing = standing(responses);
            policy(responses_needed(rule, standing), standing.remaining) as usize
        };
        let run = run(&members, scenario.options, rule, in_flight);
        sum.calls += run.calls as f64;
        sum.seconds += run.seconds;
        let claims = run.decision.p <= 1.0 - rule.threshold().get();
        sum.wrong += f64::from(u8::from(claims && !agrees(&run, &members, scenario.options)));
        times.push(run.seconds);
    }
    times.sort_by(f64::total_cmp);
    let polls = POLLS as f64;
    Measurement {
        calls: sum.calls / polls,
        seconds: sum.seconds / polls,
        slowest_tenth: times[POLLS * 9 / 10],
        wrong: sum.wrong / polls,
    }
}

fn main() {
    let rule = Rule::for_threshold(Threshold::DEFAULT);
    let mut scenarios = Vec::new();
    for latency in [Latency::Healthy, Latency::SlowTail] {
        for roster in [25, 50, 100] {
            scenarios.push(Scenario { roster, options: 2, a: 1.0, latency });
            scenarios.push(Scenario { roster, options: 4, a: 0.5, latency });
        }
    }
    let mut ratios = vec![(0.0, 0.0, 0.0); POLICIES.len()];
    for scenario in &scenarios {
        let latency = match scenario.latency {
            Latency::Healthy => "healthy",
            Latency::SlowTail => "slow tail",
        };
        println!("\n{} members, {} options, {latency}", scenario.roster, scenario.options);
        println!("{:<20} {:>7} {:>8} {:>8} {:>10}", "in flight", "calls", "mean s", "p90 s", "wrong");
        let mut thrifty = Measurement::default();
        for (index, (name, policy)) in POLICIES.iter().enumerate() {
            let found = measure(scenario, &rule, *policy);
            if index == 0 {
                thrifty = found;
            }
            let Measurement { calls, seconds, slowest_tenth, wrong } = found;
            println!("{name:<20} {calls:>7.2} {seconds:>8.2} {slowest_tenth:>8.2} {wrong:>10.4}");
            ratios[index].0 += calls / thrifty.calls / scenarios.len() as f64;
            ratios[index].1 += seconds / thrifty.seconds / scenarios.len() as f64;
            ratios[index].2 += slowest_tenth / thrifty.slowest_tenth / scenarios.len() as f64;
        }
    }
    println!("\nmean over all {} scenarios, thrifty = 1", scenarios.len());
    println!("{:<20} {:>7} {:>8} {:>8}", "in flight", "calls", "mean s", "p90 s");
    for ((name, _), (calls, seconds, slowest)) in POLICIES.iter().zip(ratios) {
        println!("{name:<20} {calls:>7.3} {seconds:>8.3} {slowest:>8.3}");
    }
}
