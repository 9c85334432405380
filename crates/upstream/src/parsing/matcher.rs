//! Matching of model output with the choices shown.

use std::cell::OnceCell;

use ep_polling::ballot::{BallotView, Choice, ChoiceForm};

use super::choice_set::ChoiceSet;
use super::words::{occurrences, words};

/// The options of a ballot view, and the form in which the model should name them.
pub(crate) struct ChoiceMatcher<'v> {
    view: &'v BallotView,
    form: ChoiceForm,
    /// The words of every option, computed on first use, because most responses repeat an option exactly.
    texts: OnceCell<Vec<Vec<String>>>,
}

/// Returns the letter of the choice with this index: from `A`, or from `P` if an option is itself one of the first letters.
pub(crate) fn letter(choices: &[Choice], index: usize) -> char {
    let is_letter = |choice: &Choice| matches!(choice.text.as_bytes(), [b'A'..=b'O' | b'a'..=b'o']);
    let first = if choices.iter().any(is_letter) { b'P' } else { b'A' };
    char::from(first.saturating_add(u8::try_from(index).unwrap_or(u8::MAX)))
}

/// Characters that models put around a value.
const DECORATION: &[char] = &[
    '"', '\'', '`', '*', '_', '#', '.', ',', ':', ';', '!', '(', ')', '[', ']', '<', '>', '{', '}', '“', '”',
    '‘', '’', '«', '»', '。', '-', '–', '—', '=', '|', '~', '\\', '/',
];
/// Words that negate an option named soon after them.
const NEGATIONS: &[&str] =
    &["not", "never", "against", "isnt", "reject", "rejecting", "neither", "nor", "than", "no"];
/// Maximum length of short options, in characters. They are common words (`No`, `10`) and mean little inside
/// a longer text.
const SHORT_TEXT: usize = 3;

impl<'v> ChoiceMatcher<'v> {
    pub(crate) fn new(view: &'v BallotView, form: ChoiceForm) -> Self {
        Self { view, form, texts: OnceCell::new() }
    }

    /// Returns the index of the choice with exactly this value, which is the usual case.
    pub(crate) fn exact(&self, value: &str) -> Option<usize> {
        match self.form {
            ChoiceForm::Text => self.view.choices.iter().position(|choice| choice.text == value),
            ChoiceForm::Letter => self.letter_of(value),
        }
    }

    /// Returns the index of the choice with this letter; `None` if the letter was not shown.
    fn letter_of(&self, value: &str) -> Option<usize> {
        let mut chars = value.chars();
        let (Some(first), None, ChoiceForm::Letter) = (chars.next(), chars.next(), self.form) else {
            return None;
        };
        (0..self.view.choices.len())
            .find(|&index| letter(&self.view.choices, index).eq_ignore_ascii_case(&first))
    }

    /// Returns the poll's option for the choice with this index.
    pub(crate) fn option(&self, index: usize) -> Option<usize> {
        self.view.choices.get(index).map(|choice| choice.option)
    }

    fn texts(&self) -> &[Vec<String>] {
        self.texts.get_or_init(|| self.view.choices.iter().map(|choice| words(&choice.text)).collect())
    }

    /// Matches a value that contains only an option or its letter: `earth`, `"Earth".`, `A) Earth`, `(B)`.
    pub(crate) fn whole_value(&self, value: &str, complete: bool) -> ChoiceSet {
        let bare = value.trim_matches(|c: char| c.is_whitespace() || DECORATION.contains(&c));
        if let Some(index) = self.letter_of(bare) {
            return ChoiceSet::one(index);
        }
        let trimmed = value.trim();
        if !complete {
            return self.cut_off(trimmed);
        }
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
        if let Some(index) = self.leading_letter(trimmed) {
            return ChoiceSet::one(index);
        }
        // `A) Earth`, `1. Earth`, `Option B: Earth`, `option Earth`.
        let label = |word: &String| word.chars().count() == 1 || word == "option" || word == "choice";
        let labels = value.iter().take(2).take_while(|word| label(word)).count();
        (1..=labels)
            .map(|skip| same(&value[skip..]))
            .find(|matched| !matched.is_empty())
            .unwrap_or(ChoiceSet::NONE)
    }

    /// Matches a value with a missing end. It counts only if it is a whole option and not the start of
    /// another one.
    fn cut_off(&self, value: &str) -> ChoiceSet {
        let begun = self.view.choices.iter().enumerate().filter(|(_, choice)| choice.text.starts_with(value));
        let whole = |&(_, choice): &(usize, &Choice)| choice.text == value;
        let begun: Vec<_> = begun.collect();
        match begun.as_slice() {
            [only] if whole(only) => ChoiceSet::one(only.0),
            _ => ChoiceSet::NONE,
        }
    }

    /// Returns the choice of a leading letter: `B: Earth`, `(B) Earth`, `Option B`, `**B.** Earth`.
    fn leading_letter(&self, value: &str) -> Option<usize> {
        let mut parts = value.split_whitespace().filter(|part| part.chars().any(char::is_alphanumeric));
        let first = parts.next()?;
        let introduced = ["option", "choice"].iter().any(|word| first.eq_ignore_ascii_case(word));
        let labelled = if introduced { parts.next()? } else { first };
        let bare = labelled.trim_matches(DECORATION);
        let followed = introduced || parts.next().is_none() || labelled.ends_with([':', ')', '.', ']', '*']);
        self.letter_of(bare).filter(|_| followed)
    }

    /// Matches a value that names a choice, possibly among other words: `B: Earth`, `I choose Earth`.
    pub(crate) fn any_value(&self, value: &str, complete: bool) -> ChoiceSet {
        let matched = self.whole_value(value, complete);
        if !matched.is_empty() || !complete {
            return matched;
        }
        self.texts_in(value)
    }

    /// Returns the option in a text if it is the only one and not negated. An occurrence inside a longer
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
            // `no idea` is not a vote for `No`, but `Yes, because …` is a vote for `Yes`.
            if letters <= SHORT_TEXT && !(start == 0 && pauses_after(text, end)) {
                return ChoiceSet::NONE;
            }
            matched.add(ChoiceSet::one(index));
        }
        matched.if_unique()
    }
}

/// Returns true if the text ends, or has punctuation, after its first `count` words.
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
        ChoiceMatcher::new(&view(texts), ChoiceForm::Text).any_value(value, true).only()
    }

    fn lettered(texts: &[&str], value: &str) -> Option<usize> {
        ChoiceMatcher::new(&view(texts), ChoiceForm::Letter).any_value(value, true).only()
    }

    #[test]
    fn letters_are_others_than_options_that_are_letters() {
        assert_eq!((lettered(&["C", "A", "B"], "A"), lettered(&["C", "A", "B"], "P")), (Some(1), Some(0)));
    }

    #[test]
    fn a_shown_letter_takes_precedence() {
        for text in
            ["B", "b", " \"B\". ", "**B**", "B: Mars", "(B) Mars", "Option B", "B. Mars", "Option B: Mars"]
        {
            assert_eq!(lettered(&["Earth", "Mars"], text), Some(1), "{text}");
        }
        // The letter decides even beside the text of another option.
        assert_eq!(lettered(&["Earth", "Mars"], "B: Earth"), Some(1));
        assert_eq!(lettered(&["Earth", "Mars"], "C"), None);
        assert_eq!(lettered(&["Earth", "Mars"], "A or B"), None);
        assert_eq!(lettered(&["Earth", "Mars"], "A good question"), None);
        assert_eq!(lettered(&["Earth", "Mars"], "mars"), Some(1));
        // Letters mean nothing if they were not shown.
        assert_eq!(value(&["Earth", "Mars"], "B"), None);
        assert_eq!(value(&["Earth", "B"], "B"), Some(1));
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
    fn a_word_used_in_passing_is_not_a_vote() {
        for text in ["no idea", "I have no opinion", "There is no way to know"] {
            assert_eq!(value(&["Yes", "No"], text), None, "{text}");
        }
        assert_eq!(value(&["Yes", "No"], "No, because it rains."), Some(1));
        assert_eq!(value(&["Earth", "Mars"], "certainly not Earth"), None);
        assert_eq!(value(&["Earth", "Mars"], "Earth or Mars"), None);
    }

    #[test]
    fn a_cut_off_text_is_a_vote_only_if_no_other_option_starts_with_it() {
        let view = view(&["Earth", "Earthrise", "Mars"]);
        let matcher = ChoiceMatcher::new(&view, ChoiceForm::Text);
        assert!(matcher.any_value("Earth", false).is_empty(), "it may be the start of `Earthrise`");
        assert!(matcher.any_value("Mar", false).is_empty());
        assert!(matcher.any_value("", false).is_empty());
        assert_eq!(matcher.any_value("Mars", false).only(), Some(2));
    }
}
