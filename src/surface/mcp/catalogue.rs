//! The table as MCP shows it.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::tool::{Agents, Effect, Entry, Task};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::output::compact;

/// The member that carries an idempotency key, since MCP has no header for it.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// The member that asks for [`DETAIL`].
pub(super) const INCLUDE_DETAIL: &str = "include_votes";
/// The member of a result that is left out unless asked for: most of a result's size.
pub(super) const DETAIL: &str = "votes";

/// Which tools a client wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toolset {
    /// Those every agent should know.
    Core,
    /// All that agents may call.
    All,
}

/// What descriptions say about the running service.
#[derive(Debug)]
pub(super) struct ServiceFacts {
    /// The names of the presets.
    pub(super) presets: Vec<String>,
    /// How long a client waits for a poll unless it says otherwise.
    pub(super) wait: Duration,
}

/// The tools that agents may call, described once.
pub(super) struct Catalogue(Vec<(&'static Entry, Tool)>);

impl Catalogue {
    pub(super) fn new(tools: &'static [Entry], facts: &ServiceFacts) -> Self {
        let visible = tools.iter().filter(|entry| entry.spec.agents != Agents::None);
        let start = tools.iter().find(|entry| entry.spec.task == Task::Start);
        Self(visible.map(|entry| (entry, describe(entry, start, facts))).collect())
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

/// `start` is the operation whose input other operations repeat in their output.
fn describe(entry: &Entry, start: Option<&Entry>, facts: &ServiceFacts) -> Tool {
    let spec = &entry.spec;
    let hints = ToolAnnotations::new()
        .read_only(spec.effect.read_only())
        .destructive(spec.effect.destructive())
        .idempotent(spec.effect.idempotent())
        .open_world(spec.effect.open_world());
    let asked: Vec<&Value> =
        std::iter::once(entry).chain(start).map(|entry| entry.input().as_value()).collect();
    let output = compact(entry.output().as_value(), &asked);
    let description = match spec.task {
        Task::Start => format!(
            "{} Waits up to {} s, or wait_ms, then answers status running.",
            spec.summary,
            facts.wait.as_secs_f64()
        ),
        _ => spec.summary.to_owned(),
    };
    Tool::new_with_raw(spec.name, Some(description.into()), Arc::new(input(entry, facts, &output)))
        .with_title(spec.title)
        .with_annotations(hints)
        .with_raw_output_schema(Arc::new(output))
}

fn input(entry: &Entry, facts: &ServiceFacts, output: &JsonObject) -> JsonObject {
    let mut schema = match serde_json::to_value(entry.input()) {
        Ok(Value::Object(schema)) => schema,
        _ => JsonObject::new(),
    };
    schema.remove("description");
    schema.insert("type".into(), "object".into());
    let members = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(members) = members {
        members.retain(|_, member| {
            let only_one = member.get("enum").and_then(Value::as_array).is_some_and(|words| words.len() == 1);
            !only_one && member.get("deprecated") != Some(&Value::Bool(true))
        });
        for member in members.values_mut().filter_map(Value::as_object_mut) {
            // What false is by default goes without saying.
            if member.get("default") == Some(&Value::Bool(false)) {
                member.remove("default");
            }
        }
        if let Some(Value::Object(preset)) = members.get_mut("preset") {
            preset.insert("enum".into(), json!(facts.presets));
        }
        if output.get("properties").is_some_and(|members| members.get(DETAIL).is_some()) {
            let detail = json!({ "type": "boolean", "description": "Return each model's vote too." });
            members.insert(INCLUDE_DETAIL.into(), detail);
        }
        if entry.spec.effect != Effect::Read {
            let key = json!({ "type": "string", "maxLength": 255, "description": "Unique ASCII text; calls repeated with it are carried out once." });
            members.insert(IDEMPOTENCY_KEY.into(), key);
        }
    }
    schema
}
