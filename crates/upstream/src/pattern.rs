//! Patterns of model ids.

use serde::Deserialize;
use wildmatch::WildMatchPattern;

/// A case-insensitive pattern in which `*` matches any text.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern(WildMatchPattern<'*', '\0'>);

impl Pattern {
    pub(crate) fn matches(&self, text: &str) -> bool {
        #[cfg(test)]
        MATCHED.with(|count| count.set(count.get() + 1));
        self.0.matches(text)
    }
}

#[cfg(test)]
thread_local! {
    /// The number of comparisons of this thread.
    pub(crate) static MATCHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl From<String> for Pattern {
    fn from(pattern: String) -> Self {
        Self(WildMatchPattern::new_case_insensitive(&pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text) in [
            ("*:free", "a/b:free"),
            ("a/*", "A/b"),
            ("a/*b*c", "a/xbxbc"),
            ("*", ""),
            ("a/b", "a/b"),
            ("*coder*", "x-coder"),
        ] {
            assert!(Pattern::from(pattern.to_owned()).matches(text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("*:free", "a/b"), ("a/*", "b/a/"), ("a*b*b", "ab"), ("a/b", "a/bc"), ("", "a"), ("a?c", "abc")]
        {
            assert!(!Pattern::from(pattern.to_owned()).matches(text), "{pattern} {text}");
        }
    }
}
