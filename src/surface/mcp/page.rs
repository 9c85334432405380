//! What a browser sees that opens the endpoint: how to connect, from `docs/clients.md`.

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY,
};
use axum::http::{HeaderMap, Response};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::documents::{MARKDOWN, Page, Site, page_policy, wants_markdown};
use crate::surface::http::{EntityTag, Exchange, fault};

const GUIDE: &str = include_str!("../../../docs/clients.md");
/// The address that the guide uses for the service.
const EXAMPLE: &str = "https://polls.example.com";
/// What the headings of the sections begin with that are shown.
const SECTIONS: &str = "MCP";
const TITLE: &str = "Ensemble Poll over MCP";
const ABOUT: &str = "This address is for programs: add it to an MCP client, with an API key.";

/// The page, for who reads HTML or Markdown; anyone else learns that the endpoint takes POST alone.
pub(super) fn serve(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    let (headers, site) = (exchange.request.headers(), &exchange.state.site);
    let mut response = if wants_markdown(headers) {
        page(headers, MARKDOWN, markdown(&site.settings.base_url))
    } else if reads_html(headers) {
        page(headers, "text/html; charset=utf-8", html(site))
    } else {
        let message = "the endpoint takes POST: one JSON-RPC request each; it opens no streams of its own";
        let mut refused = fault(Fault::new(Kind::MethodNotAllowed, message));
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("OPTIONS, POST"));
        refused
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    std::future::ready(Ok(response)).boxed()
}

/// Browsers name HTML; clients of the protocol name JSON and event streams.
fn reads_html(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}

fn page(request: &HeaderMap, media_type: &'static str, text: String) -> Response<Body> {
    let tag = EntityTag::of(text.as_bytes());
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(page_policy()));
    if let Some(tag) = tag {
        tag.apply(request, &mut response);
    }
    response
}

fn markdown(base_url: &str) -> String {
    format!("# {TITLE}\n\n{ABOUT}\n\n{}", sections(GUIDE).replace(EXAMPLE, base_url))
}

fn html(site: &Site) -> String {
    let markdown = markdown(&site.settings.base_url);
    Page { title: TITLE, description: ABOUT, markdown: &markdown, alternate: None }.html(site)
}

/// The sections of the guide that are about MCP.
fn sections(guide: &str) -> String {
    let about = guide.split("\n## ").skip(1).filter(|section| section.starts_with(SECTIONS));
    about.flat_map(|section| ["## ", section, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_found_in_the_documentation() {
        let shown = sections(GUIDE);
        for line in ["claude mcp add --transport http", "codex mcp add", "\"servers\": {", "ep mcp"] {
            assert!(shown.contains(line), "{line}");
        }
        assert!(!shown.contains("## A2A"));
    }
}
