//! A poll request before it is decoded.

use std::borrow::Cow;

use ep_kernel::fault::Fault;
use ep_kernel::schema;
use ep_kernel::tool::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::PollQuestion;
use super::draft::PollRequest;

/// A poll request with all its field names, including unknown ones.
#[derive(Debug, Deserialize)]
pub struct RawPollRequest(pub Map<String, Value>);

impl RawPollRequest {
    /// Rejects an input that is not a poll request.
    pub fn check(input: Value) -> Result<(), Fault> {
        schema::decode::<PollRequest>(input)?.draft().map(drop)
    }

    /// Decodes the request, with a notice for each field that looks misspelt.
    pub fn decode(self) -> Result<(PollRequest, Vec<String>), Fault> {
        let notices = misspelt(&self.0);
        Ok((schema::decode(Value::Object(self.0))?, notices))
    }
}

/// Returns a notice for each unknown field that looks misspelt: it could be a spending limit without effect.
pub fn misspelt(members: &Map<String, Value>) -> Vec<String> {
    let Some(entry) = crate::find(PollQuestion::SPEC.name) else { return Vec::new() };
    let found = schema::misspelt(entry.input(), members);
    found
        .iter()
        .map(|name| {
            format!(
                "{} has no effect: it is not a field of a poll; did you mean {}?",
                name.given, name.nearest
            )
        })
        .collect()
}

impl JsonSchema for RawPollRequest {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        PollRequest::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PollRequest::json_schema(generator)
    }
}
