//! The A2A agent card (specification 1.0, section 4.4; and 0.3, section 5.5).
//!
//! The hybrid form has the fields of both versions, because clients of 0.3 need `url` and fetch the card without
//! naming a version. The pure form is for clients that name 1.x.

use axum::body::Bytes;
use axum::http::HeaderMap;
use ep_kernel::canonical;
use ep_kernel::{Agents, Entry};
use ep_site::config::Operator;
use ep_site::names::{AGENT_CARD, JWKS};
use ep_site::rail::AgentExtension;
use ep_site::{Document, Form, Site, owner};
use ep_store::KeyScope;
use serde_json::{Map, Value, json};

use super::json::json_text;

/// The key scope that an agent needs.
const AGENT_SCOPE: KeyScope = KeyScope::Polls;

pub(super) const DOCUMENT: Document = Document::new(
    AGENT_CARD,
    "Describes this agent to other agents (A2A).",
    |_| vec!["/.well-known/agent-card.json".into(), "/.well-known/agent.json".into()],
    &[
        Form::new("application/json", hybrid).committed("agent-cards/agent-card.json"),
        Form::new("application/json", pure)
            .committed("agent-cards/agent-card.v1.json")
            .condition("a2a-version", wants_version_1),
    ],
);

pub(super) const KEYS: Document = Document::new(
    JWKS,
    "Lists the keys that sign the agent card (RFC 7517).",
    |_| vec!["/.well-known/jwks.json".into()],
    &[Form::new("application/jwk-set+json", keys)],
)
.absent("this service signs nothing");

/// The card with the fields of 1.0 only.
fn pure(site: &Site) -> Option<Bytes> {
    served(site, false)
}

/// The card with the fields of 1.0 and 0.3.
fn hybrid(site: &Site) -> Option<Bytes> {
    served(site, true)
}

fn served(site: &Site, hybrid: bool) -> Option<Bytes> {
    let core = |entry: &Entry| entry.spec.agents == Agents::Core;
    json_text(&Value::Object(signed(site, card(site, &core), hybrid)))
}

/// The public keys that verify the card's signatures.
fn keys(site: &Site) -> Option<Bytes> {
    json_text(&site.settings.signing.as_ref()?.key_set())
}

/// Returns the card for authenticated callers, with every skill they may use. `hybrid` adds the fields of 0.3.
pub fn extended(site: &Site, may_use: &dyn Fn(&Entry) -> bool, hybrid: bool) -> Value {
    let skills = |entry: &Entry| entry.spec.agents != Agents::None && may_use(entry);
    Value::Object(signed(site, card(site, &skills), hybrid))
}

/// True if a request names a 1.x version.
fn wants_version_1(headers: &HeaderMap) -> bool {
    // The compatibility kit for 1.0 requests its card without a version.
    if cfg!(feature = "conformance-fixtures") && std::env::var_os("EP_FIXTURES_PURE_CARD").is_some() {
        return true;
    }
    let version = headers.get("a2a-version").and_then(|value| value.to_str().ok());
    version.is_some_and(|version| version.trim().starts_with('1'))
}

/// Returns a 1.0 card with its signatures (specification 1.0, section 8.4). `hybrid` adds the fields of 0.3.
fn signed(site: &Site, pure: Map<String, Value>, hybrid: bool) -> Map<String, Value> {
    let mut served = pure.clone();
    if hybrid {
        add_older_fields(site, &mut served);
    }
    let Some(signing) = &site.settings.signing else { return served };
    let pure = Value::Object(pure);
    // One payload for each canonical form that verifiers use. The official verifiers drop unknown and empty
    // fields; others drop nothing.
    let forms = [without_empty(&pure).unwrap_or_default(), pure, Value::Object(served.clone())];
    let mut payloads: Vec<String> = forms.iter().map(canonical::text).collect();
    payloads.dedup();
    let keys_url = site.links.url(JWKS, &[]);
    let signatures: Vec<Value> = payloads.iter().map(|payload| signing.sign(payload, &keys_url)).collect();
    served.insert("signatures".into(), signatures.into());
    served
}

/// Returns a value without empty strings, arrays and objects; `None` if nothing is left.
fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(without_empty).collect();
            (!items.is_empty()).then(|| items.into())
        }
        Value::Object(members) => {
            let members =
                members.iter().filter_map(|(name, value)| Some((name.clone(), without_empty(value)?)));
            let members: Map<String, Value> = members.collect();
            (!members.is_empty()).then(|| members.into())
        }
        Value::Null => None,
        other => Some(other.clone()),
    }
}

fn add_older_fields(site: &Site, card: &mut Map<String, Value>) {
    card.insert("url".into(), endpoint(site).into());
    card.insert("preferredTransport".into(), "JSONRPC".into());
    card.insert("protocolVersion".into(), "0.3.0".into());
    card.insert("supportsAuthenticatedExtendedCard".into(), true.into());
    let mut security = vec![json!({ "bearer": [] })];
    if site.settings.openid_url().is_some() {
        security.push(json!({ "openid": AGENT_SCOPE.token_scopes() }));
    }
    card.insert("security".into(), security.into());
    let Some(Value::Object(schemes)) = card.get_mut("securitySchemes") else { return };
    for (newer, older) in
        [("httpAuthSecurityScheme", "http"), ("openIdConnectSecurityScheme", "openIdConnect")]
    {
        for scheme in schemes.values_mut() {
            let Some(members) = scheme.get(newer).and_then(Value::as_object).cloned() else { continue };
            scheme["type"] = older.into();
            for (name, value) in members {
                scheme[name] = value;
            }
        }
    }
}

/// The version of the agent cards, which the interface prescribes.
pub(super) const CARD_VERSION: &str = "1.0.0";

fn card(site: &Site, shown: &dyn Fn(&Entry) -> bool) -> Map<String, Value> {
    let owner = owner();
    let interface = |binding: &str, version: &str| json!({ "url": endpoint(site), "protocolBinding": binding, "protocolVersion": version });
    let skills: Vec<Value> =
        site.offered().filter(|entry| shown(entry)).map(|entry| skill(entry, &owner["tags"])).collect();
    let mut capabilities = json!({ "streaming": true, "pushNotifications": true, "extendedAgentCard": true });
    let extensions = site.settings.offer.rails().filter_map(|rail| rail.agent_extension.as_ref());
    let extensions: Vec<Value> = extensions
        .map(|AgentExtension { uri, description }| {
            json!({ "uri": uri, "description": description, "required": false })
        })
        .collect();
    if !extensions.is_empty() {
        capabilities["extensions"] = extensions.into();
    }
    let key = json!({ "scheme": "bearer", "bearerFormat": "ep_k_…", "description": key_description(site) });
    let mut schemes = json!({ "bearer": { "httpAuthSecurityScheme": key } });
    // An empty list of scopes is omitted, as in the canonical form of signed cards.
    let mut requirements = vec![json!({ "schemes": { "bearer": {} } })];
    if let Some(url) = site.settings.openid_url() {
        let description = "An access token of this issuer whose audience is this service.";
        let token = json!({ "openIdConnectUrl": url, "description": description });
        schemes["openid"] = json!({ "openIdConnectSecurityScheme": token });
        requirements.push(json!({ "schemes": { "openid": { "list": AGENT_SCOPE.token_scopes() } } }));
    }
    let card = json!({
        "name": owner["name"],
        "description": site.description(),
        "provider": provider(site),
        "version": CARD_VERSION,
        "supportedInterfaces": [interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0"), interface("JSONRPC", "0.3")],
        "capabilities": capabilities,
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
