//! The body of a request for a decision: one question, whose choices are the options in the order shown.

use std::borrow::Cow;

use ep_polling::ballot::{BallotView, ChoiceForm};
use ep_polling::options::MAX_LEVELS;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::chat::prompt::SYSTEM;
use crate::decision_rules::Dialect;
use crate::parsing::letter;

/// The maximum number of choices of a question, of all three dialects.
const MAX_CHOICES: usize = 255;
const _: () = assert!(MAX_LEVELS <= MAX_CHOICES);

/// The name of the question.
pub(super) const QUESTION: &str = "vote";

/// Returns the value of each choice, in the order shown: the option's text, or a letter if chat ballots have letters.
pub(super) fn values(view: &BallotView) -> Vec<Cow<'_, str>> {
    let value = |index: usize| match view.answer {
        ChoiceForm::Text => Cow::Borrowed(view.choices[index].text.as_str()),
        ChoiceForm::Letter => Cow::Owned(letter(&view.choices, index).to_string()),
    };
    (0..view.choices.len()).map(value).collect()
}

/// Serializes the body as JSON. The question is the input, and the system message of chat ballots the instruction, so that
/// no delimiters are needed.
pub(super) fn body(dialect: Dialect, model: &str, view: &BallotView) -> Vec<u8> {
    let values = values(view);
    let choices = || std::iter::zip(&values, &view.choices).map(|(value, choice)| (&**value, &*choice.text));
    let by_name = || ByName {
        vote: MapQuestion { kind: "choice", instructions: SYSTEM, criteria: Criteria(choices().collect()) },
    };
    let input = &*view.question;
    let body = match dialect {
        Dialect::OpenAi => {
            let described = view.answer == ChoiceForm::Letter;
            let choice = |(value, text)| ListChoice { value, description: Some(text).filter(|_| described) };
            let question = ListQuestion {
                kind: "choice",
                name: QUESTION,
                instructions: SYSTEM,
                choices: choices().map(choice).collect(),
            };
            serde_json::to_vec(&OpenAiBody { model, input, questions: [question] })
        }
        Dialect::SystemOne => {
            serde_json::to_vec(&SystemOneBody { model, state: input, questions: by_name() })
        }
        Dialect::Gemini => {
            // The model list has the names of resources, requests those of models.
            let model = model.strip_prefix("models/").unwrap_or(model);
            serde_json::to_vec(&GeminiBody { model, input, questions: by_name() })
        }
    };
    // Serializing strings cannot fail.
    body.unwrap_or_default()
}

#[derive(Serialize)]
struct OpenAiBody<'a> {
    model: &'a str,
    input: &'a str,
    questions: [ListQuestion<'a>; 1],
}

#[derive(Serialize)]
struct ListQuestion<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    instructions: &'static str,
    choices: Vec<ListChoice<'a>>,
}

#[derive(Serialize)]
struct ListChoice<'a> {
    value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Serialize)]
struct SystemOneBody<'a> {
    model: &'a str,
    state: &'a str,
    questions: ByName<'a>,
}

#[derive(Serialize)]
struct GeminiBody<'a> {
    model: &'a str,
    input: &'a str,
    questions: ByName<'a>,
}

/// The question by its name, [`QUESTION`].
#[derive(Serialize)]
struct ByName<'a> {
    vote: MapQuestion<'a>,
}

#[derive(Serialize)]
struct MapQuestion<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    instructions: &'static str,
    criteria: Criteria<'a>,
}

/// Values with descriptions: the options' texts, because some servers reject a choice without one.
struct Criteria<'a>(Vec<(&'a str, &'a str)>);

impl Serialize for Criteria<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (value, text) in &self.0 {
            map.serialize_entry(value, text)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use ep_polling::ballot::Choice;

    use super::*;

    fn view(answer: ChoiceForm) -> BallotView {
        let choice = |text: &str, option| Choice { text: text.to_owned(), option };
        BallotView {
            question: "Which is blue?".into(),
            choices: vec![choice("Mars", 1), choice("Earth", 0)],
            answer,
            delimiter_mark: 7,
        }
    }

    fn text(dialect: Dialect, model: &str, answer: ChoiceForm) -> String {
        String::from_utf8(body(dialect, model, &view(answer))).unwrap()
    }

    #[test]
    fn each_dialect_has_its_form() {
        let instructions = format!("\"instructions\":\"{SYSTEM}\"");
        assert_eq!(
            text(Dialect::OpenAi, "m", ChoiceForm::Text),
            format!(
                r#"{{"model":"m","input":"Which is blue?","questions":[{{"type":"choice","name":"vote",{instructions},"choices":[{{"value":"Mars"}},{{"value":"Earth"}}]}}]}}"#
            )
        );
        let questions = format!(
            r#""questions":{{"vote":{{"type":"choice",{instructions},"criteria":{{"Mars":"Mars","Earth":"Earth"}}}}}}}}"#
        );
        assert_eq!(
            text(Dialect::SystemOne, "m", ChoiceForm::Text),
            format!(r#"{{"model":"m","state":"Which is blue?",{questions}"#)
        );
        assert_eq!(
            text(Dialect::Gemini, "models/m", ChoiceForm::Text),
            format!(r#"{{"model":"m","input":"Which is blue?",{questions}"#)
        );
    }

    #[test]
    fn letters_are_described_by_the_texts() {
        let list = text(Dialect::OpenAi, "m", ChoiceForm::Letter);
        assert!(list.contains(r#"[{"value":"A","description":"Mars"},{"value":"B","description":"Earth"}]"#));
        let map = text(Dialect::SystemOne, "m", ChoiceForm::Letter);
        assert!(map.contains(r#""criteria":{"A":"Mars","B":"Earth"}"#), "{map}");
    }
}
