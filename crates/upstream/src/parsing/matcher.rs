//! Matches texts of a model with the choices it was shown.

use std::cell::OnceCell;

use ep_polling::ballot::BallotView;

use super::choice_set::ChoiceSet;
use super::words::{occurrences, words};

/// The codes and texts of one ballot view.
pub(crate) struct ChoiceMatcher<'v> {
    view: &'v BallotView,
    /// The words of every option; computed on first use, because most answers name a code.
    texts: OnceCell<Vec<Vec<String>>>,
}

/// Characters that models put around a value.
const DECORATION: &[char] = &[
    '"', '\'', '`', '*', '_', '#', '.', ',', ':', ';', '!', '(', ')', '[', ']', '<', '>', '{', '}', '“', '”',
    '‘', '’', '«', '»', '。', '-', '–', '—', '=', '|', '~', '\\', '/',
];
/// Words that reject the option named soon after them.
const NEGATIONS: &[&str] =
    &["not", "never", "against", "isnt", "reject", "rejecting", "neither", "nor", "than", "no"];
/// Options with so few characters are common words (`No`, `10`); inside a longer text they mean little.
const SHORT_TEXT: usize = 3;

impl<'v> ChoiceMatcher<'v> {
    pub(crate) fn new(view: &'v BallotView) -> Self {
        Self { view, texts: OnceCell::new() }
    }

    /// The index of the choice with exactly this code, which is the usual case.
    pub(crate) fn exact_code(&self, text: &str) -> Option<usize> {
        self.view.choices.iter().position(|choice| choice.code == text)
    }

    /// The poll's option behind the choice with this index.
    pub(crate) fn option(&self, index: usize) -> Option<usize> {
        self.view.choices.get(index).map(|choice| choice.option)
    }

    fn texts(&self) -> &[Vec<String>] {
        self.texts.get_or_init(|| self.view.choices.iter().map(|choice| words(&choice.text)).collect())
    }

    /// Matches a value that is nothing but a code or an option: `QX`, `"qx".`, `earth`, `A) Earth`. A value
    /// that was cut off is only matched with codes, because it may be the start of a longer option.
    pub(crate) fn whole_value(&self, value: &str, complete: bool) -> ChoiceSet {
        let bare = value.trim_matches(|c: char| c.is_whitespace() || DECORATION.contains(&c));
        let code = |text: &str| {
            self.view
                .choices
                .iter()
                .position(|choice| choice.code.eq_ignore_ascii_case(text))
                .map(ChoiceSet::one)
        };
        if let Some(matched) = code(bare) {
            return matched;
        }
        if !complete || value.len() > 2000 {
            return ChoiceSet::NONE;
        }
        let trimmed = value.trim();
        if let Some(index) = self.view.choices.iter().position(|choice| choice.text == trimmed) {
            return ChoiceSet::one(index);
        }
        let value = words(value);
        let same = |value: &[String]| -> ChoiceSet {
            let equal =
                self.texts().iter().enumerate().filter(|(_, text)| !value.is_empty() && *text == value);
            equal.map(|(index, _)| index).collect::<ChoiceSet>().if_unique()
        };
        let matched = same(&value);
        if !matched.is_empty() {
            return matched;
        }
        // `A) Earth`, `1. Earth`, `Option B: Earth`, `option Earth`.
        let label = |word: &String| word.chars().count() == 1 || word == "option" || word == "choice";
        let labels = value.iter().take(2).take_while(|word| label(word)).count();
        (1..=labels)
            .map(|skip| same(&value[skip..]))
            .find(|matched| !matched.is_empty())
            .unwrap_or(ChoiceSet::NONE)
    }

    /// Matches a value that names a choice, perhaps among other words: `QX: Earth`, `I choose Earth`.
    pub(crate) fn any_value(&self, value: &str, complete: bool) -> ChoiceSet {
        let matched = self.whole_value(value, complete);
        if !matched.is_empty() {
            return matched;
        }
        let codes = self.codes_in(value);
        if !codes.is_empty() || !complete {
            return codes;
        }
        self.texts_in(value)
    }

    /// The codes in a text, as separate words in capitals.
    pub(crate) fn codes_in(&self, text: &str) -> ChoiceSet {
        text.split(|c: char| !c.is_alphanumeric()).filter_map(|word| self.exact_code(word)).collect()
    }

    /// The option that a text contains, if it is the only one and not negated. An occurrence inside a longer
    /// option's text does not count.
    pub(crate) fn texts_in(&self, text: &str) -> ChoiceSet {
        let haystack = words(text);
        let mut found: Vec<(usize, (usize, usize))> = Vec::new();
        for (index, needle) in self.texts().iter().enumerate() {
            found.extend(occurrences(needle, &haystack).map(|span| (index, span)));
        }
        let inside = |(start, end): (usize, usize)| {
            found.iter().any(|&(_, (from, to))| from <= start && end <= to && to - from > end - start)
        };
        let mut matched = ChoiceSet::NONE;
        for &(index, (start, end)) in found.iter().filter(|(_, span)| !inside(*span)) {
            if haystack[start.saturating_sub(3)..start].iter().any(|word| NEGATIONS.contains(&word.as_str()))
            {
                return ChoiceSet::NONE;
            }
            let letters: usize = haystack[start..end].iter().map(|word| word.chars().count()).sum();
            // `no idea` is not a vote for `No`, but `Yes, because …` is one for `Yes`.
            if letters <= SHORT_TEXT && !(start == 0 && pauses_after(text, end)) {
                return ChoiceSet::NONE;
            }
            matched.add(ChoiceSet::one(index));
        }
        matched.if_unique()
    }
}

/// Whether the text ends, or has punctuation, after its first `count` words.
fn pauses_after(text: &str, count: usize) -> bool {
    let mut rest = text;
    for _ in 0..count {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '’'));
    }
    let rest = rest.trim_start_matches(['*', '_', '"', '\'', '`', '”', '’', ')']);
    rest.is_empty() || rest.starts_with(['.', ',', ';', ':', '!', '\n', '—', '–', '-', '。', '，'])
}

#[cfg(test)]
mod tests {
    use super::super::testing::view;
    use super::*;

    fn value(texts: &[&str], value: &str) -> Option<usize> {
        ChoiceMatcher::new(&view(texts)).any_value(value, true).only()
    }

    #[test]
    fn a_code_is_preferred() {
        for text in ["BC", "bc", " \"BC\". ", "**BC**", "BC: Earth", "(BC) Earth", "Option BC"] {
            assert_eq!(value(&["Earth", "Mars"], text), Some(0), "{text}");
        }
        assert_eq!(value(&["Earth", "Mars"], "BC or DF"), None);
        // The code decides even if it stands beside the text of another option.
        assert_eq!(value(&["Earth", "Mars"], "DF: Earth"), Some(1));
    }

    #[test]
    fn an_altered_text_is_recognised() {
        for text in
            ["earth", "EARTH.", "“Earth”", "A) Earth", "1. Earth", "Option A: Earth", "I choose Earth."]
        {
            assert_eq!(value(&["Earth", "Mars"], text), Some(0), "{text}");
        }
        assert_eq!(value(&["yes", "Yes"], "Yes"), Some(1), "an exact text decides between similar options");
        assert_eq!(value(&["yes", "Yes"], "YES"), None, "and nothing else does");
        assert_eq!(value(&["C", "C++"], "C++"), Some(1));
        assert_eq!(value(&["New York", "York"], "It is New York"), Some(0));
        assert_eq!(value(&["New York", "York"], "York beats New York"), None);
    }

    #[test]
    fn an_option_mentioned_in_passing_is_not_a_vote() {
        for text in ["no idea", "I have no opinion", "There is no way to know"] {
            assert_eq!(value(&["Yes", "No"], text), None, "{text}");
        }
        assert_eq!(value(&["Yes", "No"], "No, because it rains."), Some(1));
        assert_eq!(value(&["Earth", "Mars"], "certainly not Earth"), None);
        assert_eq!(value(&["Earth", "Mars"], "Earth or Mars"), None);
    }

    #[test]
    fn a_text_that_was_cut_off_is_not_a_vote() {
        let view = view(&["Earth", "Earthrise"]);
        let matcher = ChoiceMatcher::new(&view);
        assert!(matcher.any_value("Earth", false).is_empty());
        assert_eq!(matcher.any_value("BC", false).only(), Some(0));
    }
}
