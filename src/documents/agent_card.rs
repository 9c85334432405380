//! The A2A agent card (specification 1.0, section 4.4; and 0.3, section 5.5).
//!
//! The hybrid form carries the members of both versions, since clients of 0.3 need `url` and fetch the
//! card without naming a version. The pure form is for those that name 1.x.

use axum::body::Bytes;
use axum::http::HeaderMap;
use ep_kernel::key_terms::KeyScope;
use ep_kernel::tool::{Agents, Entry};
use serde_json::{Map, Value, json};

use super::Site;
use crate::config::Operator;

/// The members of 1.0 alone.
pub(super) fn pure(site: &Site) -> Option<Bytes> {
    text(&card(site))
}

/// Whether a request names a version of 1.x.
pub(super) fn wants_version_1(headers: &HeaderMap) -> bool {
    let version = headers.get("a2a-version").and_then(|value| value.to_str().ok());
    version.is_some_and(|version| version.trim().starts_with('1'))
}

/// The members of 1.0 and of 0.3.
pub(super) fn hybrid(site: &Site) -> Option<Bytes> {
    let mut card = card(site);
    card.insert("url".into(), endpoint(site).into());
    card.insert("preferredTransport".into(), "JSONRPC".into());
    card.insert("protocolVersion".into(), "0.3.0".into());
    let mut security = vec![json!({ "bearer": [] })];
    if let Some(schemes) = card.get_mut("securitySchemes") {
        schemes["bearer"]["type"] = "http".into();
        schemes["bearer"]["scheme"] = "bearer".into();
        if let Some(url) = super::openid_url(site) {
            schemes["openid"]["type"] = "openIdConnect".into();
            schemes["openid"]["openIdConnectUrl"] = url.into();
            security.push(json!({ "openid": scopes() }));
        }
    }
    card.insert("security".into(), security.into());
    text(&card)
}

fn card(site: &Site) -> Map<String, Value> {
    let owner = super::owner();
    let interface = |binding: &str, version: &str| json!({ "url": endpoint(site), "protocolBinding": binding, "protocolVersion": version });
    let skills: Vec<Value> = site
        .tools
        .iter()
        .filter(|entry| entry.spec.agents == Agents::Core)
        .map(|entry| skill(entry, &owner["tags"]))
        .collect();
    let key = json!({ "scheme": "bearer", "bearerFormat": "ep_k_…", "description": key_description(site) });
    let mut schemes = json!({ "bearer": { "httpAuthSecurityScheme": key } });
    let mut requirements = vec![json!({ "schemes": { "bearer": { "list": [] } } })];
    if let Some(url) = super::openid_url(site) {
        let description = "An access token of this issuer whose audience is this service.";
        let token = json!({ "openIdConnectUrl": url, "description": description });
        schemes["openid"] = json!({ "openIdConnectSecurityScheme": token });
        requirements.push(json!({ "schemes": { "openid": { "list": scopes() } } }));
    }
    let card = json!({
        "name": owner["name"],
        "description": owner["description"],
        "provider": provider(site),
        "version": "1.0.0",
        "supportedInterfaces": [interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0"), interface("JSONRPC", "0.3")],
        "capabilities": { "streaming": true, "pushNotifications": true, "extendedAgentCard": false },
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "securitySchemes": schemes,
        "securityRequirements": requirements,
        "skills": skills
    });
    let Value::Object(mut card) = card else { return Map::new() };
    let documentation = &site.settings.operator.documentation_url;
    if !documentation.is_empty() {
        card.insert("documentationUrl".into(), documentation.as_str().into());
    }
    card
}

fn provider(site: &Site) -> Value {
    let Operator { name, url, .. } = &site.settings.operator;
    let url = if url.is_empty() { &site.settings.base_url } else { url };
    json!({ "organization": name, "url": url })
}

fn key_description(site: &Site) -> String {
    match site.settings.operator.contact.as_str() {
        "" => "An API key of this service.".to_owned(),
        contact => format!("An API key of this service; ask {contact} for one."),
    }
}

/// The scopes that an agent needs.
fn scopes() -> Vec<&'static str> {
    KeyScope::Polls.token_scopes().split(' ').collect()
}

fn endpoint(site: &Site) -> String {
    site.links.url("a2a", &[])
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

fn text(card: &Map<String, Value>) -> Option<Bytes> {
    let mut text = serde_json::to_string_pretty(card).ok()?;
    text.push('\n');
    Some(text.into())
}
