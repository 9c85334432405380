//! The common layout of pages: head, navigation, articles, error pages and Markdown.

mod accuracy_plot;
mod article;
mod fault;
mod markdown;
mod passages;
mod plot_names;

use askama::{Error, Template};
use serde_json::Value;

use crate::names::LOGO;
use crate::{Site, owner};

pub use accuracy_plot::AccuracyPlot;
pub use article::Article;
pub use ep_polling::text::capitalized;
pub use fault::{Action, actions, message, uncapitalized};
pub use fault::{FaultPage, return_to};
pub use markdown::{Text, below, linked_text, one_line, text, title};
pub use passages::{Passage, passages};

/// A page for a single visit.
pub trait Renders: Template {
    /// Renders the page as Markdown.
    fn markdown(&self) -> askama::Result<String>;
    /// True if the visitor is not signed in: the response then clears the cookie of an expired session.
    fn is_for_nobody(&self) -> bool {
        false
    }
}

/// Data of the layout. Templates see it as `page`.
pub struct Layout<'a> {
    /// The site.
    pub site: &'a Site,
    /// The page's title.
    pub title: String,
    /// Description of the page in one sentence.
    pub description: String,
    /// Canonical URL, if the page has one.
    pub canonical: Option<String>,
    /// URL of the Markdown version.
    pub markdown: Option<String>,
    /// True if search engines are asked not to list the page.
    pub noindex: bool,
    /// The service's name.
    pub name: String,
    /// The operator of the service.
    pub operator: &'a str,
    /// URL of the logo.
    pub logo: String,
    /// URL of the start page.
    pub home: String,
    /// The visitor whom the header names. `None` on every page that is public or cached: such a page must not contain
    /// a balance. Its header says "Sign in", and a script fills in the account if this browser has signed in.
    pub visitor: Option<HeaderVisitor>,
}

/// The signed-in visitor in the header of a page that is rendered for one visit.
pub struct HeaderVisitor {
    /// The account's name: its email address without the host.
    pub name: String,
    /// The balance, if the service charges.
    pub balance: Option<String>,
}

impl HeaderVisitor {
    /// Names the account with this email address.
    pub fn new(email: &str, balance: Option<String>) -> Self {
        Self { name: email.split('@').next().unwrap_or_default().to_owned(), balance }
    }
}

impl<'a> Layout<'a> {
    /// Creates a layout with this title and description.
    pub fn new(site: &'a Site, title: String, description: String) -> Self {
        let name = owner()["name"].as_str().unwrap_or_default().to_owned();
        Self {
            title: format!("{title} · {name}"),
            description,
            canonical: None,
            markdown: None,
            noindex: false,
            name,
            operator: &site.settings.operator.name,
            logo: own(&site.links.url(LOGO, &[])),
            home: own(&format!("{}/", site.settings.base_url)),
            visitor: None,
            site,
        }
    }

    /// Returns the URL of an asset.
    pub fn asset(&self, name: &str) -> askama::Result<String> {
        self.site.asset_url(name).map(|url| own(&url)).ok_or_else(|| missing("asset", name))
    }

    /// Returns the URL of a document.
    pub fn url(&self, name: &str) -> askama::Result<String> {
        self.site.url_of(name).map(|url| own(&url)).ok_or_else(|| missing("document", name))
    }
}

/// Encodes JSON-LD for a script element: the text cannot end the element (WHATWG HTML, section 4.12.1.3).
pub fn linked_data(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Removes the origin from a URL of this service, because the page may be open under another origin.
pub fn own(url: &str) -> String {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|start| &rest[start..]));
    path.unwrap_or(url).to_owned()
}

fn missing(what: &str, name: &str) -> Error {
    Error::Custom(format!("there is no {what} called {name}").into())
}
