//! Evidence from answers that arrive in any order.
//!
//! Fast models may lean one way, so counting votes as they arrive would let latency choose the sample. What
//! is random is the *dispatch* order; hence evidence is read from prefixes of it, and a member of the prefix
//! that has not answered yet is counted for the rival. The guarantee covers all prefixes at all times, so the
//! best of them may be used.

use super::bridge::{Evidence, p_value};
use super::rule::Rule;

/// Who has been asked, in dispatch order, and what they finally answered: the responses of one poll.
///
/// Asked are always the first so many members. A final answer is an option, or none after the last retry
/// (failure, refusal, unreadable). The order must have been drawn uniformly at random before the first call,
/// without looking at question, price, speed or health; nothing here can check that.
#[derive(Debug, Clone)]
pub struct Responses {
    members: Box<[Answer]>,
    launched: usize,
    completed: usize,
    awaited: usize,
    count: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Awaited,
    NoVote,
    Vote(usize),
}

/// Where all completed votes stand, in whatever order they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The option strictly ahead, by index; none while two share the lead or nobody has voted.
    pub leader: Option<usize>,
    /// Its votes, those of the strongest rival, and the members without a final answer. Good for the lock
    /// and for planning calls; *not* for confidence, because latency chose which votes are in it.
    pub evidence: Evidence,
}

/// One prefix of the dispatch order that has a unique leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// How many members of the order it holds.
    pub members: usize,
    /// The leading option, by index.
    pub option: usize,
    /// Its evidence, the unanswered members counted for the rival.
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

/// The confidence to report now, whether or not the poll stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reported {
    /// The option it is about, by index; none while no prefix says anything. It may differ from the leader of
    /// all completed votes.
    pub option: Option<usize>,
    /// 1 − confidence, from 0 to 1.
    pub p: f64,
}

impl Reported {
    /// The confidence as shown to people.
    pub fn confidence(self) -> f64 {
        1.0 - self.p
    }
}

impl Responses {
    /// A poll of `roster` members about `options` options; nobody has been asked yet.
    pub fn new(options: usize, roster: usize) -> Self {
        Self {
            members: vec![Answer::Awaited; roster].into(),
            launched: 0,
            completed: 0,
            awaited: 0,
            count: Count::new(options),
        }
    }

    /// Asks the next member and returns its position in the order; none when all have been asked.
    pub fn launch(&mut self) -> Option<usize> {
        let position = self.launched;
        let answer = *self.members.get(position)?;
        self.launched += 1;
        self.awaited += usize::from(answer == Answer::Awaited);
        Some(position)
    }

    /// Takes the final answer of the member at `position`: an option by index, or none. A member's first
    /// final answer stands; returns false, changing nothing, for a later one or a position outside the
    /// roster. An option outside the question is no vote.
    ///
    /// The answer of a member not asked yet (one remembered from before) counts at once for the standing, and
    /// as evidence when its turn comes.
    pub fn record(&mut self, position: usize, option: Option<usize>) -> bool {
        let Some(member @ Answer::Awaited) = self.members.get_mut(position) else { return false };
        *member = match option {
            Some(option) if self.count.add(option) => Answer::Vote(option),
            _ => Answer::NoVote,
        };
        self.completed += 1;
        self.awaited -= usize::from(position < self.launched);
        true
    }

    /// Whether the member at `position` has given its final answer. One that had done so before its turn
    /// came need not be called when [`Responses::launch`] names it.
    pub fn is_final(&self, position: usize) -> bool {
        self.members.get(position).is_some_and(|answer| *answer != Answer::Awaited)
    }

    /// Members in the roster.
    pub fn roster(&self) -> usize {
        self.members.len()
    }

    /// Members asked so far: the length of the longest prefix.
    pub fn launched(&self) -> usize {
        self.launched
    }

    /// Members with a final answer, votes or not.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// Members asked that have no final answer yet.
    pub fn in_flight(&self) -> usize {
        self.awaited
    }

    /// Whether every member's answer is final.
    pub fn is_exhausted(&self) -> bool {
        self.completed == self.members.len()
    }

    /// Where all completed votes stand.
    pub fn overall(&self) -> Standing {
        let remaining = (self.members.len() - self.completed) as u32;
        let evidence = Evidence { leader: self.count.first, rival: self.count.second, remaining };
        Standing { leader: self.count.leader(), evidence }
    }

    /// Every prefix of the members asked that has a unique leader, shortest first.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        let mut count = Count::new(self.count.votes.len());
        let mut awaited = 0;
        self.members.iter().take(self.launched).enumerate().filter_map(move |(position, answer)| {
            match *answer {
                Answer::Awaited => awaited += 1,
                Answer::NoVote => {}
                Answer::Vote(option) => _ = count.add(option),
            }
            let members = position + 1;
            let remaining = (self.members.len() - members) as u32;
            let evidence = Evidence { leader: count.first, rival: count.second + awaited, remaining };
            Some(Prefix { members, option: count.leader()?, evidence })
        })
    }

    /// The prefix at which the rule stops: the one with the highest confidence, the shortest among equals.
    pub fn best_prefix(&self, rule: &Rule) -> Option<Stop> {
        self.prefixes()
            .filter(|prefix| rule.stops(prefix.evidence))
            .map(|prefix| Stop { prefix, p: p_value(prefix.evidence) })
            .min_by(|one, other| one.p.total_cmp(&other.p))
    }

    /// The highest confidence of any prefix, honest at every moment: when the budget ends, and while the
    /// answers stream in.
    pub fn confidence(&self) -> Reported {
        let nothing = Reported { option: None, p: 1.0 };
        self.prefixes().fold(nothing, |best, prefix| {
            let p = p_value(prefix.evidence);
            if p < best.p { Reported { option: Some(prefix.option), p } } else { best }
        })
    }
}

/// Votes by option, with the two highest counts kept up to date.
#[derive(Debug, Clone)]
struct Count {
    votes: Box<[u32]>,
    ahead: usize,
    first: u32,
    second: u32,
}

impl Count {
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
