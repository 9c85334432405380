//! Reads votes out of what models answer, tolerantly: models wrap, rename, truncate and decorate.
//!
//! Two rules bound the tolerance. A vote is only ever an option that the answer names; and where an
//! answer names several, none is picked for it.

mod codebook;
mod lenient;
mod marks;
#[cfg(test)]
mod properties;
mod prose;
#[cfg(test)]
mod testing;
mod words;

use std::borrow::Cow;

use ep_polling::ballot::BallotView;
use serde::Deserialize;

use codebook::Codebook;
use marks::Marks;
pub(crate) use prose::thoughtless;

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It votes for this option of the poll.
    Vote(usize),
    /// It votes for several.
    Conflicting,
    /// It names none.
    Nothing,
}

/// The parts of an answer that can hold a vote.
#[derive(Debug, Default)]
pub(crate) struct Said<'a> {
    /// The arguments of every tool call, whatever tool it names.
    pub(crate) calls: Vec<Cow<'a, str>>,
    /// The text.
    pub(crate) text: Option<Cow<'a, str>>,
}

/// Reads the vote of this answer to this view.
pub(crate) fn read(said: &Said<'_>, view: &BallotView) -> Reading {
    let book = Codebook::new(view);
    let mut marks = Marks::NONE;
    for arguments in &said.calls {
        marks.add(from_arguments(arguments, &book));
    }
    if marks.is_empty()
        && let Some(text) = &said.text
    {
        marks = prose::from_text(text, &book);
    }
    match marks.only().and_then(|place| book.option(place)) {
        Some(option) => Reading::Vote(option),
        None if marks.is_empty() => Reading::Nothing,
        None => Reading::Conflicting,
    }
}

/// The arguments as they should be.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    option: Cow<'a, str>,
}

fn from_arguments(arguments: &str, book: &Codebook<'_>) -> Marks {
    if let Ok(Arguments { option }) = serde_json::from_str(arguments)
        && let Some(place) = book.exact_code(&option)
    {
        return Marks::one(place);
    }
    let marks = prose::from_members(arguments, book);
    if marks.is_empty() { book.value(arguments, arguments.trim_end().ends_with(['"', '}'])) } else { marks }
}

#[cfg(test)]
mod tests {
    use super::testing::view;
    use super::*;

    fn call(arguments: &[&str]) -> Reading {
        let calls = arguments.iter().map(|text| Cow::Borrowed(*text)).collect();
        read(&Said { calls, text: None }, &view(&["Earth", "Mars", "Earthrise"]))
    }

    #[test]
    fn arguments_are_read_tolerantly() {
        for arguments in [
            r#"{"option":"DF"}"#,
            r#"{"option":"Mars"}"#,
            r#"{"vote":"DF","reason":"BC is blue"}"#,
            r#"{"reason":"all else is worse than BC","option":"DF","confidence":0.9}"#,
            r#"{"option":{"code":"DF"}}"#,
            r#"{"option":["DF"]}"#,
            r#"{"x":"DF"}"#,
            r#"{"option":"DF"#,
            r#""DF""#,
            "DF",
            r#""{\"option\":\"DF\"}""#,
        ] {
            assert_eq!(call(&[arguments]), Reading::Vote(1), "{arguments}");
        }
        for arguments in ["", "{}", "null", r#"{"option":"Pluto"}"#, r#"{"option":"Earth"#, r#"{"option":3}"#]
        {
            assert_eq!(call(&[arguments]), Reading::Nothing, "{arguments}");
        }
    }

    #[test]
    fn several_calls_count_as_one_vote_or_none() {
        assert_eq!(call(&[r#"{"option":"DF"}"#, r#"{"option":"Mars"}"#]), Reading::Vote(1));
        assert_eq!(call(&[r#"{"option":"DF"}"#, r#"{"option":"BC"}"#]), Reading::Conflicting);
        assert_eq!(call(&[r#"{"option":["DF","BC"]}"#]), Reading::Conflicting);
        assert_eq!(call(&[r#"{"option":"DF"}"#, "{"]), Reading::Vote(1));
    }
}
