//! Documents: pure functions of the site, which contains the operations, the routes and the settings.
//!
//! A [`Document`] is served, committed to the repository as a file, or both. It is rendered once per process and
//! served with an entity tag.

mod agent_card;
mod ai_catalog;
mod ai_plugin;
mod aliases;
mod api_catalog;
mod api_reference;
mod assets;
mod asyncapi;
mod auth_guide;
mod committed;
mod docs;
mod error_reference;
mod guides;
mod home;
mod how_sure;
mod intents;
mod llms;
mod logo;
mod mcp_card;
mod mcp_page;
mod negotiation;
mod node_spec;
mod offer;
mod openapi;
mod operator_pages;
mod page;
mod price;
mod prose;
mod protected_resource;
mod robots;
mod routing_descriptions;
mod schemas;
mod security;
mod serve;
mod site;
mod sitemap;
mod skills;
mod surfaces;
mod tool_reference;
mod unified_card;

use auth_guide::NAME as AUTH_GUIDE;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use schemars::Schema;
use serde_json::Value;

pub use agent_card::extended as extended_agent_card;
pub use aliases::AliasPaths;
pub use assets::asset_url;
pub use committed::{EXAMPLE_URL, committed_files, stale, write};
pub use home::{AskMethod, MARKDOWN_NAME as HOME_MARKDOWN, links as home_links, ways};
pub use negotiation::{reads_html, wants_markdown};
pub use offer::{Models, Offer};
pub use page::HTML;
pub use price::PollPrice;
pub use robots::content_usage;
pub use serve::{aliases, routes, serve, serve_named};
pub use site::{Site, SiteSettings};

/// The media type of Markdown (RFC 7763).
pub const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The name of the agent card.
pub const AGENT_CARD: &str = "agent_card";

/// The name of the keys that verify the agent card.
pub const JWKS: &str = "jwks";

/// The name of the API catalogue.
const API_CATALOG: &str = "api_catalog";
/// The name of the logo.
pub const LOGO: &str = "logo";
/// The name of the documentation page.
pub const DOCS: &str = "docs";
/// The name of the API reference.
pub const API_REFERENCE: &str = "api_reference";

/// The name of the AsyncAPI description of the event streams.
pub const ASYNCAPI: &str = "asyncapi";

/// The name of the OpenAPI description of the routes.
pub const OPENAPI: &str = "openapi";

/// The message of the 404 response without OAuth metadata.
pub const NO_ISSUER: &str = "this service has no OAuth issuer, so there is no login to begin: send Authorization: Bearer \
                             ep_k_… with an API key; the operator can configure an issuer in EP_AUTH_ISSUER_URL";

/// Returns the texts of `owner.json` about the service: name, tagline, description, tags.
pub fn owner() -> Value {
    serde_json::from_str(include_str!("../../well-known/owner.json")).unwrap_or_default()
}

/// Returns the issuer's discovery URL, if an issuer is configured (OpenID Connect Discovery 1.0 §4).
fn openid_url(site: &Site) -> Option<String> {
    let issuer = site.settings.offer.issuer.as_ref()?;
    Some(format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
}

/// A document for crawlers and readers.
pub struct Document {
    /// The name, for links and metrics.
    pub name: &'static str,
    /// A summary in one sentence.
    pub summary: &'static str,
    /// The paths at which it is served; empty if it is only a committed file.
    pub paths: fn(&Site) -> Vec<String>,
    /// Alias paths, which no catalogue lists.
    pub aliases: &'static [AliasPaths],
    /// The cache lifetime in seconds.
    pub max_age: u32,
    /// The representations; the first one is the default.
    pub forms: &'static [Form],
    /// The message of the 404 response if this configuration does not have the document.
    pub absent: &'static str,
    /// Additional response headers. The last header of a name wins.
    pub headers: fn(&Site) -> Vec<(HeaderName, String)>,
    /// True if pages of every website may read it, regardless of the operator's CORS settings.
    pub open: bool,
    /// True if lists of documents include it.
    pub listed: bool,
    /// The reason why it changes while the service runs.
    pub changes: Changes,
}

/// The reason why a document changes while the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// It does not change and is rendered once.
    Never,
    /// It depends on the time and is rendered for every request.
    WithTime,
    /// The models that are available, and their prices: it is rendered for every request.
    WithModels,
}

/// A representation of a document.
pub struct Form {
    /// The condition on the request; `None` for the default form.
    pub condition: Option<FormCondition>,
    /// The media type.
    pub media_type: &'static str,
    /// Renders the form; `None` if this configuration does not have the document.
    pub render: fn(&Site) -> Option<Bytes>,
    /// The path of the rendered copy in the repository, if it has one.
    pub committed: Option<&'static str>,
    /// The schema of its JSON, if it is more specific than an object.
    pub schema: Option<fn() -> Schema>,
}

/// The condition under which a request gets another form than the default.
pub struct FormCondition {
    /// The request header that decides, for `Vary`.
    pub header: &'static str,
    /// Returns true if a request with these headers gets the form.
    pub by: fn(&HeaderMap) -> bool,
}

/// Every document. Each is declared next to its renderer.
pub static DOCUMENTS: &[Document] = &[
    agent_card::DOCUMENT,
    agent_card::KEYS,
    protected_resource::API,
    protected_resource::MCP,
    protected_resource::A2A,
    home::MARKDOWN,
    how_sure::DOCUMENT,
    how_sure::MARKDOWN,
    operator_pages::ABOUT,
    operator_pages::ABOUT_MARKDOWN,
    operator_pages::PRIVACY,
    operator_pages::PRIVACY_MARKDOWN,
    operator_pages::TERMS,
    operator_pages::TERMS_MARKDOWN,
    unified_card::DOCUMENT,
    routing_descriptions::DOCUMENT,
    api_catalog::DOCUMENT,
    mcp_card::CARD,
    mcp_card::CATALOG,
    mcp_card::REGISTRY,
    mcp_page::DOCUMENT,
    mcp_page::MARKDOWN,
    ai_catalog::DOCUMENT,
    ai_plugin::DOCUMENT,
    robots::DOCUMENT,
    sitemap::DOCUMENT,
    security::DOCUMENT,
    logo::DOCUMENT,
    logo::FAVICON,
    logo::TOUCH_ICON,
    logo::LARGE_ICON,
    logo::MANIFEST,
    assets::STYLE,
    assets::THEME,
    assets::RESULT,
    assets::ASK,
    assets::SEARCH,
    assets::ACCOUNT,
    assets::WALLET,
    docs::DOCUMENT,
    docs::MARKDOWN,
    guides::START.page,
    guides::START.text,
    guides::CONNECT.page,
    guides::CONNECT.text,
    guides::ACCOUNTS.page,
    guides::ACCOUNTS.text,
    guides::OAUTH.page,
    guides::OAUTH.text,
    guides::FUNDING.page,
    guides::FUNDING.text,
    guides::WEBHOOKS.page,
    guides::WEBHOOKS.text,
    guides::PACE.page,
    guides::PACE.text,
    guides::ERRORS.page,
    guides::ERRORS.text,
    skills::FILE,
    skills::INDEX,
    skills::BUNDLE,
    skills::INSTRUCTIONS,
    llms::INDEX,
    llms::FULL,
    auth_guide::DOCUMENT,
    intents::DOCUMENT,
    node_spec::DOCUMENT,
    surfaces::DOCUMENT,
    openapi::DOCUMENT,
    asyncapi::DOCUMENT,
    api_reference::DOCUMENT,
    api_reference::MARKDOWN,
    tool_reference::DOCUMENT,
    error_reference::DOCUMENT,
];

impl Document {
    /// Creates a document that every configuration has, cached for an hour.
    const fn new(
        name: &'static str,
        summary: &'static str,
        paths: fn(&Site) -> Vec<String>,
        forms: &'static [Form],
    ) -> Self {
        Self {
            name,
            summary,
            paths,
            aliases: &[],
            max_age: 3600,
            forms,
            absent: "",
            headers: |_| Vec::new(),
            open: false,
            listed: true,
            changes: Changes::Never,
        }
    }

    /// Marks a document that some configurations lack, with the message of the 404 response.
    const fn absent(self, message: &'static str) -> Self {
        Self { absent: message, ..self }
    }

    /// Adds response headers.
    const fn headers(self, headers: fn(&Site) -> Vec<(HeaderName, String)>) -> Self {
        Self { headers, ..self }
    }

    /// Lets pages of every website read it, as some specifications require.
    const fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// Excludes it from lists of documents.
    const fn unlisted(self) -> Self {
        Self { listed: false, ..self }
    }

    /// Renders it for every request because it depends on the time.
    const fn timed(self) -> Self {
        Self { changes: Changes::WithTime, ..self }
    }

    /// Renders it for every request, since it states facts about the models: the price of a poll, or whether some are
    /// free.
    const fn with_models(self) -> Self {
        Self { changes: Changes::WithModels, ..self }
    }

    /// Adds alias paths.
    const fn with_aliases(self, aliases: &'static [AliasPaths]) -> Self {
        Self { aliases, ..self }
    }

    /// Creates a document that is only a committed file.
    const fn in_repository(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Self {
        Self { max_age: 0, ..Self::new(name, summary, |_| Vec::new(), forms) }
    }
}

impl Form {
    /// Creates the default form.
    const fn new(media_type: &'static str, render: fn(&Site) -> Option<Bytes>) -> Self {
        Self { condition: None, media_type, render, committed: None, schema: None }
    }

    /// Creates a Markdown form, for requests that prefer it to HTML.
    const fn markdown(render: fn(&Site) -> Option<Bytes>) -> Self {
        Self::new(MARKDOWN, render).condition("accept", wants_markdown)
    }

    /// Sets the schema of its JSON.
    const fn described(self, schema: fn() -> Schema) -> Self {
        Self { schema: Some(schema), ..self }
    }

    /// Commits a rendered copy to the repository.
    const fn committed(self, file: &'static str) -> Self {
        Self { committed: Some(file), ..self }
    }

    /// Limits the form to requests with a matching header.
    const fn condition(self, header: &'static str, by: fn(&HeaderMap) -> bool) -> Self {
        Self { condition: Some(FormCondition { header, by }), ..self }
    }
}

/// Serializes JSON for documents: indented, with a trailing newline.
fn json_text(value: &Value) -> Option<Bytes> {
    let mut text = serde_json::to_string_pretty(value).ok()?;
    text.push('\n');
    Some(text.into())
}
