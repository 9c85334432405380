//! The page about confidence. Its query chooses the poll to try, for browsers without scripts.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::Fault;
use ep_kernel::guard::Admission;
use ep_site::http::{Exchange, HandlerFuture};
use ep_site::names::HOW_SURE;
use ep_site::{HTML, QueryParameter, wants_markdown};
use futures::FutureExt;

use super::public_page::public_page;
use crate::documents::{SamplePoll, how_sure_page};

/// Query parameters.
pub(super) const QUERY: [QueryParameter; 4] = [
    QueryParameter::text("panel", "The size of the panel, from 3 to 100 models."),
    QueryParameter::text("leader", "The votes for the leader."),
    QueryParameter::text("runner_up", "The votes for the runner-up."),
    QueryParameter::text("threshold", "How sure the poll must be to stop, from 50 to 100 per cent."),
];

/// Serves the page as HTML, or as Markdown if the client prefers it.
pub(super) fn show(exchange: Exchange, _: Admission) -> HandlerFuture {
    std::future::ready(page(&exchange)).boxed()
}

fn page(exchange: &Exchange) -> Result<Response<Body>, Fault> {
    let Exchange { state, request, .. } = exchange;
    let query = request.uri().query().unwrap_or_default();
    if query.is_empty() || wants_markdown(request.headers()) {
        return state.serve_document(HOW_SURE, request.headers());
    }
    let page = how_sure_page(&state.site, SamplePoll::read(query));
    let page = page.ok_or_else(|| Fault::internal("the page about confidence could not be rendered"))?;
    Ok(public_page(page, HTML, "public, max-age=3600", request.headers()))
}
