//! Text that people wrote: normalised once, at the edge.

use unicode_normalization::UnicodeNormalization;

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// Nothing visible is left after trimming.
    #[error("must not be blank")]
    Blank,
    /// A control character, or one that silently reverses the direction of the text around it.
    #[error("must not contain the control character U+{0:04X}; remove it")]
    Control(u32),
    /// Fewer characters than allowed.
    #[error("must have at least {0} characters")]
    TooShort(usize),
    /// More characters than allowed.
    #[error("must have at most {0} characters")]
    TooLong(usize),
}

/// Trims, composes (NFC, Unicode Standard Annex #15) and checks a text of `min..=max` characters.
pub fn clean(text: &str, min: usize, max: usize, lines: Lines) -> Result<String, TextFault> {
    let text: String = text.trim().nfc().collect();
    if let Some(bad) = text.chars().find(|&c| is_forbidden(c, lines)) {
        return Err(TextFault::Control(bad as u32));
    }
    if text.chars().all(is_invisible) {
        return Err(TextFault::Blank);
    }
    let length = text.chars().count();
    if length < min {
        return Err(TextFault::TooShort(min));
    }
    if length > max {
        return Err(TextFault::TooLong(max));
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

/// The form in which two texts are the same option: compatibility-composed (NFKC), without invisible
/// characters, with runs of white space folded.
pub fn identity(text: &str) -> String {
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
        assert_eq!(clean(" \u{200B}\u{FEFF} ", 1, 9, Lines::One), Err(TextFault::Blank));
        assert_eq!(clean("a\u{202E}b", 1, 9, Lines::One), Err(TextFault::Control(0x202E)));
        assert_eq!(clean("a\u{0}b", 1, 9, Lines::Many), Err(TextFault::Control(0)));
        assert_eq!(clean("a\nb", 1, 9, Lines::One), Err(TextFault::Control(10)));
        assert_eq!(clean("a\nb", 1, 9, Lines::Many).as_deref(), Ok("a\nb"));
    }

    #[test]
    fn identity_joins_what_reads_alike() {
        assert_eq!(identity("Cafe\u{301}"), identity("Café"));
        assert_eq!(identity("ｆｕｌｌ　width"), identity("full width"));
        assert_eq!(identity("a\u{200B}b"), identity("ab"));
        assert_ne!(identity("yes"), identity("Yes"));
    }
}
