//! The random choices of a poll, all derived from one stored seed: the dispatch order of the members, the
//! option order of each member, the mark in its delimiters, and the voters that are asked for explanations.
//!
//! The dispatch order must be uniform and independent of everything else, because the guarantee of the
//! confidence stop depends on it. The option order is balanced over the roster: in each block of `K`
//! members, for `K` options, every option appears once in every position (a Latin square). A model's
//! preference for the first position becomes noise instead of bias.

use rand::seq::SliceRandom;
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

/// 32 random bytes that determine every random choice of one poll.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed([u8; 32]);

/// Independent random streams of one seed.
#[derive(Clone, Copy)]
enum Stream {
    Roster,
    Options(u64),
    Delimiters(u64),
    Explanations(u64),
}

impl Seed {
    /// The version of the algorithm behind all draws. Stored with each poll, because its ballots are read with
    /// the orders that the models saw.
    pub const ALGORITHM: u8 = 1;

    /// Creates a seed from these bytes. The guarantee requires unpredictable bytes from the operating system.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for storage.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn stream(self, stream: Stream) -> ChaCha12Rng {
        let mut rng = ChaCha12Rng::from_seed(self.0);
        rng.set_stream(match stream {
            Stream::Roster => 0,
            Stream::Options(block) => 1 + 2 * block,
            Stream::Delimiters(position) => 2 + 2 * position,
            // No position is that large.
            Stream::Explanations(place) => u64::MAX - place,
        });
        rng
    }

    /// Shuffles the members into their dispatch order, a uniform random permutation.
    pub fn shuffle<T>(self, members: &mut [T]) {
        members.shuffle(&mut self.stream(Stream::Roster));
    }

    /// Returns the order in which the member at `position` of the dispatch order sees `options` options: the
    /// option index for each position on the ballot.
    pub fn option_order(self, position: usize, options: usize) -> Vec<usize> {
        let (block, row) = (position / options, position % options);
        let mut rng = self.stream(Stream::Options(block as u64));
        let mut base: Vec<usize> = (0..options).collect();
        let mut shifts = base.clone();
        base.shuffle(&mut rng);
        shifts.shuffle(&mut rng);
        (0..options).map(|position| base[(position + shifts[row]) % options]).collect()
    }

    /// Returns the mark in the delimiters around question and options for the member at `position`. The
    /// author of a question cannot know it, so no text can imitate its closing delimiter.
    pub fn delimiter_mark(self, position: usize) -> u32 {
        self.stream(Stream::Delimiters(position as u64)).random()
    }
}

impl Seed {
    /// Returns the random numbers that draw the voters to ask for explanations, for the option at this place of the
    /// outcome, from 0.
    pub(crate) fn explanations(self, place: usize) -> ChaCha12Rng {
        self.stream(Stream::Explanations(place as u64))
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_option_appears_once_in_every_position_of_a_block() {
        for options in 2..=10 {
            for block in 0..3 {
                let rows: Vec<Vec<usize>> = (0..options)
                    .map(|row| Seed([7; 32]).option_order(block * options + row, options))
                    .collect();
                for position in 0..options {
                    let seen: HashSet<usize> = rows.iter().map(|row| row[position]).collect();
                    assert_eq!(seen.len(), options);
                }
            }
        }
    }

    #[test]
    fn members_see_different_marks() {
        let marks: HashSet<u32> = (0..200).map(|position| Seed([9; 32]).delimiter_mark(position)).collect();
        assert_eq!(marks.len(), 200);
    }

    /// Stored polls depend on these draws. A new algorithm needs a new [`Seed::ALGORITHM`] beside the old one.
    #[test]
    fn the_draws_of_the_first_algorithm_never_change() {
        assert_eq!(Seed::ALGORITHM, 1);
        let bytes: [u8; 32] = std::array::from_fn(|index| index as u8);
        let seed = Seed::new(bytes);
        let mut members: Vec<u32> = (0..12).collect();
        seed.shuffle(&mut members);
        let orders: Vec<Vec<usize>> = [(0, 2), (1, 2), (3, 3), (7, 4), (149, 10)]
            .map(|(at, options)| seed.option_order(at, options))
            .into();
        let marks: Vec<u32> = [0, 1, 149].map(|position| seed.delimiter_mark(position)).into();
        assert_eq!(members, [6, 2, 4, 1, 3, 5, 7, 8, 0, 9, 10, 11]);
        let of_ten = vec![2, 3, 1, 7, 5, 8, 0, 9, 4, 6];
        assert_eq!(orders, [vec![0, 1], vec![1, 0], vec![1, 0, 2], vec![0, 3, 1, 2], of_ten]);
        assert_eq!(marks, [0x9acb_d2a6, 0x8006_75f9, 0xb8ea_32e0]);
    }

    #[test]
    fn a_seed_determines_the_order() {
        let draw = || {
            let mut members: Vec<u32> = (0..50).collect();
            Seed([3; 32]).shuffle(&mut members);
            members
        };
        assert_eq!(draw(), draw());
        assert_ne!(draw(), (0..50).collect::<Vec<u32>>());
    }
}
