//! What a browser sees that opens the endpoint: how to connect, from `docs/clients.md`.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY,
};
use axum::http::{HeaderMap, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;
use pulldown_cmark::{Parser, html};
use sha2::{Digest, Sha256};

use crate::surface::http::{Exchange, fault};

const GUIDE: &str = include_str!("../../../docs/clients.md");
/// The address that the guide uses for the service.
const EXAMPLE: &str = "https://polls.example.com";
/// What the headings of the sections begin with that are shown.
const SECTIONS: &str = "MCP";
const STYLE: &str = include_str!("page.css");

/// The policy of the page: it loads nothing, and its one style sheet is known by its digest.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = BASE64.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'")
});

/// The page, for who reads HTML; anyone else learns that the endpoint takes POST alone.
pub(super) fn serve(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    let response = if reads_html(exchange.request.headers()) {
        page(exchange.state.links().base_url())
    } else {
        let message = "the endpoint takes POST: one JSON-RPC request each; it opens no streams of its own";
        let mut refused = fault(Fault::new(Kind::MethodNotAllowed, message));
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("OPTIONS, POST"));
        refused
    };
    std::future::ready(Ok(response)).boxed()
}

/// Browsers name HTML; clients of the protocol name JSON and event streams.
fn reads_html(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}

fn page(base_url: &str) -> Response<Body> {
    let mut body = String::new();
    html::push_html(&mut body, Parser::new(&sections(GUIDE).replace(EXAMPLE, base_url)));
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Ensemble Poll over MCP</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Ensemble Poll over MCP</h1>\n\
         <p>This address is for programs: add it to an MCP client, with an API key.</p>\n{body}</main>\n</body>\n</html>\n"
    );
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
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
