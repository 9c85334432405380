//! The options of a question.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::text::{Lines, TextError, comparison_key, normalize};

/// The minimum number of options of any poll.
pub const MIN_OPTIONS: usize = 2;
/// The maximum number of options of a poll with an account.
pub const MAX_OPTIONS: usize = 10;
/// The maximum length of an option of a poll with an account, in characters.
pub const MAX_OPTION_CHARS: usize = 200;
/// The maximum number of options of a free poll.
pub const FREE_MAX_OPTIONS: usize = 5;
/// The maximum length of an option of a free poll, in characters.
pub const FREE_MAX_OPTION_CHARS: usize = 50;

/// The maximum number of levels of a scale: 0 to 10, or 0 to 1 in tenths.
pub const MAX_LEVELS: usize = 11;

/// A list of 2 to `MAX` distinct, non-blank options of at most `CHARS` characters each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct OptionList<const MAX: usize, const CHARS: usize>(Vec<String>);

/// The options of a poll with an account.
pub type Options = OptionList<MAX_OPTIONS, MAX_OPTION_CHARS>;
/// The options of a free poll.
pub type FreeOptions = OptionList<FREE_MAX_OPTIONS, FREE_MAX_OPTION_CHARS>;

/// The levels of a scale, in ascending order.
pub type Levels = OptionList<MAX_LEVELS, MAX_OPTION_CHARS>;

/// The error of [`OptionList::new`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Too few or too many.
    #[error("options: {}", count_remedy(*.max, *.given))]
    Count {
        /// The maximum number of options.
        max: usize,
        /// The number of options given.
        given: usize,
    },
    /// An invalid option.
    #[error("options[{index}] {error}")]
    Text {
        /// The index of the option, from 0.
        index: usize,
        /// The problem with its text.
        error: TextError,
    },
    /// Two equal options after trimming and normalisation.
    #[error("options[{second}] is the same as options[{first}]; change or remove one of them")]
    Duplicate {
        /// The index of the first of the two, from 0.
        first: usize,
        /// The index of the second of the two, from 0.
        second: usize,
    },
}

/// Returns the remedy for a wrong number of options.
fn count_remedy(max: usize, given: usize) -> String {
    let remedy = match given {
        0 => "add at least two options",
        1 => "add at least one more option",
        _ if given == max + 1 => "remove one option",
        _ => &format!("remove {} options", given.saturating_sub(max)),
    };
    format!("{remedy}: {MIN_OPTIONS} to {max} are allowed")
}

impl<const MAX: usize, const CHARS: usize> OptionList<MAX, CHARS> {
    /// Validates and normalises a list of options.
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

    /// Returns the options, in the caller's order.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Returns the number of options.
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

impl From<FreeOptions> for Levels {
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
        assert_eq!(error(&[]), "options: add at least two options: 2 to 10 are allowed");
        assert_eq!(error(&["one"]), "options: add at least one more option: 2 to 10 are allowed");
        assert_eq!(error(&["o"; 11]), "options: remove one option: 2 to 10 are allowed");
        assert_eq!(error(&["o"; 13]), "options: remove 3 options: 2 to 10 are allowed");
        assert_eq!(error(&["one", "  "]), "options[1] is blank; write some text");
        assert!(error(&["Yes", "No", " Yes "]).starts_with("options[2] is the same as options[0]"));
        assert!(error(&["Caf\u{e9}", "Cafe\u{301}"]).starts_with("options[1] is the same as options[0]"));
        assert_eq!(error(&["a", &"x".repeat(201)]), "options[1] has 201 characters; shorten it to 200");
        assert!(FreeOptions::new(&["a", &"x".repeat(51)]).is_err());
    }

    #[test]
    fn options_that_differ_in_case_are_different() {
        assert_eq!(Options::new(&["yes", "Yes "]).unwrap().as_slice(), ["yes", "Yes"]);
    }
}
