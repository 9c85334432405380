//! The stop of a poll with a pass mark: the two-option rule about the votes for and against the pass, where a tie fails.

use ep_polling::stopping::decide;
use ep_polling::{
    FinalResponse, Levels, Pace, PassMark, PassSide, Responses, Rule, Scale, Tally, TerminationReason,
};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::simulation::{Member, answers, lognormal, run_from};
use crate::{LEVELS, rule};

/// The levels of the scales.
const SCALE: usize = 5;

const AGAINST: usize = PassSide::Against as usize;
const FOR: usize = PassSide::For as usize;

fn mark(level: usize) -> PassMark {
    let levels = Levels::new(&(0..SCALE).map(|level| level.to_string()).collect::<Vec<_>>()).unwrap();
    Scale::new(levels, Some(&level.to_string())).unwrap().mark().unwrap()
}

fn responses(roster: usize) -> Responses {
    Responses::with_tie_won_by(AGAINST, 2, roster)
}

/// Returns the side that the median of these levels is on.
fn side(mark: PassMark, levels: &[Option<usize>]) -> Option<usize> {
    let median = Tally::of(SCALE, levels.iter().copied()).lower_median()?;
    Some(usize::from(median >= mark.level()))
}

/// Returns the record after these votes for, votes against and missing votes.
fn record(roster: usize, votes_for: usize, against: usize, missing: usize) -> Responses {
    let mut responses = responses(roster);
    let answers = [(Some(FOR), votes_for), (Some(AGAINST), against), (None, missing)];
    for (answer, count) in answers {
        for _ in 0..count {
            let position = responses.launch().unwrap();
            responses.record(position, answer);
        }
    }
    responses
}

/// Returns the side for which a poll with this record stops, if its latest response is what stops it.
fn stop(rule: &Rule, responses: &Responses) -> Option<usize> {
    let latest = responses.prefixes().last()?;
    let stops = latest.members == responses.launched()
        && !responses.is_exhausted()
        && (rule.stops(latest.evidence) || responses.is_locked());
    stops.then_some(latest.option)
}

/// Returns the probability, over the order alone, that a panel with these votes stops with another result than its own.
fn error(
    votes_for: usize,
    against: usize,
    missing: usize,
    stops: &dyn Fn(usize, usize, usize) -> Option<usize>,
) -> f64 {
    let result = usize::from(votes_for > against);
    let (width, depth) = (against + 1, missing + 1);
    let index = |f: usize, a: usize, m: usize| (f * width + a) * depth + m;
    let mut mass = vec![0.0; (votes_for + 1) * width * depth];
    mass[0] = 1.0;
    let mut wrong = 0.0;
    for f in 0..=votes_for {
        for a in 0..=against {
            for m in 0..=missing {
                let here = mass[index(f, a, m)];
                if let Some(side) = stops(f, a, m) {
                    wrong += if side == result { 0.0 } else { here };
                    continue;
                }
                let left = (votes_for - f + against - a + missing - m) as f64;
                let next = [(votes_for - f, (1, 0, 0)), (against - a, (0, 1, 0)), (missing - m, (0, 0, 1))];
                for (count, (df, da, dm)) in next.into_iter().filter(|(count, _)| *count > 0) {
                    mass[index(f + df, a + da, m + dm)] += here * count as f64 / left;
                }
            }
        }
    }
    wrong
}

#[test]
fn an_early_stop_errs_at_most_as_often_as_allowed() {
    for roster in [5, 8, 12, 17, 24] {
        for level in LEVELS {
            let rule = rule(level);
            let side = roster + 1;
            let table: Vec<Option<usize>> = (0..side * side * side)
                .map(|state| (state / (side * side), state / side % side, state % side))
                .map(|(f, a, m)| {
                    (f + a + m <= roster).then(|| stop(&rule, &record(roster, f, a, m))).flatten()
                })
                .collect();
            let stops = |f: usize, a: usize, m: usize| table[(f * side + a) * side + m];
            let panels = (0..=roster).flat_map(|f| (0..=roster - f).map(move |a| (f, a, roster - f - a)));
            let errors = panels.map(|(f, a, m)| error(f, a, m, &stops));
            let worst = errors.fold(0.0, f64::max);
            let allowed = 1.0 - level;
            assert!(worst <= allowed * (1.0 + 1e-8), "{roster} at {level}: {worst}");
            // A rule that never errs makes too many calls.
            assert!(worst >= allowed * 0.2 || roster < 12, "{roster} at {level}: {worst}");
        }
    }
}

#[test]
fn simulated_panels_agree_with_their_full_result() {
    const TRIALS: u32 = 2000;
    let (rule, mark) = (rule(0.9), mark(3));
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_127);
    let (mut agreed, mut calls) = (0, 0);
    for _ in 0..TRIALS {
        let levels = answers(&mut rng, 30, SCALE, 1.0);
        let member = |level: &Option<usize>| Member {
            answer: level.map(|level| mark.side(level) as usize),
            unknown: false,
            seconds: lognormal(&mut rng, 4.0, 1.0),
        };
        let members: Vec<Member> = levels.iter().map(member).collect();
        let in_flight = |responses: &Responses| {
            let open = (responses.roster() - responses.completed()) as u32;
            Pace::Balanced.in_flight(responses.responses_needed(&rule), open) as usize
        };
        let run = run_from(responses(members.len()), &members, &rule, in_flight);
        agreed += u32::from(run.decision.option == side(mark, &levels));
        calls += run.calls;
    }
    assert!(f64::from(agreed) >= 0.9 * f64::from(TRIALS), "{agreed} of {TRIALS}");
    // A complete panel takes 30 calls.
    assert!(calls < 24 * TRIALS as usize, "{calls} calls");
}

#[test]
fn a_tie_fails_and_half_of_the_votes_lock_it() {
    let end = |responses: &Responses| decide(responses, &rule(1.0), false);
    let tie = end(&record(10, 5, 5, 0)).unwrap();
    assert_eq!((tie.option, tie.p, tie.reason), (Some(AGAINST), 0.0, TerminationReason::RosterExhausted));
    let locked = end(&record(10, 0, 5, 0)).unwrap();
    assert_eq!(
        (locked.option, locked.p, locked.reason),
        (Some(AGAINST), 0.0, TerminationReason::MathematicalLock)
    );
    assert_eq!(end(&record(10, 5, 0, 0)), None);
    assert_eq!(end(&record(10, 6, 0, 0)).unwrap().option, Some(FOR));
    // Models that gave no vote count for neither side.
    assert_eq!(end(&record(10, 5, 0, 1)).unwrap().option, Some(FOR));
    let nothing = end(&record(4, 0, 0, 4)).unwrap();
    assert_eq!((nothing.option, nothing.p), (None, 1.0));
    let mut failed = record(3, 1, 1, 0);
    failed.launch();
    failed.record(2, FinalResponse::Unknown);
    // The unknown vote could have been for the pass.
    let failed = end(&failed).unwrap();
    assert_eq!((failed.standing.leader, failed.p), (Some(AGAINST), 1.0));
}

fn panels() -> impl Strategy<Value = (usize, Vec<Option<usize>>, Vec<bool>, Vec<usize>)> {
    let member = (prop::option::weighted(0.9, 0..SCALE), prop::bool::weighted(0.9));
    (1..SCALE, prop::collection::vec(member, 1..40)).prop_flat_map(|(mark, members)| {
        let order: Vec<usize> = (0..members.len()).collect();
        let (levels, succeeds) = members.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        (Just(mark), Just(levels), Just(succeeds), Just(order).prop_shuffle())
    })
}

proptest! {
    /// A locked result is that of the whole panel, whatever the models without a response would vote.
    #[test]
    fn a_locked_result_is_the_complete_one((level, levels, succeeds, order) in panels()) {
        let mark = mark(level);
        let mut responses = responses(levels.len());
        for _ in &levels {
            responses.launch();
        }
        for position in order {
            let response = if succeeds[position] { levels[position].into() } else { FinalResponse::Unknown };
            responses.record(position, mark.response(response));
            if responses.is_locked() {
                prop_assert_eq!(responses.overall().leader, side(mark, &levels));
                prop_assert!(!responses.is_exhausted() || decide(&responses, &rule(1.0), false).unwrap().p == 0.0);
            } else if responses.is_exhausted() && responses.unknown() == 0 && side(mark, &levels).is_some() {
                prop_assert!(false, "a complete result is not locked");
            }
        }
    }

    /// A poll that asks as many models as needed at once makes no call more than one that asks one by one.
    #[test]
    fn no_poll_stops_before_the_responses_needed(
        (level, levels, _, _) in panels(),
        known in 0..40_usize,
        threshold in prop::sample::select(vec![0.5, 0.8, 0.95, 1.0]),
    ) {
        let (rule, mark) = (rule(threshold), mark(level));
        let mut responses = responses(levels.len());
        let ask = |responses: &mut Responses, level: Option<usize>| {
            let position = responses.launch().unwrap();
            responses.record(position, mark.response(level.into()));
        };
        for level in levels.iter().take(known) {
            ask(&mut responses, *level);
        }
        prop_assume!(decide(&responses, &rule, false).is_none());
        let needed = responses.responses_needed(&rule) as usize;
        prop_assert!(needed >= 1);
        for level in levels.iter().skip(known).take(needed - 1) {
            ask(&mut responses, *level);
            prop_assert!(responses.is_exhausted() || decide(&responses, &rule, false).is_none());
        }
    }

    /// If the next responses all favour the leader, the poll stops after as many of them as are needed.
    #[test]
    fn the_responses_needed_are_enough((level, levels, _, _) in panels(), known in 0..40_usize) {
        let (rule, mark) = (rule(1.0), mark(level));
        let mut responses = responses(levels.len());
        for level in levels.iter().take(known) {
            let position = responses.launch().unwrap();
            responses.record(position, mark.response((*level).into()));
        }
        prop_assume!(decide(&responses, &rule, false).is_none());
        let leader = responses.overall().leader.unwrap_or(AGAINST);
        for _ in 0..responses.responses_needed(&rule) {
            let position = responses.launch().unwrap();
            responses.record(position, Some(leader));
        }
        prop_assert!(decide(&responses, &rule, false).is_some());
    }
}
