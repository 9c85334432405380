//! Documents, with current facts about the models.

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::guard::Admission;
use ep_kernel::schema::decode;
use ep_kernel::{Fault, Kind};
use ep_polling::ModelChoice;
use ep_site::http::{AppState, Exchange, RequestHead};
use ep_site::{Changes, Document};
use ep_tools::polls::{EstimatePoll, Estimates, FREE_PRESET};
use serde_json::json;

use super::operation::ask;

/// Maximum wait for each fact. A document omits a fact that does not arrive in time.
const PRICE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves a document.
pub async fn document(
    document: &'static Document,
    exchange: Exchange,
    admission: Admission,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, .. } = exchange;
    let (parts, _) = request.into_parts();
    if document.changes == Changes::WithModels {
        if state.site.settings.offer.charges {
            state.site.set_price(price(&state, &head, &admission).await);
        }
        state.site.set_free_models(has_free_models(&state).await);
    }
    state.documents.serve(&state.site, document, &parts.headers)
}

/// Returns true if models are available for free polls; `None` if the model list cannot be read.
async fn has_free_models(state: &AppState) -> Option<bool> {
    let free = ModelChoice::preset(FREE_PRESET);
    let roster = tokio::time::timeout(PRICE_TIMEOUT, state.app.ports.models.roster(&free)).await.ok()?;
    match roster {
        Ok(_) => Some(true),
        Err(fault) if fault.kind() == Kind::NotConfigured => Some(false),
        Err(_) => None,
    }
}

/// Estimates the price of a poll with default arguments; `None` if no models are available.
async fn price(state: &AppState, head: &RequestHead, admission: &Admission) -> Option<Estimates> {
    let estimate = ask::<EstimatePoll>(state, head, admission, decode(json!({})).ok()?);
    tokio::time::timeout(PRICE_TIMEOUT, estimate).await.ok()?.ok()
}
