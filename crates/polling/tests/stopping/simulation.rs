//! A poll in simulated time: members respond after a given latency, the stopping rule is the real one.

use ep_polling::stopping::{decide, responses_needed};
use ep_polling::{Decision, Evidence, FinalResponse, Pace, Responses, Rule};
use rand::{Rng, RngExt};

/// A member of the roster: its response and latency.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) answer: Option<usize>,
    /// True if its call fails, so that its vote is unknown.
    pub(crate) unknown: bool,
    pub(crate) seconds: f64,
}

/// The result of one simulated poll.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) decision: Decision,
    pub(crate) calls: usize,
    pub(crate) seconds: f64,
    pub(crate) most_in_flight: usize,
}

/// Polls `members` in the given dispatch order; `in_flight` returns the number of concurrent calls.
pub(crate) fn run(
    members: &[Member],
    options: usize,
    rule: &Rule,
    in_flight: impl Fn(&Responses) -> usize,
) -> Run {
    run_from(Responses::new(options, members.len()), members, rule, in_flight)
}

/// Polls `members` likewise, from a record without responses.
pub(crate) fn run_from(
    mut responses: Responses,
    members: &[Member],
    rule: &Rule,
    in_flight: impl Fn(&Responses) -> usize,
) -> Run {
    let mut calls: Vec<(f64, usize)> = Vec::new();
    let (mut now, mut most_in_flight) = (0.0, 0);
    loop {
        if let Some(decision) = decide(&responses, rule, false) {
            return Run { decision, calls: responses.launched(), seconds: now, most_in_flight };
        }
        let wanted = in_flight(&responses);
        while calls.len() < wanted.max(1) {
            let Some(position) = responses.launch() else { break };
            calls.push((now + members[position].seconds, position));
        }
        most_in_flight = most_in_flight.max(calls.len());
        let (next, _) = calls.iter().enumerate().min_by(|a, b| a.1.0.total_cmp(&b.1.0)).unwrap();
        let (finished, position) = calls.swap_remove(next);
        now = finished;
        let Member { answer, unknown, .. } = members[position];
        responses.record(position, if unknown { FinalResponse::Unknown } else { answer.into() });
    }
}

/// Returns the full roster's outcome: the option with strictly the most votes, if there is one.
pub(crate) fn outcome(members: &[Member], options: usize) -> Option<usize> {
    let mut votes = vec![0; options];
    members.iter().filter_map(|member| member.answer).for_each(|option| votes[option] += 1);
    let most = votes.iter().max()?;
    let mut leaders = votes.iter().enumerate().filter(|(_, count)| *count == most && *most > 0);
    let leader = leaders.next()?.0;
    leaders.next().is_none().then_some(leader)
}

/// True if the poll's outcome is the full roster's.
pub(crate) fn agrees(run: &Run, members: &[Member], options: usize) -> bool {
    run.decision.option == outcome(members, options)
}

/// Returns the evidence of all completed responses.
pub(crate) fn standing(responses: &Responses) -> Evidence {
    responses.overall().evidence
}

/// Returns the number of calls in flight at this pace.
pub(crate) fn in_flight(pace: Pace, rule: &Rule, responses: &Responses) -> usize {
    let standing = standing(responses);
    pace.in_flight(responses_needed(rule, standing), standing.remaining) as usize
}

/// Draws a time from a lognormal distribution, in seconds.
pub(crate) fn lognormal(rng: &mut impl Rng, median: f64, sigma: f64) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    median * (sigma * normal).exp()
}

/// Draws the responses of one roster, Dirichlet(a, …, a)-multinomial over the options: the smaller a is, the
/// more the members agree. An urn draws them, so every order of the same responses is equally likely.
pub(crate) fn answers(rng: &mut impl Rng, roster: usize, options: usize, a: f64) -> Vec<Option<usize>> {
    let mut weights = vec![a; options];
    let mut total = a * options as f64;
    (0..roster)
        .map(|_| {
            let mut left = rng.random::<f64>() * total;
            let drawn = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            let option = drawn.unwrap_or(options - 1);
            weights[option] += 1.0;
            total += 1.0;
            Some(option)
        })
        .collect()
}

/// Draws members with such [`answers`], of which one in ten fails, with a median latency of four seconds.
pub(crate) fn members(rng: &mut impl Rng, roster: usize, options: usize, a: f64) -> Vec<Member> {
    answers(rng, roster, options, a)
        .into_iter()
        .map(|answer| Member {
            answer: answer.filter(|_| !rng.random_bool(0.1)),
            unknown: false,
            seconds: lognormal(rng, 4.0, 1.0),
        })
        .collect()
}
