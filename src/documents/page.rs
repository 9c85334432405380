//! The HTML form of documents that are written in Markdown.

use askama::Template;
use axum::body::Bytes;
use axum::http::header::{HeaderName, LINK};

use super::Site;
use crate::pages::{Article, Layout, own};

/// The media type of pages.
/// The media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// A page for people.
pub(super) struct Page<'a> {
    /// The document's name.
    pub(super) name: &'static str,
    /// Its title.
    pub(super) title: &'a str,
    /// What it is, in one sentence.
    pub(super) description: &'a str,
    /// Its content. HTML in it is shown as text.
    pub(super) markdown: &'a str,
    /// The name of its Markdown, if that has an address of its own.
    pub(super) twin: &'a str,
}

impl Page<'_> {
    /// The page as HTML.
    pub(super) fn html(&self, site: &Site) -> Option<Bytes> {
        bytes(&self.article(site))
    }

    /// The page as HTML, one of the guides.
    pub(super) fn guide(&self, site: &Site) -> Option<Bytes> {
        bytes(&self.article(site).of_guides())
    }

    fn article<'s>(&self, site: &'s Site) -> Article<'s> {
        Article::new(layout(site, self.name, self.twin, self.title, self.description), self.markdown)
    }
}

/// What the page of a text says of itself.
pub(super) struct About {
    /// The name of the page.
    pub(super) name: &'static str,
    /// The name of its Markdown.
    pub(super) markdown: &'static str,
    /// Its title.
    pub(super) title: &'static str,
    /// What it is, in one sentence.
    pub(super) description: &'static str,
}

impl About {
    /// The page with this text.
    pub(super) fn html(&self, site: &Site, markdown: &str) -> Option<Bytes> {
        let Self { name, markdown: twin, title, description } = self;
        Page { name, title, description, markdown, twin }.html(site)
    }

    /// The headers of the Markdown: where the page is.
    pub(super) fn canonical(&self, site: &Site) -> Vec<(HeaderName, String)> {
        let url = site.url_of(self.name);
        url.into_iter().map(|url| (LINK, format!("<{url}>; rel=\"canonical\""))).collect()
    }
}

/// What is around the page of this document, whose Markdown is the document `twin`.
pub(super) fn layout<'s>(
    site: &'s Site,
    name: &str,
    twin: &str,
    title: &str,
    description: &str,
) -> Layout<'s> {
    let page = Layout::new(site, title.to_owned(), description.to_owned());
    Layout { canonical: site.url_of(name), markdown: site.url_of(twin).map(|url| own(&url)), ..page }
}

/// The bytes of a page.
pub(super) fn bytes(template: &impl Template) -> Option<Bytes> {
    template.render().ok().map(Bytes::from)
}
