//! Results of calls.

use ep_kernel::{CallOutput, Entry};
use ep_polling::PollId;
use rmcp::model::{CallToolResult, ContentBlock};

use super::catalogue::DETAIL;
use super::resources;

/// Converts an output to a result. Structured content holds its brief form, which is all that some clients show their
/// model. Text holds its summary and facts, or else the value. A link leads to its poll.
pub(super) fn result(entry: &Entry, output: CallOutput, detailed: bool) -> CallToolResult {
    let CallOutput { mut value, presentation } = output;
    let detail = if detailed { value.get(DETAIL).map(ToString::to_string) } else { None };
    if let Some(members) = value.as_object_mut().filter(|_| !detailed) {
        members.shift_remove(DETAIL);
    }
    entry.brief.apply(&mut value);
    let text = match presentation.summary {
        Some(summary) => {
            [Some(summary), presentation.facts].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        None => value.to_string(),
    };
    let texts = [Some(text), detail].into_iter().flatten().map(ContentBlock::text);
    let poll = presentation.task_id.as_deref().and_then(|id| id.parse::<PollId>().ok());
    let link = poll.as_ref().map(PollId::as_str).map(resources::link);
    let mut result = CallToolResult::success(texts.chain(link).collect());
    result.structured_content = Some(value);
    result
}
