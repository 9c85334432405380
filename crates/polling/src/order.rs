//! Chance, drawn once per poll and kept: who is asked when, and in which order and under which code
//! each voter sees the options.
//!
//! The dispatch order must be uniform and independent of everything else: the confidence stop rests on
//! it. The option order is balanced over the roster, so that a liking for the first place becomes noise
//! instead of bias: among any `K` consecutive members (counted from a multiple of `K`) every option
//! stands once in every place (a Latin square).

use std::collections::HashSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

/// 32 random bytes from which every draw of one poll follows.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed([u8; 32]);

/// Independent streams of one seed.
#[derive(Clone, Copy)]
enum Draw {
    Roster,
    Options(u64),
    Codes(u64),
}

impl Seed {
    /// A seed from the operating system's random bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    fn stream(self, draw: Draw) -> ChaCha12Rng {
        let mut rng = ChaCha12Rng::from_seed(self.0);
        rng.set_stream(match draw {
            Draw::Roster => 0,
            Draw::Options(block) => 1 + 2 * block,
            Draw::Codes(position) => 2 + 2 * position,
        });
        rng
    }

    /// Puts the members into their dispatch order: a uniform random permutation.
    pub fn shuffle<T>(self, members: &mut [T]) {
        members.shuffle(&mut self.stream(Draw::Roster));
    }

    /// The order in which the member at `position` of the dispatch order sees `options` options:
    /// the option shown in each place.
    pub fn option_order(self, position: usize, options: usize) -> Vec<usize> {
        let (block, row) = (position / options, position % options);
        let mut rng = self.stream(Draw::Options(block as u64));
        let mut base: Vec<usize> = (0..options).collect();
        let mut shifts = base.clone();
        base.shuffle(&mut rng);
        shifts.shuffle(&mut rng);
        (0..options).map(|place| base[(place + shifts[row]) % options]).collect()
    }

    /// Codes for the places of one ballot view: pairs of consonants, which have no order, spell nothing
    /// and occur as a word in none of `texts`.
    pub fn codes(self, position: usize, count: usize, texts: &[String]) -> Vec<String> {
        let taken: HashSet<String> = texts
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
            .filter(|word| word.len() == 2)
            .map(str::to_ascii_uppercase)
            .collect();
        let mut first: Vec<u8> = CONSONANTS.to_vec();
        let mut second = first.clone();
        let mut rng = self.stream(Draw::Codes(position as u64));
        first.shuffle(&mut rng);
        second.shuffle(&mut rng);
        // Every code begins with another letter; its second letter is the next one that makes it new.
        first
            .iter()
            .filter_map(|&a| {
                let code = |b: u8| String::from_utf8_lossy(&[a, b]).into_owned();
                second.iter().map(|&b| code(b)).find(|code| code.as_bytes()[1] != a && !taken.contains(code))
            })
            .take(count)
            .collect()
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}

const CONSONANTS: &[u8] = b"BCDFGHJKLMNPQRSTVWXZ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_stands_once_in_every_place_of_a_block() {
        for options in 2..=10 {
            for block in 0..3 {
                let rows: Vec<Vec<usize>> = (0..options)
                    .map(|row| Seed([7; 32]).option_order(block * options + row, options))
                    .collect();
                for place in 0..options {
                    let seen: HashSet<usize> = rows.iter().map(|row| row[place]).collect();
                    assert_eq!(seen.len(), options);
                }
            }
        }
    }

    #[test]
    fn codes_are_new_and_never_words_of_the_options() {
        let texts = vec!["CD or PM".to_owned(), "bd".to_owned()];
        for position in 0..200 {
            let codes = Seed([9; 32]).codes(position, 10, &texts);
            assert_eq!(codes.iter().collect::<HashSet<_>>().len(), 10);
            assert!(codes.iter().all(|code| !["CD", "PM", "BD"].contains(&code.as_str())));
        }
    }

    #[test]
    fn a_seed_always_draws_the_same() {
        let draw = || {
            let mut members: Vec<u32> = (0..50).collect();
            Seed([3; 32]).shuffle(&mut members);
            members
        };
        assert_eq!(draw(), draw());
        assert_ne!(draw(), (0..50).collect::<Vec<u32>>());
    }
}
