//! The APIs of the service (RFC 9727), as a linkset (RFC 9264).

use axum::body::Bytes;
use axum::http::header::LINK;
use ep_kernel::Tool;
use ep_site::names::{AGENT_CARD, API_CATALOG, ASYNCAPI, DOCS, OPENAPI};
use ep_site::{Document, Form, Site};
use ep_tools::service::GetHealth;
use serde_json::{Map, Value, json};

use super::json::json_text;
use super::{mcp_card, unified_card};

pub(super) const DOCUMENT: Document = Document::new(
    API_CATALOG,
    "Lists the APIs of this service and their descriptions (RFC 9727).",
    |_| vec!["/.well-known/api-catalog".into()],
    &[Form::new("application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"", linkset)],
)
.headers(|site| {
    let own = site.url_of(API_CATALOG);
    own.into_iter().map(|url| (LINK, format!("<{url}>; rel=\"api-catalog\""))).collect()
})
.open();

fn linkset(site: &Site) -> Option<Bytes> {
    let home = format!("{}/", site.settings.base_url);
    let target = |name: &str, media_type: &str, title: &str| {
        let url = site.url_of(name)?;
        Some(json!({ "href": url, "type": media_type, "title": title }))
    };
    let json = "application/json";
    let status = || target(GetHealth::SPEC.name, json, "Health");
    let card = || target(mcp_card::CARD_NAME, mcp_card::CARD_TYPE, "MCP server card");
    let agent_card = || target(AGENT_CARD, json, "A2A agent card");
    let rest = context(
        &home,
        [
            (
                "service-desc",
                vec![
                    target(OPENAPI, json, "OpenAPI description"),
                    target(ASYNCAPI, json, "AsyncAPI description of the event stream"),
                ],
            ),
            (
                "service-doc",
                vec![
                    target("api_reference", "text/html", "API reference"),
                    target(DOCS, "text/html", "Guides"),
                    target("llms", "text/plain", "Overview for language models"),
                    documentation(site),
                ],
            ),
            ("status", vec![status()]),
            (
                "service-meta",
                vec![
                    target(unified_card::NAME, json, "Capabilities, authentication and interfaces"),
                    target("routing_descriptions", json, "Hints for choosing a route"),
                ],
            ),
        ],
    );
    let protocol = |name: &str, description: Option<Value>| {
        let parts = [("service-desc", vec![description]), ("status", vec![status()])];
        Some(context(&site.url_of(name)?, parts))
    };
    let items = [Some(json!({ "href": home, "title": "REST API" })), card(), agent_card()];
    let catalog = context(&site.url_of(API_CATALOG)?, [("item", items.into())]);
    let all = [Some(catalog), Some(rest), protocol("mcp", card()), protocol("a2a", agent_card())];
    json_text(&json!({ "linkset": all.into_iter().flatten().collect::<Vec<_>>() }))
}

/// Builds the links of one API and omits relations without a target.
fn context<const N: usize>(anchor: &str, relations: [(&str, Vec<Option<Value>>); N]) -> Value {
    let mut of = Map::new();
    of.insert("anchor".into(), anchor.into());
    for (relation, targets) in relations {
        let targets: Vec<Value> = targets.into_iter().flatten().collect();
        if !targets.is_empty() {
            of.insert(relation.into(), targets.into());
        }
    }
    Value::Object(of)
}

fn documentation(site: &Site) -> Option<Value> {
    let url = &site.settings.operator.documentation_url;
    (!url.is_empty()).then(|| json!({ "href": url, "title": "Documentation" }))
}
