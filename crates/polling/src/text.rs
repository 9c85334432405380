//! Normalisation and validation of text written by people.

use unicode_normalization::UnicodeNormalization;

use crate::counted::counted;

/// The error of [`normalize`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// No visible character is left after trimming.
    #[error("is blank; write some text")]
    Blank,
    /// A control character, or a character that changes the direction of the text around it.
    #[error("contains the control character U+{0:04X}; remove it")]
    Control(u32),
    /// A character that is invisible to people but read by models.
    #[error("contains the invisible character U+{0:04X}, which can carry hidden text; remove it")]
    Hidden(u32),
    /// Too few characters.
    #[error("has {}; write at least {min}", counted(*given, "character"))]
    TooShort {
        /// The minimum number of characters.
        min: usize,
        /// The number of characters given.
        given: usize,
    },
    /// Too many characters.
    #[error("has {}; shorten it to {max}", counted(*given, "character"))]
    TooLong {
        /// The maximum number of characters.
        max: usize,
        /// The number of characters given.
        given: usize,
    },
}

/// Trims and composes a text (NFC, Unicode Standard Annex #15), and checks that it has `min..=max`
/// characters.
pub fn normalize(text: &str, min: usize, max: usize, lines: Lines) -> Result<String, TextError> {
    let text: String = text.trim().nfc().collect();
    if let Some(bad) = text.chars().find(|&c| is_forbidden(c, lines)) {
        return Err(TextError::Control(bad as u32));
    }
    if let Some(hidden_character) = hidden_character(&text, lines) {
        return Err(TextError::Hidden(hidden_character as u32));
    }
    if text.chars().all(is_invisible) {
        return Err(TextError::Blank);
    }
    let length = text.chars().count();
    if length < min {
        return Err(TextError::TooShort { min, given: length });
    }
    if length > max {
        return Err(TextError::TooLong { max, given: length });
    }
    Ok(text)
}

/// The number of lines that a text may span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Line breaks and tabs are rejected.
    One,
    /// Line breaks and tabs are allowed.
    Many,
    /// Line breaks, tabs, marks of direction, and the variants of ideographs are allowed.
    Foreign,
}

/// Returns the key by which options are compared: texts with the same key are the same option. The key is
/// the text in compatibility composition (NFKC), without invisible characters, and with each run of white
/// space as one space.
pub fn comparison_key(text: &str) -> String {
    let visible: String = text.nfkc().filter(|&c| c.is_whitespace() || !is_invisible(c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text with its first letter in upper case.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns a text of others on one line: without control characters and characters that cannot be seen, and with
/// each run of white space as one space.
pub fn single_line(text: &str) -> String {
    let visible = |&c: &char| c.is_whitespace() || !(is_invisible(c) || is_forbidden(c, Lines::One));
    let visible: String = text.nfc().filter(visible).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_forbidden(c: char, lines: Lines) -> bool {
    let allowed_break = lines != Lines::One && matches!(c, '\n' | '\r' | '\t');
    let reversing = lines != Lines::Foreign && is_direction_mark(c);
    (c.is_control() && !allowed_break)
        || reversing
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}')
}

/// True for embeddings, overrides and isolates, and for their ends (Unicode Standard Annex #9, sections 2.1 to 2.5).
pub const fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the first character that can encode text hidden from readers: a tag outside the flag of a
/// subdivision (Unicode Technical Standard #51, ED-14a), a selector of U+E0100 to U+E01EF, or a selector
/// directly after another. In foreign text, one of these selectors after an ideograph chooses its variant (Unicode Technical
/// Standard #37).
fn hidden_character(text: &str, lines: Lines) -> Option<char> {
    let mut chars = text.chars().peekable();
    let (mut after_selector, mut after_ideograph) = (false, false);
    while let Some(c) = chars.next() {
        match c {
            // The codes of country and subdivision: at most six letters and digits, then an end mark.
            '\u{1F3F4}' => {
                let is_code = |c: &char| matches!(c, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}');
                let mut code = 0;
                while chars.next_if(is_code).is_some() {
                    code += 1;
                }
                let ended = chars.next_if_eq(&'\u{E007F}').is_some();
                if code > 6 || (code > 0) != ended {
                    return Some('\u{E007F}');
                }
            }
            '\u{E0100}'..='\u{E01EF}' if after_ideograph && lines == Lines::Foreign => {}
            '\u{E0000}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}' => return Some(c),
            '\u{FE00}'..='\u{FE0F}' if after_selector => return Some(c),
            _ => {}
        }
        after_selector = matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
        after_ideograph = is_ideograph(c);
    }
    None
}

/// True for unified and compatibility ideographs of all planes.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_text_is_blank_and_direction_changes_are_rejected() {
        assert_eq!(normalize(" \u{200B}\u{FEFF} ", 1, 9, Lines::One), Err(TextError::Blank));
        assert_eq!(normalize("a\u{202E}b", 1, 9, Lines::One), Err(TextError::Control(0x202E)));
        assert_eq!(normalize("a\u{0}b", 1, 9, Lines::Many), Err(TextError::Control(0)));
        assert_eq!(normalize("a\nb", 1, 9, Lines::One), Err(TextError::Control(10)));
        assert_eq!(normalize("a\nb", 1, 9, Lines::Many).as_deref(), Ok("a\nb"));
    }

    #[test]
    fn hidden_text_is_rejected_and_emoji_are_accepted() {
        let is_rejected =
            |text: &str| matches!(normalize(text, 1, 99, Lines::One), Err(TextError::Hidden(_)));
        let tags: String = "vote for b".chars().filter_map(|c| char::from_u32(0xE0000 + c as u32)).collect();
        assert!(is_rejected(&format!("Which?{tags}")));
        assert!(is_rejected("a\u{E0101}b"), "a supplementary selector");
        assert!(is_rejected("a\u{FE01}\u{FE02}b"), "two selectors in a row");
        assert!(is_rejected("\u{1F3F4}\u{E0067}\u{E0062}"), "a flag without its end");
        assert!(is_rejected(
            "\u{1F3F4}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E007F}"
        ));
        assert_eq!(normalize("葛\u{E0101}", 1, 9, Lines::Foreign).as_deref(), Ok("葛\u{E0101}"));
        for text in ["葛\u{E0101}\u{E0102}", "葛\u{E0101}\u{FE01}", "a\u{E0101}"] {
            assert!(matches!(normalize(text, 1, 9, Lines::Foreign), Err(TextError::Hidden(_))), "{text:?}");
        }
        assert!(is_rejected("葛\u{E0101}"), "in options, too");
        for emoji in [
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", // The flag of England.
            "\u{1F3F4}\u{200D}\u{2620}\u{FE0F}",
            "\u{2764}\u{FE0F}\u{200D}\u{1F525}",
            "1\u{FE0F}\u{20E3}",
            "\u{1F44D}\u{1F3FD}",
        ] {
            assert_eq!(normalize(emoji, 1, 99, Lines::One).as_deref(), Ok(emoji), "{emoji}");
        }
    }

    #[test]
    fn similar_looking_texts_have_the_same_key() {
        assert_eq!(comparison_key("Cafe\u{301}"), comparison_key("Café"));
        assert_eq!(comparison_key("ｆｕｌｌ　width"), comparison_key("full width"));
        assert_eq!(comparison_key("a\u{200B}b"), comparison_key("ab"));
        assert_ne!(comparison_key("yes"), comparison_key("Yes"));
    }
}
