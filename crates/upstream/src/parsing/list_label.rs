//! The number or letter before an item of a list.

use super::vocabulary::after_option_word;
use super::words::is_word;

/// True if a text in the form of comparisons is an item of a list.
pub(super) fn is_listed(text: &str) -> bool {
    let introduced = after_option_word(text);
    let has_bullet =
        text.split_once(' ').is_some_and(|(bullet, _)| matches!(bullet, "-" | "*" | "+" | "•" | "·" | "‣"));
    has_bullet || ListItem::read(introduced.unwrap_or(text), introduced.is_some()).is_some()
}

/// An item of a list: a text behind a number or letter.
pub(super) struct ListItem<'t> {
    pub(super) label: &'t str,
    pub(super) text: &'t str,
}

impl<'t> ListItem<'t> {
    /// Reads `a) earth`, `(a) earth`, `1. earth`, `**b:** earth`; `b` and `b earth` only behind an option word. `1.5` is a number.
    pub(super) fn read(text: &'t str, introduced: bool) -> Option<Self> {
        let text = text.trim_start_matches(['(', '[', '*', '_', '<', '【', '"', '`']);
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length =
            if digits > 0 { digits } else { text.chars().next().filter(|c| c.is_alphabetic())?.len_utf8() };
        let (label, after) = text.split_at(length);
        if digits > 2 || after.starts_with(is_word) {
            return None;
        }
        let rest = after.trim_start_matches([')', ']', '.', ':', '、', '】', '>', '*', '_', '"', '`']);
        let separators = &after[..after.len() - rest.len()];
        let (separated, rest) = match rest.strip_prefix(" - ") {
            Some(rest) => (true, rest),
            // `b (earth)`
            None if rest.starts_with(" (") && rest.ends_with(')') => (true, rest.trim_start()),
            None => (separators.contains([')', ']', '.', ':', '、', '】', '>', '*']), rest.trim_start()),
        };
        let is_number = digits > 0 && separators == "." && rest.starts_with(|c: char| c.is_ascii_digit());
        let is_joined = !rest.is_empty() && after.len() - rest.len() == separators.len() && digits > 0;
        let ends = introduced && (rest.is_empty() || after.starts_with(' '));
        ((separated || ends) && !is_number && !is_joined && (introduced || !rest.is_empty()))
            .then_some(Self { label, text: rest })
    }
}
