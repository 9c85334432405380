//! A poll request as it came, before it is decoded.

use std::borrow::Cow;

use ep_kernel::fault::Fault;
use ep_kernel::schema;
use ep_kernel::tool::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::PollQuestion;
use super::draft::PollRequest;

/// A poll request and the names of all its members, also of those that it does not know.
#[derive(Debug, Deserialize)]
pub struct RawPollRequest(pub Map<String, Value>);

impl RawPollRequest {
    /// Refuses an input that is no poll request.
    pub fn check(input: Value) -> Result<(), Fault> {
        schema::decode::<PollRequest>(input)?.draft().map(drop)
    }

    /// Decodes it, and says which unknown members look like misspelt ones.
    pub fn decode(self) -> Result<(PollRequest, Vec<String>), Fault> {
        let notices = misspelt(&self.0);
        Ok((schema::decode(Value::Object(self.0))?, notices))
    }
}

/// A notice for each member that looks like a misspelt one: it could be a limit on money that has no effect.
pub fn misspelt(members: &Map<String, Value>) -> Vec<String> {
    let Some(entry) = crate::find(PollQuestion::SPEC.name) else { return Vec::new() };
    let found = schema::misspelt(entry.input(), members);
    found
        .iter()
        .map(|name| {
            format!(
                "{} has no effect: it is not a member of a poll; did you mean {}?",
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
