//! What polls tell about the models that voted in them, as sums: a poll adds to them once it has ended.
//!
//! Sums are integers, so that what one poll has added can be taken away again exactly.

use std::collections::BTreeMap;

use crate::ballot::{Ballot, Reason};
use crate::money::{MicroUsd, SpendBasis};
use crate::plan::Plan;
use crate::roster::ModelId;
use crate::tally::Tally;

/// One whole, where shares are summed.
pub const WHOLE: i64 = 1_000_000;

/// Declares sums whose fields are added and subtracted one by one.
macro_rules! sums {
    ($(#[$doc:meta])* $name:ident [$count:literal] { $($(#[$field_doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: i64,)*
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const fn values(&self) -> [i64; $count] {
                [$(self.$field),*]
            }

            /// Adds others, or takes them away.
            fn change(&mut self, other: &Self, change: Change) {
                $(change.apply(&mut self.$field, other.$field);)*
            }
        }
    };
}

sums! {
    /// What polls tell about one model.
    ModelSums [11] {
        /// Calls to it.
        calls,
        /// Calls that ended in a vote.
        votes,
        /// Calls that it declined to answer.
        refused,
        /// Answers that named no option, or several.
        unreadable,
        /// The time that its votes took, in milliseconds.
        latency_ms,
        /// Calls whose cost is known.
        priced,
        /// What these cost, in micro-USD.
        cost,
        /// Votes in polls that a rule ended and that have a winner.
        decided,
        /// Of these, votes for the winner.
        with_outcome,
        /// Of the decided ones, votes in polls whose outcome was judged.
        judged,
        /// How far these agree with the judgements, in millionths of a vote: see [`agreement`].
        agreed,
    }
}

sums! {
    /// What polls tell about the service.
    ServiceSums [6] {
        /// Polls that have ended.
        polls,
        /// Of these, polls that their owner ended.
        cancelled,
        /// Of these, polls that cannot cost anything.
        free,
        /// Polls that a rule ended and in which at least one model voted.
        answered,
        /// From acceptance to the end of all but those that were cancelled, in milliseconds.
        total_ms,
        /// What all their calls cost, in micro-USD.
        cost,
    }
}

/// The place at which an option was shown, from 0, and the number of options shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The number of options.
    pub options: u32,
    /// The place.
    pub slot: u32,
}

/// What some polls tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// About the service.
    pub service: ServiceSums,
    /// About each model.
    pub models: BTreeMap<ModelId, ModelSums>,
    /// How many votes of each model went to the option shown at each place.
    pub slots: BTreeMap<ModelId, BTreeMap<Slot, i64>>,
}

/// What accounts say of a poll's outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judgements {
    /// How many say that it was correct.
    pub correct: u32,
    /// How many say that it was incorrect.
    pub incorrect: u32,
}

/// A poll that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedPoll<'a> {
    /// What was fixed about it.
    pub plan: &'a Plan,
    /// Its ballots.
    pub ballots: &'a [Ballot],
    /// Whether a stopping rule ended it: not its owner, and not its deadline.
    pub by_rule: bool,
    /// Whether its owner ended it.
    pub cancelled: bool,
    /// From acceptance to its end, in milliseconds.
    pub total_ms: u64,
    /// What calls cost whose answers were not used.
    pub unused_cost: MicroUsd,
}

/// Whether sums are added or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Add,
    Take,
}

impl Change {
    const fn apply(self, sum: &mut i64, amount: i64) {
        *sum = match self {
            Self::Add => sum.saturating_add(amount),
            Self::Take => sum.saturating_sub(amount),
        };
    }
}

/// Whether a poll counts: its voters are models, and anyone may read what they voted.
pub const fn counts(plan: &Plan) -> bool {
    !plan.simulated && !plan.private
}

/// How far a vote agrees with what accounts say of the outcome, in millionths: the share of those who say that it was
/// correct if the vote was for it, and of those who say that it was incorrect otherwise. `None` without judgements.
pub fn agreement(judged: Judgements, with_outcome: bool) -> Option<i64> {
    let (correct, all) = (i64::from(judged.correct), i64::from(judged.correct) + i64::from(judged.incorrect));
    let share = correct.checked_mul(WHOLE)?.checked_div(all)?;
    Some(if with_outcome { share } else { WHOLE - share })
}

impl Sums {
    /// What one poll tells: nothing if it does not count.
    pub fn of(poll: &EndedPoll<'_>, judged: Judgements) -> Self {
        let mut sums = Self::default();
        if !counts(poll.plan) {
            return sums;
        }
        let votes = poll.ballots.iter().map(|ballot| ballot.vote.as_ref().ok().copied());
        let tally = Tally::of(poll.plan.options.len(), votes);
        let winner = if poll.by_rule { tally.leader() } else { None };
        for ballot in poll.ballots {
            sums.add_ballot(ballot, winner, judged);
        }
        let spent: i64 = poll.ballots.iter().map(|ballot| ballot.spend.amount.micro()).sum();
        sums.service = ServiceSums {
            polls: 1,
            cancelled: poll.cancelled.into(),
            free: poll.plan.is_free().into(),
            answered: (poll.by_rule && tally.votes() > 0).into(),
            total_ms: if poll.cancelled { 0 } else { i64::try_from(poll.total_ms).unwrap_or(i64::MAX) },
            cost: spent.saturating_add(poll.unused_cost.micro()),
        };
        sums
    }

    fn add_ballot(&mut self, ballot: &Ballot, winner: Option<usize>, judged: Judgements) {
        let model = self.models.entry(ballot.model.clone()).or_default();
        model.calls += 1;
        if ballot.spend.basis != SpendBasis::Unknown {
            model.priced += 1;
            model.cost += ballot.spend.amount.micro();
        }
        let option = match &ballot.vote {
            Ok(option) => *option,
            Err(no_vote) => {
                match no_vote.reason {
                    Reason::Refused => model.refused += 1,
                    // Truncated answers stay in this sum, because stored sums already contain them.
                    Reason::Unparsable | Reason::Conflicting | Reason::Truncated => model.unreadable += 1,
                    Reason::Timeout
                    | Reason::Deadline
                    | Reason::Unreachable
                    | Reason::RateLimited
                    | Reason::Rejected
                    | Reason::UpstreamError => {}
                }
                return;
            }
        };
        model.votes += 1;
        model.latency_ms += i64::from(ballot.latency_ms);
        if let Some(winner) = winner {
            let with_outcome = option == winner;
            model.decided += 1;
            model.with_outcome += i64::from(with_outcome);
            if let Some(agreed) = agreement(judged, with_outcome) {
                model.judged += 1;
                model.agreed += agreed;
            }
        }
        if let Some(slot) = ballot.option_order.iter().position(|&shown| shown == option) {
            let slot = Slot { options: ballot.option_order.len() as u32, slot: slot as u32 };
            *self.slots.entry(ballot.model.clone()).or_default().entry(slot).or_default() += 1;
        }
    }

    /// Adds what other polls tell.
    pub fn add(&mut self, other: &Self) {
        self.change(other, Change::Add);
    }

    /// Takes away what other polls have added.
    pub fn take(&mut self, other: &Self) {
        self.change(other, Change::Take);
    }

    fn change(&mut self, other: &Self, change: Change) {
        self.service.change(&other.service, change);
        for (model, sums) in &other.models {
            self.models.entry(model.clone()).or_default().change(sums, change);
        }
        for (model, slots) in &other.slots {
            let own = self.slots.entry(model.clone()).or_default();
            for (slot, votes) in slots {
                change.apply(own.entry(*slot).or_default(), *votes);
            }
        }
    }

    /// Without the models and places about which nothing is left.
    pub fn without_zeros(mut self) -> Self {
        self.models.retain(|_, sums| *sums != ModelSums::default());
        for slots in self.slots.values_mut() {
            slots.retain(|_, votes| *votes != 0);
        }
        self.slots.retain(|_, slots| !slots.is_empty());
        self
    }
}

/// How often a model chose the option at one place, against chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotShare {
    /// Its votes.
    pub votes: i64,
    /// The share of them that went to this place, minus the share expected if places did not matter.
    pub excess: f64,
    /// How large the excess may be, either way, in 95 of 100 models to which places do not matter.
    pub margin: f64,
}

impl SlotShare {
    /// Of the votes for which `is_it` names the place; `None` without votes. Every model sees the options in an order
    /// drawn anew for each poll, so that each of `k` places is expected to get one vote in `k`.
    pub fn of(slots: &BTreeMap<Slot, i64>, is_it: impl Fn(Slot) -> bool) -> Option<Self> {
        let (mut votes, mut here, mut expected, mut variance) = (0, 0, 0.0, 0.0);
        for (&slot, &count) in slots {
            let chance = 1.0 / f64::from(slot.options.max(1));
            votes += count;
            here += if is_it(slot) { count } else { 0 };
            expected += count as f64 * chance;
            variance += count as f64 * chance * (1.0 - chance);
        }
        let all = votes as f64;
        (votes > 0).then(|| Self {
            votes,
            excess: (here as f64 - expected) / all,
            margin: 1.96 * variance.sqrt() / all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_agrees_as_far_as_accounts_do() {
        let judged = |correct, incorrect| Judgements { correct, incorrect };
        assert_eq!(agreement(judged(0, 0), true), None);
        assert_eq!(agreement(judged(1, 0), true), Some(WHOLE));
        assert_eq!(agreement(judged(0, 1), true), Some(0));
        assert_eq!(agreement(judged(0, 1), false), Some(WHOLE));
        assert_eq!(agreement(judged(3, 1), true), Some(750_000));
        assert_eq!(agreement(judged(3, 1), false), Some(250_000));
    }

    #[test]
    fn a_model_that_always_takes_the_first_place_has_all_of_the_excess() {
        let first = BTreeMap::from([(Slot { options: 2, slot: 0 }, 50), (Slot { options: 4, slot: 0 }, 50)]);
        let share = SlotShare::of(&first, |slot| slot.slot == 0).unwrap();
        assert_eq!((share.votes, share.excess), (100, 0.625));
        assert!(share.margin < 0.1);
        let last = SlotShare::of(&first, |slot| slot.slot + 1 == slot.options).unwrap();
        assert_eq!(last.excess, -0.375);
        assert_eq!(SlotShare::of(&BTreeMap::new(), |_| true), None);
    }
}
