//! The events of a stream.

use ep_kernel::schema;
use ep_kernel::{Entry, Problem, StartedEvent, VoteEvent};
use ep_site::names::{COMPLETE_EVENT, ERROR_EVENT, RUNNING_EVENT};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::schemas::{Schemas, Side, last_and_interim};

/// An event: its name, summary and payload schema.
pub(in crate::documents) struct Event {
    pub(in crate::documents) name: &'static str,
    pub(in crate::documents) summary: &'static str,
    pub(in crate::documents) data: Value,
}

/// Returns the events of an operation's stream, in order.
pub(in crate::documents) fn events(schemas: &mut Schemas, entry: &Entry) -> Vec<Event> {
    let whole = schemas.add(entry.output().as_value(), Side::Response);
    let (last, interim) = last_and_interim(schemas, &whole);
    let mut events = vec![
        of::<StartedEvent>(schemas, StartedEvent::NAME, "The poll has begun."),
        of::<VoteEvent>(schemas, VoteEvent::NAME, "A model has voted, or gave no vote: how far the poll is."),
        Event { name: COMPLETE_EVENT, summary: "The poll has ended: the last event.", data: last },
    ];
    let summary = "The poll continues, but this stream ends: the last event.";
    events.extend(interim.map(|data| Event { name: RUNNING_EVENT, summary, data }));
    events.push(of::<Problem>(schemas, ERROR_EVENT, "The poll failed: the last event."));
    events
}

fn of<T: JsonSchema>(schemas: &mut Schemas, name: &'static str, summary: &'static str) -> Event {
    Event { name, summary, data: schemas.add(schema::output::<T>().as_value(), Side::Response) }
}

/// Returns the schema of one event of a stream.
pub(super) fn one(schemas: &mut Schemas, entry: &Entry) -> Value {
    let form = |event: Event| {
        json!({
            "type": "object",
            "description": event.summary,
            "required": ["event", "data"],
            "properties": {
                "event": { "type": "string", "const": event.name },
                "id": { "type": "string", "description": "Its number; sent back in Last-Event-ID." },
                "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": event.data },
            },
        })
    };
    let forms: Vec<Value> = events(schemas, entry).into_iter().map(form).collect();
    json!({ "description": "One event of the stream (WHATWG HTML, section 9.2).", "anyOf": forms })
}
