//! The response to GET at the endpoint: a page in HTML or Markdown.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{ALLOW, HeaderValue, VARY};
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_site::http::{Exchange, fault};
use ep_site::names::MCP_PAGE;
use ep_site::{reads_html, wants_markdown};
use futures::FutureExt;
use futures::future::BoxFuture;

/// Serves the page in HTML or Markdown; other clients get the error that the endpoint accepts only POST.
pub(super) fn serve(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    let headers = exchange.request.headers();
    let response = if wants_markdown(headers) || reads_html(headers) {
        exchange.state.serve_document(MCP_PAGE, headers)
    } else {
        let message = "send one JSON-RPC request with POST; GET opens no event stream. For instructions, send \
                       Accept: text/html or text/markdown";
        let mut refused = fault(Fault::new(Kind::MethodNotAllowed, message));
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("OPTIONS, POST"));
        refused.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
        Ok(refused)
    };
    std::future::ready(response).boxed()
}
