//! A poll request before it is decoded.

use std::borrow::Cow;

use ep_kernel::fault::Fault;
use ep_kernel::schema::{self, UnknownMember};
use ep_kernel::tool::{Entry, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::PollRequest;
use super::free_form::FreeRequest;
use super::{PollFree, PollQuestion};

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

/// A free poll request with all its field names, including unknown ones.
#[derive(Debug, Deserialize)]
pub struct RawFreeRequest(Map<String, Value>);

impl RawFreeRequest {
    /// Decodes the request. The notices name the fields without effect.
    pub fn decode(self) -> Result<(FreeRequest, Vec<String>), Fault> {
        let notices = ignored_by_free_polls(&self.0);
        Ok((schema::decode(Value::Object(self.0))?, notices))
    }
}

/// Returns a notice for each field that looks misspelt, and for each field that only polls of an account have.
fn ignored_by_free_polls(members: &Map<String, Value>) -> Vec<String> {
    /// Fields with the values that every free poll has.
    const IMPLIED: [(&str, &str); 2] = [("preset", "free"), ("poll_type", "fptp")];
    let entry = |name: &str| crate::find(name).map(Entry::input);
    let (Some(free), Some(paid)) = (entry(PollFree::SPEC.name), entry(PollQuestion::SPEC.name)) else {
        return Vec::new();
    };
    let (free_names, paid_names) = (schema::names(free), schema::names(paid));
    let of_accounts = |name: &str| paid_names.contains(&name) && !free_names.contains(&name);
    let is_implied = |name: &str, value: &Value| {
        IMPLIED.iter().any(|implied| *implied == (name, value.as_str().unwrap_or_default()))
    };
    let without_effect = members.iter().filter(|(name, value)| of_accounts(name) && !is_implied(name, value));
    let without_effect = without_effect
        .map(|(name, _)| format!("{name} has no effect in a free poll; a poll with an API key takes it"));
    let others = members.iter().filter(|(name, _)| !of_accounts(name));
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    without_effect.chain(notices_of(schema::misspelt(free, &others))).collect()
}

/// Returns a notice for each unknown field that looks misspelt: it could be a spending limit without effect.
pub fn misspelt(members: &Map<String, Value>) -> Vec<String> {
    let Some(entry) = crate::find(PollQuestion::SPEC.name) else { return Vec::new() };
    notices_of(schema::misspelt(entry.input(), members)).collect()
}

fn notices_of(found: Vec<UnknownMember>) -> impl Iterator<Item = String> {
    found.into_iter().map(|name| {
        format!("{} has no effect: it is not a field of a poll; did you mean {}?", name.given, name.nearest)
    })
}

impl JsonSchema for RawFreeRequest {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        FreeRequest::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FreeRequest::json_schema(generator)
    }
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
