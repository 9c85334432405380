//! Pages of what an account owns, which others may read once it is shared, and their forms.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::method::Method;
use ep_kernel::{Fault, Kind, RecoveryAction};
use ep_site::http::{AppState, Exchange, Form};
use ep_site::layout::{own, return_to};
use ep_site::names::{DASHBOARD, LOGIN_PAGE};

use super::account::Visitor;
use super::see_other;

/// Runs a form, and redirects to the address that `run` returns. Without a session, redirects to the sign-in page, which
/// leads back to the address that `page` returns.
pub(super) async fn sent(
    exchange: Exchange,
    page: impl Fn(&AppState, &Form) -> String,
    run: impl AsyncFnOnce(&Visitor<'_>, &Form, String) -> Result<String, Fault>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let form = Form::read(&parts.headers, body, max_body).await?;
    let page = page(&state, &form);
    match Visitor::of(&state, &head).await? {
        Some(visitor) => see_other(&run(&visitor, &form, page).await?),
        None => to_sign_in(&state, &page),
    }
}

/// Adds a link to a section of the account page to a fault, for a signed-in visitor.
pub(super) fn with_own(fault: Fault, state: &AppState, section: &str) -> Fault {
    if fault.kind() != Kind::NotFound {
        return fault;
    }
    let own = format!("{}#{section}", state.links().url(DASHBOARD, &[]));
    let description = format!("See the {section} of your account.");
    let action = RecoveryAction::new(&format!("list_own_{section}"), description, Some((Method::Get, own)));
    fault.with_action(action)
}

/// Redirects to the sign-in page, which leads back to this page.
pub(super) fn to_sign_in(state: &AppState, page: &str) -> Result<Response<Body>, Fault> {
    let login = own(&state.links().url(LOGIN_PAGE, &[]));
    see_other(&format!("{login}{}", return_to(page)))
}
