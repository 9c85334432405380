//! Resolves words of a model to the choices it was shown.

use std::cell::OnceCell;

use ep_polling::ballot::BallotView;

use super::marks::Marks;
use super::words::{occurrences, words};

/// The codes and texts of one view.
pub(crate) struct Codebook<'p> {
    view: &'p BallotView,
    /// The words of every text; made when first needed, because most answers name a code.
    texts: OnceCell<Vec<Vec<String>>>,
}

/// What models put around a value.
const DECORATION: &[char] = &[
    '"', '\'', '`', '*', '_', '#', '.', ',', ':', ';', '!', '(', ')', '[', ']', '<', '>', '{', '}', '“', '”',
    '‘', '’', '«', '»', '。', '-', '–', '—', '=', '|', '~', '\\', '/',
];
/// Words soon after which a text is named in order to be rejected.
const NEGATIONS: &[&str] =
    &["not", "never", "against", "isnt", "reject", "rejecting", "neither", "nor", "than", "no"];
/// Texts of so few characters are common words (`No`, `10`): inside a longer text they say little.
const SHORT_TEXT: usize = 3;

impl<'p> Codebook<'p> {
    pub(crate) fn new(view: &'p BallotView) -> Self {
        Self { view, texts: OnceCell::new() }
    }

    /// The place on the view of exactly this code: the case that needs no tolerance.
    pub(crate) fn exact_code(&self, text: &str) -> Option<usize> {
        self.view.choices.iter().position(|choice| choice.code == text)
    }

    /// The poll's option that stands at this place.
    pub(crate) fn option(&self, place: usize) -> Option<usize> {
        self.view.choices.get(place).map(|choice| choice.option)
    }

    fn texts(&self) -> &[Vec<String>] {
        self.texts.get_or_init(|| self.view.choices.iter().map(|choice| words(&choice.text)).collect())
    }

    /// A value that is nothing but a code or an option: `QX`, `"qx".`, `earth`, `A) Earth`.
    /// A value that was cut off can only be a code: half a text may be the start of another one.
    pub(crate) fn equal(&self, value: &str, complete: bool) -> Marks {
        let bare = value.trim_matches(|c: char| c.is_whitespace() || DECORATION.contains(&c));
        let code = |text: &str| {
            self.view.choices.iter().position(|choice| choice.code.eq_ignore_ascii_case(text)).map(Marks::one)
        };
        if let Some(marks) = code(bare) {
            return marks;
        }
        if !complete || value.len() > 2000 {
            return Marks::NONE;
        }
        let trimmed = value.trim();
        if let Some(place) = self.view.choices.iter().position(|choice| choice.text == trimmed) {
            return Marks::one(place);
        }
        let value = words(value);
        let same = |value: &[String]| -> Marks {
            let equal =
                self.texts().iter().enumerate().filter(|(_, text)| !value.is_empty() && *text == value);
            equal.map(|(place, _)| place).collect::<Marks>().if_unique()
        };
        let marks = same(&value);
        if !marks.is_empty() {
            return marks;
        }
        // `A) Earth`, `1. Earth`, `Option B: Earth`, `option Earth`.
        let label = |word: &String| word.chars().count() == 1 || word == "option" || word == "choice";
        let labels = value.iter().take(2).take_while(|word| label(word)).count();
        (1..=labels).map(|skip| same(&value[skip..])).find(|marks| !marks.is_empty()).unwrap_or(Marks::NONE)
    }

    /// A value that names one choice, perhaps among other words: `QX: Earth`, `I choose Earth`.
    pub(crate) fn value(&self, value: &str, complete: bool) -> Marks {
        let marks = self.equal(value, complete);
        if !marks.is_empty() {
            return marks;
        }
        let codes = self.codes_in(value);
        if !codes.is_empty() || !complete {
            return codes;
        }
        self.texts_in(value)
    }

    /// The codes that stand as words of their own, in capitals.
    pub(crate) fn codes_in(&self, text: &str) -> Marks {
        text.split(|c: char| !c.is_alphanumeric()).filter_map(|word| self.exact_code(word)).collect()
    }

    /// The option whose text stands in this one, if it is the only one and is not negated. A text that
    /// stands only inside a longer option's text does not count.
    pub(crate) fn texts_in(&self, text: &str) -> Marks {
        let hay = words(text);
        let mut found: Vec<(usize, (usize, usize))> = Vec::new();
        for (place, needle) in self.texts().iter().enumerate() {
            found.extend(occurrences(needle, &hay).map(|span| (place, span)));
        }
        let inside = |(start, end): (usize, usize)| {
            found.iter().any(|&(_, (from, to))| from <= start && end <= to && to - from > end - start)
        };
        let mut marks = Marks::NONE;
        for &(place, (start, end)) in found.iter().filter(|(_, span)| !inside(*span)) {
            if hay[start.saturating_sub(3)..start].iter().any(|word| NEGATIONS.contains(&word.as_str())) {
                return Marks::NONE;
            }
            let letters: usize = hay[start..end].iter().map(|word| word.chars().count()).sum();
            // `no idea` is no vote for `No`; `Yes, because …` is one for `Yes`.
            if letters <= SHORT_TEXT && !(start == 0 && pauses_after(text, end)) {
                return Marks::NONE;
            }
            marks.add(Marks::one(place));
        }
        marks.if_unique()
    }
}

/// Whether the text pauses after its first `count` words: with punctuation or because it ends.
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
        Codebook::new(&view(texts)).value(value, true).only()
    }

    #[test]
    fn a_code_comes_first() {
        for text in ["BC", "bc", " \"BC\". ", "**BC**", "BC: Earth", "(BC) Earth", "Option BC"] {
            assert_eq!(value(&["Earth", "Mars"], text), Some(0), "{text}");
        }
        assert_eq!(value(&["Earth", "Mars"], "BC or DF"), None);
        // The code decides even where the text beside it is another option's.
        assert_eq!(value(&["Earth", "Mars"], "DF: Earth"), Some(1));
    }

    #[test]
    fn an_altered_text_is_recognised() {
        for text in
            ["earth", "EARTH.", "“Earth”", "A) Earth", "1. Earth", "Option A: Earth", "I choose Earth."]
        {
            assert_eq!(value(&["Earth", "Mars"], text), Some(0), "{text}");
        }
        assert_eq!(value(&["yes", "Yes"], "Yes"), Some(1), "an exact text decides between look-alikes");
        assert_eq!(value(&["yes", "Yes"], "YES"), None, "and nothing else does");
        assert_eq!(value(&["C", "C++"], "C++"), Some(1));
        assert_eq!(value(&["New York", "York"], "It is New York"), Some(0));
        assert_eq!(value(&["New York", "York"], "York beats New York"), None);
    }

    #[test]
    fn a_text_in_passing_is_no_vote() {
        for text in ["no idea", "I have no opinion", "There is no way to know"] {
            assert_eq!(value(&["Yes", "No"], text), None, "{text}");
        }
        assert_eq!(value(&["Yes", "No"], "No, because it rains."), Some(1));
        assert_eq!(value(&["Earth", "Mars"], "certainly not Earth"), None);
        assert_eq!(value(&["Earth", "Mars"], "Earth or Mars"), None);
    }

    #[test]
    fn half_a_text_is_no_vote() {
        let view = view(&["Earth", "Earthrise"]);
        let book = Codebook::new(&view);
        assert!(book.value("Earth", false).is_empty());
        assert_eq!(book.value("BC", false).only(), Some(0));
    }
}
