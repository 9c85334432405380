//! Metadata of the service as an OAuth protected resource (RFC 9728), if an issuer is configured.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::json::json_text;
use crate::site::{Document, Form, NO_ISSUER, Site};
use crate::site::{ProtectedResource, owner};

pub(super) const API: Document = Document::new(
    "protected_resource",
    "The authorization server for access tokens of this service (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::Api))],
)
.absent(NO_ISSUER);

pub(super) const MCP: Document = Document::new(
    "protected_resource_mcp",
    "The authorization server for access tokens of the MCP endpoint (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource/api/mcp".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::Mcp))],
)
.absent(NO_ISSUER);

pub(super) const A2A: Document = Document::new(
    "protected_resource_a2a",
    "The authorization server for access tokens of the A2A endpoint (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource/api/a2a".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::A2a))],
)
.absent(NO_ISSUER);

fn render(site: &Site, resource: ProtectedResource) -> Option<Bytes> {
    let issuer = site.settings.offer.issuer.as_ref()?;
    let mut document = json!({
        "resource": resource.identifier(&site.links),
        "authorization_servers": [issuer],
        "scopes_supported": resource.scope().token_scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": owner()["name"],
    });
    let documentation = &site.settings.operator.documentation_url;
    if !documentation.is_empty() {
        document["resource_documentation"] = Value::from(documentation.as_str());
    }
    json_text(&document)
}
