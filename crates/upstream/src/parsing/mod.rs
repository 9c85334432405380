//! Reads the vote in a model's answer. Models wrap, rename, truncate and decorate what they were asked for,
//! so this is tolerant, within two rules: a vote is only ever an option that the answer names, and if an
//! answer names several options, none of them is chosen.

mod choice_set;
mod lenient_json;
mod matcher;
#[cfg(test)]
mod properties;
mod prose;
#[cfg(test)]
mod testing;
mod words;

use std::borrow::Cow;

use ep_polling::ballot::BallotView;
use serde::Deserialize;

use choice_set::ChoiceSet;
use matcher::ChoiceMatcher;
pub(crate) use prose::without_reasoning;

/// The vote in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParsedVote {
    /// The answer votes for this option of the poll.
    Vote(usize),
    /// It votes for several options.
    Conflicting,
    /// It names no option.
    Missing,
}

/// The parts of an answer that can contain a vote.
#[derive(Debug, Default)]
pub(crate) struct AnswerContent<'a> {
    /// The arguments of every tool call, whichever tool it names.
    pub(crate) calls: Vec<Cow<'a, str>>,
    /// The text.
    pub(crate) text: Option<Cow<'a, str>>,
}

/// Reads the vote in an answer to this ballot view.
pub(crate) fn parse(content: &AnswerContent<'_>, view: &BallotView) -> ParsedVote {
    let matcher = ChoiceMatcher::new(view);
    let mut found = ChoiceSet::NONE;
    for arguments in &content.calls {
        found.add(from_arguments(arguments, &matcher));
    }
    if found.is_empty()
        && let Some(text) = &content.text
    {
        found = prose::from_text(text, &matcher);
    }
    match found.only().and_then(|index| matcher.option(index)) {
        Some(option) => ParsedVote::Vote(option),
        None if found.is_empty() => ParsedVote::Missing,
        None => ParsedVote::Conflicting,
    }
}

/// The arguments as the schema asks for them.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    option: Cow<'a, str>,
}

fn from_arguments(arguments: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    if let Ok(Arguments { option }) = serde_json::from_str(arguments)
        && let Some(index) = matcher.exact_code(&option)
    {
        return ChoiceSet::one(index);
    }
    let found = prose::from_fields(arguments, matcher);
    if found.is_empty() {
        matcher.any_value(arguments, arguments.trim_end().ends_with(['"', '}']))
    } else {
        found
    }
}

#[cfg(test)]
mod tests {
    use super::testing::view;
    use super::*;

    fn call(arguments: &[&str]) -> ParsedVote {
        let calls = arguments.iter().map(|text| Cow::Borrowed(*text)).collect();
        parse(&AnswerContent { calls, text: None }, &view(&["Earth", "Mars", "Earthrise"]))
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
            assert_eq!(call(&[arguments]), ParsedVote::Vote(1), "{arguments}");
        }
        for arguments in ["", "{}", "null", r#"{"option":"Pluto"}"#, r#"{"option":"Earth"#, r#"{"option":3}"#]
        {
            assert_eq!(call(&[arguments]), ParsedVote::Missing, "{arguments}");
        }
    }

    #[test]
    fn several_calls_are_one_vote_only_if_they_agree() {
        assert_eq!(call(&[r#"{"option":"DF"}"#, r#"{"option":"Mars"}"#]), ParsedVote::Vote(1));
        assert_eq!(call(&[r#"{"option":"DF"}"#, r#"{"option":"BC"}"#]), ParsedVote::Conflicting);
        assert_eq!(call(&[r#"{"option":["DF","BC"]}"#]), ParsedVote::Conflicting);
        assert_eq!(call(&[r#"{"option":"DF"}"#, "{"]), ParsedVote::Vote(1));
    }
}
