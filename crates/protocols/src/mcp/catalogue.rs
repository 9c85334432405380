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
    /// The tools without the arguments that only the full toolset lists.
    short: Vec<Tool>,
}

impl Catalogue {
    pub(super) fn new(tools: &'static [Entry], facts: &ServiceFacts) -> Self {
        let visible = tools.iter().filter(|entry| entry.spec.agents != Agents::None);
        let described: Vec<_> = visible.map(|entry| (entry, describe(entry, facts))).collect();
        let short = described.iter().map(|(entry, tool)| shorten(entry, tool)).collect();
        Self { table: tools, tools: described, short }
    }

    /// Returns the tools of a set in table order; tools that need an account only if there is one.
    pub(super) fn list(&self, toolset: Toolset, has_account: bool) -> Vec<Tool> {
        let listed = self.tools.iter().zip(&self.short);
        let listed =
            listed.filter(|((entry, _), _)| toolset.lists(entry) && (has_account || !entry.needs_account));
        listed.map(|((_, tool), short)| if toolset.is_all() { tool } else { short }.clone()).collect()
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
        let is_tool = entry.spec.agents != Agents::None && (self.has_account || !entry.needs_account);
        (is_tool && self.toolset.lists(entry)).then_some(ActionCall::Tool(entry.spec.name))
    }
}

/// Returns a tool without the arguments that only the full toolset lists.
fn shorten(entry: &Entry, tool: &Tool) -> Tool {
    let mut short = tool.clone();
    entry.remove_extended(Arc::make_mut(&mut short.input_schema));
    short
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
    let mut tool =
        Tool::new_with_raw(spec.name, Some(description.into()), Arc::new(input(entry, facts, &output)))
            .with_title(spec.title)
            .with_annotations(hints)
            .with_raw_output_schema(Arc::new(output));
    tool.meta = app::tool_meta(entry);
    tool
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
        if let Some(Value::Object(preset)) = members.get_mut("preset") {
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
