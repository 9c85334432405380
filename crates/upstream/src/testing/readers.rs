//! The readers of what upstreams send, for fuzzing and for tests of the time they take.

use ep_polling::ballot::{AnswerForm, BallotView, Choice};
use ep_polling::time::Timestamp;

use crate::chat::error::{UpstreamError, public_text};
use crate::chat::response::Completion;
use crate::parsing::{ParsedVote, parse};
use crate::registry::listing;

/// Reads the body of a completion as the vote on these options: the index of the option voted for, if any.
pub fn vote(body: &[u8], options: &[&str], form: AnswerForm) -> Option<usize> {
    let choices = options.iter().enumerate();
    let view = BallotView {
        question: "".into(),
        choices: choices.map(|(option, text)| Choice { text: (*text).to_owned(), option }).collect(),
        answer: form,
        delimiter_mark: 0,
    };
    let completion = Completion::read(body)?;
    let choice = completion.choice()?;
    let content = choice.content();
    choice.reasoned(completion.usage(), content.text.as_deref());
    match parse(&content, &view, form) {
        ParsedVote::Vote(option) => Some(option),
        ParsedVote::Conflicting | ParsedVote::Missing => None,
    }
}

/// Reads the body of an error as what the public may see of it.
pub fn error_text(status: u16, body: &[u8]) -> String {
    public_text(&UpstreamError::from_body(status, body, None).message, None)
}

/// Reads a model list: the ids of its chat models, or nothing if it is no list.
pub fn model_list(document: &str) -> Option<Vec<String>> {
    let listing = listing::read(document, Timestamp::from_millis(0), false).ok()?;
    Some(listing.models.into_iter().map(|model| model.variant.id).collect())
}
