//! The words of a text in the form of [`super::normal`].

/// True for a character of a word: a letter, a digit, or a mark that belongs to one.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '\u{300}'..='\u{36F}' | '\u{64B}'..='\u{65F}' | '\u{93C}' | '\u{94D}' | '\u{9BC}' | '\u{9CD}')
        || matches!(c, '\u{E34}'..='\u{E4E}')
}

/// True for a letter of a script that is written without spaces between words: Thai, and those of China and Japan.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{E00}'..='\u{E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Returns the words of a text, in order. Those of an unspaced script are one.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

/// True for a letter of the Thai alphabet, of which each text has most.
fn is_thai(c: char) -> bool {
    matches!(c, '\u{E00}'..='\u{E7F}')
}

/// True if a text has a word, perhaps with another ending, or this sign of an unspaced script.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    if word.contains(is_unspaced) {
        return !word.contains(is_thai) && text.contains(word);
    }
    words(text).any(|found| {
        let shared = found.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
        let lengths = [found, word].map(|word| word.chars().count());
        found == word || (shared >= 4 && lengths.iter().all(|length| length - shared <= 3))
    })
}

/// Returns the text before a word at its end.
pub(super) fn ends_with_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let before = text.trim_end().strip_suffix(word)?;
    (!before.ends_with(is_word)).then(|| before.trim_end())
}

/// Returns the places at which a text occurs in another as whole words.
pub(super) fn occurrences<'a>(needle: &'a str, haystack: &'a str) -> impl Iterator<Item = usize> + 'a {
    let joins = |a: Option<char>, b: Option<char>| {
        let joined = |c: Option<char>| c.is_some_and(|c| is_word(c) && !is_unspaced(c));
        joined(a) && joined(b)
    };
    haystack.match_indices(needle).map(|(at, _)| at).filter(move |&at| {
        let (before, after) = (&haystack[..at], &haystack[at + needle.len()..]);
        !joins(before.chars().next_back(), needle.chars().next())
            && !joins(needle.chars().next_back(), after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_marks() {
        assert_eq!(words("it's प्रिया, না! **b**").collect::<Vec<_>>(), ["it", "s", "प्रिया", "না", "b"]);
    }

    #[test]
    fn whole_words_are_found() {
        assert_eq!(occurrences("no", "no idea, nobody knows. no").collect::<Vec<_>>(), [0, 23]);
        assert_eq!(occurrences("火星", "我选火星。").count(), 1);
        assert_eq!(occurrences("c++", "c++ or c").collect::<Vec<_>>(), [0]);
    }
}
