//! `/api/docs`: the index of the operations by noun, and every other address, as HTML and Markdown.

use std::fmt::Write;

use askama::Template;
use axum::body::Bytes;
use ep_site::layout::{Layout, below, own};
use ep_site::names::{API_REFERENCE, OPENAPI};
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Route, Site, owner};
use serde_json::Value;

use super::navigation::{Frame, PageLink};
use super::nouns::{Noun, nouns, page_url};
use crate::documents::openapi::shown;
use crate::documents::page::{bytes, layout};
use crate::documents::tool_reference;

pub(in crate::documents) const DOCUMENT: Document = Document::new(
    API_REFERENCE,
    "Every operation with its page, credentials, headers, and all other addresses.",
    |_| vec!["/api/docs".into()],
    &[Form::new(HTML, page), Form::markdown(markdown)],
);

pub(in crate::documents) const MARKDOWN: Document = Document::new(
    "api_reference_markdown",
    "The API reference in Markdown.",
    |_| vec!["/api/docs.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.unlisted();

#[derive(Template)]
#[template(path = "documents/docs/reference.html")]
struct Reference<'a> {
    page: Layout<'a>,
    frame: Frame,
    version: &'a str,
    about: String,
    groups: Vec<Group>,
    others: Vec<Others>,
    credentials: Vec<Term>,
    headers: Vec<Term>,
}

/// The operations on one noun.
struct Group {
    name: String,
    about: String,
    operations: Vec<OperationLine>,
}

struct OperationLine {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    url: String,
    routes: Vec<RouteLine>,
}

struct RouteLine {
    /// The operation's id in the OpenAPI description. The first entry with an id carries it as an anchor.
    id: String,
    method: String,
    path: String,
}

/// Addresses that are not operations, of one tag.
struct Others {
    name: String,
    routes: Vec<OtherLine>,
}

struct OtherLine {
    route: RouteLine,
    title: String,
}

/// A name with its description, as HTML.
struct Term {
    id: String,
    name: String,
    text: String,
}

/// An operation of the OpenAPI description.
struct Described<'a> {
    id: &'a str,
    tag: &'a str,
    method: String,
    path: &'a str,
    title: &'a str,
}

fn page(site: &Site) -> Option<Bytes> {
    let description: Value = serde_json::from_slice(&site.document(OPENAPI)?).ok()?;
    let mut described: Vec<Described<'_>> = described(&description).collect();
    let groups = nouns(site).into_iter().map(|noun| group(site, noun, &mut described)).collect();
    let info = &description["info"];
    let frame = Frame::new(site, &own(&site.url_of(API_REFERENCE)?));
    bytes(&Reference {
        page: layout(site, API_REFERENCE, MARKDOWN.name, "Operations", DOCUMENT.summary),
        frame: Frame { parents: vec![PageLink::docs(site)], ..frame },
        version: info["version"].as_str().unwrap_or_default(),
        about: below(info["description"].as_str().unwrap_or_default()),
        groups,
        others: others(&description, described),
        credentials: terms(&description["components"]["securitySchemes"], "credential"),
        headers: terms(&description["components"]["parameters"], "parameter"),
    })
}

fn described(description: &Value) -> impl Iterator<Item = Described<'_>> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let methods = paths.flat_map(|(path, item)| {
        item.as_object().into_iter().flatten().map(move |(method, described)| (path, method, described))
    });
    methods.map(|(path, method, described)| Described {
        id: described["operationId"].as_str().unwrap_or_default(),
        tag: described["tags"][0].as_str().unwrap_or_default(),
        method: method.to_ascii_uppercase(),
        path,
        title: described["summary"].as_str().unwrap_or_default(),
    })
}

/// Returns the lines of a noun, and removes its operations from the rest of the description.
fn group(site: &Site, noun: Noun, rest: &mut Vec<Described<'_>>) -> Group {
    let operations = noun.entries.into_iter().map(|entry| {
        let routes = site
            .routes
            .iter()
            .filter(|route| route.name == entry.spec.name && route.as_operation().is_some());
        let routes = routes.map(|route| {
            let (method, path) = (route.method.as_str().to_owned(), shown(&route.path));
            let known = rest.iter().position(|known| known.method == method && known.path == path);
            // The id of an operation that has a line of its own is the anchor of that line.
            let id = known.map(|place| rest.remove(place).id).filter(|id| *id != entry.spec.name);
            RouteLine { id: id.unwrap_or_default().to_owned(), method, path }
        });
        OperationLine {
            name: entry.spec.name,
            title: entry.spec.title,
            summary: first_sentence(entry.spec.summary),
            routes: routes.collect(),
            url: own(&page_url(site, entry)),
        }
    });
    Group { operations: operations.collect(), name: noun.name, about: noun.about }
}

/// Returns the first sentence of a summary.
pub(super) fn first_sentence(summary: &str) -> &str {
    let end = [". ", "; "].iter().filter_map(|end| summary.find(end)).min();
    end.map_or(summary, |end| &summary[..end]).trim_end_matches('.')
}

/// Groups the addresses that are not operations by their tags, in the order of the description.
fn others(description: &Value, rest: Vec<Described<'_>>) -> Vec<Others> {
    let tags = description["tags"].as_array().into_iter().flatten();
    let mut others: Vec<Others> = tags
        .filter_map(|tag| tag["name"].as_str())
        .map(|name| Others { name: name.to_owned(), routes: Vec::new() })
        .collect();
    for Described { id, tag, method, path, title } in rest {
        if let Some(group) = others.iter_mut().find(|group| group.name == tag) {
            let route = RouteLine { id: id.to_owned(), method, path: path.to_owned() };
            group.routes.push(OtherLine { route, title: title.to_owned() });
        }
    }
    others.retain(|group| !group.routes.is_empty());
    others
}

fn terms(members: &Value, kind: &str) -> Vec<Term> {
    let members = members.as_object().into_iter().flatten();
    members
        .map(|(name, member)| Term {
            id: format!("{kind}-{name}"),
            name: name.clone(),
            text: below(member["description"].as_str().unwrap_or_default()),
        })
        .collect()
}

/// Renders the reference in Markdown: the operations and all other routes.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    let owner = owner();
    let (name, about) =
        (owner["name"].as_str().unwrap_or_default(), owner["description"].as_str().unwrap_or_default());
    let mut text = format!(
        "# {name}: API reference\n\n{about}\n\nThe same in [OpenAPI]({}).\n",
        site.links.url(OPENAPI, &[])
    );
    text.push_str(&tool_reference::offered(site));
    text.push_str("\n## What else is served\n\n");
    // Form routes are left out because only their page uses them.
    let further = |route: &&Route| route.as_operation().is_none() && !route.is_form();
    for route in site.routes.iter().filter(further) {
        let about = match site.settings.offer.lacks_route(route) {
            Some(lack) => lack.sentence(),
            None => route.summary.to_string(),
        };
        let _ = writeln!(text, "- `{} {}`: {about}", route.method.as_str(), shown(&route.path));
    }
    Some(text.into())
}
