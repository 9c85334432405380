//! `/api/docs/{operation}`: an operation as a page and in Markdown, from its specification and its schemas.

use askama::Template;
use axum::body::Bytes;
use ep_kernel::{Agents, Cost, Effect, Entry, Kind, Latency};
use ep_site::layout::{Layout, Text, linked_text, own};
use ep_site::{Site, Unavailable};
use serde_json::Value;

use super::fields::{fields, has_fields};
use super::markup::Markup;
use super::navigation::{Frame, PageLink};
use super::nouns::page_url;
use super::samples::{Sample, samples};
use crate::documents::openapi::shown;
use crate::documents::page::bytes;
use crate::documents::tool_reference;
use crate::documents::tool_reference::callers;

/// The ending of the path of the Markdown document.
pub(super) const MARKDOWN_ENDING: &str = ".md";

#[derive(Template)]
#[template(path = "documents/docs/operation.html")]
struct OperationPage<'a> {
    page: Layout<'a>,
    frame: Frame,
    inner: Content,
}

struct Content {
    name: &'static str,
    title: String,
    summary: &'static str,
    /// The reason why the operation has no use here, as a sentence.
    lack: Option<String>,
    routes: Vec<RouteLine>,
    facts: Vec<Fact>,
    samples: Vec<Sample>,
    manual: Text,
    request: Option<String>,
    response: Option<String>,
    errors: Vec<ErrorRow>,
}

/// A method and a path of the operation.
struct RouteLine {
    method: &'static str,
    path: String,
    is_stream: bool,
    callers: String,
}

/// A labelled fact about the operation.
struct Fact {
    label: &'static str,
    text: String,
}

struct ErrorRow {
    status: u16,
    code: &'static str,
    title: &'static str,
    remedy: String,
}

/// Finds the offered operation with this name.
pub fn find(site: &Site, name: &str) -> Option<&'static Entry> {
    site.offered().find(|entry| entry.spec.name == name)
}

/// Renders the page of an operation, or its Markdown.
pub fn page(site: &Site, entry: &'static Entry, markdown: bool) -> Option<Bytes> {
    if markdown {
        return Some(tool_reference::one(site, entry).into());
    }
    let url = page_url(site, entry);
    let frame = Frame::new(site, &own(&url));
    let noun = frame.nouns.iter().find(|noun| noun.is_open).map(|noun| noun.title.clone());
    let noun = noun.map(|title| PageLink { title, url: String::new(), is_current: false });
    let parents = [PageLink::docs(site), PageLink::operations(site)].into_iter().chain(noun);
    let frame = Frame { parents: parents.collect(), ..frame };
    let inner = content(site, entry);
    let layout = Layout::new(site, inner.title.clone(), entry.spec.summary.to_owned());
    let markdown = Some(format!("{}{MARKDOWN_ENDING}", own(&url)));
    bytes(&OperationPage { page: Layout { canonical: Some(url), markdown, ..layout }, frame, inner })
}

fn content(site: &Site, entry: &'static Entry) -> Content {
    let spec = &entry.spec;
    let routes = site.routes.iter().filter(|route| route.name == spec.name);
    let routes = routes.filter_map(|route| {
        route.as_operation()?;
        let (method, path) = (route.method.as_str(), shown(&route.path));
        Some(RouteLine { method, path, is_stream: route.is_stream(), callers: callers(route.access) })
    });
    Content {
        name: spec.name,
        title: spec.title.trim_end_matches('.').to_owned(),
        summary: spec.summary,
        lack: site.settings.offer.lacks(spec).map(Unavailable::sentence),
        routes: routes.collect(),
        facts: facts(site, entry),
        samples: samples(site, entry),
        manual: linked_text(spec.manual.trim(), &site.settings.base_url),
        request: listed(entry.input().as_value()),
        response: response(entry),
        errors: errors(site, spec.faults),
    }
}

/// Returns the schema's fields as HTML; `None` if it has none.
fn listed(schema: &Value) -> Option<String> {
    let mut page = Markup::default();
    has_fields(schema, schema).then(|| fields(&mut page, schema, schema)).map(|()| page.into_string())
}

/// Returns the fields of the response: of the part of the output that REST sends.
fn response(entry: &Entry) -> Option<String> {
    let output = entry.output().as_value();
    let part = entry.spec.rest.and_then(|rest| rest.field);
    let items = part.map(|field| &output["properties"][field]["items"]);
    let mut page = Markup::default();
    let schema = items.filter(|items| has_fields(output, items)).unwrap_or(output);
    if items.is_some() {
        page.element("p", "", "A list of objects with these fields.").raw("\n");
    }
    has_fields(output, schema).then(|| fields(&mut page, output, schema)).map(|()| page.into_string())
}

fn facts(site: &Site, entry: &Entry) -> Vec<Fact> {
    let spec = &entry.spec;
    let cost = match spec.cost {
        Cost::Metered if site.settings.offer.charges => "What the models charge, at most the maximum cost",
        Cost::Metered => "Free: this service does not charge",
        Cost::Free => "Free",
    };
    let time = match spec.latency {
        Latency::Instant => "Milliseconds",
        Latency::Models => "Seconds to a minute: the response time of the models",
    };
    let agents = match spec.agents {
        Agents::Core => Some("MCP tool and A2A skill".to_owned()),
        Agents::Set(set) => {
            Some(format!("MCP tool of the toolset {}, A2A skill of the extended card", set.name()))
        }
        Agents::None => None,
    };
    let fact = |label, text: &str| Fact { label, text: text.to_owned() };
    let mut facts = vec![fact("Costs", cost), fact("Takes", time)];
    facts.extend(agents.map(|agents| fact("Agents", &agents)));
    if !spec.access.anonymous && spec.access.key {
        let scope = spec.effect.scope().as_str();
        facts.push(Fact { label: "Key scope", text: format!("{scope}, or a wider one") });
    }
    if matches!(spec.effect, Effect::Consult | Effect::Write { idempotent: false }) {
        facts.push(fact("Repeating", "Send an Idempotency-Key: a repeated request then runs once"));
    }
    facts
}

/// Returns the errors of the operation that can occur in this configuration.
fn errors(site: &Site, faults: &[Kind]) -> Vec<ErrorRow> {
    let occurs = |kind: &&Kind| site.settings.offer.has_error(**kind);
    let rows = faults.iter().filter(occurs).map(|kind| kind.row());
    rows.map(|row| {
        let remedy: Vec<&str> = row.recovery.iter().map(|recovery| recovery.description).collect();
        ErrorRow { status: row.http, code: row.code, title: row.title, remedy: remedy.join(" ") }
    })
    .collect()
}
