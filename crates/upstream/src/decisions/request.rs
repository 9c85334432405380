//! The body of a request for a decision: one question, whose choices are the options in the order shown.

use std::borrow::Cow;

use ep_polling::options::MAX_LEVELS;
use ep_polling::{BallotView, ChoiceForm};
use serde_json::{Map, json};

use crate::chat::prompt::SYSTEM;
use crate::chat::request;
use crate::decision_rules::Dialect;

/// The maximum number of choices of a question, of all three dialects.
const MAX_CHOICES: usize = 255;
const _: () = assert!(MAX_LEVELS <= MAX_CHOICES);

/// The name of the question.
pub(super) const QUESTION: &str = "vote";

/// Returns the value of each choice, in the order shown: as in chat ballots.
pub(super) fn values(view: &BallotView) -> Vec<Cow<'_, str>> {
    request::values(&view.choices, view.answer)
}

/// Serializes the body as JSON. The question is the input, and the system message of chat ballots the instruction, so that
/// no delimiters are needed.
pub(super) fn body(dialect: Dialect, model: &str, view: &BallotView) -> Vec<u8> {
    let values = values(view);
    let choices = || std::iter::zip(&values, &view.choices).map(|(value, choice)| (&**value, &*choice.text));
    let by_name = || {
        // With descriptions, the options' texts, because some servers reject a choice without one.
        let criteria: Map<_, _> = choices().map(|(value, text)| (value.to_owned(), text.into())).collect();
        json!({ QUESTION: { "type": "choice", "instructions": SYSTEM, "criteria": criteria } })
    };
    let input = &*view.question;
    let body = match dialect {
        Dialect::OpenAi => {
            let choice = |(value, text)| match view.answer {
                ChoiceForm::Text => json!({ "value": value }),
                ChoiceForm::Letter => json!({ "value": value, "description": text }),
            };
            let question = json!({
                "type": "choice",
                "name": QUESTION,
                "instructions": SYSTEM,
                "choices": choices().map(choice).collect::<Vec<_>>(),
            });
            json!({ "model": model, "input": input, "questions": [question] })
        }
        Dialect::SystemOne => json!({ "model": model, "state": input, "questions": by_name() }),
        Dialect::Gemini => {
            // The model list has the names of resources, requests those of models.
            let model = model.strip_prefix("models/").unwrap_or(model);
            json!({ "model": model, "input": input, "questions": by_name() })
        }
    };
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use ep_polling::Choice;

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
