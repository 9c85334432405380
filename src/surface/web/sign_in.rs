//! The page where people sign in.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::account::{Visitor, answered};
use super::login::is_own_path;
use super::see_other;
use crate::pages::LoginPage;
use crate::site::names::{DASHBOARD_PATH, SIGN_IN_PREFIX};
use crate::surface::http::{Exchange, Form};

/// The ways to sign in. Who is signed in already goes on at once.
pub(super) fn show(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        let wanted = query.text("return_to");
        // A step of signing in or out is no page to come back to.
        let own = is_own_path(wanted, state.links().base_url()) && !wanted.starts_with(SIGN_IN_PREFIX);
        let return_to = if own { wanted } else { DASHBOARD_PATH };
        if Visitor::of(&state, &head).await?.is_some() {
            return see_other(return_to);
        }
        answered(&LoginPage::new(&state.site, return_to), request.headers(), &head, &state)
    }
    .boxed()
}
