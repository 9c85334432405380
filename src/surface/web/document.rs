//! Documents, with the current price of a poll in those that quote it.

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_tools::polls::EstimatePoll;

use super::models::ask;
use crate::documents::{self, Changes, DOCUMENTS, PollPrice};
use crate::surface::http::{AppState, Exchange, RequestHead};

/// Longest wait for the price. Without it, a document is served without a price.
const PRICE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves the document at this index of the table.
pub async fn document(
    index: usize,
    exchange: Exchange,
    admission: Admission,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, .. } = exchange;
    let (parts, _) = request.into_parts();
    if DOCUMENTS[index].changes == Changes::WithPrices && state.site.settings.offer.charges {
        state.site.set_price(price(&state, &head, &admission).await);
    }
    documents::serve(&state.site, index, &parts.headers)
}

/// Estimates a poll with the default arguments; `None` if no models are available.
async fn price(state: &AppState, head: &RequestHead, admission: &Admission) -> Option<PollPrice> {
    let estimate = ask::<EstimatePoll>(state, head, admission);
    let estimate = tokio::time::timeout(PRICE_TIMEOUT, estimate).await.ok()?.ok()?;
    serde_json::from_value(estimate).ok()
}
