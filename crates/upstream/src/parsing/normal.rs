//! The form in which texts are compared, and the decoration around them.

use unicode_normalization::UnicodeNormalization;

/// Returns a text in the form in which texts are compared: composed (NFKC), in lower case, with one sign for each kind of
/// quote, dash and space. U+2212 and the hyphen are one sign. Other signs stay.
pub(super) fn normal(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for c in composed(text).chars().flat_map(char::to_lowercase) {
        match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => normal.push('-'),
            '\u{2018}'..='\u{201B}' | '\u{02BC}' | '\u{2032}' => normal.push('\''),
            '\u{201C}'..='\u{201F}' | '«' | '»' => normal.push('"'),
            // Invisible: soft hyphen, joiners, marks of direction, selectors.
            '\u{AD}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2069}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' => {}
            c if c.is_whitespace() => {
                if !normal.is_empty() && !normal.ends_with(' ') {
                    normal.push(' ');
                }
            }
            c => normal.push(c),
        }
    }
    normal.truncate(normal.trim_end().len());
    normal
}

/// Composes a text (NFKC), but leaves raised, circled and broken digits, which are other numbers: `10²` is not `102`.
fn composed(text: &str) -> String {
    let is_number = |c: char| matches!(c, '²' | '³' | '¹' | '¼'..='¾' | '\u{2070}'..='\u{209F}' | '\u{2150}'..='\u{218F}' | '①'..='⓿');
    let mut composed = String::with_capacity(text.len());
    for part in text.split_inclusive(is_number) {
        let plain = part.trim_end_matches(is_number);
        composed.extend(plain.nfkc());
        composed.push_str(&part[plain.len()..]);
    }
    composed
}

/// Signs that stand in pairs around a value. Signs before a value alone, such as those of lists, are in [`is_bullet`].
const PAIRS: [(char, char); 14] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('*', '*'),
    ('_', '_'),
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('<', '>'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('〈', '〉'),
    ('【', '】'),
];

/// Signs that end a sentence, of which one may follow a value.
pub(super) const FULL_STOPS: [char; 4] = ['.', '。', '।', '۔'];

/// True for a sign that may refuse what it stands beside: a cross, a thumb, a sign of prohibition.
pub(super) fn is_refusing(c: char) -> bool {
    matches!(
        c,
        '❌' | '❎'
            | '✕'
            | '✖'
            | '✗'
            | '✘'
            | '☒'
            | '⨯'
            | '🚫'
            | '⛔'
            | '🛑'
            | '👎'
            | '👍'
            | '🙅'
            | '❓'
            | '❔'
            | '🗑'
    )
}

/// True for a pictogram that says nothing about a choice.
fn is_pictogram(c: char) -> bool {
    !is_refusing(c)
        && matches!(c, '\u{2190}'..='\u{21FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

fn is_bullet(c: char) -> bool {
    matches!(c, '-' | '*' | '+' | '•' | '·' | '‣' | '#') || is_pictogram(c)
}

/// A text without one layer of decoration at its ends; `None` if it has none. `signed` means that an option begins with a
/// sign and a digit, so that a sign before a digit is no bullet.
pub(super) fn peeled(text: &str, signed: bool) -> Option<&str> {
    let text = text.trim();
    let first = text.chars().next()?;
    let last = text.chars().next_back()?;
    if text.len() > first.len_utf8() && PAIRS.iter().any(|&(open, close)| open == first && close == last) {
        return Some(text[first.len_utf8()..text.len() - last.len_utf8()].trim());
    }
    if let Some(content) = without_latex(text) {
        return Some(content);
    }
    if let Some((bullet, rest)) = text.split_once(' ')
        && bullet.chars().all(is_bullet)
        && !(signed && matches!(bullet, "-" | "+") && rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some(rest.trim());
    }
    let (rest, pictograms) = text.rsplit_once(' ')?;
    pictograms.chars().all(is_pictogram).then(|| rest.trim())
}

/// The content of a command of LaTeX around a whole text, such as `$\boxed{\text{mars}}$`.
fn without_latex(text: &str) -> Option<&str> {
    let maths = [("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];
    let inner = maths.iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    if let Some(inner) = inner.filter(|inner| inner.trim_start().starts_with('\\')) {
        return Some(inner.trim());
    }
    let (command, content) = text.strip_prefix('\\')?.strip_suffix('}')?.split_once('{')?;
    matches!(command, "boxed" | "text" | "textbf" | "textit" | "mathrm" | "mathbf").then(|| content.trim())
}

/// A text without the one mark that ends it: a full stop, or an exclamation mark after a word.
pub(super) fn without_stop(text: &str) -> Option<&str> {
    let bare = text.strip_suffix(FULL_STOPS).or_else(|| {
        let bare = text.strip_suffix(['!', '！'])?;
        let mut letters = bare.chars().rev();
        (letters.next().is_some_and(char::is_alphabetic) && letters.next().is_some_and(char::is_alphabetic))
            .then_some(bare)
    })?;
    (!bare.is_empty()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_does_not_matter_and_signs_do() {
        assert_eq!(normal(" It’s  “WELL–known”… \u{200E}"), "it's \"well-known\"...");
        assert_eq!(normal("ﬁne Ｙｅｓ!"), "fine yes!");
        assert_eq!(normal("−1"), normal("-1"));
        assert_ne!(normal("C++"), normal("C#"));
        assert_ne!(normal("1,5"), normal("15"));
    }

    #[test]
    fn only_decoration_is_peeled() {
        let bare = |text: &str, signed| {
            let mut text = text;
            while let Some(peeled) = peeled(text, signed) {
                text = peeled;
            }
            text.to_owned()
        };
        for text in [
            "**mars**",
            "\"mars\"",
            "- mars",
            "# mars",
            "[mars]",
            "「mars」",
            "🔴 mars",
            "mars ☕",
            "➡ mars",
            "$\\boxed{\\text{mars}}$",
        ] {
            assert_eq!(bare(text, true), "mars", "{text}");
        }
        for text in [
            "c#",
            "c++",
            "-1",
            "+1",
            "5%",
            "mars*",
            "❌ mars",
            "~~mars~~",
            "👎 mars",
            "mars?",
            "$5",
            "\"mars",
        ] {
            assert_eq!(bare(text, false), text);
        }
        assert_eq!(bare("- 11 may", false), "11 may");
        assert_eq!(bare("- 1", true), "- 1");
    }

    #[test]
    fn one_stop_ends_a_value() {
        assert_eq!(without_stop("mars."), Some("mars"));
        assert_eq!(without_stop("火星。"), Some("火星"));
        assert_eq!(without_stop("mars!"), Some("mars"));
        assert_eq!(without_stop("3!"), None);
        assert_eq!(without_stop("."), None);
    }
}
