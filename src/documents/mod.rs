//! Documents: pure functions of the site, which knows the operations, the routes and the settings.
//!
//! A [`Document`] is served, kept as a file of the repository, or both. It is rendered once per process
//! and served with an entity tag.

mod agent_card;
mod committed;
mod error_reference;
mod protected_resource;
mod serve;
mod site;
mod tool_reference;

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::Value;

pub use committed::{EXAMPLE_URL, stale, write};
pub use protected_resource::ProtectedResource;
pub use serve::{routes, serve};
pub use site::{Site, SiteSettings};

/// The agent card's name.
pub const AGENT_CARD: &str = "agent_card";

/// Why there is no metadata of OAuth.
pub const NO_ISSUER: &str = "this service has no OAuth issuer, so there is no login to begin: send Authorization: Bearer \
                             ep_k_… with an API key; the operator can configure an issuer in EP_AUTH_ISSUER_URL";

/// What people own about the service: name, description, tags.
fn owner() -> Value {
    serde_json::from_str(include_str!("../../well-known/owner.json")).unwrap_or_default()
}

/// Where the issuer of access tokens describes itself, where one is configured (OpenID Connect Discovery 1.0 §4).
fn openid_url(site: &Site) -> Option<String> {
    let issuer = site.settings.issuer.as_ref()?;
    Some(format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
}

/// Something a crawler or a reader fetches.
pub struct Document {
    /// Its name, for links and metrics.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// Where it is served; nowhere, where it is only kept as a file.
    pub paths: fn(&Site) -> Vec<String>,
    /// How long it may be cached, in seconds.
    pub max_age: u32,
    /// Its forms; the first one is the default.
    pub forms: &'static [Form],
    /// Message of the 404 response if this configuration has no such document.
    pub absent: &'static str,
}

/// One form of a document.
pub struct Form {
    /// Which requests get it; `None` for the default form.
    pub wanted: Option<Wanted>,
    /// Its media type.
    pub media_type: &'static str,
    /// Renders it; `None` where this configuration has no such document.
    pub render: fn(&Site) -> Option<Bytes>,
    /// The rendered copy that is kept in the repository, where there is one.
    pub committed: Option<&'static str>,
}

/// Which requests get another form than the default one.
pub struct Wanted {
    /// The header that decides, for `Vary`.
    pub header: &'static str,
    /// Whether a request with these headers gets the form.
    pub by: fn(&HeaderMap) -> bool,
}

/// Every document.
pub static DOCUMENTS: &[Document] = &[
    Document {
        name: AGENT_CARD,
        summary: "Describes this agent to other agents (A2A).",
        paths: |_| vec!["/.well-known/agent-card.json".into(), "/.well-known/agent.json".into()],
        max_age: 3600,
        forms: &[
            Form {
                wanted: None,
                media_type: "application/json",
                render: agent_card::hybrid,
                committed: Some("agent-cards/agent-card.json"),
            },
            Form {
                wanted: Some(Wanted { header: "a2a-version", by: agent_card::wants_version_1 }),
                media_type: "application/json",
                render: agent_card::pure,
                committed: Some("agent-cards/agent-card.v1.json"),
            },
        ],
        absent: "",
    },
    Document {
        name: "protected_resource",
        summary: "Says where clients get access tokens for this service (RFC 9728).",
        paths: |_| vec!["/.well-known/oauth-protected-resource".into()],
        max_age: 3600,
        forms: &[Form {
            wanted: None,
            media_type: "application/json",
            render: protected_resource::api,
            committed: None,
        }],
        absent: NO_ISSUER,
    },
    Document {
        name: "protected_resource_mcp",
        summary: "The same, for its MCP endpoint.",
        paths: |_| vec!["/.well-known/oauth-protected-resource/api/mcp".into()],
        max_age: 3600,
        forms: &[Form {
            wanted: None,
            media_type: "application/json",
            render: protected_resource::mcp,
            committed: None,
        }],
        absent: NO_ISSUER,
    },
    Document {
        name: "protected_resource_a2a",
        summary: "The same, for its A2A endpoint.",
        paths: |_| vec!["/.well-known/oauth-protected-resource/api/a2a".into()],
        max_age: 3600,
        forms: &[Form {
            wanted: None,
            media_type: "application/json",
            render: protected_resource::a2a,
            committed: None,
        }],
        absent: NO_ISSUER,
    },
    Document {
        name: "tool_reference",
        summary: "Describes every operation.",
        paths: |_| Vec::new(),
        max_age: 0,
        forms: &[Form {
            wanted: None,
            media_type: "text/markdown",
            render: tool_reference::markdown,
            committed: Some("docs/tools.md"),
        }],
        absent: "",
    },
    Document {
        name: "error_reference",
        summary: "Describes every error.",
        paths: |_| Vec::new(),
        max_age: 0,
        forms: &[Form {
            wanted: None,
            media_type: "text/markdown",
            render: error_reference::markdown,
            committed: Some("docs/errors.md"),
        }],
        absent: "",
    },
];
