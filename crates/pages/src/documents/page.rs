//! HTML pages for documents that are written in Markdown.

use askama::Template;
use axum::body::Bytes;
use axum::http::header::{HeaderName, LINK};
use ep_site::Site;
use ep_site::layout::{Article, Layout, own};

/// The metadata of a page.
pub(super) struct About {
    /// The name of the page.
    pub(super) name: &'static str,
    /// The name of its Markdown document.
    pub(super) markdown: &'static str,
    /// The title.
    pub(super) title: &'static str,
    /// A summary in one sentence.
    pub(super) description: &'static str,
}

impl About {
    /// Renders the page with this content.
    pub(super) fn html(&self, site: &Site, markdown: &str) -> Option<Bytes> {
        let layout = layout(site, self.name, self.markdown, self.title, self.description);
        bytes(&Article::new(layout, markdown))
    }

    /// Returns the headers of the Markdown document, with the page as canonical URL.
    pub(super) fn canonical(&self, site: &Site) -> Vec<(HeaderName, String)> {
        let url = site.url_of(self.name);
        url.into_iter().map(|url| (LINK, format!("<{url}>; rel=\"canonical\""))).collect()
    }
}

/// Returns the layout around the page of a document. The document `twin` is its Markdown.
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
