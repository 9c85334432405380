//! The parts of an operation's description.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::headers;
use super::headers::CACHING;
use super::paths::Endpoint;

/// An endpoint and its operation.
pub(super) struct Described<'a> {
    pub(super) endpoint: Endpoint<'a>,
    pub(super) operation: Value,
    /// The schema of its response, for links.
    pub(super) answer: Value,
}

/// One route of an endpoint.
pub(super) struct Part {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Value>,
    /// The request body.
    pub(super) body: Option<Body>,
    pub(super) successes: Vec<Success>,
    /// Error responses that differ from the shared ones, by status.
    pub(super) own_errors: BTreeMap<u16, Value>,
}

/// A request body: its schema and example, by media type, and whether it is optional.
pub(super) struct Body {
    pub(super) media_type: &'static str,
    pub(super) schema: Value,
    pub(super) example: Option<Value>,
    pub(super) required: bool,
}

/// A response: status, description, headers beyond those of every response, and schemas by media type.
pub(super) struct Success {
    pub(super) status: u16,
    pub(super) description: String,
    pub(super) headers: Vec<&'static str>,
    pub(super) content: Vec<(String, Value)>,
}

impl Success {
    /// Returns the response as an OpenAPI object.
    pub(super) fn into_value(self) -> Value {
        let mut response =
            json!({ "description": self.description, "headers": headers::with(&self.headers) });
        if !self.content.is_empty() {
            let content = self.content.into_iter().map(|(kind, schema)| (kind, json!({ "schema": schema })));
            response["content"] = content.collect();
        }
        response
    }
}

/// Returns the 200 response with these schemas by media type.
pub(super) fn ok(content: Vec<(&str, Value)>, headers: &[&'static str]) -> Success {
    Success {
        status: 200,
        description: "The answer.".to_owned(),
        headers: headers.to_vec(),
        content: content.into_iter().map(|(kind, schema)| (kind.to_owned(), schema)).collect(),
    }
}

/// Returns the 304 response for callers with a current copy.
pub(super) fn not_modified() -> Success {
    let description = "The caller's copy is current.".to_owned();
    Success { status: 304, description, headers: CACHING.to_vec(), content: Vec::new() }
}
