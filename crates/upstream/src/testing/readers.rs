//! Parsers of upstream data, for fuzzing and for tests of their run time.

use ep_polling::{BallotView, Choice, ChoiceForm, Probabilities, Timestamp};

use crate::chat::error::UpstreamError;
use crate::chat::public_text::public_text;
use crate::chat::response::Completion;
use crate::chat::shapes;
use crate::decision_rules::Dialect;
use crate::decisions::response::Response;
use crate::parsing::{ParsedVote, parse};
use crate::registry::listing;

/// Parses the body of a completion as a vote on this question. Returns the index of the chosen option, if any.
pub fn vote(body: &[u8], question: &str, options: &[&str], form: ChoiceForm) -> Option<usize> {
    let view = view(question, options, form);
    let repaired = if Completion::read(body).is_some() { None } else { Some(shapes::repaired(body)?) };
    let completion = Completion::read(repaired.as_deref().unwrap_or(body))?;
    let choice = completion.choice()?;
    let content = choice.content();
    choice.reasoned(completion.usage(), content.text.as_deref());
    match parse(&content, &view, form, choice.is_cut_off()) {
        ParsedVote::Vote(option) => Some(option),
        ParsedVote::Conflicting | ParsedVote::Missing | ParsedVote::CutOff => None,
    }
}

fn view(question: &str, options: &[&str], answer: ChoiceForm) -> BallotView {
    let choices = options.iter().enumerate();
    BallotView {
        question: question.into(),
        choices: choices.map(|(option, text)| Choice { text: (*text).to_owned(), option }).collect(),
        answer,
        delimiter_mark: 0,
    }
}

/// Parses the body of a decision in each dialect. Returns the probabilities of the options.
pub fn decisions(body: &[u8], options: &[&str]) -> [Option<Probabilities>; 3] {
    let view = view("", options, ChoiceForm::Text);
    let dialects = [Dialect::OpenAi, Dialect::SystemOne, Dialect::Gemini];
    dialects.map(|dialect| Response::read(body)?.probabilities(dialect, &view).ok())
}

/// Parses the body of an error. Returns the text that is shown to callers.
pub fn error_text(status: u16, body: &[u8]) -> String {
    public_text(&UpstreamError::from_body(status, body, None).message, None)
}

/// Parses a model list. Returns the ids of its models that can vote, or `None` if it is not a list.
pub fn model_list(document: &str) -> Option<Vec<String>> {
    let listing = listing::read(document, Timestamp::from_millis(0), &listing::Rules::NONE).ok()?;
    Some(listing.models.into_iter().map(|model| model.variant.id).collect())
}
