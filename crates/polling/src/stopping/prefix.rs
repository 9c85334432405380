//! Evidence from responses that arrive in any order.
//!
//! Fast models may favour one option, so counting votes as they arrive would let latency choose the sample.
//! Only the *dispatch* order is random. Evidence is therefore read from prefixes of that order. A member of
//! the prefix without a response counts for the rival. So does a member with a failed call, because failures
//! may depend on the missing vote. The guarantee covers all prefixes at all times, so the prefix with the
//! highest confidence may be used.

use super::bridge::{Evidence, locked, p_value};
use super::rule::Rule;
use super::waves::responses_needed;

/// The members asked in one poll and their final responses.
///
/// Members are numbered by their position in the dispatch order and asked in that order. The order must be
/// drawn uniformly at random before the first call, independently of question, price, speed and health. This
/// type cannot check that.
#[derive(Debug, Clone)]
pub struct Responses {
    members: Box<[Option<FinalResponse>]>,
    launched: usize,
    completed: usize,
    unknown: usize,
    in_flight: usize,
    counts: VoteCounts,
    /// The option that wins a tie.
    tie_winner: Option<usize>,
}

/// The final response of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalResponse {
    /// A vote for this option, by index.
    Vote(usize),
    /// A response without a vote: a refusal, or an unreadable response. It is a final response like a vote.
    NoVote,
    /// No response, because the call failed. The member's vote is unknown, so it counts for the rival until
    /// the end of the poll and in its result.
    Unknown,
}

impl From<Option<usize>> for FinalResponse {
    /// Converts a vote, or `None` for a member that responded without a vote.
    fn from(option: Option<usize>) -> Self {
        option.map_or(Self::NoVote, Self::Vote)
    }
}

/// The count over all completed responses, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The index of the option strictly ahead, or of the one that wins a tie; `None` for a shared lead otherwise, and
    /// without votes.
    pub leader: Option<usize>,
    /// The leader's votes, the strongest rival's votes plus the unknown responses, and the number of members
    /// without a final response. Valid for the lock and for planning calls, but *not* for confidence, because
    /// latency chose the votes in it.
    pub evidence: Evidence,
}

/// A prefix of the dispatch order with a leader: an option strictly ahead, or one that wins a tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Its length in members.
    pub members: usize,
    /// The index of the leading option.
    pub option: usize,
    /// The evidence, with pending and unknown responses counted for the rival.
    pub evidence: Evidence,
}

/// A prefix at which the rule stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// The prefix that the confidence refers to.
    pub prefix: Prefix,
    /// 1 − confidence of the prefix.
    pub p: f64,
}

/// The highest confidence of any prefix, even if the poll does not stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HighestConfidence {
    /// The index of its option; `None` while no prefix has a confidence above 0. It may differ from the
    /// leader of all completed votes.
    pub option: Option<usize>,
    /// 1 − confidence, from 0 to 1.
    pub p: f64,
}

impl HighestConfidence {
    /// Returns the confidence, for display.
    pub fn confidence(self) -> f64 {
        1.0 - self.p
    }
}

impl Responses {
    /// Creates the record of a poll of `roster` members about `options` options, with no member asked.
    pub fn new(options: usize, roster: usize) -> Self {
        Self {
            members: vec![None; roster].into(),
            launched: 0,
            completed: 0,
            unknown: 0,
            in_flight: 0,
            counts: VoteCounts::new(options),
            tie_winner: None,
        }
    }

    /// Creates the record of a poll in which a tie has a winner: this option.
    ///
    /// The guarantee holds likewise, because a leader that is wrong here would also be wrong if ties had no winner. Only the
    /// lock differs: the winner of ties needs one vote less.
    pub fn with_tie_won_by(winner: usize, options: usize, roster: usize) -> Self {
        Self { tie_winner: Some(winner), ..Self::new(options, roster) }
    }

    /// Marks the next member of the order as asked and returns its position, or `None` if all have been
    /// asked.
    pub fn launch(&mut self) -> Option<usize> {
        let position = self.launched;
        let response = *self.members.get(position)?;
        self.launched += 1;
        self.in_flight += usize::from(response.is_none());
        Some(position)
    }

    /// Records the final response of the member at `position`. An unknown option index is no vote. For a
    /// second response of a member, or a position outside the roster, this returns `false` and changes
    /// nothing.
    ///
    /// A member may respond before it is launched, if its response is known from an earlier run. Its vote
    /// counts for the standing at once, and as evidence once the member is launched.
    pub fn record(&mut self, position: usize, answer: impl Into<FinalResponse>) -> bool {
        let Some(member @ None) = self.members.get_mut(position) else { return false };
        let answer = match answer.into() {
            FinalResponse::Vote(option) if !self.counts.add(option) => FinalResponse::NoVote,
            other => other,
        };
        *member = Some(answer);
        self.completed += 1;
        self.unknown += usize::from(answer == FinalResponse::Unknown);
        self.in_flight -= usize::from(position < self.launched);
        true
    }

    /// True if the member at `position` has a final response. If it had one before [`Responses::launch`]
    /// returned it, the call can be skipped.
    pub fn is_final(&self, position: usize) -> bool {
        self.members.get(position).is_some_and(Option::is_some)
    }

    /// Returns the number of members in the roster.
    pub fn roster(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of members asked so far, which is the length of the longest prefix.
    pub fn launched(&self) -> usize {
        self.launched
    }

    /// Returns the number of members with a final response: votes, no votes, and unknown ones.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// Returns the number of [`completed`](Self::completed) members with an unknown vote.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// Returns the number of members asked without a final response.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// True if no member is left to ask or to wait for.
    pub fn is_exhausted(&self) -> bool {
        self.completed == self.members.len()
    }

    /// Returns the count over all completed responses.
    pub fn overall(&self) -> Standing {
        let remaining = (self.members.len() - self.completed) as u32;
        let rival = self.counts.second + self.unknown as u32;
        let evidence = Evidence { leader: self.counts.first, rival, remaining };
        Standing { leader: self.leader(&self.counts), evidence }
    }

    /// True if the leader of all completed responses wins whatever the remaining members vote.
    pub fn is_locked(&self) -> bool {
        let Standing { leader, evidence } = self.overall();
        leader.is_some_and(|leader| self.is_certain(leader, evidence))
    }

    /// Returns the least number of further responses after which the rule could stop; see [`responses_needed`].
    pub fn responses_needed(&self, rule: &Rule) -> u32 {
        let Standing { leader, evidence } = self.overall();
        let needed = responses_needed(rule, evidence);
        if self.tie_winner.is_none() || leader.is_some() && leader != self.tie_winner {
            return needed;
        }
        // The winner of ties is locked with half of what remains.
        let Evidence { leader, rival, remaining } = evidence;
        needed.min(
            rival
                .saturating_add(remaining)
                .saturating_sub(leader)
                .div_ceil(2)
                .clamp(remaining.min(1), remaining),
        )
    }

    /// Returns the option that leads these votes.
    fn leader(&self, counts: &VoteCounts) -> Option<usize> {
        counts.leader().or_else(|| self.tie_winner.filter(|_| counts.first > 0))
    }

    /// True if `leader` wins whatever the remaining members vote.
    fn is_certain(&self, leader: usize, evidence: Evidence) -> bool {
        let wins_ties = self.tie_winner == Some(leader);
        locked(evidence) || wins_ties && evidence.leader >= evidence.rival.saturating_add(evidence.remaining)
    }

    /// Returns 1 − confidence of a prefix.
    fn p_of(&self, prefix: &Prefix) -> f64 {
        if self.is_certain(prefix.option, prefix.evidence) { 0.0 } else { p_value(prefix.evidence) }
    }

    /// Returns every prefix of the members asked that has a leader, shortest first.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        let mut counts = VoteCounts::new(self.counts.votes.len());
        let mut unknown = 0;
        self.members.iter().take(self.launched).enumerate().filter_map(move |(position, response)| {
            match *response {
                None | Some(FinalResponse::Unknown) => unknown += 1,
                Some(FinalResponse::NoVote) => {}
                Some(FinalResponse::Vote(option)) => _ = counts.add(option),
            }
            let members = position + 1;
            let remaining = (self.members.len() - members) as u32;
            let evidence = Evidence { leader: counts.first, rival: counts.second + unknown, remaining };
            Some(Prefix { members, option: self.leader(&counts)?, evidence })
        })
    }

    /// Returns the prefix at which the rule stops: the one with the highest confidence, or the shortest of
    /// several. `None` if the rule stops at no prefix.
    pub fn best_prefix(&self, rule: &Rule) -> Option<Stop> {
        self.prefixes()
            .filter(|prefix| rule.stops(prefix.evidence) || self.is_certain(prefix.option, prefix.evidence))
            .map(|prefix| Stop { p: self.p_of(&prefix), prefix })
            .min_by(|one, other| one.p.total_cmp(&other.p))
    }

    /// Returns the highest confidence of any prefix. The guarantee holds for it at every moment: while
    /// responses arrive, and when the budget ends the poll.
    pub fn highest_confidence(&self) -> HighestConfidence {
        let nothing = HighestConfidence { option: None, p: 1.0 };
        self.prefixes().fold(nothing, |best, prefix| {
            let p = self.p_of(&prefix);
            if p < best.p { HighestConfidence { option: Some(prefix.option), p } } else { best }
        })
    }
}

/// Votes by option, with the two highest counts.
#[derive(Debug, Clone)]
struct VoteCounts {
    votes: Box<[u32]>,
    /// The option with the count `first`.
    ahead: usize,
    first: u32,
    second: u32,
}

impl VoteCounts {
    fn new(options: usize) -> Self {
        Self { votes: vec![0; options].into(), ahead: 0, first: 0, second: 0 }
    }

    /// Adds a vote. Returns `false` if the option does not exist.
    fn add(&mut self, option: usize) -> bool {
        let Some(votes) = self.votes.get_mut(option) else { return false };
        *votes += 1;
        if option == self.ahead {
            self.first = *votes;
        } else if *votes > self.first {
            (self.second, self.first, self.ahead) = (self.first, *votes, option);
        } else {
            self.second = self.second.max(*votes);
        }
        true
    }

    fn leader(&self) -> Option<usize> {
        (self.first > self.second).then_some(self.ahead)
    }
}
