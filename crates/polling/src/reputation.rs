//! Voting statistics of models, as sums over ended polls.
//!
//! Sums are integers, so that a poll's contribution can be subtracted exactly.

use std::collections::BTreeMap;

use crate::ballot::{Ballot, READER, Reason};
use crate::calibration::{AgreementLevel, CalibrationGroup};
use crate::choices::ChoiceKind;
use crate::model_counts::ModelCounts;
use crate::money::{MicroUsd, SpendBasis};
use crate::plan::Plan;
use crate::roster::ModelId;
use crate::tally::Tally;

/// The unit of summed shares: one whole vote, in millionths.
pub const WHOLE: i64 = 1_000_000;

/// Declares a struct of sums with methods that work field by field.
macro_rules! sums {
    ($(#[$doc:meta])* $name:ident [$count:literal] { $($(#[$field_doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: i64,)*
        }

        impl $name {
            /// Returns all sums, in the order of declaration.
            pub const fn values(&self) -> [i64; $count] {
                [$(self.$field),*]
            }

            /// Adds or subtracts other sums.
            fn change(&mut self, other: &Self, change: Change) {
                $(change.apply(&mut self.$field, other.$field);)*
            }
        }
    };
}

sums! {
    /// Statistics of one model.
    ModelSums [11] {
        /// Calls.
        calls,
        /// Calls that ended in a vote.
        votes,
        /// Calls that the model refused.
        refused,
        /// Responses that named no option, or several.
        unreadable,
        /// Total latency of the votes, in milliseconds.
        latency_ms,
        /// Calls with a known cost.
        priced,
        /// Total cost of these calls, in micro-USD.
        cost,
        /// Votes in polls with a winner that ended by a stopping rule.
        decided,
        /// Of the decided votes, those for the winner.
        with_outcome,
        /// Of the decided votes, those in polls with at least one judgement.
        judged,
        /// Agreement of these votes with the judgements, in millionths of a vote: see [`agreement`].
        agreed,
    }
}

sums! {
    /// Statistics of the service.
    ServiceSums [6] {
        /// Ended polls.
        polls,
        /// Of these, polls cancelled by their owner.
        cancelled,
        /// Of these, polls that cannot cost anything.
        free,
        /// Polls that ended by a stopping rule with at least one vote.
        answered,
        /// Total time from acceptance to the end, without cancelled polls, in milliseconds.
        total_ms,
        /// Total cost of all calls, in micro-USD.
        cost,
    }
}

sums! {
    /// Judged polls of one panel with one level of agreement.
    CalibrationSums [2] {
        /// Polls with more judgements of one kind than of the other.
        judged,
        /// Of these, polls with more "correct" judgements.
        right,
    }
}

/// A position on a ballot, and the number of options shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BallotSlot {
    /// The number of options.
    pub options: u32,
    /// The position, from 0.
    pub slot: u32,
}

/// The statistics of some polls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Statistics of the service.
    pub service: ServiceSums,
    /// Statistics of each model.
    pub models: BTreeMap<ModelId, ModelSums>,
    /// Votes of each model by the ballot position of the chosen option.
    pub slots: BTreeMap<ModelId, BTreeMap<BallotSlot, i64>>,
    /// Polls by the version of the reader of their votes.
    pub readers: BTreeMap<u32, i64>,
    /// Judged outcomes by panel and agreement.
    pub calibration: BTreeMap<CalibrationGroup, CalibrationSums>,
}

/// Judgements of accounts about a poll's outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judgements {
    /// Accounts that judged it correct.
    pub correct: u32,
    /// Accounts that judged it incorrect.
    pub incorrect: u32,
}

impl Judgements {
    /// True if most accounts judged the outcome correct, false if most judged it incorrect; `None` for equal numbers.
    pub const fn verdict(self) -> Option<bool> {
        if self.correct == self.incorrect { None } else { Some(self.correct > self.incorrect) }
    }
}

/// An ended poll.
#[derive(Debug, Clone, Copy)]
pub struct EndedPoll<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// Its ballots.
    pub ballots: &'a [Ballot],
    /// True if a stopping rule ended it, not its owner or its deadline.
    pub by_rule: bool,
    /// True if its owner cancelled it.
    pub cancelled: bool,
    /// The time from acceptance to the end, in milliseconds.
    pub total_ms: u64,
    /// The cost of calls with unused responses.
    pub unused_cost: MicroUsd,
    /// The version of the reader of its votes.
    pub reader: u32,
}

impl<'a> EndedPoll<'a> {
    /// Returns the numbers of models. Unused calls do not matter to statistics, so these count as skipped.
    fn models(&self) -> ModelCounts {
        let votes = self.ballots.iter().filter(|ballot| ballot.vote.is_ok()).count() as u32;
        ModelCounts::new(self.plan.roster.len() as u32, self.ballots.len() as u32, votes, 0)
    }

    /// Returns the preset whose agreement is compared with judgements. `None` unless the poll was to ask every model and did,
    /// because the share of votes at an early stop is too high. Scores have no winner, and the names of
    /// accounts' own panels are private.
    fn calibrated_panel(&self) -> Option<&'a str> {
        let plan = self.plan;
        let is_complete = plan.complete && self.by_rule && self.models().is_complete();
        let has_winner = plan.kind == ChoiceKind::Options;
        plan.preset.as_deref().filter(|_| is_complete && has_winner && plan.panel.is_none())
    }
}

/// The direction of a change.
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

/// True if the poll counts: its voters are real models and its votes are public.
pub const fn counts(plan: &Plan) -> bool {
    !plan.simulated && !plan.private
}

/// Returns how far a vote agrees with the judgements, in millionths: the share of "correct" judgements for a
/// vote for the outcome, and the share of "incorrect" ones for any other vote. `None` without judgements.
pub fn agreement(judged: Judgements, with_outcome: bool) -> Option<i64> {
    let (correct, all) = (i64::from(judged.correct), i64::from(judged.correct) + i64::from(judged.incorrect));
    let share = correct.checked_mul(WHOLE)?.checked_div(all)?;
    Some(if with_outcome { share } else { WHOLE - share })
}

impl Sums {
    /// Returns the statistics of one poll, or zeros if the poll does not count.
    pub fn of(poll: &EndedPoll<'_>, judged: Judgements) -> Self {
        let mut sums = Self::default();
        if !counts(poll.plan) {
            return sums;
        }
        let votes = poll.ballots.iter().map(|ballot| ballot.vote.as_ref().ok().copied());
        let tally = Tally::of(poll.plan.options.len(), votes);
        let winner = if poll.by_rule { tally.leader() } else { None };
        for ballot in poll.ballots {
            sums.add_ballot(poll.plan, ballot, winner, judged);
        }
        let level = AgreementLevel::of(&tally, poll.plan.roster.len() as u32);
        if let (Some(panel), Some(level), Some(right)) = (poll.calibrated_panel(), level, judged.verdict()) {
            let group = CalibrationGroup { panel: panel.to_owned(), level };
            sums.calibration.insert(group, CalibrationSums { judged: 1, right: right.into() });
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
        sums.readers.insert(poll.reader, 1);
        sums
    }

    fn add_ballot(&mut self, plan: &Plan, ballot: &Ballot, winner: Option<usize>, judged: Judgements) {
        let Some(member) = plan.roster.get(ballot.position as usize) else { return };
        let model = self.models.entry(member.model.clone()).or_default();
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
                    // Truncated responses stay in this sum, because stored sums already contain them.
                    Reason::Unparsable | Reason::Conflicting | Reason::Truncated => model.unreadable += 1,
                    Reason::Timeout
                    | Reason::Deadline
                    | Reason::Unreachable
                    | Reason::RateLimited
                    | Reason::Busy
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
        let shown = plan.option_order(ballot);
        if let Some(slot) = shown.iter().position(|&shown| shown == option) {
            let slot = BallotSlot { options: shown.len() as u32, slot: slot as u32 };
            *self.slots.entry(member.model.clone()).or_default().entry(slot).or_default() += 1;
        }
    }

    /// Adds the statistics of other polls.
    pub fn add(&mut self, other: &Self) {
        self.change(other, Change::Add);
    }

    /// Subtracts the statistics of other polls.
    pub fn take(&mut self, other: &Self) {
        self.change(other, Change::Take);
    }

    /// Returns the number of polls whose votes an earlier version of the reader has read.
    pub fn read_earlier(&self) -> i64 {
        self.readers.range(..READER).map(|(_, polls)| polls).sum()
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
        for (reader, polls) in &other.readers {
            change.apply(self.readers.entry(*reader).or_default(), *polls);
        }
        for (group, sums) in &other.calibration {
            self.calibration.entry(group.clone()).or_default().change(sums, change);
        }
    }

    /// Removes models and positions without votes or calls, versions of the reader without polls, and groups without judged polls.
    pub fn without_zeros(mut self) -> Self {
        self.models.retain(|_, sums| *sums != ModelSums::default());
        for slots in self.slots.values_mut() {
            slots.retain(|_, votes| *votes != 0);
        }
        self.slots.retain(|_, slots| !slots.is_empty());
        self.readers.retain(|_, polls| *polls != 0);
        self.calibration.retain(|_, sums| *sums != CalibrationSums::default());
        self
    }
}

/// A model's preference for one ballot position, compared with chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotShare {
    /// The model's votes.
    pub votes: i64,
    /// The share of votes for this position, minus the share expected by chance.
    pub excess: f64,
    /// The 95 % margin of the excess, in either direction, for a model without a position preference.
    pub margin: f64,
}

impl SlotShare {
    /// Returns the preference for the positions that `selects` accepts, or `None` without votes.
    /// Each poll draws the option order anew, so each of `k` positions is expected to get one vote in `k`.
    pub fn of(slots: &BTreeMap<BallotSlot, i64>, selects: impl Fn(BallotSlot) -> bool) -> Option<Self> {
        let (mut votes, mut here, mut expected, mut variance) = (0, 0, 0.0, 0.0);
        for (&slot, &count) in slots {
            let chance = 1.0 / f64::from(slot.options.max(1));
            votes += count;
            here += if selects(slot) { count } else { 0 };
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
    fn agreement_is_the_share_of_matching_judgements() {
        let judged = |correct, incorrect| Judgements { correct, incorrect };
        assert_eq!(agreement(judged(0, 0), true), None);
        assert_eq!(agreement(judged(1, 0), true), Some(WHOLE));
        assert_eq!(agreement(judged(0, 1), true), Some(0));
        assert_eq!(agreement(judged(0, 1), false), Some(WHOLE));
        assert_eq!(agreement(judged(3, 1), true), Some(750_000));
        assert_eq!(agreement(judged(3, 1), false), Some(250_000));
    }

    #[test]
    fn a_model_that_always_chooses_the_first_position_has_the_full_excess() {
        let first = BTreeMap::from([
            (BallotSlot { options: 2, slot: 0 }, 50),
            (BallotSlot { options: 4, slot: 0 }, 50),
        ]);
        let share = SlotShare::of(&first, |slot| slot.slot == 0).unwrap();
        assert_eq!((share.votes, share.excess), (100, 0.625));
        assert!(share.margin < 0.1);
        let last = SlotShare::of(&first, |slot| slot.slot + 1 == slot.options).unwrap();
        assert_eq!(last.excess, -0.375);
        assert_eq!(SlotShare::of(&BTreeMap::new(), |_| true), None);
    }
}
