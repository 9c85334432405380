//! `/api/docs`: the API reference, a page without scripts that loads nothing, rendered from the OpenAPI description; and the
//! same in Markdown.

mod markup;
mod operations;
mod schemas;

use std::fmt::Write;

use axum::body::Bytes;
use axum::http::header::CONTENT_SECURITY_POLICY;
use serde_json::Value;

use self::markup::{Markup, prose};
use super::page::policy_with;
use super::{API_REFERENCE, Document, Form, OPENAPI, Site, tool_reference};

const STYLE: &str = include_str!("page.css");

pub(super) const DOCUMENT: Document = Document::new(
    API_REFERENCE,
    "The API reference, for people.",
    |_| vec!["/api/docs".into()],
    &[Form::new("text/html; charset=utf-8", page), Form::markdown(markdown)],
)
.headers(|_| vec![(CONTENT_SECURITY_POLICY, policy_with(STYLE))]);

pub(super) const MARKDOWN: Document = Document::new(
    "api_reference_markdown",
    "The API reference in Markdown.",
    |_| vec!["/api/docs.md".into()],
    &[Form::new(super::MARKDOWN, markdown)],
)
.unlisted();

/// The page.
fn page(site: &Site) -> Option<Bytes> {
    let description: Value = serde_json::from_slice(&site.document(OPENAPI)?).ok()?;
    let info = &description["info"];
    let mut page = Markup::default();
    let title = format!("{}: API reference", info["title"].as_str().unwrap_or_default());
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.element("title", "", &title);
    if let Some(icon) = site.url_of(super::LOGO) {
        page.link("icon", "image/svg+xml", &icon);
    }
    page.link("alternate", "text/markdown", &site.links.url(MARKDOWN.name, &[]));
    page.link("service-desc", "application/json", &site.links.url(OPENAPI, &[]));
    page.raw("<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    page.raw("<a class=\"skip\" href=\"#main\">Skip to the operations</a>\n<header>\n");
    page.element("h1", "", &title);
    page.raw("<p>Version ")
        .text(info["version"].as_str().unwrap_or_default())
        .raw(". The same for programs: ");
    page.anchor(&site.links.url(OPENAPI, &[]), "OpenAPI").raw(", ");
    page.anchor(&site.links.url(MARKDOWN.name, &[]), "Markdown").raw(", ");
    page.anchor(&site.links.url(super::ASYNCAPI, &[]), "AsyncAPI").raw(".</p>\n");
    page.raw(&prose(info["description"].as_str().unwrap_or_default()));
    page.raw("</header>\n");
    let groups = operations::groups(&description);
    operations::contents(&mut page, &groups);
    page.raw("<main id=\"main\">\n");
    operations::credentials(&mut page, &description);
    for group in &groups {
        operations::section(&mut page, &description, group);
    }
    operations::errors(&mut page, &description);
    schemas::section(&mut page, &description);
    page.raw("</main>\n</body>\n</html>\n");
    Some(page.into_string().into())
}

/// The reference in Markdown: the operations, and what else is served.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    let owner = super::owner();
    let (name, about) =
        (owner["name"].as_str().unwrap_or_default(), owner["description"].as_str().unwrap_or_default());
    let mut text = format!(
        "# {name}: API reference\n\n{about}\n\nThe same in [OpenAPI]({}).\n",
        site.links.url(OPENAPI, &[])
    );
    text.push_str(&tool_reference::operations(site));
    text.push_str("\n## What else is served\n\n");
    for route in site.routes.iter().filter(|route| !tool_reference::is_operation(route)) {
        let _ = writeln!(
            text,
            "- `{} {}`: {}",
            route.method.as_str(),
            super::openapi::shown(&route.path),
            route.summary
        );
    }
    Some(text.into())
}
