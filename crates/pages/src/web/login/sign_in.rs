//! The sign-in page.

use ep_kernel::guard::Admission;
use ep_site::http::{Exchange, Form, HandlerFuture};
use ep_site::names::{DASHBOARD_PATH, SIGN_IN_PREFIX};
use futures::FutureExt;

use super::is_own_path;
use super::view::LoginPage;
use crate::web::account::{Visitor, answered};
use crate::web::see_other;

/// Shows the ways to sign in, or redirects a visitor who is already signed in.
pub(crate) fn show(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        let requested = query.text("return_to");
        // Sign-in and sign-out URLs are not valid destinations after a sign-in.
        let own = is_own_path(requested, state.links().base_url()) && !requested.starts_with(SIGN_IN_PREFIX);
        let return_to = if own { requested } else { DASHBOARD_PATH };
        if Visitor::of(&state, &head).await?.is_some() {
            return see_other(return_to);
        }
        answered(&LoginPage::new(&state.site, return_to), request.headers(), &head, &state)
    }
    .boxed()
}
