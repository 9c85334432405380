//! The option that a sentence quotes or emphasises.

use super::matcher::ChoiceMatcher;
use super::words::is_unspaced;

/// The option that a sentence names, and its place.
pub(super) struct Span<'t> {
    pub(super) index: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The sentence.
    pub(super) whole: &'t str,
}

/// Returns the option that is the only quoted or emphasised text of a sentence.
pub(super) fn marked<'t>(text: &'t str, matcher: &ChoiceMatcher<'_>) -> Option<Span<'t>> {
    const MARKS: [(&str, &str); 9] = [
        ("**", "**"),
        ("__", "__"),
        ("\"", "\""),
        ("`", "`"),
        ("*", "*"),
        ("「", "」"),
        ("『", "』"),
        ("《", "》"),
        ("【", "】"),
    ];
    let mut found: Option<Span<'t>> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let marks = MARKS.iter().find(|(open, _)| text[at..].starts_with(open));
        let closed = marks.and_then(|(open, close)| {
            let start = at + open.len();
            Some((start, start + text[start..].find(close)?, close.len()))
        });
        let Some((start, end, close)) = closed else {
            at += c.len_utf8();
            continue;
        };
        let content = &text[start..end];
        let index = matcher
            .normal_value(content)
            .only()
            .filter(|_| content.chars().count() > 1 || content.contains(is_unspaced))?;
        if found.as_ref().is_some_and(|found| found.index != index) {
            return None;
        }
        found = Some(Span { index, start, end, whole: text });
        at = end + close;
    }
    found
}
