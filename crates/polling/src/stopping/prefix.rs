//! Evidence from answers that arrive in any order.
//!
//! Fast models may favour one option, so counting votes as they arrive would let latency choose the sample.
//! Only the *dispatch* order is random. Evidence is therefore read from prefixes of that order, and a member
//! of the prefix that has not answered yet counts for the rival. So does one whose call failed: which members
//! fail may depend on what they would have answered. The guarantee covers all prefixes at all times, so the one
//! with the highest confidence may be used.

use super::bridge::{Evidence, p_value};
use super::rule::Rule;

/// The responses of one poll: which members have been asked, and what they finally answered.
///
/// Members are numbered by their position in the dispatch order and asked in that order. The order must have
/// been drawn uniformly at random before the first call, without looking at question, price, speed or health;
/// nothing here can check that.
#[derive(Debug, Clone)]
pub struct Responses {
    members: Box<[Option<FinalAnswer>]>,
    launched: usize,
    completed: usize,
    unknown: usize,
    in_flight: usize,
    counts: VoteCounts,
}

/// What came of asking one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalAnswer {
    /// It chose this option, by index.
    Vote(usize),
    /// It was heard and chose none: it refused, or its answer could not be read. This is its answer, as a vote
    /// is.
    NoVote,
    /// It was not heard: the call failed. It has an answer that nobody knows, so it counts for the rival, as
    /// long as the poll lasts and beyond.
    Unknown,
}

impl From<Option<usize>> for FinalAnswer {
    /// A vote, or none from a member that was heard.
    fn from(option: Option<usize>) -> Self {
        option.map_or(Self::NoVote, Self::Vote)
    }
}

/// The state of the count over all completed answers, in whatever order they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The option strictly ahead, by index; none while two share the lead or nobody has voted.
    pub leader: Option<usize>,
    /// Votes of the leader, votes of the strongest rival together with the members whose answer is unknown, and
    /// the number of members without a final answer. Valid for the lock and for planning calls, but *not* for
    /// confidence, because latency chose which votes are in it.
    pub evidence: Evidence,
}

/// One prefix of the dispatch order that has a unique leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Its length in members.
    pub members: usize,
    /// The leading option, by index.
    pub option: usize,
    /// Its evidence, with unanswered and unknown members counted for the rival.
    pub evidence: Evidence,
}

/// A prefix at which the rule stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// The prefix whose leader the confidence is about.
    pub prefix: Prefix,
    /// 1 − confidence reached there.
    pub p: f64,
}

/// The highest confidence that any prefix gives, whether or not the poll stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HighestConfidence {
    /// The option it is about, by index; none while no prefix has a confidence above 0. It may differ from
    /// the leader of all completed votes.
    pub option: Option<usize>,
    /// 1 − confidence, from 0 to 1.
    pub p: f64,
}

impl HighestConfidence {
    /// The confidence, for display.
    pub fn confidence(self) -> f64 {
        1.0 - self.p
    }
}

impl Responses {
    /// A poll of `roster` members about `options` options; nobody has been asked yet.
    pub fn new(options: usize, roster: usize) -> Self {
        Self {
            members: vec![None; roster].into(),
            launched: 0,
            completed: 0,
            unknown: 0,
            in_flight: 0,
            counts: VoteCounts::new(options),
        }
    }

    /// Marks the next member of the order as asked and returns its position; none when all have been asked.
    pub fn launch(&mut self) -> Option<usize> {
        let position = self.launched;
        let response = *self.members.get(position)?;
        self.launched += 1;
        self.in_flight += usize::from(response.is_none());
        Some(position)
    }

    /// Takes the final answer of the member at `position`. An option that the question does not have is no
    /// vote. A member answers once: for a second answer, or a position outside the roster, this returns false
    /// and changes nothing.
    ///
    /// A member may answer before it is launched (its answer is known from an earlier run). Its vote then
    /// counts for the standing at once, and as evidence once it is launched.
    pub fn record(&mut self, position: usize, answer: impl Into<FinalAnswer>) -> bool {
        let Some(member @ None) = self.members.get_mut(position) else { return false };
        let answer = match answer.into() {
            FinalAnswer::Vote(option) if !self.counts.add(option) => FinalAnswer::NoVote,
            other => other,
        };
        *member = Some(answer);
        self.completed += 1;
        self.unknown += usize::from(answer == FinalAnswer::Unknown);
        self.in_flight -= usize::from(position < self.launched);
        true
    }

    /// Whether the member at `position` has given its final answer. A member that did so before
    /// [`Responses::launch`] returned it need not be called.
    pub fn is_final(&self, position: usize) -> bool {
        self.members.get(position).is_some_and(Option::is_some)
    }

    /// Members in the roster.
    pub fn roster(&self) -> usize {
        self.members.len()
    }

    /// Members asked so far, which is the length of the longest prefix.
    pub fn launched(&self) -> usize {
        self.launched
    }

    /// Members with a final answer: votes, no votes, and unknown ones.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// Members among the [`completed`](Self::completed) ones whose answer is unknown.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// Members asked that have no final answer yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether nobody is left to ask or to wait for.
    pub fn is_exhausted(&self) -> bool {
        self.completed == self.members.len()
    }

    /// The count over all completed answers.
    pub fn overall(&self) -> Standing {
        let remaining = (self.members.len() - self.completed) as u32;
        let rival = self.counts.second + self.unknown as u32;
        let evidence = Evidence { leader: self.counts.first, rival, remaining };
        Standing { leader: self.counts.leader(), evidence }
    }

    /// Every prefix of the members asked that has a unique leader, shortest first.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        let mut counts = VoteCounts::new(self.counts.votes.len());
        let mut unheard = 0;
        self.members.iter().take(self.launched).enumerate().filter_map(move |(position, response)| {
            match *response {
                None | Some(FinalAnswer::Unknown) => unheard += 1,
                Some(FinalAnswer::NoVote) => {}
                Some(FinalAnswer::Vote(option)) => _ = counts.add(option),
            }
            let members = position + 1;
            let remaining = (self.members.len() - members) as u32;
            let evidence = Evidence { leader: counts.first, rival: counts.second + unheard, remaining };
            Some(Prefix { members, option: counts.leader()?, evidence })
        })
    }

    /// The prefix at which the rule stops: the one with the highest confidence, the shortest of several; none
    /// while the rule stops at none.
    pub fn best_prefix(&self, rule: &Rule) -> Option<Stop> {
        self.prefixes()
            .filter(|prefix| rule.stops(prefix.evidence))
            .map(|prefix| Stop { prefix, p: p_value(prefix.evidence) })
            .min_by(|one, other| one.p.total_cmp(&other.p))
    }

    /// The highest confidence of any prefix. The guarantee holds for it at every moment: while answers
    /// arrive, and when the budget ends the poll.
    pub fn highest_confidence(&self) -> HighestConfidence {
        let nothing = HighestConfidence { option: None, p: 1.0 };
        self.prefixes().fold(nothing, |best, prefix| {
            let p = p_value(prefix.evidence);
            if p < best.p { HighestConfidence { option: Some(prefix.option), p } } else { best }
        })
    }
}

/// Votes by option, with the two highest counts kept up to date.
#[derive(Debug, Clone)]
struct VoteCounts {
    votes: Box<[u32]>,
    /// The option that `first` belongs to.
    ahead: usize,
    first: u32,
    second: u32,
}

impl VoteCounts {
    fn new(options: usize) -> Self {
        Self { votes: vec![0; options].into(), ahead: 0, first: 0, second: 0 }
    }

    /// Adds a vote; false when there is no such option.
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
