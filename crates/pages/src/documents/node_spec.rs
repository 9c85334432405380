//! Operations as workflow nodes for agents: inputs, outputs, and the tool in several formats.

use axum::body::Bytes;
use ep_kernel::{Agents, Cost, Entry, Latency};
use ep_site::{Document, Form, Site};
use serde_json::{Value, json};

use super::json::json_text;
use super::schemas;

/// The name of the OpenAPI description.
const OPENAPI: &str = "openapi";

pub(super) const DOCUMENT: Document = Document::new(
    "node_spec",
    "Specifies every operation as a node for agents: JSON Schemas, OpenAPI reference, and tool definitions.",
    |_| vec!["/api/graph/node-spec".into()],
    &[Form::new("application/json", render)],
);

fn render(site: &Site) -> Option<Bytes> {
    let openapi = site.document(OPENAPI).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let visible = site.offered().filter(|entry| entry.spec.agents != Agents::None);
    let nodes: Vec<Value> = visible.map(|entry| node(site, openapi.as_ref(), entry)).collect();
    json_text(&json!({
        "json_schema_dialect": schemas::DIALECT,
        "count": nodes.len(),
        "nodes": nodes,
    }))
}

fn node(site: &Site, openapi: Option<&Value>, entry: &Entry) -> Value {
    let spec = &entry.spec;
    let mut node = json!({
        "id": spec.name,
        "title": spec.title,
        "description": spec.summary,
        "input_schema": schemas::input(entry),
        "output_schema": schemas::output(entry),
        "effects": {
            "read_only": spec.effect.read_only(),
            "destructive": spec.effect.destructive(),
            "idempotent": spec.effect.idempotent(),
            "open_world": spec.effect.open_world(),
            "costs_money": spec.cost == Cost::Metered,
            "waits_for_models": spec.latency == Latency::Models,
        },
    });
    if entry.bindings().next().is_some() {
        let (method, href) = site.links.request(spec.name);
        node["request"] = json!({ "method": method.as_str(), "href": href });
    }
    if let Some(openapi) = openapi {
        node["openapi"] = openapi_reference(site, openapi, spec.name);
    }
    node["tool_specs"] = tool_specs(entry);
    node
}

/// Returns a URL reference to this operation in the OpenAPI description.
fn openapi_reference(site: &Site, openapi: &Value, name: &str) -> Value {
    let paths = openapi.get("paths").and_then(Value::as_object);
    let operations = paths.into_iter().flatten().flat_map(|(path, item)| {
        item.as_object().into_iter().flatten().map(move |(method, operation)| (path, method, operation))
    });
    let document = site.links.url(OPENAPI, &[]);
    let mut found = operations.filter(|(_, _, operation)| operation["operationId"] == name);
    let url = found.next().map_or(document.clone(), |(path, method, _)| {
        // A JSON Pointer (RFC 6901) in a URL fragment. Braces are percent-encoded.
        let path = path.replace('~', "~0").replace('/', "~1").replace('{', "%7B").replace('}', "%7D");
        format!("{document}#/paths/{path}/{method}")
    });
    json!({ "operation_id": name, "url": url })
}

/// The operation as a tool, in the formats of model providers and MCP.
fn tool_specs(entry: &Entry) -> Value {
    let spec = &entry.spec;
    let input = schemas::input(entry);
    json!({
        "openai": {
            "type": "function",
            "function": { "name": spec.name, "description": spec.summary, "parameters": input },
        },
        "anthropic": { "name": spec.name, "description": spec.summary, "input_schema": input },
        "mcp": {
            "name": spec.name,
            "title": spec.title,
            "description": spec.summary,
            "inputSchema": input,
            "annotations": {
                "readOnlyHint": spec.effect.read_only(),
                "destructiveHint": spec.effect.destructive(),
                "idempotentHint": spec.effect.idempotent(),
                "openWorldHint": spec.effect.open_world(),
            },
        },
    })
}
