//! `/docs`: the guides and every operation, with links to the API reference.

use std::collections::HashMap;

use askama::Template;
use axum::body::Bytes;
use ep_kernel::tool::{Agents, Cost, Entry};
use serde_json::Value;

use super::guides::{GUIDES, Guide};
use super::page::{bytes, layout};
use super::{openapi, prose, tool_reference};
use crate::layout::{Layout, Section, text, title};
use crate::site::HTML;
use crate::site::RouteKind;
use crate::site::names::MCP_PAGE;
use crate::site::names::{API_REFERENCE, ASYNCAPI, DOCS, OPENAPI};
use crate::site::{Document, Form, MARKDOWN as MARKDOWN_TYPE, Site};

const MARKDOWN_NAME: &str = "docs_markdown";
const TITLE: &str = "Documentation";
const ABOUT: &str =
    "Guides, and every operation with its access over REST, MCP and A2A, its permissions and its cost.";

/// The links at the top of the page.
const LINKS: [(&str, &str); 5] = [
    (API_REFERENCE, "API reference"),
    (MCP_PAGE, "MCP endpoint"),
    (OPENAPI, "OpenAPI"),
    (ASYNCAPI, "AsyncAPI"),
    ("llms_full", "All of it as one text"),
];

pub(super) const DOCUMENT: Document =
    Document::new(DOCS, ABOUT, |_| vec!["/docs".into()], &[Form::new(HTML, html), Form::markdown(markdown)]);

pub(super) const MARKDOWN: Document =
    Document::new(MARKDOWN_NAME, ABOUT, |_| vec!["/docs.md".into()], &[Form::new(MARKDOWN_TYPE, markdown)])
        .unlisted();

#[derive(Template)]
#[template(path = "documents/docs.html")]
struct Page<'a> {
    page: Layout<'a>,
    inner: Content,
}

#[derive(Template)]
#[template(path = "documents/docs.md")]
struct PageText {
    inner: Content,
}

struct Content {
    title: &'static str,
    about: &'static str,
    links: Vec<Link>,
    guides: Vec<GuideEntry>,
    groups: Vec<Group>,
}

/// A link to another description of the service.
struct Link {
    title: &'static str,
    url: String,
}

/// A guide in the list.
struct GuideEntry {
    title: String,
    about: &'static str,
    url: String,
    sections: Vec<Section>,
}

/// The operations of one tag.
struct Group {
    name: String,
    operations: Vec<Operation>,
}

struct Operation {
    title: &'static str,
    name: &'static str,
    summary: &'static str,
    /// The id of the operation's section in the API reference; empty if it has none.
    anchor: String,
    facts: Vec<Fact>,
}

/// A labelled fact about an operation.
struct Fact {
    what: &'static str,
    code: String,
    notes: String,
}

fn html(site: &Site) -> Option<Bytes> {
    bytes(&Page { page: layout(site, DOCS, MARKDOWN_NAME, TITLE, ABOUT), inner: content(site)? })
}

fn markdown(site: &Site) -> Option<Bytes> {
    prose::bytes(&PageText { inner: content(site)? })
}

fn content(site: &Site) -> Option<Content> {
    let description: Value = serde_json::from_slice(&site.document(OPENAPI)?).ok()?;
    let described = described(&description);
    let mut groups: Vec<Group> = Vec::new();
    for entry in site.offered() {
        let (tag, operation) = operation(site, entry, &described);
        match groups.iter_mut().find(|group| group.name == tag) {
            Some(group) => group.operations.push(operation),
            None => groups.push(Group { name: tag.to_owned(), operations: vec![operation] }),
        }
    }
    let guides = GUIDES.iter().filter_map(|guide| listed(site, guide)).collect();
    let links = LINKS.iter().filter_map(|(name, title)| Some(Link { title, url: site.url_of(name)? }));
    Some(Content { title: TITLE, about: ABOUT, links: links.collect(), guides, groups })
}

fn listed(site: &Site, guide: &Guide) -> Option<GuideEntry> {
    let markdown = (guide.markdown)(site)?;
    Some(GuideEntry {
        title: title(&markdown)?.to_owned(),
        about: guide.page.summary,
        url: site.url_of(guide.page.name)?,
        sections: text(&markdown, "").contents,
    })
}

/// Returns the operation id and the tag for each method and path in the description.
fn described(description: &Value) -> HashMap<(String, &str), (&str, &str)> {
    let paths = description["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, item)| item.as_object().into_iter().flatten().map(move |it| (path.as_str(), it)))
        .filter_map(|(path, (method, operation))| {
            let id = operation["operationId"].as_str()?;
            Some(((method.to_ascii_uppercase(), path), (id, operation["tags"][0].as_str()?)))
        })
        .collect()
}

fn operation<'a>(
    site: &Site,
    entry: &'static Entry,
    described: &HashMap<(String, &'a str), (&'a str, &'a str)>,
) -> (&'a str, Operation) {
    let spec = &entry.spec;
    let routes =
        site.routes.iter().filter(|route| route.name == spec.name && tool_reference::is_operation(route));
    let mut facts = Vec::new();
    let mut index = None;
    for route in routes {
        let path = openapi::shown(&route.path);
        let method = route.method.as_str();
        index = index.or_else(|| described.get(&(method.to_owned(), path.as_str())).copied());
        facts.push(Fact {
            what: if matches!(route.kind, RouteKind::Stream(..)) { "Event stream" } else { "REST" },
            code: format!("{method} {path}"),
            notes: format!("({})", tool_reference::callers(route.access)),
        });
    }
    let agents = match spec.agents {
        Agents::Core => Some("tool and skill for every agent"),
        Agents::Extended => Some("with the toolset all, and the extended card"),
        Agents::None => None,
    };
    facts.extend(agents.map(|notes| Fact {
        what: "MCP and A2A",
        code: spec.name.into(),
        notes: notes.into(),
    }));
    let cost = match spec.cost {
        Cost::Metered if site.settings.offer.charges => "what the models charge, never more than its maximum",
        Cost::Metered => "free: this service does not charge",
        Cost::Free => "nothing",
    };
    facts.push(Fact { what: "Costs", code: String::new(), notes: cost.into() });
    let (id, tag) = index.unwrap_or_default();
    let anchor = id.to_owned();
    (tag, Operation { title: spec.title, name: spec.name, summary: spec.summary, anchor, facts })
}
