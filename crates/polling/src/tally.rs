//! Counting votes: first past the post.

use serde::{Serialize, Serializer};

/// Votes per option, in the caller's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally(Vec<u32>);

/// The result of a tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The index of the option with strictly more votes than every other.
    Winner(usize),
    /// Two or more options share the highest count.
    Tie,
    /// No votes.
    NoVotes,
}

impl Tally {
    /// Creates an empty tally for this number of options.
    pub fn new(options: usize) -> Self {
        Self(vec![0; options])
    }

    /// Counts these votes; `None` is a member without a vote and is not counted.
    pub fn of(options: usize, votes: impl IntoIterator<Item = Option<usize>>) -> Self {
        let mut tally = Self::new(options);
        votes.into_iter().flatten().for_each(|option| tally.count(option));
        tally
    }

    /// Takes counts per option.
    pub(crate) const fn counted(counts: Vec<u32>) -> Self {
        Self(counts)
    }

    /// Counts one vote; a vote for an unknown option is ignored.
    pub fn count(&mut self, option: usize) {
        if let Some(count) = self.0.get_mut(option) {
            *count += 1;
        }
    }

    /// Returns the votes per option.
    pub fn counts(&self) -> &[u32] {
        &self.0
    }

    /// Returns the total number of votes.
    pub fn votes(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Returns the lower median of the votes, if the options are levels in ascending order; `None` without votes.
    pub fn lower_median(&self) -> Option<usize> {
        let half = self.votes().div_ceil(2);
        let mut seen = 0;
        self.0.iter().position(|count| {
            seen += count;
            half > 0 && seen >= half
        })
    }

    /// True if this number of further votes cannot change the lower median, if the options are levels in ascending order.
    pub fn has_settled_median(&self, missing: u32) -> bool {
        let with = |level: Option<usize>| {
            let mut votes = self.clone();
            if let Some(count) = level.and_then(|level| votes.0.get_mut(level)) {
                *count += missing;
            }
            votes.lower_median()
        };
        let lowest = with(Some(0));
        self.votes() > 0 && lowest == with(self.0.len().checked_sub(1))
    }

    /// Returns the option with strictly the most votes, a tie, or no votes.
    pub fn outcome(&self) -> Outcome {
        let highest = self.0.iter().copied().max().unwrap_or(0);
        if highest == 0 {
            return Outcome::NoVotes;
        }
        let mut leaders = self.0.iter().enumerate().filter(|&(_, &count)| count == highest);
        match (leaders.next(), leaders.next()) {
            (Some((option, _)), None) => Outcome::Winner(option),
            _ => Outcome::Tie,
        }
    }

    /// Returns the option with strictly the most votes, if there is one.
    pub fn leader(&self) -> Option<usize> {
        match self.outcome() {
            Outcome::Winner(option) => Some(option),
            Outcome::Tie | Outcome::NoVotes => None,
        }
    }

    /// Returns the tally with option texts instead of indices, in the caller's order.
    pub fn named<'a>(&'a self, options: &'a [String]) -> NamedTally {
        NamedTally(options.iter().cloned().zip(self.0.iter().copied()).collect())
    }
}

/// Votes by option text, serialised as a JSON object in the caller's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTally(pub Vec<(String, u32)>);

impl NamedTally {
    /// Returns the votes for an option; zero for an unknown one.
    pub fn of(&self, option: &str) -> u32 {
        self.0.iter().find(|(name, _)| name == option).map_or(0, |(_, votes)| *votes)
    }

    /// Returns the total number of votes.
    pub fn votes(&self) -> u32 {
        self.0.iter().map(|(_, votes)| votes).sum()
    }

    /// Returns the tally without the option texts.
    pub fn unnamed(&self) -> Tally {
        Tally(self.0.iter().map(|(_, votes)| *votes).collect())
    }
}

impl Serialize for NamedTally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(option, votes)| (option, votes)))
    }
}

impl<'de> serde::Deserialize<'de> for NamedTally {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> serde::de::Visitor<'de> for Entries {
            type Value = NamedTally;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map from option text to votes")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<NamedTally, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(NamedTally(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_outcomes() {
        let outcome = |votes: &[Option<usize>]| Tally::of(3, votes.iter().copied()).outcome();
        assert_eq!(outcome(&[]), Outcome::NoVotes);
        assert_eq!(outcome(&[None, None]), Outcome::NoVotes);
        assert_eq!(outcome(&[Some(1), None]), Outcome::Winner(1));
        assert_eq!(outcome(&[Some(1), Some(2)]), Outcome::Tie);
        assert_eq!(outcome(&[Some(1), Some(2), Some(2)]), Outcome::Winner(2));
    }

    proptest! {
        /// The order of the votes never matters, and failures never change anything.
        #[test]
        fn order_and_failures_do_not_matter(
            votes in prop::collection::vec(prop::option::of(0_usize..6), 0..80),
            swap in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let tally = Tally::of(6, votes.clone());
            let mut other = votes.clone();
            if !other.is_empty() {
                let (a, b) = (swap.0.index(other.len()), swap.1.index(other.len()));
                other.swap(a, b);
            }
            other.push(None);
            prop_assert_eq!(&tally, &Tally::of(6, other));
            prop_assert_eq!(tally.votes() as usize, votes.iter().flatten().count());
        }

        /// The median is settled exactly if no levels of the missing votes change it.
        #[test]
        fn a_settled_median_is_the_same_with_any_further_votes(
            votes in prop::collection::vec(0_usize..4, 1..12),
            missing in 0_u32..4,
        ) {
            let tally = Tally::of(4, votes.iter().copied().map(Some));
            let further = (0..4_usize.pow(missing)).map(|code| (0..missing).map(move |place| code >> (2 * place) & 3));
            let is_same = further.into_iter().all(|further| {
                Tally::of(4, votes.iter().copied().chain(further).map(Some)).lower_median() == tally.lower_median()
            });
            prop_assert_eq!(tally.has_settled_median(missing), is_same);
        }

        /// A winner has strictly more votes than every other option; a tie has at least two at the top.
        #[test]
        fn outcome_is_first_past_the_post(votes in prop::collection::vec(0_usize..5, 0..60)) {
            let tally = Tally::of(5, votes.into_iter().map(Some));
            let highest = *tally.counts().iter().max().unwrap();
            let at_top = tally.counts().iter().filter(|&&count| count == highest).count();
            match tally.outcome() {
                Outcome::Winner(option) => prop_assert!(tally.counts()[option] == highest && at_top == 1),
                Outcome::Tie => prop_assert!(at_top > 1 && highest > 0),
                Outcome::NoVotes => prop_assert_eq!(highest, 0),
            }
        }
    }
}
