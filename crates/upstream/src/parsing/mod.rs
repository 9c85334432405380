//! Parsing of the vote in a model's response. Models wrap, rename, truncate and decorate their output, so the parser is
//! tolerant about form. A vote is always what the model declared: a value of a tool or of JSON, a whole answer, or a labelled or
//! concluding line. A text that declares nothing, or several options, is no vote.

mod choice_set;
mod declared;
mod emphasis;
mod fields;
mod labels;
mod lenient_json;
mod list_label;
mod matcher;
mod normal;
#[cfg(test)]
mod properties;
mod proposed;
mod prose;
mod reasoning;
mod sentence;
mod tables;
mod tags;
#[cfg(test)]
mod testing;
mod turns;
mod vocabulary;
mod words;

use std::borrow::Cow;

use ep_polling::{BallotView, ChoiceForm};
use serde::Deserialize;

use choice_set::ChoiceSet;
use declared::Declared;
use matcher::ChoiceMatcher;
pub(crate) use matcher::letter;
pub(crate) use proposed::proposed_options;
pub(crate) use reasoning::without_reasoning;

/// The result of parsing a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParsedVote {
    /// A vote for this option of the poll.
    Vote(usize),
    /// Votes for several options.
    Conflicting,
    /// No option was declared.
    Missing,
    /// The response has no end, and declared no option before.
    CutOff,
}

/// The parts of a response that can contain a vote.
#[derive(Debug, Default)]
pub(crate) struct ResponseContent<'a> {
    /// The arguments of every tool call, regardless of the tool's name.
    pub(crate) calls: Vec<Cow<'a, str>>,
    /// The text of the message.
    pub(crate) text: Option<Cow<'a, str>>,
}

/// Maximum length of searched text, in bytes, counted from the end of the response. It is several times the
/// longest option.
const MAX_SEARCHED: usize = 2048;
/// Maximum number of tool calls parsed per response.
const MAX_CALLS: usize = 16;

/// Returns the end of a text, up to the searched length.
fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_SEARCHED))..]
}

/// Parses the vote in a response to this ballot view in this form. `cut_off` means that the response has no end. Takes time linear
/// in the length of the response.
pub(crate) fn parse(
    content: &ResponseContent<'_>,
    view: &BallotView,
    form: ChoiceForm,
    cut_off: bool,
) -> ParsedVote {
    let matcher = ChoiceMatcher::new(view, form);
    let mut found = Declared::default();
    for arguments in content.calls.iter().take(MAX_CALLS) {
        found.add(from_arguments(arguments, &matcher, cut_off, MAX_ENCODINGS));
    }
    if found.choices.is_empty()
        && let Some(text) = &content.text
    {
        found.add(prose::from_text(text, &matcher, cut_off));
    }
    match found.choices.only().and_then(|index| matcher.option(index)) {
        Some(option) => ParsedVote::Vote(option),
        None if !found.choices.is_empty() => ParsedVote::Conflicting,
        None if found.unfinished || cut_off => ParsedVote::CutOff,
        None => ParsedVote::Missing,
    }
}

/// Arguments that match the schema.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    option: Cow<'a, str>,
}

/// Maximum number of times that arguments are encoded as a JSON string.
const MAX_ENCODINGS: u8 = 3;

fn from_arguments(arguments: &str, matcher: &ChoiceMatcher<'_>, cut_off: bool, encodings: u8) -> Declared {
    if let Ok(Arguments { option }) = serde_json::from_str(arguments)
        && let Some(index) = matcher.exact(&option)
    {
        return Declared { choices: ChoiceSet::one(index), unfinished: false };
    }
    if encodings > 0
        && arguments.trim_start().starts_with('"')
        && let Ok(decoded) = serde_json::from_str::<String>(arguments)
    {
        return from_arguments(&decoded, matcher, false, encodings - 1);
    }
    let arguments = tail(arguments);
    let found = fields::from_fields(arguments, matcher, true);
    if cut_off || !found.choices.is_empty() || found.unfinished {
        return found;
    }
    Declared { choices: matcher.value(arguments), ..found }
}

#[cfg(test)]
mod tests {
    use super::testing::view;
    use super::*;

    fn call(arguments: &[&str]) -> ParsedVote {
        let calls = arguments.iter().map(|text| Cow::Borrowed(*text)).collect();
        let view = view(&["Earth", "Mars", "Earthrise"]);
        parse(&ResponseContent { calls, text: None }, &view, ChoiceForm::Text, false)
    }

    #[test]
    fn malformed_arguments_are_parsed() {
        for arguments in [
            r#"{"option":"Mars"}"#,
            r#"{"option":"mars."}"#,
            r#"{"option":"B) Mars"}"#,
            r#"{"vote":"Mars","reason":"Earth is blue"}"#,
            r#"{"reason":"all else is worse than Earth","option":"Mars","confidence":0.9}"#,
            r#"{"option":{"text":"Mars"}}"#,
            r#"{"option":["Mars"]}"#,
            r#"{"x":"Mars"}"#,
            r#""Mars""#,
            "Mars",
            r#""{\"option\":\"Mars\"}""#,
        ] {
            assert_eq!(call(&[arguments]), ParsedVote::Vote(1), "{arguments}");
        }
        for arguments in
            ["", "{}", "null", r#"{"option":"Pluto"}"#, r#"{"option":3}"#, r#"{"rejected":"Mars"}"#]
        {
            assert_eq!(call(&[arguments]), ParsedVote::Missing, "{arguments}");
        }
        for arguments in [r#"{"option":"Earth"#, r#"{"option":"Mars"#, "{\"option\": "] {
            assert_eq!(call(&[arguments]), ParsedVote::CutOff, "{arguments}");
        }
        let padded = format!(r#"{{"option":"Mars","reason":"{}"}}"#, "x".repeat(3 * MAX_SEARCHED));
        assert_eq!(call(&[&padded]), ParsedVote::Vote(1));
    }

    #[test]
    fn several_calls_are_one_vote_only_if_they_agree() {
        assert_eq!(call(&[r#"{"option":"Mars"}"#, r#"{"option":"mars"}"#]), ParsedVote::Vote(1));
        assert_eq!(call(&[r#"{"option":"Mars"}"#, r#"{"option":"Earth"}"#]), ParsedVote::Conflicting);
        assert_eq!(call(&[r#"{"option":["Mars","Earth"]}"#]), ParsedVote::Conflicting);
        assert_eq!(call(&[r#"{"option":"Mars"}"#, "{"]), ParsedVote::Vote(1));
    }

    #[test]
    fn letters_are_parsed_if_they_were_requested() {
        let view = view(&["Earth", "Mars"]);
        let read = |arguments: &'static str, form| {
            parse(&ResponseContent { calls: vec![Cow::Borrowed(arguments)], text: None }, &view, form, false)
        };
        assert_eq!(read(r#"{"option":"B"}"#, ChoiceForm::Letter), ParsedVote::Vote(1));
        assert_eq!(read(r#"{"option":"Earth"}"#, ChoiceForm::Letter), ParsedVote::Vote(0));
        assert_eq!(read(r#"{"option":"B"}"#, ChoiceForm::Text), ParsedVote::Missing);
    }
}
