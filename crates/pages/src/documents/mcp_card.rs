//! Documents about the MCP server: its card (SEP-2127), a catalogue and its entry for the MCP registry.

use axum::body::Bytes;
use ep_site::names::LOGO;
use ep_site::names::SERVER;
use ep_site::protocol::Introduction;
use ep_site::{Document, Form, Site, owner};
use serde_json::{Value, json};
use url::{Host, Url};

use super::json::json_text;

/// The name of the card's document.
pub(super) const CARD_NAME: &str = "mcp_server_card";
/// The card's media type.
pub(super) const CARD_TYPE: &str = "application/mcp-server-card+json";

pub(super) const CARD: Document = Document::new(
    CARD_NAME,
    "Connection data for MCP clients (SEP-2127).",
    |_| vec!["/api/mcp/server-card".into(), "/.well-known/mcp/server-card.json".into()],
    &[Form::new(CARD_TYPE, card)],
)
.open();

pub(super) const CATALOG: Document = Document::new(
    "mcp_catalog",
    "Lists the MCP server of this service.",
    |_| vec!["/.well-known/mcp/catalog.json".into()],
    &[Form::new("application/json", catalog)],
)
.open();

pub(super) const REGISTRY: Document = Document::new(
    "mcp_registry_server",
    "Describes the MCP server to registries (server.json, schema 2025-12-11).",
    |_| vec!["/server.json".into()],
    &[Form::new("application/json", registry)],
)
.open();

fn card(site: &Site) -> Option<Bytes> {
    let Introduction { versions, capabilities } = (site.protocol("mcp")?.introduction)();
    let mut card =
        described(site, "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json");
    let mut remote = remote(site)?;
    remote["supportedProtocolVersions"] = json!(versions);
    card["remotes"] = json!([remote]);
    // Fields of SEP-1649, the predecessor, for its readers.
    card["serverInfo"] = json!({ "name": SERVER, "version": env!("CARGO_PKG_VERSION") });
    card["transport"] = json!({ "type": "streamable-http", "endpoint": site.url_of("mcp")? });
    card["capabilities"] = capabilities;
    json_text(&card)
}

fn catalog(site: &Site) -> Option<Bytes> {
    let entry = json!({
        "identifier": air_name(site, "mcp"),
        "displayName": owner()["name"],
        "type": CARD_TYPE,
        "url": site.url_of(CARD_NAME)?,
    });
    json_text(&json!({ "specVersion": "1.0", "entries": [entry] }))
}

fn registry(site: &Site) -> Option<Bytes> {
    let schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
    let mut server = described(site, schema);
    server["remotes"] = json!([remote(site)?]);
    json_text(&server)
}

/// Returns the fields that the card and the registry entry share.
fn described(site: &Site, schema: &str) -> Value {
    let owner = owner();
    let mut described = json!({
        "$schema": schema,
        "name": format!("{}/{}", reversed(&host(site)), SERVER),
        "title": owner["name"],
        "description": site.tagline(),
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": format!("{}/", site.settings.base_url),
    });
    if let Some(url) = site.url_of(LOGO) {
        described["icons"] = json!([{ "src": url, "mimeType": "image/svg+xml", "sizes": ["any"] }]);
    }
    described
}

/// Returns the endpoint and its authentication.
fn remote(site: &Site) -> Option<Value> {
    // With an identity provider, clients can request access tokens.
    let is_required = site.settings.offer.issuer.is_none();
    let key = json!({
        "description": "An API key of this service",
        "isRequired": true,
        "isSecret": true,
        "placeholder": "ep_k_…",
    });
    Some(json!({
        "type": "streamable-http",
        "url": site.url_of("mcp")?,
        "headers": [{
            "name": "Authorization",
            "description": "The API key as a bearer token",
            "isRequired": is_required,
            "isSecret": true,
            "value": "Bearer {api_key}",
            "variables": { "api_key": key },
        }],
    }))
}

/// Returns the name of a part of the service in catalogues of AI artefacts.
pub(super) fn air_name(site: &Site, namespace: &str) -> String {
    format!("urn:air:{}:{namespace}:{}", host(site), SERVER)
}

/// Returns the host of the base URL, limited to letters, digits, dots and hyphens.
fn host(site: &Site) -> String {
    let url = Url::parse(&site.settings.base_url).ok();
    let host = url.as_ref().and_then(Url::host);
    match host {
        Some(Host::Ipv6(address)) => address.to_string().replace(':', "-"),
        Some(host) => host.to_string(),
        None => "localhost".to_owned(),
    }
}

/// Reverses the labels of a host name, as names of MCP servers require. IP addresses are unchanged.
fn reversed(host: &str) -> String {
    if host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host.to_owned();
    }
    host.rsplit('.').collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::reversed;

    #[test]
    fn server_names_begin_with_the_reversed_host() {
        assert_eq!(reversed("polls.example.com"), "com.example.polls");
        assert_eq!(reversed("localhost"), "localhost");
        assert_eq!(reversed("127.0.0.1"), "127.0.0.1");
    }
}
