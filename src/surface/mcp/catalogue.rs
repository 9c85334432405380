//! The table as MCP shows it.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::tool::{Agents, Entry, Task};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use ep_kernel::schema::EMPTY_IS_ABSENT;

use super::app;
use super::output::compact;
use super::toolset::Toolset;

/// The member that carries an idempotency key, since MCP has no header for it.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// The member that asks for [`DETAIL`], in a list.
pub(super) const INCLUDE: &str = "include";
/// The member that asked for it before there was a list; still understood.
pub(super) const INCLUDE_DETAIL: &str = "include_votes";
/// The member of a result that is left out unless asked for: most of a result's size.
pub(super) const DETAIL: &str = "votes";

/// What descriptions say about the running service.
#[derive(Debug)]
pub(super) struct ServiceFacts {
    /// The names of the presets.
    pub(super) presets: Vec<String>,
    /// How long a client waits for a poll unless it says otherwise.
    pub(super) wait: Duration,
}

/// The tools that agents may call, described once.
pub(super) struct Catalogue {
    table: &'static [Entry],
    tools: Vec<(&'static Entry, Tool)>,
    /// The same without the arguments that are listed only with all tools.
    short: Vec<Tool>,
}

impl Catalogue {
    pub(super) fn new(tools: &'static [Entry], facts: &ServiceFacts) -> Self {
        let visible = tools.iter().filter(|entry| entry.spec.agents != Agents::None);
        let described: Vec<_> = visible.map(|entry| (entry, describe(entry, facts))).collect();
        let short = described.iter().map(|(entry, tool)| shorten(entry, tool)).collect();
        Self { table: tools, tools: described, short }
    }

    /// The tools of a set, in the table's order; with those that need an account if there is one.
    pub(super) fn list(&self, toolset: Toolset, has_account: bool) -> Vec<Tool> {
        let listed = self.tools.iter().zip(&self.short);
        let listed =
            listed.filter(|((entry, _), _)| toolset.lists(entry) && (has_account || !entry.needs_account));
        listed.map(|((_, tool), short)| if toolset.is_all() { tool } else { short }.clone()).collect()
    }

    /// The tool of this name.
    pub(super) fn find(&self, name: &str) -> Option<&(&'static Entry, Tool)> {
        self.tools.iter().find(|(entry, _)| entry.spec.name == name)
    }

    /// The operation that does this to a task, whether or not it is a tool.
    pub(super) fn for_task(&self, task: Task) -> Option<&'static Entry> {
        self.table.iter().find(|entry| entry.spec.task == task)
    }

    /// The tool that does this to a task.
    pub(super) fn entry_and_tool(&self, task: Task) -> Option<&(&'static Entry, Tool)> {
        self.tools.iter().find(|(entry, _)| entry.spec.task == task)
    }

    /// How the tools go together, for the model that calls them; `charged` where polls are paid from a balance.
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

    /// Every tool that agents may call.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static Entry> + '_ {
        self.tools.iter().map(|(entry, _)| *entry)
    }
}

/// A tool without the arguments that are listed only with all tools.
fn shorten(entry: &Entry, tool: &Tool) -> Tool {
    let mut short = tool.clone();
    if let Some(Value::Object(members)) = Arc::make_mut(&mut short.input_schema).get_mut("properties") {
        entry.extended().iter().for_each(|name| drop(members.shift_remove(name)));
    }
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
    // Of the description, the rule alone: the tool has its own.
    let described = schema.shift_remove("description");
    if described.is_some_and(|words| words.as_str().is_some_and(|words| words.ends_with(EMPTY_IS_ABSENT))) {
        schema.insert("description".into(), EMPTY_IS_ABSENT.into());
    }
    schema.insert("type".into(), "object".into());
    let members = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(members) = members {
        members.retain(|_, member| {
            let only_one = member.get("enum").and_then(Value::as_array).is_some_and(|words| words.len() == 1);
            !only_one && member.get("deprecated") != Some(&Value::Bool(true))
        });
        for member in members.values_mut().filter_map(Value::as_object_mut) {
            // What false is by default goes without saying, and who goes beyond a wide bound is told.
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
            let detail = json!({ "type": "array", "items": { "enum": [DETAIL] }, "description": "Adds each model's vote." });
            members.insert(INCLUDE.into(), detail);
        }
        if !entry.spec.effect.read_only() {
            let key = json!({ "type": "string", "description": "Unique text; a repeated call runs once." });
            members.insert(IDEMPOTENCY_KEY.into(), key);
        }
    }
    schema
}
