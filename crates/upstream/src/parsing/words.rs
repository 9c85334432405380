//! Splits texts into words for comparisons that ignore case, punctuation and typography.

use unicode_normalization::UnicodeNormalization;

/// Returns the words of a text: compatibility-composed (NFKC), in lower case, without punctuation.
/// Apostrophes are removed (`it's` becomes `its`); any other character that is not a letter or digit
/// separates words.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            word.push(c);
        } else if !matches!(c, '\'' | '\u{2019}' | '\u{2018}' | '`' | '\u{AD}' | '\u{200B}'..='\u{200D}')
            && !word.is_empty()
        {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Returns the ranges at which one sequence of words occurs in another.
pub(super) fn occurrences<'a>(
    needle: &'a [String],
    haystack: &'a [String],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let length = needle.len();
    haystack
        .windows(length.max(1))
        .enumerate()
        .filter(move |(_, window)| length > 0 && *window == needle)
        .map(move |(start, _)| (start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_does_not_matter() {
        assert_eq!(words("It’s  “WELL-known”…"), ["its", "well", "known"]);
        assert_eq!(words("ﬁne Ｙｅｓ!"), ["fine", "yes"]);
        assert_eq!(words("👍 --"), Vec::<String>::new());
    }
}
