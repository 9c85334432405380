//! The catalogue for agents (AI Catalog 1.0): the MCP server, the A2A agent and the skill.

use axum::body::Bytes;
use ep_kernel::Agents;
use ep_site::names::{AGENT_CARD, LOGO};
use ep_site::{Document, Form, Site, owner};
use serde_json::{Value, json};

use super::json::json_text;
use super::mcp_card::{CARD_NAME, CARD_TYPE, air_name};

pub(super) const DOCUMENT: Document = Document::new(
    "ai_catalog",
    "Lists the MCP server, the A2A agent and the skill.",
    |_| vec!["/.well-known/ai-catalog.json".into()],
    &[Form::new("application/ai-catalog+json", catalog)],
)
.open();

/// The entries: identifier namespace, media type, document and the suffix of the display name.
const PARTS: [(&str, &str, &str, &str); 3] = [
    ("mcp", CARD_TYPE, CARD_NAME, "over MCP"),
    ("a2a", "application/a2a-agent-card+json", AGENT_CARD, "over A2A"),
    ("skill", "text/markdown; profile=\"urn:air:agent-skills\"", "skill", "as a skill"),
];

fn catalog(site: &Site) -> Option<Bytes> {
    let owner = owner();
    let queries = queries(site);
    let entries = PARTS.into_iter().filter_map(|(namespace, media_type, document, how)| {
        let mut entry = json!({
            "identifier": air_name(site, namespace),
            "displayName": format!("{} {how}", owner["name"].as_str().unwrap_or_default()),
            "type": media_type,
            "url": site.url_of(document).filter(|url| !url.contains('{'))?,
            "description": site.description(),
            "tags": owner["tags"],
        });
        if queries.len() >= 2 {
            entry["representativeQueries"] = json!(queries);
        }
        Some(entry)
    });
    let entries: Vec<Value> = entries.collect();
    let mut host = json!({ "displayName": site.settings.operator.name });
    if let Some(url) = site.url_of(LOGO) {
        host["logoUrl"] = url.into();
    }
    let documentation = &site.settings.operator.documentation_url;
    if !documentation.is_empty() {
        host["documentationUrl"] = documentation.as_str().into();
    }
    json_text(&json!({ "specVersion": "1.0", "host": host, "entries": entries }))
}

/// Two to five example phrases for the core operations.
fn queries(site: &Site) -> Vec<&'static str> {
    let core = site.tools.iter().filter(|entry| entry.spec.agents == Agents::Core);
    core.flat_map(|entry| entry.spec.intents).copied().take(5).collect()
}
