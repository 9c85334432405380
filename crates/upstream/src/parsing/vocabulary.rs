//! The words by which models declare a vote, in fifteen languages (`vocabulary.toml`).

use super::tables::VOCABULARY;
use super::words::{ends_with_word, is_unspaced, occurrences, words};

/// The certainty with which a name labels a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// It labels a vote if nothing else does.
    Weak,
    /// It labels a vote.
    Strong,
}

/// The most words of a label, as in “my final answer to this question is”, and bytes.
const MAX_LABEL_WORDS: usize = 8;
const MAX_LABEL_LENGTH: usize = 96;

/// Returns the certainty with which a name labels a vote: `final answer`, `final_answer`, `我的选择是`. The names of the options in a list do not:
/// `option a`, `answer 2`.
pub(super) fn label(name: &str) -> Option<Label> {
    if name.len() > MAX_LABEL_LENGTH || doubts(name) {
        return None;
    }
    let mut found = None;
    for (index, word) in words(name).enumerate() {
        let is_mark = index > 0 && word.len() == 1 || word.contains(|c: char| c.is_ascii_digit());
        if index == MAX_LABEL_WORDS || is_mark {
            return None;
        }
        let label = if VOCABULARY.labels.has(word) {
            Some(Label::Strong)
        } else {
            VOCABULARY.weak_labels.has(word).then_some(Label::Weak)
        };
        found = found.max(label);
    }
    found
}

/// True if a text has a word that takes back what was said before it.
pub(super) fn retracts(text: &str) -> bool {
    words(text).any(|word| VOCABULARY.retractions.has(word))
}

/// True if all words of a text may stand beside a choice: plain ones, and those of the question.
pub(super) fn is_plain(text: &str, is_asked: impl Fn(&str) -> bool) -> bool {
    other_words(text, is_asked) == 0
}

/// Returns the number of all other words.
pub(super) fn other_words(text: &str, is_asked: impl Fn(&str) -> bool) -> usize {
    let is_plain = |word: &&str| {
        VOCABULARY.plain.contains(*word)
            || is_asked(word)
            || (word.contains(is_unspaced) && is_plain_run(word, &is_asked))
    };
    words(text).filter(|word| !is_plain(word)).count()
}

/// The same of words that are written without spaces between them.
fn is_plain_run(run: &str, is_asked: &impl Fn(&str) -> bool) -> bool {
    let mut rest = run;
    while let Some(c) = rest.chars().next() {
        let part = VOCABULARY.plain_parts.iter().find(|part| rest.starts_with(part.as_str()));
        let length = part.map_or(c.len_utf8(), String::len);
        if part.is_none() && !is_asked(&rest[..length]) {
            return false;
        }
        rest = &rest[length..];
    }
    true
}

/// True if a text has a word of doubt or denial.
pub(super) fn doubts(text: &str) -> bool {
    let vocabulary = &*VOCABULARY;
    let certain = vocabulary.certain.iter().find_map(|phrase| text.split_once(phrase.as_str()));
    if let Some((before, after)) = certain {
        return doubts(before) || doubts(after);
    }
    words(text).any(|word| {
        vocabulary.doubts.has(word)
            || vocabulary.doubt_stems.iter().any(|stem| word.starts_with(stem.as_str()))
    })
}

/// True if a text names the voter: `I`, `mein`.
pub(super) fn names_voter(text: &str) -> bool {
    words(text).any(|word| VOCABULARY.persons.has(word))
}

/// True if the first word of a text begins a condition, or the choice of others: `should`, `most`.
pub(super) fn is_of_others(text: &str) -> bool {
    words(text).next().is_some_and(|word| VOCABULARY.conditions.has(word))
}

/// Returns the text after an option word at its start.
pub(super) fn after_option_word(text: &str) -> Option<&str> {
    VOCABULARY.option_words.iter().find_map(|word| {
        let rest = text.strip_prefix(word.as_str())?;
        rest.starts_with(|c: char| !c.is_alphabetic()).then(|| rest.trim_start())
    })
}

/// Returns the text before an option word at its end, or the text itself.
pub(super) fn before_option_word(text: &str) -> &str {
    VOCABULARY.option_words.iter().find_map(|word| ends_with_word(text, word)).unwrap_or(text)
}

/// True if a text ends with words that choose the option behind it, such as `the answer is`. An article may follow them.
/// `after` is the text behind the option.
pub(super) fn chooses(before: &str, after: &str) -> bool {
    let vocabulary = &*VOCABULARY;
    if !after.is_empty() {
        return vocabulary.closed_forms.iter().any(|forms| {
            forms.closers.iter().any(|closer| closer == after)
                && forms.openers.iter().any(|opener| before.ends_with(opener.as_str()))
        });
    }
    let article = |before| vocabulary.articles.iter().find_map(|article| ends_with_word(before, article));
    [Some(before), article(before)].into_iter().flatten().any(|before| {
        vocabulary.forms.iter().any(|form| ends_with_word(before, form).is_some())
            || vocabulary.unspaced_forms.iter().any(|form| before.ends_with(form.as_str()))
    })
}

/// Returns the text before the reason for a choice, as in `i choose mars, because it is red`.
pub(super) fn before_reason(text: &str) -> Option<&str> {
    let at = VOCABULARY.reasons.iter().filter_map(|reason| occurrences(reason, text).next()).min()?;
    Some(text[..at].trim_end_matches([' ', ',', '，', '،']))
}

/// Returns the text before and from a word that may follow the option at the end of a sentence.
pub(super) fn split_closer(text: &str) -> Option<(&str, &str)> {
    let closers = VOCABULARY.closed_forms.iter().flat_map(|forms| {
        forms.closers.iter().filter(|closer| forms.joined || ends_with_word(text, closer).is_some())
    });
    let before =
        closers.filter_map(|closer| text.strip_suffix(closer.as_str())).min_by_key(|text| text.len())?;
    Some((before.trim_end(), &text[before.len()..]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::normal::normal;
    use super::super::tables::{FILE, Language};
    use super::*;

    #[test]
    fn the_words_have_the_form_of_the_compared_texts() {
        let languages: BTreeMap<String, Language> = toml::from_str(FILE).unwrap();
        assert_eq!(languages.len(), 15);
        for (name, language) in languages {
            let single = [&language.labels, &language.weak_labels, &language.doubts, &language.doubt_stems];
            for word in single.into_iter().flatten() {
                assert_eq!(words(word).collect::<Vec<_>>(), [word], "{name}: one word");
            }
            let others = [
                &language.plain,
                &language.retractions,
                &language.option_words,
                &language.forms,
                &language.before,
                &language.after,
                &language.verbs,
                &language.certain,
                &language.persons,
                &language.conditions,
                &language.articles,
            ];
            for word in single.into_iter().chain(others).flatten() {
                assert_eq!(*word, normal(word), "{name}");
            }
            assert!(!language.labels.is_empty() && !language.doubts.is_empty(), "{name}");
        }
    }

    #[test]
    fn labels_of_votes_are_no_labels_of_lists() {
        let strong = [
            "answer",
            "final_answer",
            "my vote",
            "the correct answer is",
            "最终答案",
            "我的选择是",
            "सही उत्तर है",
            "meine stimme",
        ];
        for name in strong {
            assert_eq!(label(name), Some(Label::Strong), "{name}");
        }
        assert_eq!(label("score"), Some(Label::Weak));
        for name in [
            "option a",
            "answer 2",
            "options",
            "second choice",
            "rejected option",
            "wrong answer",
            "reason",
            "不选择",
            "",
        ] {
            assert_eq!(label(name), None, "{name}");
        }
    }

    #[test]
    fn doubt_is_found_in_every_language() {
        for text in [
            "i can't",
            "definitely not",
            "excluded",
            "n'est pas",
            "nicht",
            "不是",
            "ではない",
            "아니",
            "नहीं",
            "ليس",
            "не",
            "ไม่",
        ] {
            assert!(doubts(text), "{text}");
        }
        for text in ["the red planet is", "so my vote goes to", "答案是", "ich wähle", "elijo", "ответ"]
        {
            assert!(!doubts(text), "{text}");
        }
    }
}
