//! Documents: pure functions of the site, which knows the operations, the routes and the settings.
//!
//! A [`Document`] is served, kept as a file of the repository, or both. It is rendered once per process
//! and served with an entity tag.

mod agent_card;
mod api_reference;
mod asyncapi;
mod committed;
mod error_reference;
mod openapi;
mod protected_resource;
mod serve;
mod site;
mod tool_reference;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use serde_json::Value;

pub use agent_card::{PAYMENTS as PAYMENTS_EXTENSION, extended as extended_agent_card};
pub use committed::{EXAMPLE_URL, stale, write};
pub use protected_resource::ProtectedResource;
pub use serve::{routes, serve};
pub use site::{Site, SiteSettings};

/// The agent card's name.
pub const AGENT_CARD: &str = "agent_card";

/// The name of the keys that sign the agent card.
pub const JWKS: &str = "jwks";

/// The API reference's name.
pub const API_REFERENCE: &str = "api_reference";

/// The name of the description of the event streams.
pub const ASYNCAPI: &str = "asyncapi";

/// The name of the description of every route.
pub const OPENAPI: &str = "openapi";

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
    /// The style sheet inside, for a page: its policy allows this one and nothing else.
    pub style: Option<&'static str>,
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

/// Every document. Each is declared beside its renderer.
pub static DOCUMENTS: &[Document] = &[
    agent_card::DOCUMENT,
    agent_card::KEYS,
    protected_resource::API,
    protected_resource::MCP,
    protected_resource::A2A,
    openapi::DOCUMENT,
    asyncapi::DOCUMENT,
    api_reference::DOCUMENT,
    api_reference::MARKDOWN,
    tool_reference::DOCUMENT,
    error_reference::DOCUMENT,
];

impl Document {
    /// A document that every configuration has, cached for an hour.
    const fn new(
        name: &'static str,
        summary: &'static str,
        paths: fn(&Site) -> Vec<String>,
        forms: &'static [Form],
    ) -> Self {
        Self { name, summary, paths, max_age: 3600, forms, absent: "" }
    }

    /// A document that some configurations do not have, with what a 404 says then.
    const fn absent(self, message: &'static str) -> Self {
        Self { absent: message, ..self }
    }

    /// A document that is only kept as a file.
    const fn kept(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Self {
        Self { max_age: 0, ..Self::new(name, summary, |_| Vec::new(), forms) }
    }
}

impl Form {
    /// The default form.
    const fn new(media_type: &'static str, render: fn(&Site) -> Option<Bytes>) -> Self {
        Self { wanted: None, media_type, render, style: None, committed: None }
    }

    /// Keeps a rendered copy in the repository.
    const fn committed(self, file: &'static str) -> Self {
        Self { committed: Some(file), ..self }
    }

    /// A page with this style sheet inside.
    const fn styled(self, style: &'static str) -> Self {
        Self { style: Some(style), ..self }
    }

    /// Only for requests whose header asks for it.
    const fn wanted(self, header: &'static str, by: fn(&HeaderMap) -> bool) -> Self {
        Self { wanted: Some(Wanted { header, by }), ..self }
    }
}

/// Whether a request asks for Markdown: it names it, and likes it at least as much as HTML.
fn wants_markdown(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<&str> = values.flat_map(|value| value.split(',')).collect();
    let liking = |kind: &str| {
        let mut found = ranges.iter().filter(|range| {
            range.split(';').next().is_some_and(|named| named.trim().eq_ignore_ascii_case(kind))
        });
        let parameters = found.next()?.split(';').skip(1);
        let quality = parameters.map(str::trim).find_map(|parameter| parameter.strip_prefix("q="));
        Some(quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0)))
    };
    liking("text/markdown")
        .is_some_and(|markdown: f32| markdown > 0.0 && markdown >= liking("text/html").unwrap_or(0.0))
}

/// JSON as documents have it: indented, with a line end.
fn json_text(value: &Value) -> Option<Bytes> {
    let mut text = serde_json::to_string_pretty(value).ok()?;
    text.push('\n');
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_for_those_who_name_it() {
        let asks = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            wants_markdown(&headers)
        };
        for accept in [
            "text/markdown",
            "text/html, text/markdown",
            "TEXT/Markdown;q=0.5, */*",
            "text/html;q=0.8, text/markdown;q=0.9",
        ] {
            assert!(asks(accept), "{accept}");
        }
        for accept in [
            "*/*",
            "text/*",
            "text/html",
            "text/markdown;q=0",
            "text/markdown;q=0.5, text/html",
            "text/markdown;q=x",
        ] {
            assert!(!asks(accept), "{accept}");
        }
    }
}
