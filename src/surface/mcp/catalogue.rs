//! The table as MCP shows it.

use std::sync::Arc;

use ep_kernel::tool::{Agents, Effect, Entry, Task};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The member that carries an idempotency key, since MCP has no header for it.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency_key";

/// Which tools a client wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toolset {
    /// Those every agent should know.
    Core,
    /// All that agents may call.
    All,
}

/// The tools that agents may call, described once.
#[derive(Clone)]
pub(super) struct Catalogue(Arc<[(&'static Entry, Tool)]>);

impl Catalogue {
    pub(super) fn new(tools: &'static [Entry]) -> Self {
        let visible = tools.iter().filter(|entry| entry.spec.agents != Agents::None);
        Self(visible.map(|entry| (entry, describe(entry))).collect())
    }

    /// The tools of a set, in the table's order.
    pub(super) fn list(&self, toolset: Toolset) -> Vec<Tool> {
        let wanted = |entry: &Entry| toolset == Toolset::All || entry.spec.agents == Agents::Core;
        self.0.iter().filter(|(entry, _)| wanted(entry)).map(|(_, tool)| tool.clone()).collect()
    }

    /// The tool of this name.
    pub(super) fn find(&self, name: &str) -> Option<&(&'static Entry, Tool)> {
        self.0.iter().find(|(entry, _)| entry.spec.name == name)
    }

    /// How the tools go together, for the model that calls them.
    pub(super) fn instructions(&self) -> String {
        let named =
            |task: Task| self.entries().find(|entry| entry.spec.task == task).map(|entry| entry.spec.name);
        let (Some(start), Some(read)) = (named(Task::Start), named(Task::Read)) else { return String::new() };
        format!(
            "{start} asks many AI models one multiple-choice question and costs a little of your balance; while \
             it still runs, call {read} with its poll_id after poll_after_ms. Give an {IDEMPOTENCY_KEY}, so that a \
             repeated call never pays twice."
        )
    }

    /// Every tool that agents may call.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static Entry> + '_ {
        self.0.iter().map(|(entry, _)| *entry)
    }
}

/// Output schemas are left out: they would fill most of every conversation's tool list, and results are
/// complete without them.
fn describe(entry: &Entry) -> Tool {
    let spec = &entry.spec;
    let hints = ToolAnnotations::with_title(spec.title)
        .read_only(spec.effect.read_only())
        .destructive(spec.effect.destructive())
        .idempotent(spec.effect.idempotent())
        .open_world(spec.effect.open_world());
    Tool::new_with_raw(spec.name, Some(spec.summary.into()), Arc::new(input(entry)))
        .with_title(spec.title)
        .with_annotations(hints)
}

fn input(entry: &Entry) -> JsonObject {
    let mut schema = match serde_json::to_value(entry.input()) {
        Ok(Value::Object(schema)) => schema,
        _ => JsonObject::new(),
    };
    schema.remove("description");
    schema.insert("type".into(), "object".into());
    let members = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(members) = members {
        members.retain(|_, member| member.get("deprecated") != Some(&Value::Bool(true)));
        if entry.spec.effect != Effect::Read {
            let key = json!({ "type": "string", "maxLength": 255, "description": "Unique ASCII text; calls repeated with it are carried out once." });
            members.insert(IDEMPOTENCY_KEY.into(), key);
        }
    }
    schema
}
