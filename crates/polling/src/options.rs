//! The options of a question.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::text::{Lines, TextError, comparison_key, normalize};

/// Fewest options of any poll.
pub const MIN_OPTIONS: usize = 2;
/// Most options of a poll with an account.
pub const MAX_OPTIONS: usize = 10;
/// Most characters of an option of a poll with an account.
pub const MAX_OPTION_CHARS: usize = 200;
/// Most options of a free poll.
pub const FREE_MAX_OPTIONS: usize = 5;
/// Most characters of an option of a free poll.
pub const FREE_MAX_OPTION_CHARS: usize = 50;

/// A list of 2 to `MAX` options of at most `CHARS` characters each: all different, none blank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct OptionList<const MAX: usize, const CHARS: usize>(Vec<String>);

/// The options of a poll with an account.
pub type Options = OptionList<MAX_OPTIONS, MAX_OPTION_CHARS>;
/// The options of a free poll.
pub type FreeOptions = OptionList<FREE_MAX_OPTIONS, FREE_MAX_OPTION_CHARS>;

/// Why a list of options was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Too few or too many.
    #[error("options must be a list of {MIN_OPTIONS} to {max} options; {given} were given")]
    Count {
        /// How many are allowed.
        max: usize,
        /// How many were given.
        given: usize,
    },
    /// One of them is not usable.
    #[error("options[{index}] {error}")]
    Text {
        /// Which one, from 0.
        index: usize,
        /// What is wrong with it.
        error: TextError,
    },
    /// Two of them are the same text once trimmed and normalised.
    #[error(
        "options[{second}] repeats options[{first}]: options must be unique after trimming and Unicode normalisation"
    )]
    Duplicate {
        /// The first of the two, from 0.
        first: usize,
        /// The second of the two, from 0.
        second: usize,
    },
}

impl<const MAX: usize, const CHARS: usize> OptionList<MAX, CHARS> {
    /// Checks and normalises a list of options.
    pub fn new<S: AsRef<str>>(options: &[S]) -> Result<Self, OptionsError> {
        if !(MIN_OPTIONS..=MAX).contains(&options.len()) {
            return Err(OptionsError::Count { max: MAX, given: options.len() });
        }
        let mut normalized = Vec::with_capacity(options.len());
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(options.len());
        for (index, option) in options.iter().enumerate() {
            let text = normalize(option.as_ref(), 1, CHARS, Lines::One)
                .map_err(|error| OptionsError::Text { index, error })?;
            let key = comparison_key(&text);
            if let Some(&first) = seen.get(&key) {
                return Err(OptionsError::Duplicate { first, second: index });
            }
            seen.insert(key, index);
            normalized.push(text);
        }
        Ok(Self(normalized))
    }

    /// The options, in the caller's order.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "a list of options is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<FreeOptions> for Options {
    fn from(options: FreeOptions) -> Self {
        Self(options.0)
    }
}

impl<const MAX: usize, const CHARS: usize> TryFrom<Vec<String>> for OptionList<MAX, CHARS> {
    type Error = OptionsError;
    fn try_from(options: Vec<String>) -> Result<Self, Self::Error> {
        Self::new(&options)
    }
}

impl<const MAX: usize, const CHARS: usize> From<OptionList<MAX, CHARS>> for Vec<String> {
    fn from(options: OptionList<MAX, CHARS>) -> Self {
        options.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_option() {
        let error = |options: &[&str]| Options::new(options).unwrap_err().to_string();
        assert_eq!(error(&["one"]), "options must be a list of 2 to 10 options; 1 were given");
        assert_eq!(error(&["one", "  "]), "options[1] must not be blank");
        assert!(error(&["Yes", "No", " Yes "]).starts_with("options[2] repeats options[0]"));
        assert!(error(&["Caf\u{e9}", "Cafe\u{301}"]).starts_with("options[1] repeats options[0]"));
        assert_eq!(error(&["a", &"x".repeat(201)]), "options[1] must have at most 200 characters");
        assert!(FreeOptions::new(&["a", &"x".repeat(51)]).is_err());
    }

    #[test]
    fn options_that_differ_in_case_are_different() {
        assert_eq!(Options::new(&["yes", "Yes "]).unwrap().as_slice(), ["yes", "Yes"]);
    }
}
