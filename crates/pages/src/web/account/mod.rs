//! The account page and its forms. Each form calls its operation through dispatch, with the visitor's session.

mod amounts;
mod batches;
mod chart;
pub(super) mod data;
mod evaluations;
mod forms;
mod keys;
mod links;
mod moments;
mod new_key;
mod notices;
mod page_data;
mod payments;
mod polls;
mod refusal;
mod signed_out;
mod spending;
mod view;
mod visitor;

use axum::body::Body;
use axum::http::header::{HeaderMap, RETRY_AFTER, SET_COOKIE};
use axum::http::{Response, StatusCode};
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::tool::SessionChange;
use ep_kernel::{Fault, Kind};
use ep_site::http::{AppState, Exchange, Form, HandlerFuture, RequestHead, protect, session_cookie};
use ep_site::layout::{Renders, own, return_to};
use ep_site::names::{DASHBOARD_PATH, LOGIN_PAGE};
use ep_site::{HTML, MARKDOWN, QueryParameter, wants_markdown};
use ep_store::UserId;
use ep_tools::keys::CreatedKey;
use futures::FutureExt;
use serde_json::Value;

pub(in crate::web) use self::amounts::figure;
pub(crate) use self::forms::{cancel_poll, checkout, create_key, revoke_key};
pub(in crate::web) use self::moments::Moment;
use self::page_data::AccountView;
use self::signed_out::{AccountGonePage, CheckoutPage, SignedOutPage};
pub(crate) use self::visitor::Visitor;
use super::public_page::{page_headers, with_headers};
use super::see_other;

/// Query parameters of the page.
pub(super) const QUERY: [QueryParameter; 6] = [
    QueryParameter::text("search", "Words of the questions to list."),
    QueryParameter::text("page", "The number of the page of the list; 1 if it is not a number."),
    QueryParameter::text("batches", "The position in the list of batches: newer ones are skipped."),
    QueryParameter::text("funded", "The payment from which the browser returns; `no` if it was cancelled."),
    QueryParameter::text("notice", "A message after a sign-in."),
    QueryParameter::text("done", "The result of a form of the page."),
];

/// Maximum page number.
const PAGES: u32 = 100_000;

/// The query value after the deletion of an account.
const DELETED: &str = "deleted";

/// Shows the account page, or redirects visitors without a session to the sign-in page.
pub(crate) fn show(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let Some(visitor) = Visitor::of(&state, &head).await? else {
            let login = own(&state.links().url(LOGIN_PAGE, &[]));
            let mut response = see_other(&format!("{login}{}", return_to(DASHBOARD_PATH)))?;
            forget(&state, &head, response.headers_mut());
            return Ok(response);
        };
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        let page = query.text("page").parse().unwrap_or(1).clamp(1, PAGES);
        let view = AccountView {
            page,
            // A longer text matches nothing.
            search: query.text("search"),
            batches: query.text("batches"),
            funded: query.text("funded"),
            notice: query.text("notice"),
            done: query.text("done"),
            ..AccountView::default()
        };
        answered(&visitor.page(view).await?, request.headers(), &head, &state)
    }
    .boxed()
}

/// The outcome of a form.
pub(super) enum Done {
    /// A redirect to the page, which shows the outcome.
    Elsewhere(&'static str),
    /// A new key.
    Key(CreatedKey),
    /// A payment on the processor's page.
    Checkout {
        /// URL of that page.
        url: String,
        /// The amount.
        cents: u32,
    },
    /// The first page of a data export.
    Export(UserId, Value),
    /// The account was deleted.
    Gone,
}

/// Runs a form. The page shows a rejection beside the form; submitted values survive an expired session.
pub(super) async fn sent(
    exchange: Exchange,
    name: &'static str,
    run: impl AsyncFnOnce(&Visitor<'_>, &Form) -> Result<Done, Fault>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let form = Form::read(&parts.headers, body, max_body).await?;
    let visitor = match Visitor::of(&state, &head).await {
        Ok(Some(visitor)) => visitor,
        Ok(None) => {
            let page = SignedOutPage::new(&state.site, name, &form, None);
            return with_status(answered(&page, &parts.headers, &head, &state)?, 403, None);
        }
        Err(fault) if fault.kind() == Kind::RateLimited => {
            let page = SignedOutPage::new(&state.site, name, &form, Some(&fault));
            let wait = fault.retry_after_seconds();
            return with_status(
                answered(&page, &parts.headers, &head, &state)?,
                fault.kind().row().http,
                wait,
            );
        }
        Err(fault) => return Err(fault),
    };
    let view = AccountView { page: 1, ..AccountView::default() };
    match run(&visitor, &form).await {
        Ok(Done::Elsewhere(to)) => see_other(&format!("{DASHBOARD_PATH}{to}")),
        Ok(Done::Key(key)) => {
            let view = AccountView { created: Some(key), ..view };
            answered(&visitor.page(view).await?, &parts.headers, &head, &state)
        }
        Ok(Done::Checkout { url, cents }) => {
            let shown = state.site.settings.offer.checkout_form(name);
            let shown = shown.ok_or_else(|| Fault::internal("no rail has this form"))?;
            let page = CheckoutPage::new(&state.site, shown, url, cents);
            answered(&page, &parts.headers, &head, &state)
        }
        Ok(Done::Export(user, first)) => Ok(data::download(&state, user, first)),
        Ok(Done::Gone) => {
            let form = own(&state.links().url(name, &[]));
            let mut response = see_other(&format!("{form}?done={DELETED}"))?;
            forget(&state, &head, response.headers_mut());
            Ok(response)
        }
        Err(fault) => {
            let status = fault.kind().row().http;
            let wait = fault.retry_after_seconds();
            let view = AccountView { refused: Some((name, &fault)), typed: Some(&form), ..view };
            with_status(answered(&visitor.page(view).await?, &parts.headers, &head, &state)?, status, wait)
        }
    }
}

/// Shows the page after the deletion of an account; it can be reloaded. Other visits redirect to the account page.
pub(crate) fn gone(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        if query.text("done") != DELETED || Visitor::of(&state, &head).await?.is_some() {
            return see_other(DASHBOARD_PATH);
        }
        answered(&AccountGonePage::new(&state.site), request.headers(), &head, &state)
    }
    .boxed()
}

fn with_status(
    mut response: Response<Body>,
    status: u16,
    wait: Option<u64>,
) -> Result<Response<Body>, Fault> {
    *response.status_mut() = StatusCode::from_u16(status).map_err(Fault::internal)?;
    if let Some(seconds) = wait {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

/// Renders a page for one visitor as HTML or Markdown.
pub(crate) fn answered(
    page: &impl Renders,
    request: &HeaderMap,
    head: &RequestHead,
    state: &AppState,
) -> Result<Response<Body>, Fault> {
    let (text, media_type) = if wants_markdown(request) {
        (page.markdown().map_err(Fault::internal)?, MARKDOWN)
    } else {
        (page.render().map_err(Fault::internal)?, HTML)
    };
    let mut response = with_headers(text, page_headers(media_type, "no-store", "accept, cookie", protect));
    if page.is_for_nobody() {
        forget(state, head, response.headers_mut());
    }
    Ok(response)
}

/// Clears the cookie of an expired session.
fn forget(state: &AppState, head: &RequestHead, headers: &mut HeaderMap) {
    if matches!(head.credential, Credential::Session(_))
        && let Some(cleared) = session_cookie(&SessionChange::End, state.links().base_url())
    {
        headers.append(SET_COOKIE, cleared);
    }
}
