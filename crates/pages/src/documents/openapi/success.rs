//! Success responses of an operation.

use ep_kernel::method::Method;
use ep_kernel::{Access, Effect, Entry, Rest, Task};
use serde_json::{Value, json};

use super::events;
use super::headers::{CACHING, LOCATION, REPLAYED, RETRY_AFTER};
use super::parameters::{IDEMPOTENCY_KEY, takes_key};
use super::part::Success;
use super::pieces::Pieces;
use super::schemas::{Side, last_and_interim};

/// The media type of server-sent events.
pub(super) const EVENTS: &str = "text/event-stream";

/// True if callers may cache the response.
pub(super) fn is_cacheable(access: Access, effect: Effect, method: Method) -> bool {
    method == Method::Get && effect == Effect::Read && access == Access::PUBLIC
}

/// Returns the success responses of an operation.
pub(super) fn all(pieces: &mut Pieces<'_>, entry: &Entry, rest: &Rest, streamed: bool) -> Vec<Success> {
    let spec = &entry.spec;
    let whole = match rest.field {
        _ if !streamed && !is_json(rest.media_type) => json!({ "type": "string" }),
        Some(field) => field_of(pieces, entry.output().as_value(), field),
        None => pieces.schema(entry.output(), Side::Response),
    };
    let (last, interim) = last_and_interim(&pieces.schemas, &whole);
    let mut headers = Vec::new();
    if is_cacheable(spec.access.and(rest.only), spec.effect, rest.method) {
        headers.extend(CACHING);
    }
    if takes_key(spec.effect, rest.method) {
        headers.extend([IDEMPOTENCY_KEY, REPLAYED]);
    }
    if streamed {
        let event = events::one(&mut pieces.schemas, entry);
        let content = vec![(EVENTS.to_owned(), event), (rest.media_type.to_owned(), whole)];
        let description = "As events, or as JSON if there is nothing to wait for.".to_owned();
        return vec![Success { status: rest.status, description, headers, content }];
    }
    let is_split = rest.interim != rest.status;
    let body = if is_split && interim.is_some() { last } else { whole.clone() };
    let mut first = headers.clone();
    if rest.status == 202 {
        first.extend([LOCATION, RETRY_AFTER]);
    } else if !is_split && interim.is_some() {
        first.push(RETRY_AFTER);
    }
    let content = vec![(rest.media_type.to_owned(), body)];
    let mut successes = vec![Success {
        status: rest.status,
        description: format!("{}.", spec.title),
        headers: first,
        content,
    }];
    // A cancelled poll may still be running when the response is sent.
    let later = interim.or_else(|| (spec.task == Task::Cancel).then_some(whole)).filter(|_| is_split);
    if let Some(schema) = later {
        headers.push(RETRY_AFTER);
        let description = "Not final yet: request it again later.".to_owned();
        let content = vec![(rest.media_type.to_owned(), schema)];
        successes.push(Success { status: rest.interim, description, headers, content });
    }
    successes
}

/// Returns the schema of a field of an output.
fn field_of(pieces: &mut Pieces<'_>, output: &Value, field: &str) -> Value {
    let mut schema = output["properties"][field].clone();
    schema["$defs"] = output["$defs"].clone();
    pieces.schemas.add(&schema, Side::Response)
}

fn is_json(media_type: &str) -> bool {
    media_type.starts_with("application/json") || media_type.contains("+json")
}
