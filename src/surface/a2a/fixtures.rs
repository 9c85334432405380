//! What the compatibility kits of A2A ask for, by the beginning of a message's id or of its text: polls whose tasks show
//! prescribed contents in place of results. Callers without credentials are one account. Only in builds with the
//! feature `conformance-fixtures`.
//!
//! Source: the scenarios of a2aproject/a2a-tck, branch 1.0-dev (`scenarios/*.feature`).

use ep_kernel::accounts::Accounts;
use ep_kernel::caller::Caller;
use ep_kernel::email::Email;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use ep_kernel::key_terms::KeyScope;
use ep_kernel::tool::Access;
use ep_polling::money::MicroUsd;
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::{Sent, member};
use super::task::{in_dialect, says};
use crate::surface::http::AppState;

/// Who may send messages: the kits have no credentials.
pub(super) const ACCESS: Access = Access::PUBLIC;

/// Which contents, by how a message's id or text begins; the first that fits counts.
const PREFIXES: [(&str, Does); 14] = [
    ("tck-message-response", Does::Reply),
    ("tck-input-required", Does::Ask),
    ("tck-multi-turn", Does::Ask),
    ("tck-cancel", Does::Ask),
    ("tck-reject-task", Does::Refuse),
    ("tck-artifact-text", Does::Show(&["Generated text content"])),
    ("tck-artifact-file-url", Does::ShowLink),
    ("tck-artifact-file", Does::ShowFile),
    ("tck-artifact-data", Does::ShowData),
    ("tck-stream-artifact-file", Does::ShowFile),
    ("tck-stream-artifact-chunked", Does::Show(&["chunk-1 ", "chunk-2"])),
    ("tck-stream-chunked", Does::Show(&["chunk-1 ", "chunk-2"])),
    ("tck-", Does::Show(&["Hello from TCK"])),
    ("enhanced-parts", Does::Show(&["Hello from TCK"])),
];

/// What a message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// It asks a poll, whose task shows these texts.
    Show(&'static [&'static str]),
    ShowFile,
    ShowLink,
    ShowData,
    /// It does not say enough.
    Ask,
    /// It is answered with a message.
    Reply,
    Refuse,
}

fn of(message: &Value) -> Option<Does> {
    let id = member(message, "messageId", "message_id").and_then(Value::as_str);
    let parts = member(message, "parts", "content").and_then(Value::as_array);
    let text = parts.and_then(|parts| parts.first()?.get("text")?.as_str());
    let named =
        |name: &str| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, does)| *does);
    [id, text].into_iter().flatten().find_map(named)
}

/// The caller, or the account of callers without credentials.
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

/// Whether a message is a kit's. Kits give several tasks messages of one id.
pub(super) fn is_fixture(message: &Value) -> bool {
    of(message).is_some()
}

/// The question in place of the kit's words.
pub(super) fn question(message: &Value) -> Option<Map<String, Value>> {
    if matches!(of(message)?, Does::Ask | Does::Reply | Does::Refuse) {
        return None;
    }
    let question = json!({ "question": "Which of these drinks is the best?", "options": ["Tea", "Coffee"], "pace": "fast" });
    question.as_object().cloned()
}

/// The answer to a message that makes no task.
pub(super) fn reply(sent: &Sent<'_>, id: &str) -> Result<Option<Value>, Refusal> {
    match of(sent.message) {
        Some(Does::Refuse) => Err(Refusal::Unsupported("rejected".into())),
        Some(Does::Reply) => {
            let parts = json!([sent.dialect.text_part("Direct message response")]);
            Ok(Some(says(sent.dialect, id, (None, sent.context), parts)))
        }
        _ => Ok(None),
    }
}

/// The parts that a task shows in place of its result.
pub(super) fn parts(conversation: &Conversation, dialect: Dialect) -> Vec<Value> {
    let file = |member: &str, content: &str| {
        vec![json!({ member: content, "filename": "output.txt", "mediaType": "text/plain" })]
    };
    let mut parts: Vec<Value> = match conversation.said.messages.iter().rev().find_map(of) {
        Some(Does::Show(texts)) => texts.iter().map(|text| json!({ "text": text })).collect(),
        Some(Does::ShowFile) => file("raw", "b3V0cHV0"),
        Some(Does::ShowLink) => file("url", "https://example.com/output.txt"),
        Some(Does::ShowData) => vec![json!({ "data": { "key": "value", "count": 42 } })],
        _ => Vec::new(),
    };
    for part in parts.iter_mut().filter_map(Value::as_object_mut) {
        in_dialect(part, dialect);
    }
    parts
}
