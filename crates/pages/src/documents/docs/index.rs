//! `/docs`: the guides, and every operation by noun.

use askama::Template;
use axum::body::Bytes;
use ep_site::layout::{Layout, own};
use ep_site::names::{API_REFERENCE, ASYNCAPI, DOCS, MCP_PAGE, OPENAPI};
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Site};

use super::guides::GUIDES;
use super::navigation::Frame;
use super::nouns::{nouns, page_url};
use super::reference::first_sentence;
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
    inner: Content,
}

#[derive(Template)]
#[template(path = "documents/docs/index.md")]
struct PageText {
    inner: Content,
}

struct Content {
    title: &'static str,
    about: &'static str,
    links: Vec<Link>,
    chapters: Vec<Chapter>,
    groups: Vec<Group>,
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

/// The operations on one noun.
struct Group {
    name: String,
    about: String,
    operations: Vec<Operation>,
}

struct Operation {
    title: &'static str,
    name: &'static str,
    summary: &'static str,
    brief: &'static str,
    url: String,
}

fn html(site: &Site) -> Option<Bytes> {
    let frame = Frame::new(site, &own(&site.url_of(DOCS)?));
    bytes(&Page { page: layout(site, DOCS, MARKDOWN_NAME, TITLE, ABOUT), frame, inner: content(site) })
}

fn markdown(site: &Site) -> Option<Bytes> {
    prose::bytes(&PageText { inner: content(site) })
}

fn content(site: &Site) -> Content {
    let mut chapters: Vec<Chapter> = Vec::new();
    for guide in &GUIDES {
        let Some(title) = (guide.title)(site) else { continue };
        let link = GuideLink { title, about: guide.about, url: site.links.url(guide.name, &[]) };
        match chapters.iter_mut().find(|chapter| chapter.title == guide.chapter) {
            Some(chapter) => chapter.guides.push(link),
            None => chapters.push(Chapter { title: guide.chapter, guides: vec![link] }),
        }
    }
    let groups = nouns(site).into_iter().map(|noun| {
        let operations = noun.entries.into_iter().map(|entry| Operation {
            title: entry.spec.title,
            name: entry.spec.name,
            summary: entry.spec.summary,
            brief: first_sentence(entry.spec.summary),
            url: page_url(site, entry),
        });
        Group { operations: operations.collect(), name: noun.name, about: noun.about }
    });
    let links = LINKS.iter().filter_map(|(name, title)| Some(Link { title, url: site.url_of(name)? }));
    Content { title: TITLE, about: ABOUT, links: links.collect(), chapters, groups: groups.collect() }
}
