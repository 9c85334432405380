//! What can be asked of the service: the phrases by which each operation is found, and its parameters.

use axum::body::Bytes;
use ep_kernel::tool::{Agents, Entry};
use serde_json::{Map, Value, json};

use super::{Document, Form, Site, json_text};

pub(super) const DOCUMENT: Document = Document::new(
    "intents",
    "Lists what can be asked of this service: trigger phrases and parameter schemas of every operation.",
    |_| vec!["/api/intents".into()],
    &[Form::new("application/json", render)],
);

fn render(site: &Site) -> Option<Bytes> {
    let signatures = site.offered().filter(|entry| !entry.spec.intents.is_empty());
    let intents: Vec<Value> = signatures.map(|entry| signature(site, entry)).collect();
    json_text(&json!({
        "json_schema_dialect": super::schemas::DIALECT,
        "count": intents.len(),
        "intents": intents,
    }))
}

fn signature(site: &Site, entry: &Entry) -> Value {
    let spec = &entry.spec;
    let mut members = Map::new();
    members.insert("operation".into(), spec.name.into());
    members.insert("title".into(), spec.title.into());
    members.insert("description".into(), spec.summary.into());
    members.insert("trigger_phrases".into(), json!(spec.intents));
    members.insert("parameters".into(), super::schemas::input(entry));
    members.insert("example".into(), serde_json::from_str(spec.example).unwrap_or_default());
    if entry.bindings().next().is_some() {
        let (method, href) = site.links.request(spec.name);
        members.insert("method".into(), method.as_str().into());
        members.insert("href".into(), href.into());
    }
    members.insert("agent_tool".into(), (spec.agents != Agents::None).into());
    Value::Object(members)
}
