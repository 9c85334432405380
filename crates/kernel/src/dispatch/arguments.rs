//! The arguments of a call: empty ones, unknown ones, those written as text, and the check of all.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Entry;
use crate::ctx::Ctx;
use crate::fault::{Fault, Result};
use crate::schema;
use crate::tool::Tool;

/// Returns the names and the other accepted names of all arguments.
pub(super) fn known<T: Tool>() -> HashSet<String> {
    let (input, request) = (schema::input::<T::Input>(), super::request::<T>());
    schema::names(&input).into_iter().chain(schema::aliases(&request)).map(str::to_owned).collect()
}

impl Entry {
    /// Reads each argument that is the JSON of a wanted value, but written as text: `"[\"a\",\"b\"]"`, `"0.1"`, `"true"`.
    /// Some agents send all arguments so (anthropics/claude-code#22394, QwenLM/qwen-code#379). `null` and `[]` stay texts,
    /// because they would omit the argument.
    pub fn read_texts(&self, input: &mut Map<String, Value>) {
        for (name, value) in input.iter_mut().filter(|(_, value)| value.is_string()) {
            if let Some(types) = self.field(name).and_then(schema::types_beside_text) {
                schema::read_text(value, &types);
            }
        }
    }

    /// Returns the schema of the argument with this name or other accepted name.
    fn field(&self, name: &str) -> Option<&Value> {
        let is_named =
            |own: &&str| *own == name || schema::aliases_of(self.request(), own).any(|alias| alias == name);
        let own = schema::names(self.input()).into_iter().find(is_named)?;
        self.input().get("properties")?.get(own)
    }

    /// Removes optional and unknown arguments with `null`, `""` or `[]`: see [`schema::drop_empty`]. Refuses `""` and
    /// `[]` in limits, which would be none; the fault also lists all other problems of the input.
    pub fn remove_empty(&self, input: &mut Value) -> Result<()> {
        let Value::Object(fields) = input else { return Ok(()) };
        self.drop_empty(fields);
        let is_empty = |name: &&String| fields.get(*name).is_some_and(schema::is_empty);
        let empty: Vec<&String> = self.limits().iter().filter(is_empty).collect();
        if empty.is_empty() {
            return Ok(());
        }
        let mut others = fields.clone();
        others.retain(|name, _| !empty.contains(&name));
        let faults = empty.into_iter().map(|name| Fault::invalid(name, "is empty: send null or omit it"));
        let rest = (self.check)(others.into()).err();
        faults.chain(rest).reduce(Fault::and).map_or(Ok(()), Err)
    }

    /// Adds the mistakes of an input that only the service's data reveal to a fault: see
    /// [`Tool::other_mistakes`].
    pub(crate) async fn with_other_mistakes(&self, cx: Ctx, input: Value, fault: Fault) -> Fault {
        (self.other_mistakes)(cx, input).await.into_iter().fold(fault, Fault::and)
    }

    fn drop_empty(&self, fields: &mut Map<String, Value>) {
        schema::drop_empty(self.input(), self.limits(), fields);
        // The misspelt name of a limit must not lose it.
        let refuses = self.spec.refuses_unknown() && !self.limits().is_empty();
        let is_dropped = |value: &Value| if refuses { value.is_null() } else { schema::is_empty(value) };
        if fields.values().any(is_dropped) {
            fields.retain(|name, value| !is_dropped(value) || self.knows(name));
        }
    }

    /// Returns true if this is the name or another accepted name of an argument.
    fn knows(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// Rejects unknown arguments. Empty ones are ignored. `others` are names handled by the surface. The fault also lists
    /// all other problems of the input. MCP and A2A refuse unknown arguments of every operation, other surfaces
    /// those of [some](crate::Spec::refuses_unknown).
    pub fn refuse_unknown(&self, input: &Map<String, Value>, others: &[&str]) -> Result<()> {
        /// Maximum number of unknown arguments named.
        const MAX_NAMED: usize = 8;
        let schema = self.input();
        let mut offered = schema::names(schema);
        let is_known = |name: &str| self.knows(name);
        let mut input = input.clone();
        self.drop_empty(&mut input);
        // Some clients send a placeholder to an operation without arguments.
        if offered.is_empty() || input.keys().all(|name| is_known(name)) {
            return Ok(());
        }
        offered.extend(others);
        offered.retain(|name| !schema::is_deprecated(schema, name));
        let name = self.spec.name;
        let unknown = schema::unknown(&is_known, &offered, &input).into_iter().take(MAX_NAMED);
        let faults = unknown.map(|unknown| {
            let nearest = &unknown.nearest;
            let advice = if unknown.alike {
                format!("did you mean {nearest}?")
            } else {
                format!("the nearest is {nearest}")
            };
            Fault::invalid(unknown.given, format!("is not an argument of {name}; {advice}"))
        });
        input.retain(|name, _| is_known(name));
        let rest = self.check(&input).err();
        faults.chain(rest).reduce(Fault::and).map_or(Ok(()), Err)
    }

    /// Validates an input as far as possible without a caller.
    pub fn check(&self, input: &Map<String, Value>) -> Result<()> {
        let mut input = Value::Object(input.clone());
        self.remove_empty(&mut input)?;
        (self.check)(input)
    }
}
