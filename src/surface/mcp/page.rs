//! What the endpoint answers to GET: a page for who reads HTML or Markdown.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{ALLOW, HeaderValue, VARY};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::documents::{reads_html, serve_named, wants_markdown};
use crate::site::names::MCP_PAGE;
use crate::surface::http::{Exchange, fault};

/// The page, for who reads HTML or Markdown; anyone else learns that the endpoint takes POST alone.
pub(super) fn serve(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    let (headers, site) = (exchange.request.headers(), &exchange.state.site);
    let response = if wants_markdown(headers) || reads_html(headers) {
        serve_named(site, MCP_PAGE, headers)
    } else {
        let message = "the endpoint takes POST: one JSON-RPC request each; it opens no streams of its own; people read \
                       how to connect with Accept: text/html or text/markdown";
        let mut refused = fault(Fault::new(Kind::MethodNotAllowed, message));
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("OPTIONS, POST"));
        refused.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
        Ok(refused)
    };
    std::future::ready(response).boxed()
}
