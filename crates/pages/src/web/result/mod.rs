//! Pages of polls. Each page calls its operation through dispatch, like every other surface.

mod answer;
mod cache;
mod frame;
mod hero;
mod oembed;
mod page;
mod pictures;
mod reasons;
mod sharing;
mod view;
mod votes;
mod words;

use std::sync::Arc;

use askama::Template;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use ep_kernel::dispatch;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::method::Method;
use ep_kernel::output::Cache;
use ep_kernel::schema::decode;
use ep_kernel::{Call, Fault, Kind, RecoveryAction, Tool, Typed};
use ep_polling::{PollId, Timestamp};
use ep_site::http::{
    AppState, Exchange, HandlerFuture, PUBLIC_RESULT, Rendered, RequestHead, protect, protect_embedded,
};
use ep_site::names::{DASHBOARD, RESULT_PAGE};
use ep_site::wants_markdown;
use ep_tools::entry_of;
use ep_tools::results::{GetPollResult, PollResult};
use futures::FutureExt;
use serde_json::json;

use self::cache::PageKey;
pub(super) use self::oembed::OEMBED_QUERY;
pub(crate) use self::oembed::oembed;
use self::page::ResultFormat;
pub(super) use self::view::{View, plain_cell};
pub(super) use self::votes::colour;
pub(super) use self::words::quoted;
use super::PageState;
use super::public_page::{page_headers, with_headers};

pub use self::cache::PageCache;
pub use self::page::ResultPage;
pub use self::pictures::Pictures;

/// The operation whose output this page shows, and the page.
pub(super) const OPERATION_AND_PAGE: (&str, &str) = (GetPollResult::SPEC.name, RESULT_PAGE);

/// Serves a poll's page as HTML or Markdown, its votes as CSV, or its picture.
pub(crate) fn result(of_pages: PageState, exchange: Exchange, admission: Admission) -> HandlerFuture {
    page(of_pages, exchange, admission, false).boxed()
}

/// Serves a poll for frames on other websites. A private poll is never shown, not even to its owner.
pub(crate) fn embed(of_pages: PageState, exchange: Exchange, admission: Admission) -> HandlerFuture {
    page(of_pages, exchange, admission, true).boxed()
}

/// Responds with the poll in the requested format. A frame has one address, and shows what everyone may read.
async fn page(
    of_pages: PageState,
    exchange: Exchange,
    admission: Admission,
    embedded: bool,
) -> Result<Response<Body>, Fault> {
    let (state, head, parts, part) = read_request(exchange);
    let headers = &parts.headers;
    let (id, format) = if embedded { (part.as_str(), ResultFormat::Page) } else { ResultFormat::of(&part) };
    let credential = if embedded { Credential::None } else { head.credential.clone() };
    let key = PageKey { id: id.to_owned(), embedded, format: wanted(format, headers) };
    // Only the HTML page has an order and a filter.
    let query =
        parts.uri.query().filter(|_| key.format == ResultFormat::Page && !embedded).unwrap_or_default();
    if let Some(cached) = cached(&of_pages, &state, &key, query) {
        return Ok(cached.respond(headers));
    }
    let read = read(&state, credential, &head, &admission, id).await?;
    if let Some(cached) = renewed(&of_pages, &state, &key, query, &read) {
        return Ok(cached.respond(headers));
    }
    let settled = read.is_settled;
    let page = page_of(&state, read, query);
    let bytes: Bytes = match key.format {
        ResultFormat::Csv => page.csv().map_err(Fault::internal)?.into(),
        ResultFormat::Png => of_pages.pictures.png(page.card()).await?,
        ResultFormat::Svg => page.card().svg().into(),
        ResultFormat::Page if embedded => page.embedded().map_err(Fault::internal)?.into(),
        ResultFormat::Page => page.render().map_err(Fault::internal)?.into(),
        ResultFormat::Markdown => page.markdown().map_err(Fault::internal)?.into(),
    };
    // Pages with a query are never cached.
    let cache = query.is_empty().then(|| (&of_pages.pages, state.app.ports.clock.now()));
    Ok(shown(cache, headers, key, bytes, settled))
}

/// Selects Markdown for clients that prefer it to HTML.
fn wanted(format: ResultFormat, headers: &HeaderMap) -> ResultFormat {
    if format == ResultFormat::Page && wants_markdown(headers) { ResultFormat::Markdown } else { format }
}

/// Returns a recently cached page. Pages with a query are never cached.
fn cached(of_pages: &PageState, state: &AppState, key: &PageKey, query: &str) -> Option<Arc<Rendered>> {
    let now = state.app.ports.clock.now();
    // The owner may have deleted the poll since.
    let deleted = |id: PollId| state.app.ports.polls.is_deleted(&id);
    if !query.is_empty() || key.id.parse().is_ok_and(deleted) {
        return None;
    }
    of_pages.pages.get(key, now)
}

/// Renews the cached page of a poll that was read again and is settled.
fn renewed(
    of_pages: &PageState,
    state: &AppState,
    key: &PageKey,
    query: &str,
    read: &Read,
) -> Option<Arc<Rendered>> {
    let now = state.app.ports.clock.now();
    (query.is_empty() && read.is_settled).then(|| of_pages.pages.renew(key, now)).flatten()
}

/// Returns the head of a request and the last parameter of its path.
fn read_request(exchange: Exchange) -> (AppState, RequestHead, Parts, String) {
    let Exchange { state, head, params, request, .. } = exchange;
    let last = params.ok().and_then(|params| params.iter().last().map(|(_, value)| value.to_owned()));
    (state, head, request.into_parts().0, last.unwrap_or_default())
}

pub(crate) fn page_of<'a>(state: &'a AppState, read: Read, query: &str) -> ResultPage<'a> {
    ResultPage::new(&state.site, read.result, read.private, query)
}

/// Responds with a page of a poll. A settled page has an entity tag, and goes into `cache` if there is one.
fn shown(
    cache: Option<(&PageCache, Timestamp)>,
    request: &HeaderMap,
    key: PageKey,
    bytes: Bytes,
    settled: bool,
) -> Response<Body> {
    let protect = if key.embedded { protect_embedded } else { protect };
    let headers = headers_of(key.format.media_type(), settled, protect);
    if !settled {
        return with_headers(bytes, headers);
    }
    let page = Arc::new(Rendered::new(bytes, headers));
    if let Some((pages, now)) = cache {
        pages.insert(key, Arc::clone(&page), now);
    }
    page.respond(request)
}

fn headers_of(media_type: &'static str, settled: bool, protect: fn(&mut HeaderMap)) -> HeaderMap {
    page_headers(media_type, if settled { PUBLIC_RESULT } else { "no-store" }, "accept", protect)
}

/// A result that a visitor may read.
pub(crate) struct Read {
    pub(super) result: PollResult,
    /// True if the result is private to the visitor.
    pub(super) private: bool,
    /// True if the result is public and will not change.
    is_settled: bool,
}

impl Read {
    fn new(done: Typed<PollResult>, private: bool) -> Self {
        let is_settled = matches!(done.presentation.cache, Cache::Immutable);
        Self { result: done.output, private, is_settled }
    }
}

/// Reads a result without a credential first, then with this credential.
pub(super) async fn read(
    state: &AppState,
    credential: Credential,
    head: &RequestHead,
    admission: &Admission,
    id: &str,
) -> Result<Read, Fault> {
    let ask = async |request| {
        let input = decode(json!({ "poll_id": id }))?;
        let entry = entry_of::<GetPollResult>()?;
        dispatch::call::<GetPollResult>(&state.app, entry, Call::new(request), input).await
    };
    match ask(head.admitted("web", admission.clone())).await {
        Ok(done) => return Ok(Read::new(done, false)),
        Err(fault) if fault.kind() == Kind::NotFound => {}
        Err(fault) => return Err(fault),
    }
    let mut is_signed_in = false;
    if !matches!(credential, Credential::None) {
        let by_session = matches!(credential, Credential::Session(_));
        match ask(head.guarded("web", credential)).await {
            Err(fault) if fault.rejects_credential() => {}
            Err(fault) if fault.kind() == Kind::NotFound => is_signed_in = by_session,
            done => return done.map(|done| Read::new(done, true)),
        }
    }
    let fault = Fault::no_such_poll(id);
    if is_signed_in {
        let polls = format!("{}#polls", state.links().url(DASHBOARD, &[]));
        let description = "See the polls of your account. You may have deleted it.";
        let action = RecoveryAction::new("list_own_polls", description, Some((Method::Get, polls)));
        return Err(fault.with_action(action));
    }
    Err(fault)
}
