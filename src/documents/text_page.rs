//! Pages that are texts: written in Markdown, shown in the frame of every page.

use askama::Template;
use axum::body::Bytes;
use axum::http::header::{HeaderName, LINK};
use pulldown_cmark::{Event, Parser, html};

use super::Site;
use crate::pages::{Layout, protection};

/// A text as a page.
#[derive(Template)]
#[template(path = "text.html")]
struct TextPage<'a> {
    page: Layout<'a>,
    /// Its HTML, made of Markdown in which HTML is shown as text.
    body: String,
}

/// What the page of a text says of itself.
pub(super) struct About {
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// The name of the page.
    pub(super) name: &'static str,
    /// The name of its Markdown.
    pub(super) markdown: &'static str,
}

impl About {
    /// The page of a text.
    pub(super) fn html(&self, site: &Site, markdown: &str) -> Option<Bytes> {
        self.page(site, body(markdown))
    }

    /// The page of HTML that was made by [`body`].
    pub(super) fn page(&self, site: &Site, body: String) -> Option<Bytes> {
        let page = Layout::new(site, self.title.to_owned(), self.description.to_owned());
        let page = Layout { canonical: site.url_of(self.name), markdown: site.url_of(self.markdown), ..page };
        Some(TextPage { page, body }.render().ok()?.into())
    }

    /// The headers of the Markdown: where the page is.
    pub(super) fn canonical(&self, site: &Site) -> Vec<(HeaderName, String)> {
        let url = site.url_of(self.name);
        url.into_iter().map(|url| (LINK, format!("<{url}>; rel=\"canonical\""))).collect()
    }
}

/// The headers of a page.
pub(super) fn headers(_: &Site) -> Vec<(HeaderName, String)> {
    protection().map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// Markdown as HTML; HTML in it is shown as text.
pub(super) fn body(markdown: &str) -> String {
    let mut body = String::new();
    let as_text = |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    };
    html::push_html(&mut body, Parser::new(markdown).map(as_text));
    body
}
