//! The operation table as MCP tools.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::dispatch::for_task;
use ep_kernel::schema::rule_in;
use ep_kernel::{ActionCall, Agents, Calls, Entry, Links, Task};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::app;
use super::output::compact;
use super::toolset::Toolset;

/// Argument with an idempotency key, because MCP has no header for it.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// List argument that can request [`DETAIL`].
pub(super) const INCLUDE: &str = "include";
/// Earlier boolean argument for [`DETAIL`]; still accepted.
pub(super) const INCLUDE_DETAIL: &str = "include_votes";
/// Result field that is omitted by default, because it is most of a result's size.
pub(super) const DETAIL: &str = "votes";

/// Facts about the running service for tool descriptions.
#[derive(Debug)]
pub(super) struct ServiceFacts {
    /// Names of the presets.
    pub(super) presets: Vec<String>,
    /// Default time that a client waits for a poll.
    pub(super) wait: Duration,
}

/// The tools for agents, described once.
pub(super) struct Catalogue {
    table: &'static [Entry],
    tools: Vec<(&'static Entry, Tool)>,
    /// The tools without the arguments that are listed only with a set of tools. Small models fill in every argument that they
    /// see: with all of them, one of 1.5 billion parameters made no valid call of seven, and eight of ten without.
    first: Vec<Tool>,
}

impl Catalogue {
    pub(super) fn new(tools: &'static [Entry], facts: &ServiceFacts) -> Self {
        let visible = tools.iter().filter(|entry| entry.spec.agents != Agents::None);
        let described: Vec<_> = visible.map(|entry| (entry, describe(entry, facts))).collect();
        let first = described.iter().map(|(entry, tool)| without_extended(entry, tool)).collect();
        Self { table: tools, tools: described, first }
    }

    /// Returns the tools of a set in table order; tools that need an account only if there is one.
    pub(super) fn list(&self, toolset: Toolset, has_account: bool) -> Vec<Tool> {
        let listed = self.tools.iter().zip(&self.first);
        let listed = listed.filter(|((entry, _), _)| toolset.lists(entry, has_account));
        listed.map(|((_, tool), first)| if toolset.has_sets() { tool } else { first }.clone()).collect()
    }

    /// Returns the tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<&(&'static Entry, Tool)> {
        self.tools.iter().find(|(entry, _)| entry.spec.name == name)
    }

    /// Returns the operation that performs this task action, even if it is not a tool.
    pub(super) fn for_task(&self, task: Task) -> Option<&'static Entry> {
        for_task(self.table, task)
    }

    /// Returns the tool that performs this task action.
    pub(super) fn entry_and_tool(&self, task: Task) -> Option<&(&'static Entry, Tool)> {
        self.tools.iter().find(|(entry, _)| entry.spec.task == task)
    }

    /// Returns the instructions for the calling model; `charged` is true if polls are paid from a balance.
    pub(super) fn instructions(&self, charged: bool) -> String {
        let named =
            |task: Task| self.entries().find(|entry| entry.spec.task == task).map(|entry| entry.spec.name);
        let (Some(start), Some(read)) = (named(Task::Start), named(Task::Read)) else { return String::new() };
        let cost = if charged { " and costs a little of your balance" } else { "" };
        format!(
            "{start} asks many AI models one multiple-choice question{cost}; while \
             it still runs, call {read} with its poll_id after poll_after_ms. Give an {IDEMPOTENCY_KEY}, so that a \
             repeated call never pays twice."
        )
    }

    /// Returns all tools for agents.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static Entry> + '_ {
        self.tools.iter().map(|(entry, _)| *entry)
    }
}

/// The calls of a connection: its tools instead of operations, and requests of documents and pages.
pub(super) struct ToolCalls<'a> {
    pub(super) links: &'a Links,
    pub(super) catalogue: &'a Catalogue,
    pub(super) toolset: Toolset,
    /// True if the caller has an account.
    pub(super) has_account: bool,
}

impl Calls for ToolCalls<'_> {
    fn links(&self) -> &Links {
        self.links
    }

    fn call(&self, name: &str) -> Option<ActionCall> {
        let Some(entry) = self.catalogue.table.iter().find(|entry| entry.spec.name == name) else {
            return self.links.call(name);
        };
        let is_listed = self.toolset.lists(entry, self.has_account);
        is_listed.then_some(ActionCall::Tool(entry.spec.name))
    }
}

/// Returns a tool without the arguments that are listed only with a set of tools.
fn without_extended(entry: &Entry, tool: &Tool) -> Tool {
    let mut first = tool.clone();
    entry.remove_extended(Arc::make_mut(&mut first.input_schema));
    first
}

fn describe(entry: &Entry, facts: &ServiceFacts) -> Tool {
    let spec = &entry.spec;
    let hints = ToolAnnotations::new()
        .read_only(spec.effect.read_only())
        .destructive(spec.effect.destructive())
        .idempotent(spec.effect.idempotent())
        .open_world(spec.effect.open_world());
    let output = compact(entry.output().as_value(), &entry.brief);
    let description = match spec.task {
        Task::Start => format!(
            "{} Waits up to {} s, or wait_ms, then answers status running.",
            spec.summary,
            facts.wait.as_secs_f64()
        ),
        _ => spec.summary.to_owned(),
    };
    let mut input = input(entry, facts, &output);
    let is_core = spec.agents == Agents::Core;
    if !is_core {
        shorten(&mut input);
    }
    let tool = Tool::new_with_raw(spec.name, Some(description.into()), Arc::new(input));
    let mut tool = if is_core {
        tool.with_title(spec.title).with_annotations(hints).with_raw_output_schema(Arc::new(output))
    } else {
        tool.with_annotations(without_defaults(hints))
    };
    tool.meta = app::tool_meta(entry);
    tool
}

/// Removes hints that have their default of the specification, or that mean nothing for a tool that changes nothing. Without
/// `openWorldHint` a client takes the more careful value.
fn without_defaults(hints: ToolAnnotations) -> ToolAnnotations {
    let reads = hints.read_only_hint == Some(true);
    let unless = |hint: Option<bool>, default: bool| hint.filter(|hint| *hint != default);
    let mut short = ToolAnnotations::new();
    short.read_only_hint = unless(hints.read_only_hint, false);
    short.destructive_hint = unless(hints.destructive_hint, true).filter(|_| !reads);
    short.idempotent_hint = unless(hints.idempotent_hint, false).filter(|_| !reads);
    short
}

/// Arguments that the core tools describe, or whose name says all.
const KNOWN: [&str; 12] = [
    IDEMPOTENCY_KEY,
    "cursor",
    "limit",
    "offset",
    "preset",
    "panel",
    "models",
    "exclude",
    "profile",
    "confidence_threshold",
    "complete",
    "on_tie",
];

/// Removes bounds from the input of a tool that is listed on request, because the fault for a wrong value names them, and
/// descriptions that its model has elsewhere.
fn shorten(schema: &mut JsonObject) {
    schema.shift_remove("description");
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        let Some(member) = member.as_object_mut() else { continue };
        bare(member);
        if name.ends_with("_id") || KNOWN.contains(&name.as_str()) {
            member.shift_remove("description");
        }
        name_fields(member);
        for field in ["items", "properties"] {
            if let Some(nested) = member.get_mut(field) {
                undescribed(nested);
            }
        }
    }
}

/// Replaces the schema of the items of a list of objects by the names of their fields.
fn name_fields(list: &mut JsonObject) {
    let fields = list.get("items").and_then(|items| items.get("properties")).and_then(Value::as_object);
    let Some(fields) = fields else { return };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let described = list.get("description").and_then(Value::as_str).unwrap_or_default();
    let described = format!("{described} Fields: {}.", names.join(", "));
    list.insert("items".to_owned(), json!({ "type": "object" }));
    list.insert("description".to_owned(), described.trim_start().into());
}

/// Removes the bounds of a value.
fn bare(schema: &mut JsonObject) {
    const BOUNDS: [&str; 10] = [
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minimum",
        "maximum",
        "writeOnly",
    ];
    // A member with such a name has an object.
    let is_bound = |name: &str, value: &Value| BOUNDS.contains(&name) && !value.is_object();
    let is_nothing =
        |name: &str, value: &Value| name == "default" && value.as_array().is_some_and(Vec::is_empty);
    schema.retain(|name, value| !is_bound(name, value) && !is_nothing(name, value));
}

/// Removes the bounds and the descriptions of a schema, and of those in it.
fn undescribed(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            bare(members);
            if members.get("description").is_some_and(Value::is_string) {
                members.shift_remove("description");
            }
            members.values_mut().for_each(undescribed);
        }
        Value::Array(items) => items.iter_mut().for_each(undescribed),
        _ => {}
    }
}

fn input(entry: &Entry, facts: &ServiceFacts, output: &JsonObject) -> JsonObject {
    let mut schema = match serde_json::to_value(entry.input()) {
        Ok(Value::Object(schema)) => schema,
        _ => JsonObject::new(),
    };
    // Only the rule of the description is used: the tool has its own description.
    let described = schema.shift_remove("description");
    if let Some(rule) = described.as_ref().and_then(Value::as_str).and_then(rule_in) {
        schema.insert("description".into(), rule.into());
    }
    // A model sends what is usual: options, and not the scale that can replace them.
    if let Some(required) = schema.get_mut("required") {
        *required = json!(entry.usual());
    }
    schema.insert("type".into(), "object".into());
    let members = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(members) = members {
        members.retain(|_, member| {
            let only_one = member.get("enum").and_then(Value::as_array).is_some_and(|words| words.len() == 1);
            !only_one && member.get("deprecated") != Some(&Value::Bool(true))
        });
        for member in members.values_mut().filter_map(Value::as_object_mut) {
            // Omit false, the usual default, and wide bounds, because the fault for a larger value names them.
            if member.get("default") == Some(&Value::Bool(false)) {
                member.remove("default");
            }
            for bound in ["minimum", "exclusiveMinimum", "maximum", "maxItems"] {
                if member
                    .get(bound)
                    .and_then(Value::as_f64)
                    .is_some_and(|bound| bound == 0.0 || bound > 100.0)
                {
                    member.remove(bound);
                }
            }
        }
        if let Some(Value::Object(preset)) = members.get_mut("preset")
            && entry.spec.agents == Agents::Core
        {
            preset.insert("enum".into(), json!(facts.presets));
        }
        if output.get("properties").is_some_and(|members| members.get(DETAIL).is_some()) {
            let detail = json!({ "type": "array", "items": { "type": "string", "enum": [DETAIL] }, "description": "Adds votes." });
            members.insert(INCLUDE.into(), detail);
        }
        if !entry.spec.effect.read_only() {
            let key = json!({ "type": "string", "description": "Unique text; a repeated call runs once." });
            members.insert(IDEMPOTENCY_KEY.into(), key);
        }
    }
    schema
}
