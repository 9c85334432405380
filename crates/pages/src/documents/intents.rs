//! The intents of each operation: the phrases that find it, and its parameters.

use axum::body::Bytes;
use ep_kernel::{Agents, Entry};
use ep_site::{Document, Form, Site};
use ep_tools::intents::{LANGUAGES, NAMED_ROUTES, NamedRoute};
use serde_json::{Value, json};

use super::json::json_text;

pub(super) const DOCUMENT: Document = Document::new(
    "intents",
    "Lists the trigger phrases and parameter schemas of every operation.",
    |_| vec!["/api/intents".into()],
    &[Form::new("application/json", render)],
);

fn render(site: &Site) -> Option<Bytes> {
    let signatures = site.offered().filter(|entry| !entry.spec.intents.is_empty());
    let beside = NAMED_ROUTES.iter().filter_map(|beside| signature_of_route(site, beside));
    let intents: Vec<Value> = signatures.map(|entry| signature(site, entry)).chain(beside).collect();
    json_text(&json!({
        "json_schema_dialect": super::schemas::DIALECT,
        "languages": LANGUAGES,
        "count": intents.len(),
        "intents": intents,
    }))
}

/// Returns the signature of a route that is not an operation; `None` if this configuration does not have it.
fn signature_of_route(site: &Site, beside: &NamedRoute) -> Option<Value> {
    let route = site.routes.iter().find(|route| route.name == beside.name)?;
    if site.settings.offer.lacks_route(route).is_some() {
        return None;
    }
    Some(json!({
        "operation": beside.name,
        "title": beside.title,
        "description": route.summary,
        "trigger_phrases": beside.intents,
        "parameters": { "type": "object" },
        "method": route.method.as_str(),
        "href": site.url_of(beside.name)?,
        "agent_tool": false,
    }))
}

fn signature(site: &Site, entry: &Entry) -> Value {
    let spec = &entry.spec;
    let mut signature = json!({
        "operation": spec.name,
        "title": spec.title,
        "description": spec.summary,
        "trigger_phrases": spec.intents,
        "parameters": super::schemas::input(entry),
        "example": serde_json::from_str::<Value>(spec.example).unwrap_or_default(),
    });
    if entry.bindings().next().is_some() {
        let (method, href) = site.links.request(spec.name);
        signature["method"] = method.as_str().into();
        signature["href"] = href.into();
    }
    signature["agent_tool"] = (spec.agents != Agents::None).into();
    signature
}
