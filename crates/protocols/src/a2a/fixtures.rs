//! Fixtures of the A2A compatibility kits, selected by the prefix of a message's id or text. Their polls show
//! prescribed contents in place of results. Callers without credentials share one account. Only in builds with the
//! feature `conformance-fixtures`.
//!
//! Source: the scenarios of a2aproject/a2a-tck, branch 1.0-dev (`scenarios/*.feature`).

use ep_kernel::guard::Admission;
use ep_kernel::{Access, Accounts, Caller, Fault, Kind};
use ep_polling::MicroUsd;
use ep_site::http::AppState;
use ep_store::{Email, KeyScope};
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::field_of;
use super::message_form::{in_dialect, says};
use super::sent::Sent;

/// Access to sending messages: the kits have no credentials.
pub(super) const ACCESS: Access = Access::PUBLIC;

/// Fixtures by prefix of a message's id or text; the first match counts.
const PREFIXES: [(&str, Fixture); 14] = [
    ("tck-message-response", Fixture::Reply),
    ("tck-input-required", Fixture::Ask),
    ("tck-multi-turn", Fixture::Ask),
    ("tck-cancel", Fixture::Ask),
    ("tck-reject-task", Fixture::Refuse),
    ("tck-artifact-text", Fixture::Show(&["Generated text content"])),
    ("tck-artifact-file-url", Fixture::ShowLink),
    ("tck-artifact-file", Fixture::ShowFile),
    ("tck-artifact-data", Fixture::ShowData),
    ("tck-stream-artifact-file", Fixture::ShowFile),
    ("tck-stream-artifact-chunked", Fixture::Show(&["chunk-1 ", "chunk-2"])),
    ("tck-stream-chunked", Fixture::Show(&["chunk-1 ", "chunk-2"])),
    ("tck-", Fixture::Show(&["Hello from TCK"])),
    ("enhanced-parts", Fixture::Show(&["Hello from TCK"])),
];

/// Effect of a fixture message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fixture {
    /// Starts a poll; its task shows these texts.
    Show(&'static [&'static str]),
    ShowFile,
    ShowLink,
    ShowData,
    /// Lacks required input.
    Ask,
    /// Gets a message as the response.
    Reply,
    Refuse,
}

fn of(message: &Value) -> Option<Fixture> {
    let id = field_of(message, "messageId", "message_id").and_then(Value::as_str);
    let parts = field_of(message, "parts", "content").and_then(Value::as_array);
    let text = parts.and_then(|parts| parts.first()?.get("text")?.as_str());
    let named =
        |name: &str| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, does)| *does);
    [id, text].into_iter().flatten().find_map(named)
}

/// Returns the caller, or the shared account for callers without credentials.
pub(super) async fn admitted(state: &AppState, admission: Admission) -> Result<Admission, Fault> {
    if !matches!(admission.caller, Caller::Anonymous { .. }) {
        return Ok(admission);
    }
    let email: Email = "kit@fixtures.invalid".parse().map_err(Fault::internal)?;
    let user = match Accounts::user_by_email(&state.app.accounts, &email).await {
        Err(fault) if fault.kind() == Kind::NotFound => {
            Accounts::create_user(&state.app.accounts, email, MicroUsd::ZERO).await?
        }
        user => user?,
    };
    Ok(Admission { caller: Caller::Token { user, scope: Some(KeyScope::All) }, ..admission })
}

/// True for a message of a kit. Kits reuse one message id for several tasks.
pub(super) fn is_fixture(message: &Value) -> bool {
    of(message).is_some()
}

/// Returns the poll question that replaces the kit's text.
pub(super) fn question(message: &Value) -> Option<Map<String, Value>> {
    if matches!(of(message)?, Fixture::Ask | Fixture::Reply | Fixture::Refuse) {
        return None;
    }
    let question = json!({ "question": "Which of these drinks is the best?", "options": ["Tea", "Coffee"], "pace": "fast" });
    question.as_object().cloned()
}

/// Returns the response to a message that creates no task.
pub(super) fn reply(sent: &Sent<'_>, id: &str) -> Answer<Option<Value>> {
    match of(sent.message) {
        Some(Fixture::Refuse) => Err(Refusal::Unsupported("rejected".into())),
        Some(Fixture::Reply) => {
            let parts = json!([sent.dialect.text_part("Direct message response")]);
            Ok(Some(says(sent.dialect, id, (None, sent.context), parts)))
        }
        _ => Ok(None),
    }
}

/// Returns the parts that a task shows in place of its result.
pub(super) fn parts(conversation: &Conversation, dialect: Dialect) -> Vec<Value> {
    let file = |field: &str, content: &str| {
        vec![json!({ field: content, "filename": "output.txt", "mediaType": "text/plain" })]
    };
    let mut parts: Vec<Value> = match conversation.content.messages.iter().rev().find_map(of) {
        Some(Fixture::Show(texts)) => texts.iter().map(|text| json!({ "text": text })).collect(),
        Some(Fixture::ShowFile) => file("raw", "b3V0cHV0"),
        Some(Fixture::ShowLink) => file("url", "https://example.com/output.txt"),
        Some(Fixture::ShowData) => vec![json!({ "data": { "key": "value", "count": 42 } })],
        _ => Vec::new(),
    };
    for part in parts.iter_mut().filter_map(Value::as_object_mut) {
        in_dialect(part, dialect);
    }
    parts
}
