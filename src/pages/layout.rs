//! What every page has around its content.

use askama::Error;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY};
use serde_json::Value;

use crate::documents::{self, Site};

/// The security headers of pages, besides those of every response: everything from this origin, nothing inline, in no
/// frame (OWASP ASVS 5.0, 3.4).
const HEADERS: [(HeaderName, &str); 3] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "strict-origin-when-cross-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Gives a response the security headers of a page that every website may show in a frame.
pub fn protect_embedded(headers: &mut HeaderMap) {
    protect(headers);
    let policy = HEADERS[0].1.replace("frame-ancestors 'none'", "frame-ancestors *");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
}

/// The security headers of pages.
pub const fn protection() -> [(HeaderName, &'static str); 3] {
    HEADERS
}

/// Gives a response the security headers of pages.
pub fn protect(headers: &mut HeaderMap) {
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
}

/// A page that belongs to one visit.
pub trait Renders {
    /// Its HTML.
    fn html(&self) -> askama::Result<String>;
    /// The same in Markdown.
    fn markdown(&self) -> askama::Result<String>;
    /// Whether its visitor is not signed in, so that the cookie of an ended session can go.
    fn is_for_nobody(&self) -> bool {
        false
    }
}

/// What the frame of a page says. Templates see it as `page`.
pub struct Layout<'a> {
    /// What is served.
    pub site: &'a Site,
    /// The page's title.
    pub title: String,
    /// What it is, in a sentence.
    pub description: String,
    /// Its one address, where it has one.
    pub canonical: Option<String>,
    /// Where the same is in Markdown.
    pub markdown: Option<String>,
    /// Whether search engines are asked not to list it.
    pub noindex: bool,
    /// The service's name.
    pub name: String,
    /// Who runs it.
    pub operator: &'a str,
    /// The address of the mark.
    pub logo: String,
    /// The start page.
    pub home: String,
}

impl<'a> Layout<'a> {
    /// A page with this title.
    pub fn new(site: &'a Site, title: String, description: String) -> Self {
        let name = documents::owner()["name"].as_str().unwrap_or_default().to_owned();
        Self {
            title: format!("{title} · {name}"),
            description,
            canonical: None,
            markdown: None,
            noindex: false,
            name,
            operator: &site.settings.operator.name,
            logo: own(&site.links.url(documents::LOGO, &[])),
            home: own(&format!("{}/", site.settings.base_url)),
            site,
        }
    }

    /// The address of an asset.
    pub fn asset(&self, name: &str) -> askama::Result<String> {
        documents::asset_url(self.site, name).map(|url| own(&url)).ok_or_else(|| missing("asset", name))
    }

    /// The address of a document.
    pub fn url(&self, name: &str) -> askama::Result<String> {
        self.site.url_of(name).map(|url| own(&url)).ok_or_else(|| missing("document", name))
    }
}

/// JSON-LD for the text of a script element: nothing in it can end the element (WHATWG HTML, section 4.12.1.3).
pub fn linked_data(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A URL of this service without its origin: a page may be open under another one than the public one.
pub fn own(url: &str) -> String {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|start| &rest[start..]));
    path.unwrap_or(url).to_owned()
}

fn missing(what: &str, name: &str) -> Error {
    Error::Custom(format!("there is no {what} called {name}").into())
}
