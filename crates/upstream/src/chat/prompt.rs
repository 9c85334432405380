//! The text of the messages to models. The words were chosen by measurement (`examples/ballot-forms`).
//!
//! The prompt adds nothing about the question, the options or the other models. Delimiters enclose question
//! and options, because callers write them and may include instructions.

use std::fmt::Write as _;

use ep_polling::{BallotView, ChoiceForm};

use crate::fallback_level::FallbackLevel;
use crate::parsing::letter;

/// The name of the tool.
pub(crate) const TOOL: &str = "vote";
/// The description of the tool.
pub(crate) const TOOL_DESCRIPTION: &str = "Cast your one vote.";

/// The description of the tool's argument.
pub(crate) const fn option_description(form: ChoiceForm) -> &'static str {
    match form {
        ChoiceForm::Text => "The option you choose.",
        ChoiceForm::Letter => "The letter of the option you choose.",
    }
}

/// The system message. It has no sentence against instructions in the question, because that protected none
/// of the measured models (`examples/ballot-forms`).
pub(crate) const SYSTEM: &str = "Answer the question by voting for one of the options.";

/// The request for an explanation, after the ballot and the option that the model voted for. Chosen by measurement
/// (`examples/ballot-forms`).
pub(crate) const EXPLAIN: &str =
    "Give the main reason for your vote, in one short sentence that starts with “Because”.";

/// The name of the tool that takes proposed options.
pub(crate) const PROPOSE_TOOL: &str = "propose";
/// The description of that tool.
pub(crate) const PROPOSE_TOOL_DESCRIPTION: &str = "Propose the options.";
/// The description of its argument.
pub(crate) const PROPOSED_DESCRIPTION: &str =
    "Two to five short, different answers, each of at most 50 characters.";
/// The system message of a request for options. On 20 open questions, a model with 1.5 billion parameters answered it with a
/// valid list 18 times, and another wording 19 times. With a maximum length of the list, one with 0.5 billion did 20 times instead
/// of 6.
pub(crate) const PROPOSE_SYSTEM: &str = "Propose short answers to the question, among which others will choose one. Use the language of the question.";

/// Builds the user message of a request for options.
pub(crate) fn proposing(view: &BallotView, level: FallbackLevel) -> String {
    let mark = view.delimiter_mark;
    let question = format!("<question-{mark:08x}>\n{}\n</question-{mark:08x}>", view.question);
    let how = match level {
        FallbackLevel::Required | FallbackLevel::Object => return question,
        FallbackLevel::Auto => "Call the tool `propose` exactly once. Write no other text.",
        FallbackLevel::Schema => {
            "Answer with a JSON object and nothing else: {\"options\": [\"<a short answer>\", …]}"
        }
        FallbackLevel::Prose => {
            "Write two to five short, different answers, each on a line of its own, and nothing else."
        }
    };
    format!("{question}\n\n{how}")
}

/// Builds the user message: question, options, and the instruction for this fallback level.
pub(crate) fn user(view: &BallotView, form: ChoiceForm, level: FallbackLevel) -> String {
    let mut text = ballot(view, form);
    let how = instruction(level, form);
    if !how.is_empty() {
        let _ = write!(text, "\n\n{how}");
    }
    text
}

/// Builds the question and the options.
pub(crate) fn ballot(view: &BallotView, form: ChoiceForm) -> String {
    let options: usize = view.choices.iter().map(|choice| choice.text.len() + 4).sum();
    let mut text = String::with_capacity(view.question.len() + options + 320);
    let mark = view.delimiter_mark;
    let _ = write!(
        text,
        "<question-{mark:08x}>\n{}\n</question-{mark:08x}>\n\n<options-{mark:08x}>\n",
        view.question
    );
    for (index, choice) in view.choices.iter().enumerate() {
        let _ = match form {
            ChoiceForm::Text => writeln!(text, "- {}", choice.text),
            ChoiceForm::Letter => writeln!(text, "{}: {}", letter(&view.choices, index), choice.text),
        };
    }
    let _ = write!(text, "</options-{mark:08x}>");
    text
}

/// Returns the instruction for this level. It is empty for a forced call, because the tool is sufficient.
fn instruction(level: FallbackLevel, form: ChoiceForm) -> String {
    let value = match form {
        ChoiceForm::Text => "text",
        ChoiceForm::Letter => "letter",
    };
    match level {
        FallbackLevel::Required | FallbackLevel::Object => String::new(),
        FallbackLevel::Auto => format!(
            "You must vote by calling the tool `vote` exactly once, with the {value} of one option. Write no other text."
        ),
        FallbackLevel::Schema => format!(
            "Vote with a JSON object and nothing else: {{\"option\": \"<the {value} of one option>\"}}"
        ),
        FallbackLevel::Prose => {
            format!("Vote with the {value} of one option, alone on the last line of your answer.")
        }
    }
}

/// Maximum length of an unusable response that is sent back to the model, in bytes.
const MAX_UNUSABLE_RESPONSE: usize = 300;

/// Returns the start of an unusable response, which is sent back to the model as its own message.
pub(crate) fn unusable_response(answer: &str) -> String {
    match answer[..answer.floor_char_boundary(MAX_UNUSABLE_RESPONSE)].trim() {
        "" => "(nothing)".to_owned(),
        text => text.to_owned(),
    }
}

/// Returns the user message after the unusable response.
pub(crate) fn repair(level: FallbackLevel, form: ChoiceForm) -> String {
    let how = instruction(level, form);
    format!("That could not be read as a vote for one of the options. {how}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use ep_polling::Choice;
    use ep_polling::plan::INSTRUCTION_TOKENS;

    use super::*;

    fn view(question: &str) -> BallotView {
        let choice = |text: &str, option| Choice { text: text.to_owned(), option };
        BallotView {
            question: question.into(),
            choices: vec![choice("Earth", 1), choice("Mars", 0)],
            answer: ChoiceForm::Text,
            delimiter_mark: 0x0bad_cafe,
        }
    }

    #[test]
    fn the_user_message_has_the_measured_form() {
        assert_eq!(
            user(&view("Which is blue?"), ChoiceForm::Text, FallbackLevel::Required),
            "<question-0badcafe>\nWhich is blue?\n</question-0badcafe>\n\n\
             <options-0badcafe>\n- Earth\n- Mars\n</options-0badcafe>"
        );
        let lettered = user(&view("Which?"), ChoiceForm::Letter, FallbackLevel::Schema);
        assert!(lettered.contains("\nA: Earth\nB: Mars\n"), "{lettered}");
    }

    #[test]
    fn instructions_stay_within_the_token_limit_of_plans() {
        // Four bytes of English text are more than one token; the tool schema has fewer than 500 bytes.
        let bytes = SYSTEM.len() + user(&view(""), ChoiceForm::Letter, FallbackLevel::Auto).len() + 500;
        assert!((bytes as u64) < 4 * INSTRUCTION_TOKENS, "{bytes}");
    }
}
