//! Explanations: single sentences in which voters state their reasons. They are requested after the decision, and
//! are no part of the vote.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::text::single_line;
use crate::money::Spend;

/// The number of voters that are asked for an explanation, for each of the two options with the most votes: 1 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct ExplanationCount(u8);

/// The error of [`ExplanationCount::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number from 1 to {}; leave it out to ask for none", ExplanationCount::MAX)]
pub struct ExplanationCountOutOfRange;

impl ExplanationCount {
    /// The largest number.
    pub const MAX: u8 = 3;

    /// Creates a number from 1 to [`Self::MAX`].
    pub fn new(count: u8) -> Result<Self, ExplanationCountOutOfRange> {
        if (1..=Self::MAX).contains(&count) { Ok(Self(count)) } else { Err(ExplanationCountOutOfRange) }
    }

    /// Returns the number of voters for each option.
    pub const fn per_option(self) -> usize {
        self.0 as usize
    }

    /// Returns the largest number of voters in a poll.
    pub const fn at_most(self) -> usize {
        self.per_option() * OPTIONS
    }
}

crate::checked!(ExplanationCount: u8, ExplanationCountOutOfRange, Self::new, |count| count.0);

/// Time from the decision until the poll closes with the explanations so far.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The number of options with explained votes: those with the most votes.
pub(crate) const OPTIONS: usize = 2;

/// A voter's sentence: one line of at most [`ExplanationText::MAX`] visible characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExplanationText(String);

impl ExplanationText {
    /// The maximum length, in characters.
    pub const MAX: usize = 280;

    /// Reads the response of a model: joins its lines, removes quotation marks around it and characters that cannot
    /// be seen, and cuts it after a sentence or a word. Returns `None` if no word is left.
    pub fn new(response: &str) -> Option<Self> {
        // A response is cut anyway, so the rest of a long one is not read.
        let line = single_line(&response[..response.floor_char_boundary(Self::MAX * 16)]);
        let text = line.trim_matches(['"', '“', '”', '*', '`', ' ']);
        if !text.contains(char::is_alphanumeric) {
            return None;
        }
        let end_of = |chars: usize| text.char_indices().nth(chars).map(|(end, _)| end);
        let Some(end) = end_of(Self::MAX) else { return Some(Self(text.to_owned())) };
        let ends_sentence = |at: &usize| text[at + 1..].starts_with(' ');
        let sentence = text[..end].rmatch_indices(['.', '!', '?']).map(|(at, _)| at).find(ends_sentence);
        if let Some(last) = sentence {
            return Some(Self(text[..=last].to_owned()));
        }
        // Room for the ellipsis.
        let start = &text[..end_of(Self::MAX - 1).unwrap_or(end)];
        let words = start.rfind(' ').map_or(start, |space| &start[..space]);
        Some(Self(format!("{}…", words.trim_end_matches([',', ';', ':']))))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The stored outcome of asking one voter for an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The voter's position in the dispatch order, from 0.
    pub position: u32,
    /// The sentence; `None` if the voter gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<ExplanationText>,
    /// The cost of the request.
    pub spend: Spend,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_become_one_line() {
        let text = |response: &str| ExplanationText::new(response).map(|text| text.as_str().to_owned());
        assert_eq!(text(" \"It is\n  simpler.\" ").as_deref(), Some("It is simpler."));
        assert_eq!(text("a\u{202E}b\u{0}c\u{E0041}d").as_deref(), Some("abcd"));
        assert_eq!((text(" … \n"), text("")), (None, None));
        let sentences = format!("First 1.5 {}. Second {}.", "a".repeat(150), "b".repeat(200));
        assert_eq!(text(&sentences).unwrap(), sentences.split(" Second").next().unwrap());
        let words = "word ".repeat(100);
        let cut = text(&words).unwrap();
        assert!(cut.ends_with("word…") && cut.chars().count() <= ExplanationText::MAX, "{cut}");
        let one = text(&"é".repeat(10_000)).unwrap();
        assert_eq!(one.chars().count(), ExplanationText::MAX);
    }
}
