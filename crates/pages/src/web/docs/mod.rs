//! The documentation: its start with the search, and the pages of operations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::body::Bytes;
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_site::http::{AppState, Exchange, Form, HandlerFuture, Rendered, protect};
use ep_site::names::{API_REFERENCE, DOCS};
use ep_site::{HTML, MARKDOWN, QueryParameter, wants_markdown};
use futures::FutureExt;

use super::PageState;
use super::public_page::page_headers;
use crate::documents::{SearchIndex, find_operation, operation_page, search_page};

/// Query parameters of the start of the documentation.
pub(super) const QUERY: [QueryParameter; 1] =
    [QueryParameter::text("q", "Words to search for in the documentation. Every word must occur.")];

/// The search index, and the rendered pages of operations: at most two forms of each.
#[derive(Clone, Default)]
pub(crate) struct DocsPages {
    index: Arc<OnceLock<SearchIndex>>,
    operations: Arc<Mutex<HashMap<PageKey, Arc<Rendered>>>>,
}

/// The name of an operation, and true for its Markdown.
type PageKey = (&'static str, bool);

/// Serves the start of the documentation, or the results of a search.
pub(crate) fn show(of_pages: PageState, exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, request, .. } = exchange;
        let headers = request.headers();
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        if query.text("q").trim().is_empty() {
            return state.serve_document(DOCS, headers);
        }
        let index = of_pages.docs.index.get_or_init(|| SearchIndex::new(&state.site));
        let markdown = wants_markdown(headers);
        let page = search_page(&state.site, index, query.text("q"), markdown);
        let page = page.ok_or_else(|| Fault::internal("the results of a search are not rendered"))?;
        Ok(rendered(page, markdown).respond_plainly(headers))
    }
    .boxed()
}

/// Serves the page of an operation as HTML, or as Markdown.
pub(crate) fn operation(of_pages: PageState, exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, params, request, .. } = exchange;
        let params = params.ok();
        let asked = params.iter().flat_map(|params| params.iter()).next().map_or("", |(_, name)| name);
        let (name, markdown) = match asked.strip_suffix(".md") {
            Some(name) => (name, true),
            None => (asked, wants_markdown(request.headers())),
        };
        Ok(of_pages.docs.operation(&state, name, markdown)?.respond(request.headers()))
    }
    .boxed()
}

impl DocsPages {
    /// Returns the page of an operation, rendered once.
    fn operation(&self, state: &AppState, name: &str, markdown: bool) -> Result<Arc<Rendered>, Fault> {
        let entry = find_operation(&state.site, name).ok_or_else(|| {
            let list = state.links().url(API_REFERENCE, &[]);
            Fault::new(Kind::NotFound, format!("there is no such operation; see {list}"))
        })?;
        let key = (entry.spec.name, markdown);
        let mut pages = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = pages.get(&key) {
            return Ok(page.clone());
        }
        let page = operation_page(&state.site, entry, markdown);
        let page = page.ok_or_else(|| Fault::internal("the page of an operation is not rendered"))?;
        let page = Arc::new(rendered(page, markdown));
        pages.insert(key, page.clone());
        Ok(page)
    }
}

/// Returns a page with its headers.
fn rendered(page: Bytes, markdown: bool) -> Rendered {
    let media_type = if markdown { MARKDOWN } else { HTML };
    Rendered::new(page, page_headers(media_type, "public, max-age=3600", "accept", protect))
}
