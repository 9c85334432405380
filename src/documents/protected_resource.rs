//! Metadata of the service as an OAuth protected resource (RFC 9728), where an issuer is configured.

use axum::body::Bytes;
use ep_kernel::key_terms::KeyScope;
use ep_kernel::links::Links;
use serde_json::{Value, json};

use super::{Document, Form, NO_ISSUER, Site, json_text};

/// A part of the service that clients ask access tokens for. A token for one of them is accepted by all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedResource {
    /// All of it.
    Api,
    /// The MCP endpoint.
    Mcp,
    /// The A2A endpoint.
    A2a,
}

impl ProtectedResource {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Api, Self::Mcp, Self::A2a];

    /// The name of its document.
    pub const fn document(self) -> &'static str {
        match self {
            Self::Api => "protected_resource",
            Self::Mcp => "protected_resource_mcp",
            Self::A2a => "protected_resource_a2a",
        }
    }

    /// Its resource identifier, without a slash at the end (RFC 9728 §1.2).
    pub fn identifier(self, links: &Links) -> String {
        match self {
            Self::Api => links.base_url().to_owned(),
            Self::Mcp => links.url("mcp", &[]),
            Self::A2a => links.url("a2a", &[]),
        }
    }

    /// The widest scope that is of use there.
    const fn scope(self) -> KeyScope {
        match self {
            Self::Api => KeyScope::All,
            Self::Mcp | Self::A2a => KeyScope::Polls,
        }
    }
}

pub(super) const API: Document = Document::new(
    "protected_resource",
    "Says where clients get access tokens for this service (RFC 9728).",
    |_| vec!["/.well-known/oauth-protected-resource".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::Api))],
)
.absent(NO_ISSUER);

pub(super) const MCP: Document = Document::new(
    "protected_resource_mcp",
    "The same, for its MCP endpoint.",
    |_| vec!["/.well-known/oauth-protected-resource/api/mcp".into()],
    &[Form::new("application/json", |site| render(site, ProtectedResource::Mcp))],
)
.absent(NO_ISSUER);

pub(super) const A2A: Document = Document::new(
    "protected_resource_a2a",
    "The same, for its A2A endpoint.",
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
        "resource_name": super::owner()["name"],
    });
    let documentation = &site.settings.operator.documentation_url;
    if !documentation.is_empty() {
        document["resource_documentation"] = Value::from(documentation.as_str());
    }
    json_text(&document)
}
