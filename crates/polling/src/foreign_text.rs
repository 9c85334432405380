//! Texts that a person did not type: from files, PDFs, terminals and other programs.
//!
//! A question often holds such a text. What has one meaning is converted: other line breaks become line feeds, and terminal
//! sequences go. Marks of direction belong to texts in Arabic, Hebrew and others, so they stay, closed at the end of their
//! paragraph: they cannot turn what follows the text.

use crate::text::is_direction_mark;

/// A converted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Converted {
    /// The text.
    pub(crate) text: String,
    /// Its conversions, for a notice.
    pub(crate) conversions: Conversions,
}

/// Kinds of conversions in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Conversions {
    breaks: bool,
    sequences: bool,
    directions: bool,
}

impl Conversions {
    /// Describes the conversions for the owner of the text; `None` without any.
    pub(crate) fn notice(self) -> Option<String> {
        let parts = [
            (self.breaks, "form feeds and other rare line breaks became line feeds"),
            (self.sequences, "terminal sequences were removed"),
            (self.directions, "marks of text direction stay within their paragraph"),
        ];
        let said: Vec<&str> =
            parts.into_iter().filter(|(is_done, _)| *is_done).map(|(_, said)| said).collect();
        (!said.is_empty()).then(|| format!("in the question, {}", said.join("; ")))
    }
}

/// Converts a text.
pub(crate) fn convert(text: &str) -> Converted {
    let mut converted = String::with_capacity(text.len());
    let (mut conversions, mut open) = (Conversions::default(), OpenMarks::default());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\u{1B}' | '\u{90}' | '\u{98}' | '\u{9B}' | '\u{9D}'..='\u{9F}' => {
                if let Some(length) = sequence(&text[at..]) {
                    conversions.sequences = true;
                    while chars.next_if(|(next, _)| *next < at + length).is_some() {}
                } else {
                    converted.push(c);
                }
            }
            '\n' => {
                open.close(&mut converted);
                converted.push(c);
            }
            '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                conversions.breaks = true;
                open.close(&mut converted);
                converted.push('\n');
            }
            _ if is_direction_mark(c) => {
                conversions.directions = true;
                open.mark(c, &mut converted);
            }
            _ => converted.push(c),
        }
    }
    open.close(&mut converted);
    Converted { text: converted, conversions }
}

/// Maximum length of a terminal sequence, in bytes. A longer one is no sequence.
const MAX_SEQUENCE: usize = 4096;

/// Returns the length of the terminal sequence at the start of a text (ECMA-48, sections 5.3 to 5.6), with 7-bit or 8-bit
/// codes. `None` if it has no end.
fn sequence(text: &str) -> Option<usize> {
    let text = &text[..text.floor_char_boundary(MAX_SEQUENCE)];
    let mut chars = text.char_indices();
    let introducer = match chars.next()?.1 {
        '\u{1B}' => chars.next()?.1,
        // The 8-bit form of ESC and a character of the next column.
        eight_bit => char::from_u32(u32::from(eight_bit) - 0x40)?,
    };
    let end = |(at, c): (usize, char)| at + c.len_utf8();
    match introducer {
        '[' => {
            let last = chars.find(|(_, c)| !matches!(c, '\u{20}'..='\u{3F}'))?;
            matches!(last.1, '\u{40}'..='\u{7E}').then(|| end(last))
        }
        // Strings of commands, which a string terminator ends; BEL ends them on most terminals. They have no other control
        // character, so that the next sequence is not searched for the end of this one.
        'P' | 'X' | ']' | '^' | '_' => {
            let last = chars.find(|(_, c)| c.is_control() && !matches!(c, '\u{8}'..='\u{D}'))?;
            match last.1 {
                '\u{7}' | '\u{9C}' => Some(end(last)),
                '\u{1B}' => chars.next().filter(|(_, c)| *c == '\\').map(end),
                _ => None,
            }
        }
        '\u{20}'..='\u{2F}' => {
            let last = chars.find(|(_, c)| !matches!(c, '\u{20}'..='\u{2F}'))?;
            matches!(last.1, '\u{30}'..='\u{7E}').then(|| end(last))
        }
        '\u{30}'..='\u{7E}' => Some(text.len() - chars.as_str().len()),
        _ => None,
    }
}

/// Maximum depth of open marks of direction (Unicode Standard Annex #9, BD2). Deeper ones have no effect.
const MAX_DEPTH: usize = 125;

/// The open marks of a paragraph: true for an isolate, false for an embedding or an override.
#[derive(Default)]
struct OpenMarks(Vec<bool>);

impl OpenMarks {
    /// Adds a mark, unless it closes nothing or opens too deep a level.
    fn mark(&mut self, mark: char, text: &mut String) {
        let open = &mut self.0;
        let has_effect = match mark {
            '\u{202C}' => open.pop_if(|is_isolate| !*is_isolate).is_some(),
            '\u{2069}' => match open.iter().rposition(|is_isolate| *is_isolate) {
                Some(isolate) => {
                    // Embeddings in an isolate end with it.
                    open.truncate(isolate);
                    true
                }
                None => false,
            },
            _ if open.len() < MAX_DEPTH => {
                open.push(matches!(mark, '\u{2066}'..='\u{2068}'));
                true
            }
            _ => false,
        };
        if has_effect {
            text.push(mark);
        }
    }

    /// Closes all marks at the end of a paragraph.
    fn close(&mut self, text: &mut String) {
        text.extend(
            self.0.drain(..).rev().map(|is_isolate| if is_isolate { '\u{2069}' } else { '\u{202C}' }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> String {
        convert(text).text
    }

    #[test]
    fn rare_line_breaks_become_line_feeds() {
        assert_eq!(
            converted("page 1\u{C}page 2\u{B}a\u{85}b\u{2028}c\u{2029}d\r\ne"),
            "page 1\npage 2\na\nb\nc\nd\r\ne"
        );
        assert_eq!(convert("plain\n\ttext").conversions.notice(), None);
    }

    #[test]
    fn terminal_sequences_go_as_a_whole() {
        for (text, expected) in [
            ("\u{1B}[1;31merror\u{1B}[0m: no", "error: no"),
            ("\u{1B}]8;;https://x.example\u{1B}\\link\u{1B}]8;;\u{7}", "link"),
            ("\u{9B}31mred\u{1B}(B", "red"),
            ("a\u{1B}7b\u{1B}=c\u{1B}Pq#0\u{1B}\\d", "abcd"),
            // Sequences without an end stay, and are refused as control characters.
            ("\u{1B}]0;title and all the rest", "\u{1B}]0;title and all the rest"),
            ("\u{9D}0;one\u{9D}0;two\u{9C}", "\u{9D}0;one"),
            ("\u{1B}[31", "\u{1B}[31"),
            ("\u{1B}[3ä", "\u{1B}[3ä"),
            ("\u{1B}", "\u{1B}"),
            ("\u{1B}ä", "\u{1B}ä"),
        ] {
            assert_eq!(converted(text), expected, "{text:?}");
        }
        let endless = format!("\u{1B}]{}\u{7}", "x".repeat(MAX_SEQUENCE));
        assert_eq!(converted(&endless), endless);
    }

    #[test]
    fn marks_of_direction_end_with_their_paragraph() {
        for (text, expected) in [
            ("\u{202B}abc", "\u{202B}abc\u{202C}"),
            ("\u{2067}a\u{202E}b\nc", "\u{2067}a\u{202E}b\u{202C}\u{2069}\nc"),
            ("\u{2067}a\u{202E}b\u{2069}c", "\u{2067}a\u{202E}b\u{2069}c"),
            ("a\u{2069}b\u{202C}c", "abc"),
            ("\u{202A}a\u{2069}\u{202C}", "\u{202A}a\u{202C}"),
        ] {
            assert_eq!(converted(text), expected, "{text:?}");
        }
        let deep = converted(&"\u{202E}".repeat(1000));
        assert_eq!(deep.chars().count(), 2 * MAX_DEPTH);
        let notice = convert("\u{202B}a\u{C}").conversions.notice().unwrap();
        assert!(notice.contains("form feeds") && notice.contains("direction"), "{notice}");
    }
}
