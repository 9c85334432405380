//! Metadata of the service as an OAuth protected resource (RFC 9728), if an issuer is configured.

use axum::body::Bytes;
use ep_site::names::{A2A_RESOURCE, MCP_RESOURCE};
use ep_site::{Document, Form, NO_ISSUER, ProtectedResource, Site, owner};
use serde_json::{Value, json};

use super::json::json_text;

pub(super) const API: Document = Document::new(
    ProtectedResource::API.document,
    "The authorization server for access tokens of this service (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::API))],
)
.absent(NO_ISSUER);

pub(super) const MCP: Document = Document::new(
    MCP_RESOURCE,
    "The authorization server for access tokens of the MCP endpoint (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource/api/mcp".into()],
    &[Form::new("application/json", |site| of_protocol(site, MCP_RESOURCE))],
)
.absent(NO_ISSUER);

pub(super) const A2A: Document = Document::new(
    A2A_RESOURCE,
    "The authorization server for access tokens of the A2A endpoint (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource/api/a2a".into()],
    &[Form::new("application/json", |site| of_protocol(site, A2A_RESOURCE))],
)
.absent(NO_ISSUER);

/// Renders the metadata of the protocol whose resource has this document.
fn of_protocol(site: &Site, document: &str) -> Option<Bytes> {
    let mut resources = site.protected_resources().into_iter();
    render(site, resources.find(|resource| resource.document == document)?)
}

fn render(site: &Site, resource: ProtectedResource) -> Option<Bytes> {
    let issuer = site.settings.offer.issuer.as_ref()?;
    let mut document = json!({
        "resource": resource.identifier(&site.links),
        "authorization_servers": [issuer],
        "scopes_supported": resource.scope.token_scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": owner()["name"],
    });
    let documentation = &site.settings.operator.documentation_url;
    if !documentation.is_empty() {
        document["resource_documentation"] = Value::from(documentation.as_str());
    }
    json_text(&document)
}
