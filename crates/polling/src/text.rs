//! Normalises text that people wrote, once, before it is used.

use unicode_normalization::UnicodeNormalization;

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing visible is left after trimming.
    #[error("must not be blank")]
    Blank,
    /// A control character, or one that changes the direction of the text around it.
    #[error("must not contain the control character U+{0:04X}; remove it")]
    Control(u32),
    /// Fewer characters than allowed.
    #[error("must have at least {0} characters")]
    TooShort(usize),
    /// More characters than allowed.
    #[error("must have at most {0} characters")]
    TooLong(usize),
}

/// Trims and composes a text (NFC, Unicode Standard Annex #15), and checks that it has `min..=max`
/// characters.
pub fn normalize(text: &str, min: usize, max: usize, lines: Lines) -> Result<String, TextError> {
    let text: String = text.trim().nfc().collect();
    if let Some(bad) = text.chars().find(|&c| is_forbidden(c, lines)) {
        return Err(TextError::Control(bad as u32));
    }
    if text.chars().all(is_invisible) {
        return Err(TextError::Blank);
    }
    let length = text.chars().count();
    if length < min {
        return Err(TextError::TooShort(min));
    }
    if length > max {
        return Err(TextError::TooLong(max));
    }
    Ok(text)
}

/// Whether a text may span several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Line breaks and tabs are refused.
    One,
    /// Line breaks and tabs are kept.
    Many,
}

/// Two texts with the same key are the same option. The key is the text compatibility-composed (NFKC),
/// without invisible characters, and with each run of white space as one space.
pub fn comparison_key(text: &str) -> String {
    let visible: String = text.nfkc().filter(|&c| c.is_whitespace() || !is_invisible(c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_forbidden(c: char, lines: Lines) -> bool {
    let kept = lines == Lines::Many && matches!(c, '\n' | '\r' | '\t');
    let reversing = matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !kept) || reversing || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}')
}

fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_is_blank_and_reversing_is_refused() {
        assert_eq!(normalize(" \u{200B}\u{FEFF} ", 1, 9, Lines::One), Err(TextError::Blank));
        assert_eq!(normalize("a\u{202E}b", 1, 9, Lines::One), Err(TextError::Control(0x202E)));
        assert_eq!(normalize("a\u{0}b", 1, 9, Lines::Many), Err(TextError::Control(0)));
        assert_eq!(normalize("a\nb", 1, 9, Lines::One), Err(TextError::Control(10)));
        assert_eq!(normalize("a\nb", 1, 9, Lines::Many).as_deref(), Ok("a\nb"));
    }

    #[test]
    fn comparison_joins_what_reads_alike() {
        assert_eq!(comparison_key("Cafe\u{301}"), comparison_key("Café"));
        assert_eq!(comparison_key("ｆｕｌｌ　width"), comparison_key("full width"));
        assert_eq!(comparison_key("a\u{200B}b"), comparison_key("ab"));
        assert_ne!(comparison_key("yes"), comparison_key("Yes"));
    }
}
