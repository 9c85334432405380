//! Labels of API keys.

use std::fmt;
use std::str::FromStr;

use ep_polling::text::normalize;
use ep_polling::{Lines, TextError, checked, inline_schema};
use serde::Deserialize;

/// The owner's label of an API key: at most [`KeyLabel::MAX_CHARS`] characters on one line, or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyLabel(String);

/// Error of [`KeyLabel::from_str`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("label {0}")]
pub struct InvalidKeyLabel(TextError);

impl KeyLabel {
    /// Maximum length in characters.
    pub const MAX_CHARS: usize = 64;

    /// Returns the label; empty if the key has none.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyLabel {
    type Err = InvalidKeyLabel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        normalize(text, 1, Self::MAX_CHARS, Lines::One).map(Self).map_err(InvalidKeyLabel)
    }
}

checked!(KeyLabel: String, TextError, |text| text.parse().map_err(|InvalidKeyLabel(error)| error));
inline_schema!(KeyLabel, { "type": "string", "maxLength": KeyLabel::MAX_CHARS });

impl fmt::Display for KeyLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_at_most_64_characters_on_one_line() {
        let longest = "é".repeat(64);
        assert_eq!(longest.parse::<KeyLabel>().unwrap().as_str(), longest);
        let rejected = format!("{longest}é").parse::<KeyLabel>().unwrap_err();
        assert_eq!(rejected.to_string(), "label has 65 characters; shorten it to 64");
        assert!("two\nlines".parse::<KeyLabel>().is_err());
        assert_eq!(" laptop ".parse::<KeyLabel>().unwrap().as_str(), "laptop");
        assert_eq!("  ".parse::<KeyLabel>(), Ok(KeyLabel::default()));
    }
}
