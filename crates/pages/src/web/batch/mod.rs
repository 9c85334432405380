//! The page of a batch: its progress, the agreement of the models, and the rows to review. Its owner reads and changes it;
//! others read it if it is shared.

mod download;
mod forms;
mod view;

use axum::body::Body;
use axum::http::Response;
use axum::http::request::Parts;
use ep_kernel::guard::Admission;
use ep_kernel::schema::decode;
use ep_kernel::{Fault, Kind};
use ep_site::QueryParameter;
use ep_site::http::{AppState, Exchange, Form, HandlerFuture, RequestHead};
use ep_site::layout::own;
use ep_site::names::BATCH_PAGE;
use ep_store::RowKind;
use ep_tools::batches::{GetBatch, GetBatchReview};
use futures::FutureExt;
use serde_json::json;

use self::download::Download;
pub(crate) use self::forms::{cancel, review, share};
use self::view::{BatchPage, OwnerView, QueueView};
use super::account::{Visitor, answered};
use super::operation::ask;
use super::owned_page::{to_sign_in, with_own};

/// Query parameters.
pub(super) const QUERY: [QueryParameter; 1] =
    [QueryParameter::text("cursor", "The position in the review queue: rows before it are skipped.")];

/// Kinds of error.
pub(super) const FAULTS: [Kind; 3] = [Kind::NotFound, Kind::InvalidInput, Kind::Unavailable];

/// Rows of the queue on the page: the one to review, and the next ones.
const SHOWN: usize = 6;
/// Suffixes of the addresses of downloads.
const DOWNLOADS: [(&str, Download); 3] = [
    (".errors.jsonl", Download::Lines(RowKind::Failed)),
    (".jsonl", Download::Lines(RowKind::Completed)),
    (".csv", Download::Answers),
];

/// Serves the page, or a download to its owner.
pub(crate) fn show(exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, params, request, .. } = exchange;
        let part = params.ok().and_then(|params| params.iter().last().map(|(_, value)| value.to_owned()));
        let part = part.unwrap_or_default();
        let visitor = Visitor::of(&state, &head).await?;
        let request = request.into_parts().0;
        let wanted = DOWNLOADS.iter().find_map(|(suffix, file)| Some((part.strip_suffix(suffix)?, *file)));
        match (wanted, visitor) {
            (None, visitor) => page(&part, visitor.as_ref(), &state, &head, &request, admission).await,
            (Some((id, file)), Some(visitor)) => download::send(&visitor, id, file).await,
            (Some((id, _)), None) => to_sign_in(&state, &page_of(&state, id)),
        }
    }
    .boxed()
}

async fn page(
    id: &str,
    visitor: Option<&Visitor<'_>>,
    state: &AppState,
    head: &RequestHead,
    request: &Parts,
    admission: Admission,
) -> Result<Response<Body>, Fault> {
    let query = Form::parse(request.uri.query().unwrap_or_default().as_bytes());
    // An invalid position is the beginning.
    let cursor = Some(query.text("cursor")).filter(|cursor| is_cursor(cursor));
    let input = decode(json!({ "batch_id": id, "limit": SHOWN, "cursor": cursor }))?;
    let admission = visitor.map_or(admission, |visitor| visitor.admission.clone());
    let found = match ask::<GetBatchReview>(state, head, &admission, input).await {
        Err(fault) if fault.kind() == Kind::NotFound && visitor.is_none() => {
            return to_sign_in(state, &page_of(state, id));
        }
        found => found.map_err(|fault| with_own(fault, state, "batches"))?,
    };
    let owner = match visitor {
        Some(visitor) => owner(visitor, id).await?,
        None => None,
    };
    let now = state.app.ports.clock.now();
    let header = match visitor {
        Some(visitor) => Some(visitor.header().await?),
        None => None,
    };
    let page = BatchPage::new(&state.site, found, owner, header, QueueView { cursor, now });
    answered(&page, &request.headers, head, state)
}

/// Returns the part of the page for the owner; `None` if the visitor reads a shared batch of another account.
async fn owner(visitor: &Visitor<'_>, id: &str) -> Result<Option<OwnerView>, Fault> {
    match visitor.ask::<GetBatch>(decode(json!({ "batch_id": id }))?).await {
        Ok(batch) => Ok(Some(OwnerView { batch, nonce: visitor.nonce() })),
        Err(fault) if fault.kind() == Kind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// True if a text can be a position in the queue.
fn is_cursor(text: &str) -> bool {
    let is_number =
        |text: &str| (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(agreement, row)| is_number(agreement) && is_number(row))
}

/// Returns the address of the page of a batch.
fn page_of(state: &AppState, id: &str) -> String {
    own(&state.links().url(BATCH_PAGE, &[("batch_id", id)]))
}
