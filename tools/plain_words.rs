//! The operations that plain words reach, besides polls.

use ep_kernel::Tool;
use serde_json::{Map, Value, json};

use crate::account::GetBalance;
use crate::intents::{MAX_CHARS, MatchIntent};
use crate::reader::{Reading, read};
use crate::results::GetPollResult;

/// Returns the name and the input of the operation that a text asks for; `None` for a question to the models. Each only reads: of
/// a request for a change, `match_intent` names the operation.
pub fn operation_of(text: &str) -> Option<(&'static str, Map<String, Value>)> {
    let (name, input) = match read(text) {
        Reading::Poll(id) => (GetPollResult::SPEC.name, json!({ "poll_id": id })),
        Reading::Balance => (GetBalance::SPEC.name, json!({})),
        Reading::Help | Reading::Draft | Reading::Effect => {
            let text: String = text.chars().take(MAX_CHARS).collect();
            (MatchIntent::SPEC.name, json!({ "text": text }))
        }
        Reading::Question(_) | Reading::OnlyOptions(_) | Reading::Incomplete(_) => return None,
    };
    Some((name, input.as_object().cloned().unwrap_or_default()))
}
