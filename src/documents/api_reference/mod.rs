//! `/api/docs`: the API reference, rendered from the OpenAPI description, as HTML and Markdown.

mod markup;
mod operations;
mod schemas;

use std::fmt::Write;

use askama::Template;
use axum::body::Bytes;
use serde_json::Value;

use super::page::{bytes, layout};
use super::tool_reference;
use crate::layout::{Layout, below};
use crate::site::names::{API_REFERENCE, OPENAPI};
use crate::site::{Document, Form, MARKDOWN as MARKDOWN_TYPE, Site};
use crate::site::{HTML, owner};
use crate::site::{Route, RouteKind};
use markup::Markup;

pub(super) const DOCUMENT: Document = Document::new(
    API_REFERENCE,
    "Every endpoint with its parameters, responses, errors and schemas.",
    |_| vec!["/api/docs".into()],
    &[Form::new(HTML, page), Form::markdown(markdown)],
);

pub(super) const MARKDOWN: Document = Document::new(
    "api_reference_markdown",
    "The API reference in Markdown.",
    |_| vec!["/api/docs.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.unlisted();

#[derive(Template)]
#[template(path = "documents/api_reference/reference.html")]
struct Reference<'a> {
    page: Layout<'a>,
    version: &'a str,
    about: String,
    operations: String,
}

/// Renders the page.
fn page(site: &Site) -> Option<Bytes> {
    let description: Value = serde_json::from_slice(&site.document(OPENAPI)?).ok()?;
    let info = &description["info"];
    let groups = operations::groups(&description);
    let mut shown = Markup::default();
    operations::contents(&mut shown, &groups);
    operations::credentials(&mut shown, &description);
    for group in &groups {
        operations::section(&mut shown, &description, group);
    }
    operations::shared_parameters(&mut shown, &description);
    operations::errors(&mut shown, &description);
    schemas::section(&mut shown, &description);
    bytes(&Reference {
        page: layout(site, API_REFERENCE, MARKDOWN.name, "API reference", DOCUMENT.summary),
        version: info["version"].as_str().unwrap_or_default(),
        about: below(info["description"].as_str().unwrap_or_default()),
        operations: shown.into_string(),
    })
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
    let further =
        |route: &&Route| !tool_reference::is_operation(route) && !matches!(route.kind, RouteKind::Form);
    for route in site.routes.iter().filter(further) {
        let about = match site.settings.offer.lacks_route(route) {
            Some(lack) => lack.sentence(),
            None => route.summary.to_string(),
        };
        let _ =
            writeln!(text, "- `{} {}`: {about}", route.method.as_str(), super::openapi::shown(&route.path));
    }
    Some(text.into())
}
