//! Scales: levels in ascending order, whose median decides, and pass marks.
//!
//! The median is the *lower* one: of an even number of votes, the lower of the two in the middle. So "the median is at
//! least the mark" is the same as "more votes are for levels from the mark on than for those below it", and an exact tie
//! fails.

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::options::Levels;
use crate::stopping::FinalResponse;
use crate::tally::Tally;
use crate::text::comparison_key;

/// The levels of a scale, and its pass mark, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    levels: Levels,
    mark: Option<PassMark>,
}

/// The lowest level that passes: its position among the levels. It is never the lowest level, because every vote would
/// pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassMark(NonZeroU8);

/// The error of [`Scale::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassMarkError {
    /// The mark is no level.
    #[error("is not one of the levels; send the lowest level that passes, exactly as in the levels")]
    Unknown,
    /// The mark is the lowest level.
    #[error("is the lowest level, so every vote would pass; send a higher level, or leave pass out")]
    Lowest,
}

impl Scale {
    /// Creates a scale. `pass` is the lowest level that passes.
    pub fn new(levels: Levels, pass: Option<&str>) -> Result<Self, PassMarkError> {
        let mark = pass.map(|pass| PassMark::among(&levels, pass)).transpose()?;
        Ok(Self { levels, mark })
    }

    /// Returns the pass mark.
    pub const fn mark(&self) -> Option<PassMark> {
        self.mark
    }
}

impl From<Scale> for Vec<String> {
    fn from(scale: Scale) -> Self {
        scale.levels.into()
    }
}

impl PassMark {
    fn among(levels: &Levels, pass: &str) -> Result<Self, PassMarkError> {
        let key = comparison_key(pass);
        let position = levels.as_slice().iter().position(|level| comparison_key(level) == key);
        let position = position.ok_or(PassMarkError::Unknown)?;
        let position = u8::try_from(position).map_err(|_| PassMarkError::Unknown)?;
        NonZeroU8::new(position).map(Self).ok_or(PassMarkError::Lowest)
    }

    /// Returns the position of the mark among the levels, from 1.
    pub fn level(self) -> usize {
        usize::from(self.0.get())
    }

    /// Returns the option of a vote for this level in the vote on the pass.
    pub fn side(self, level: usize) -> PassSide {
        if level >= self.level() { PassSide::For } else { PassSide::Against }
    }

    /// Returns a response as it counts in the vote on the pass.
    pub fn response(self, response: FinalResponse) -> FinalResponse {
        match response {
            FinalResponse::Vote(level) => FinalResponse::Vote(self.side(level) as usize),
            other => other,
        }
    }

    /// Counts the votes for levels from the mark on, and for those below it.
    pub fn votes(self, tally: &Tally) -> PassVotes {
        let (below, from) = tally.counts().split_at(self.level().min(tally.counts().len()));
        PassVotes { votes_for: from.iter().sum(), votes_against: below.iter().sum() }
    }
}

/// An option of the vote on a pass, with its index in [`Responses`](crate::stopping::Responses).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassSide {
    /// A level below the mark. It wins a tie.
    Against = 0,
    /// The mark or a level above it.
    For = 1,
}

/// The votes on a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassVotes {
    /// Votes for levels from the mark on.
    pub votes_for: u32,
    /// Votes for levels below the mark.
    pub votes_against: u32,
}

impl PassVotes {
    /// True if the votes pass; an exact tie fails. `None` without votes.
    pub const fn passed(self) -> Option<bool> {
        let Self { votes_for, votes_against } = self;
        if votes_for == 0 && votes_against == 0 { None } else { Some(votes_for > votes_against) }
    }
}

impl From<PassVotes> for Tally {
    /// Counts the sides as options: [`PassSide`] has their indices.
    fn from(PassVotes { votes_for, votes_against }: PassVotes) -> Self {
        Self::counted(vec![votes_against, votes_for])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn levels(count: usize) -> Levels {
        Levels::new(&(0..count).map(|level| level.to_string()).collect::<Vec<_>>()).unwrap()
    }

    fn mark(level: usize) -> PassMark {
        Scale::new(levels(11), Some(&level.to_string())).unwrap().mark.unwrap()
    }

    #[test]
    fn a_pass_mark_is_a_level_above_the_lowest() {
        let marked = |pass| Scale::new(levels(3), pass).map(|scale| scale.mark());
        assert_eq!(marked(None), Ok(None));
        assert_eq!(marked(Some(" 1 ")), Ok(Some(mark(1))));
        assert_eq!(marked(Some("0")), Err(PassMarkError::Lowest));
        assert_eq!(marked(Some("3")), Err(PassMarkError::Unknown));
        assert!(serde_json::from_str::<PassMark>("0").is_err());
    }

    #[test]
    fn an_exact_tie_fails() {
        let passed =
            |votes: &[usize]| mark(5).votes(&Tally::of(11, votes.iter().copied().map(Some))).passed();
        assert_eq!(passed(&[0, 4, 5, 10]), Some(false));
        assert_eq!(passed(&[0, 5, 10]), Some(true));
        assert_eq!(passed(&[]), None);
    }

    proptest! {
        /// The median is at least the mark exactly if more votes are for the mark and above than below it.
        #[test]
        fn the_pass_is_about_the_lower_median(
            votes in prop::collection::vec(prop::option::weighted(0.9, 0..11_usize), 0..60),
            level in 1..11_usize,
        ) {
            let tally = Tally::of(11, votes);
            let by_median = tally.lower_median().map(|median| median >= level);
            prop_assert_eq!(mark(level).votes(&tally).passed(), by_median);
        }

        /// A higher vote never turns a pass into a fail, and a lower mark never does.
        #[test]
        fn the_pass_is_monotone(
            votes in prop::collection::vec(0..10_usize, 1..60),
            raised in any::<prop::sample::Index>(),
            level in 2..11_usize,
        ) {
            let passed = |votes: &[usize], level| {
                let tally = Tally::of(11, votes.iter().copied().map(Some));
                mark(level).votes(&tally).passed().unwrap()
            };
            let mut higher = votes.clone();
            higher[raised.index(votes.len())] += 1;
            prop_assert!(passed(&votes, level) <= passed(&higher, level));
            prop_assert!(passed(&votes, level) <= passed(&votes, level - 1));
        }
    }
}
