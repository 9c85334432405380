//! `/docs`: the guides, and every operation by noun.

use askama::Template;
use axum::body::Bytes;
use ep_kernel::Entry;
use ep_site::layout::{Layout, own};
use ep_site::names::{API_REFERENCE, ASYNCAPI, DOCS, MCP_PAGE, OPENAPI};
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Site};

use super::guides::GUIDES;
use super::navigation::Frame;
use super::nouns::{Noun, nouns, page_url};
use crate::documents::page::{bytes, layout};
use crate::documents::prose;

const MARKDOWN_NAME: &str = "docs_markdown";
const TITLE: &str = "Documentation";
const ABOUT: &str =
    "Guides, and a page for every operation with code for curl, Python, TypeScript, MCP and A2A.";

/// Other descriptions of the service.
const LINKS: [(&str, &str); 5] = [
    (API_REFERENCE, "All operations"),
    (MCP_PAGE, "MCP endpoint"),
    (OPENAPI, "OpenAPI"),
    (ASYNCAPI, "AsyncAPI"),
    ("llms_full", "All of it as one text"),
];

/// The start of the documentation. Its path is that of the page that also searches.
pub(in crate::documents) const DOCUMENT: Document =
    Document::new(DOCS, ABOUT, |_| Vec::new(), &[Form::new(HTML, html), Form::markdown(markdown)]);

pub(in crate::documents) const MARKDOWN: Document =
    Document::new(MARKDOWN_NAME, ABOUT, |_| vec!["/docs.md".into()], &[Form::new(MARKDOWN_TYPE, markdown)])
        .unlisted();

#[derive(Template)]
#[template(path = "documents/docs/index.html")]
struct Page<'a> {
    page: Layout<'a>,
    frame: Frame,
    inner: Content<'a>,
}

#[derive(Template)]
#[template(path = "documents/docs/index.md")]
struct Content<'a> {
    title: &'static str,
    about: &'static str,
    links: Vec<Link>,
    chapters: Vec<Chapter>,
    nouns: Vec<Noun>,
    site: &'a Site,
}

/// A link to another description of the service.
struct Link {
    title: &'static str,
    url: String,
}

/// The guides of one chapter.
struct Chapter {
    title: &'static str,
    guides: Vec<GuideLink>,
}

struct GuideLink {
    title: String,
    about: &'static str,
    url: String,
}

impl Content<'_> {
    fn url(&self, entry: &Entry) -> String {
        page_url(self.site, entry)
    }
}

fn html(site: &Site) -> Option<Bytes> {
    let frame = Frame::new(site, &own(&site.url_of(DOCS)?));
    bytes(&Page { page: layout(site, DOCS, MARKDOWN_NAME, TITLE, ABOUT), frame, inner: content(site) })
}

fn markdown(site: &Site) -> Option<Bytes> {
    prose::bytes(&content(site))
}

fn content(site: &Site) -> Content<'_> {
    let mut chapters: Vec<Chapter> = Vec::new();
    for guide in &GUIDES {
        let Some(title) = (guide.title)(site) else { continue };
        let link = GuideLink { title, about: guide.about, url: site.links.url(guide.name, &[]) };
        match chapters.iter_mut().find(|chapter| chapter.title == guide.chapter) {
            Some(chapter) => chapter.guides.push(link),
            None => chapters.push(Chapter { title: guide.chapter, guides: vec![link] }),
        }
    }
    let links = LINKS.iter().filter_map(|(name, title)| Some(Link { title, url: site.url_of(name)? }));
    Content { title: TITLE, about: ABOUT, links: links.collect(), chapters, nouns: nouns(site), site }
}
