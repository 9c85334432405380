//! Matching of a whole value with the choices shown.

use std::cell::OnceCell;

use ep_polling::{BallotView, Choice, ChoiceForm};

use super::choice_set::ChoiceSet;
use super::list_label::ListItem;
use super::normal::{normal, peeled, without_stop};
use super::vocabulary::after_option_word;
use super::words::has_word;

/// The options of a ballot view, and the form in which the model should name them.
pub(crate) struct ChoiceMatcher<'v> {
    view: &'v BallotView,
    form: ChoiceForm,
    /// The texts in the form of comparisons, computed on first use, because most responses repeat an option exactly.
    texts: OnceCell<Texts>,
    /// The question in the form of comparisons.
    question: OnceCell<String>,
}

/// The texts of the choices in the form of comparisons.
struct Texts {
    normal: Vec<String>,
    /// The same without decoration.
    bare: Vec<String>,
    /// An option begins with a sign and a digit.
    signed: bool,
}

/// Returns the letter of the choice with this index: from `A`, or from `P` if an option is itself one of the first letters.
pub(crate) fn letter(choices: &[Choice], index: usize) -> char {
    let is_letter = |choice: &Choice| matches!(choice.text.as_bytes(), [b'A'..=b'O' | b'a'..=b'o']);
    let first = if choices.iter().any(is_letter) { b'P' } else { b'A' };
    char::from(first.saturating_add(u8::try_from(index).unwrap_or(u8::MAX)))
}

/// The part of a question whose words are compared, in bytes.
const MAX_QUESTION: usize = 2048;

/// The longest value that is compared, in bytes. The longest option has 200 characters.
const MAX_VALUE: usize = 1024;

impl<'v> ChoiceMatcher<'v> {
    pub(crate) fn new(view: &'v BallotView, form: ChoiceForm) -> Self {
        Self { view, form, texts: OnceCell::new(), question: OnceCell::new() }
    }

    /// Returns the index of the choice with exactly this value, which is the usual case.
    pub(crate) fn exact(&self, value: &str) -> Option<usize> {
        match self.form {
            ChoiceForm::Text => self.view.choices.iter().position(|choice| choice.text == value),
            ChoiceForm::Letter => self.letter_of(value),
        }
    }

    /// Returns the index of the choice with this letter; `None` if the letter was not shown.
    pub(super) fn letter_of(&self, value: &str) -> Option<usize> {
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

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| {
            let normal: Vec<String> = self.view.choices.iter().map(|choice| normal(&choice.text)).collect();
            let mut signs = normal.iter().map(String::as_bytes);
            let signed = signs.any(|text| matches!(text, [b'-' | b'+', b'0'..=b'9', ..]));
            let bare = normal.iter().map(|text| undecorated(text, signed).to_owned()).collect();
            Texts { normal, bare, signed }
        })
    }

    /// The texts of the choices in the form of comparisons.
    pub(super) fn normal_texts(&self) -> &[String] {
        &self.texts().normal
    }

    /// True if the question has this word, perhaps with another ending, or this sign of an unspaced script.
    pub(super) fn is_asked(&self, word: &str) -> bool {
        let question = self.question.get_or_init(|| {
            let text = &*self.view.question;
            normal(&text[..text.floor_char_boundary(MAX_QUESTION)])
        });
        has_word(question, word)
    }

    /// Returns the longest option with which a text in the form of comparisons ends, and its length in bytes.
    pub(super) fn named_at_end(&self, text: &str) -> Option<(usize, usize)> {
        let Texts { normal, bare, .. } = self.texts();
        let options = normal.iter().enumerate().chain(bare.iter().enumerate());
        let named = options.filter(|(_, option)| !option.is_empty() && text.ends_with(option.as_str()));
        named.map(|(index, option)| (index, option.len())).max_by_key(|(_, length)| *length)
    }

    /// Matches a value that is nothing but an option or its letter, decorated, numbered or lettered: `earth`, `"Earth".`,
    /// `A) Earth`, `(B)`.
    pub(super) fn value(&self, value: &str) -> ChoiceSet {
        let value = value.trim();
        if value.len() > MAX_VALUE {
            return ChoiceSet::NONE;
        }
        if let Some(index) = self.letter_of(value) {
            return ChoiceSet::one(index);
        }
        // An exact text decides between options that differ in case.
        if let Some(index) = self.view.choices.iter().position(|choice| choice.text == value) {
            return ChoiceSet::one(index);
        }
        self.normal_value(&normal(value))
    }

    /// Matches a value in the form of comparisons.
    pub(super) fn normal_value(&self, value: &str) -> ChoiceSet {
        let unlabelled = self.undecorated_value(value);
        if unlabelled.is_empty() {
            self.labelled_value(undecorated(value, self.texts().signed))
        } else {
            unlabelled
        }
    }

    fn undecorated_value(&self, value: &str) -> ChoiceSet {
        let texts = self.texts();
        let equal = |texts: &[String], value: &str| -> ChoiceSet {
            texts.iter().enumerate().filter(|(_, text)| *text == value).map(|(index, _)| index).collect()
        };
        for layer in layers(value, texts.signed) {
            let same = equal(&texts.normal, layer);
            if !same.is_empty() {
                return same.if_unique();
            }
            if let Some(index) = self.letter_of(layer) {
                return ChoiceSet::one(index);
            }
        }
        equal(&texts.bare, undecorated(value, texts.signed)).if_unique()
    }

    /// Matches an option behind its number or letter: `a) earth`, `1. earth`, `option b: earth`, `option b`.
    fn labelled_value(&self, value: &str) -> ChoiceSet {
        let introduced = after_option_word(value);
        let Some(ListItem { label, text }) =
            ListItem::read(introduced.unwrap_or(value), introduced.is_some())
        else {
            return introduced
                .map_or(ChoiceSet::NONE, |text| self.undecorated_value(text.trim_start_matches([':', ' '])));
        };
        let lettered = self.letter_of(label);
        if text.is_empty() {
            return lettered.map_or(ChoiceSet::NONE, ChoiceSet::one);
        }
        let named = self.undecorated_value(text);
        let agrees = match lettered {
            Some(index) => named == ChoiceSet::one(index),
            // `1. 2` could be either number.
            None => self.undecorated_value(label).is_empty(),
        };
        if agrees { named } else { ChoiceSet::NONE }
    }
}

/// A value and the values within its decoration, from the outside.
fn layers(value: &str, signed: bool) -> impl Iterator<Item = &str> {
    let mut stopped = false;
    std::iter::successors(Some(value), move |text| {
        peeled(text, signed).or_else(|| {
            let text = without_stop(text).filter(|_| !stopped)?;
            stopped = true;
            Some(text)
        })
    })
}

fn undecorated(value: &str, signed: bool) -> &str {
    layers(value, signed).last().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::super::testing::view;
    use super::*;

    fn value(texts: &[&str], value: &str) -> Option<usize> {
        ChoiceMatcher::new(&view(texts), ChoiceForm::Text).value(value).only()
    }

    fn lettered(texts: &[&str], value: &str) -> Option<usize> {
        ChoiceMatcher::new(&view(texts), ChoiceForm::Letter).value(value).only()
    }

    #[test]
    fn letters_are_others_than_options_that_are_letters() {
        assert_eq!((lettered(&["C", "A", "B"], "A"), lettered(&["C", "A", "B"], "P")), (Some(1), Some(0)));
    }

    #[test]
    fn a_shown_letter_is_a_value() {
        for text in [
            "B",
            "b",
            " \"B\". ",
            "**B**",
            "(B)",
            "Option B",
            "B: Mars",
            "(B) Mars",
            "B. Mars",
            "Option B: Mars",
            "**B.** Mars",
            "mars",
        ] {
            assert_eq!(lettered(&["Earth", "Mars"], text), Some(1), "{text}");
        }
        for text in ["B: Earth", "C", "A or B", "A good question", "B is red", "B: it is red"] {
            assert_eq!(lettered(&["Earth", "Mars"], text), None, "{text}");
        }
        assert_eq!(value(&["Earth", "Mars"], "B"), None, "letters mean nothing if they were not shown");
        assert_eq!(value(&["Earth", "B"], "B"), Some(1));
    }

    #[test]
    fn a_decorated_text_is_recognised() {
        for text in [
            "earth",
            "EARTH.",
            "“Earth”",
            "A) Earth",
            "1. Earth",
            "2) Earth",
            "Option A: Earth",
            "Option Earth",
            "*Earth*.",
            "- Earth",
            "\"Earth.\"",
            "\\boxed{Earth}",
            "🌍 Earth",
            "Earth!",
        ] {
            assert_eq!(value(&["Earth", "Mars"], text), Some(0), "{text}");
        }
        for text in ["I choose Earth.", "not Earth", "Earth?", "Earth or Mars", "~~Earth~~", "❌ Earth", ""]
        {
            assert_eq!(value(&["Earth", "Mars"], text), None, "{text}");
        }
        assert_eq!(value(&["yes", "Yes"], "Yes"), Some(1), "an exact text decides between similar options");
        assert_eq!(value(&["yes", "Yes"], "YES"), None, "and nothing else does");
    }

    #[test]
    fn signs_make_a_difference() {
        assert_eq!(value(&["-1", "0", "1"], "−1"), Some(0));
        assert_eq!(value(&["-1", "0"], "1"), None);
        assert_eq!(value(&["-1", "0", "1"], "- 1"), None);
        assert_eq!(value(&["1.5", "15"], "1.5."), Some(0));
        assert_eq!(value(&["1,5", "15"], "15"), Some(1));
        assert_eq!(value(&["5", "1"], "1.5"), None);
        assert_eq!(value(&["1", "2"], "1. 2"), None);
        for (text, index) in [("C++.", Some(1)), ("**C#**", Some(2)), ("c", Some(0)), ("C+", None)] {
            assert_eq!(value(&["C", "C++", "C#"], text), index, "{text}");
        }
        assert_eq!(value(&["C++", "C#"], "C"), None);
        assert_eq!(value(&["👍", "👎"], "👎"), Some(1));
        assert_eq!(value(&["5 %", "5 $"], "5 %"), Some(0));
        assert_eq!(value(&["(none)", "all"], "none"), Some(0));
        assert_eq!(value(&["Yes ✅", "No ❌"], "Yes"), Some(0));
        assert_eq!(value(&["1 May", "11 May"], "- 11 May"), Some(1));
    }
}
