//! `openapi.json`: every route of the service (OpenAPI 3.1.0), from the route table, the operations' schemas and
//! the error table.

mod body_limit;
mod errors;
mod events;
mod headers;
mod links;
mod operation;
mod parameters;
mod part;
mod paths;
mod pieces;
mod routes;
mod schemas;
mod security;
mod success;
mod tags;

use axum::body::Bytes;
use ep_kernel::idempotency::STORED_FOR;
use ep_site::names::{ASYNCAPI, OPENAPI};
use ep_site::route::MAX_BODY;
use ep_site::{Document, Form, Site, owner};
use serde_json::{Map, Value, json};

use super::agent_card::CARD_VERSION;
use part::Described;
use pieces::Pieces;

pub(super) use events::events;
pub(super) use paths::{placeholders, shown};
pub(super) use schemas::{Schemas, Side};
pub(super) use security::{alternatives, schemes};
pub(super) use tags::of_path as noun_of;

/// The version of the described interface.
const API_VERSION: &str = "2.0.0";

pub(super) const DOCUMENT: Document = Document::new(
    OPENAPI,
    "Describes every route of the service (OpenAPI 3.1.0).",
    |_| vec!["/api/openapi.json".into()],
    &[Form::new("application/json", render)],
);

fn render(site: &Site) -> Option<Bytes> {
    // Without indentation, which would double the size.
    Some(serde_json::to_vec(&description(site)).ok()?.into())
}

/// Builds the description.
fn description(site: &Site) -> Value {
    let mut pieces = Pieces::new(site);
    let described: Vec<Described<'_>> =
        paths::endpoints(site).map(|endpoint| operation::describe(&mut pieces, endpoint)).collect();
    let mut paths: Map<String, Value> = Map::new();
    let tags = tags::used(&described);
    let links = links::between(&pieces.schemas, &described);
    for (described, links) in described.into_iter().zip(links) {
        let item = paths.entry(described.endpoint.path.clone()).or_insert_with(|| json!({}));
        let method = described.endpoint.method.as_str().to_ascii_lowercase();
        item[method] = links::added(described.operation, links);
    }
    json!({
        "openapi": "3.1.0",
        "info": info(site),
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "servers": [{ "url": site.settings.base_url, "description": "This service." }],
        "tags": tags,
        "paths": paths,
        "components": pieces.components(),
    })
}

/// Returns the `info` object: the service, its operator and its terms.
pub(super) fn info(site: &Site) -> Value {
    let owner = owner();
    let operator = &site.settings.operator;
    let mut contact = json!({
        "name": if operator.name.is_empty() { owner["name"].as_str().unwrap_or_default() } else { &operator.name },
        "url": if operator.url.is_empty() { &site.settings.base_url } else { &operator.url },
    });
    if operator.contact.contains('@') {
        contact["email"] = operator.contact.trim_start_matches("mailto:").into();
    }
    json!({
        "title": owner["name"],
        "version": API_VERSION,
        "summary": "Polls of many AI models.",
        "description": format!("{}\n\n{}", site.description(), conventions(site)),
        "contact": contact,
        "license": { "name": "Apache License 2.0", "identifier": env!("CARGO_PKG_LICENSE") },
    })
}

/// Returns the conventions of all operations. Notifications are left out because client generators produce broken
/// code from `webhooks`.
fn conventions(site: &Site) -> String {
    format!(
        "Bodies are JSON of at most {} KiB unless a route says otherwise; undescribed fields are ignored. Errors are `{{\"error\": \"…\"}}`, or \
         problem details (RFC 9457) with recovery actions for callers that accept `application/problem+json` or send \
         `X-Machine-Client: true`. If the operator limits requests, every response contains the caller's remaining \
         allowance. A request that changes something can be sent again under the same `Idempotency-Key`: within {} hours \
         it gets the response of the first one. A path with a trailing slash is redirected (308) to the path without it; \
         the paths of MCP and A2A are served with and without. Event streams, and the notification of a poll's end, are \
         described in AsyncAPI: {}. Three versions are shown: {API_VERSION} is the version of this interface, {CARD_VERSION} \
         is that of the agent cards, and {} is that of the program, which the health document reports.",
        MAX_BODY / 1024,
        STORED_FOR.as_secs() / 3600,
        site.links.url(ASYNCAPI, &[]),
        env!("CARGO_PKG_VERSION"),
    )
}
