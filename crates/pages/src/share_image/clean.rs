//! Sanitised texts of callers: one line, bounded, without characters that affect their surroundings.

use unicode_normalization::char::canonical_combining_class;
use unicode_segmentation::UnicodeSegmentation;

/// The maximum number of marks on one character. More would be drawn over the adjacent lines.
const MAX_MARKS: usize = 4;
/// The maximum length of a cluster, which exceeds any emoji sequence or syllable in use.
const MAX_CLUSTER_CHARS: usize = 16;

/// Returns the text with white space and control characters as single spaces, without bidi embeddings,
/// overrides and isolates, and with at most `max` grapheme clusters. A truncated text ends with an ellipsis.
pub(crate) fn clean(text: &str, max: usize) -> String {
    bounded(text, max, |c| is_dropped(c) || is_isolate(c))
}

/// Cleans a sentence composed by the caller, and preserves isolates, which limit the direction of a name.
pub(crate) fn clean_sentence(text: &str, max: usize) -> String {
    bounded(text, max, is_dropped)
}

fn bounded(text: &str, max: usize, is_dropped: impl Fn(char) -> bool) -> String {
    let mut cleaned = String::new();
    let mut clusters = 0;
    // This also bounds the work on texts that consist of one endless cluster.
    let head = text.char_indices().nth(max * MAX_CLUSTER_CHARS).map_or(text, |(end, _)| &text[..end]);
    for cluster in head.graphemes(true) {
        let start = cleaned.len();
        let mut marks = 0;
        for c in cluster.chars().take(MAX_CLUSTER_CHARS) {
            if canonical_combining_class(c) != 0 {
                marks += 1;
                if marks > MAX_MARKS {
                    continue;
                }
            }
            if c.is_whitespace() || (c.is_control() && c != '\u{7f}') {
                if !cleaned.is_empty() && !cleaned.ends_with(' ') {
                    cleaned.push(' ');
                }
            } else if !is_dropped(c) {
                cleaned.push(c);
            }
        }
        clusters += usize::from(cleaned.len() > start);
        if clusters > max {
            cleaned.truncate(start);
            cleaned.truncate(cleaned.trim_end().len());
            cleaned.push('…');
            return cleaned;
        }
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// Returns `true` for invisible characters that affect others, and for those that XML forbids.
fn is_dropped(c: char) -> bool {
    matches!(c,
        '\u{7f}' | '\u{ad}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || c as u32 & 0xfffe == 0xfffe
}

fn is_isolate(c: char) -> bool {
    matches!(c, '\u{2066}'..='\u{2069}')
}

/// Returns `true` if a text reads from right to left: its first strong character decides (UAX 9, rules P2 and
/// P3).
pub fn is_rtl(text: &str) -> bool {
    unicode_bidi::get_base_direction(text) == unicode_bidi::Direction::Rtl
}

/// Returns `true` if some character of a text reads from right to left (UAX 9, classes R and AL).
pub fn has_rtl(text: &str) -> bool {
    use unicode_bidi::BidiClass::{AL, R};
    text.chars().any(|c| matches!(unicode_bidi::bidi_class(c), R | AL))
}

/// Returns `true` if a text is certainly Japanese, because it contains kana.
pub(crate) fn has_kana(text: &str) -> bool {
    text.chars()
        .any(|c| matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{ff66}'..='\u{ff9d}'))
}

/// Escapes the special characters of XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_controls_become_single_spaces() {
        assert_eq!(clean("  a\r\n\tb\u{0}\u{1b}[31mc\u{2028}d  ", 50), "a b [31mc d");
    }

    #[test]
    fn bidi_controls_are_dropped_and_direction_marks_stay() {
        assert_eq!(clean("a\u{202e}b\u{2066}c\u{2069}d\u{200f}", 50), "abcd\u{200f}");
    }

    #[test]
    fn long_texts_end_in_an_ellipsis_between_clusters() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(clean(&family.repeat(9), 3), format!("{}…", family.repeat(3)));
        assert_eq!(clean("one two", 3), "one…");
        assert_eq!(clean("one", 3), "one");
    }

    #[test]
    fn stacked_marks_are_limited() {
        assert_eq!(clean(&format!("a{}b", "\u{301}".repeat(50)), 9), "a\u{301}\u{301}\u{301}\u{301}b");
    }

    #[test]
    fn the_first_strong_character_decides_the_direction() {
        assert!(is_rtl("123 – שלום abc"));
        assert!(!is_rtl("abc שלום"));
        assert!(!is_rtl(&clean_sentence("\u{2068}שלום\u{2069} won.", 50)));
        assert!(!is_rtl("123"));
    }

    #[test]
    fn any_character_from_right_to_left_is_found() {
        assert!(has_rtl("abc שלום") && has_rtl("سلام"));
        assert!(!has_rtl("123 abc – é 日本"));
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape(r#"<a b="c">'&"#), "&lt;a b=&quot;c&quot;&gt;&#39;&amp;");
    }
}
