//! The A2A agent card (specification 1.0, section 4.4; and 0.3, section 5.5).
//!
//! The hybrid form carries the members of both versions, since clients of 0.3 need `url` and fetch the
//! card without naming a version. The pure form is for those that name 1.x.

use ep_kernel::tool::{Agents, Entry};
use serde_json::{Map, Value, json};

use super::Site;

/// What people own about the agent: name, provider, tags.
const OWNER: &str = include_str!("../../agent-cards/owner.json");

/// The members of 1.0 alone.
pub(super) fn pure(site: &Site) -> String {
    text(&Value::Object(card(site)))
}

/// The members of 1.0 and of 0.3.
pub(super) fn hybrid(site: &Site) -> String {
    let mut card = card(site);
    card.insert("url".into(), endpoint(site).into());
    card.insert("preferredTransport".into(), "JSONRPC".into());
    card.insert("protocolVersion".into(), "0.3.0".into());
    card.insert("security".into(), json!([{ "bearer": [] }]));
    if let Some(bearer) = card.get_mut("securitySchemes").and_then(|schemes| schemes.get_mut("bearer")) {
        bearer["type"] = "http".into();
        bearer["scheme"] = "bearer".into();
    }
    text(&Value::Object(card))
}

fn card(site: &Site) -> Map<String, Value> {
    let owner: Value = serde_json::from_str(OWNER).unwrap_or_default();
    let interface = |version: &str| json!({ "url": endpoint(site), "protocolBinding": "JSONRPC", "protocolVersion": version });
    let skills: Vec<Value> = site
        .tools
        .iter()
        .filter(|entry| entry.spec.agents == Agents::Core)
        .map(|entry| skill(entry, &owner["tags"]))
        .collect();
    let card = json!({
        "name": owner["name"],
        "description": owner["description"],
        "provider": owner["provider"],
        "version": "1.0.0",
        "documentationUrl": format!("{}/api/errors/catalog", site.base_url),
        "supportedInterfaces": [interface("1.0"), interface("0.3")],
        "capabilities": { "streaming": false, "pushNotifications": false, "extendedAgentCard": false },
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "securitySchemes": {
            "bearer": {
                "httpAuthSecurityScheme": {
                    "scheme": "bearer",
                    "bearerFormat": "ep_k_…",
                    "description": "An API key of this service."
                }
            }
        },
        "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
        "skills": skills
    });
    match card {
        Value::Object(card) => card,
        _ => Map::new(),
    }
}

fn endpoint(site: &Site) -> String {
    format!("{}/api/a2a", site.base_url)
}

fn skill(entry: &Entry, tags: &Value) -> Value {
    let example: Value = serde_json::from_str(entry.spec.example).unwrap_or_default();
    json!({
        "id": entry.spec.name,
        "name": entry.spec.title,
        "description": entry.spec.summary,
        "tags": tags,
        "examples": [example.to_string()],
    })
}

fn text(card: &Value) -> String {
    let mut text = serde_json::to_string_pretty(card).unwrap_or_default();
    text.push('\n');
    text
}
