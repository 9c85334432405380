//! Signs a browser out.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, SET_COOKIE,
};
use ep_kernel::fault::Fault;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::tool::SessionChange;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{redirect, start_page};
use crate::surface::http::{AppState, Exchange, session_cookie};

/// What a visitor sees whom another website has sent here.
const CONFIRM: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
    <meta name=viewport content=\"width=device-width\"><title>Sign out</title>\
    <p>Another website has sent you here to be signed out.</p><p><a href=\"logout\">Sign out</a></p></html>";

/// Ends the session wherever its cookie is, and sends the browser on: to the identity provider, if it signed in
/// there, otherwise to the start page.
pub(super) fn handle(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let headers = exchange.request.headers();
        if !is_own_wish(headers) {
            return Ok(confirm());
        }
        let AppState { app, oidc, .. } = &exchange.state;
        let provider_token = match &exchange.head.credential {
            Credential::Session(cookie) => app.guard.sessions.end(cookie).await?,
            _ => None,
        };
        let at_provider = match (oidc, provider_token) {
            (Some(oidc), Some(token)) => oidc.sign_out_url(&token).await,
            _ => None,
        };
        let base_url = exchange.state.links().base_url();
        let mut response = redirect(&at_provider.unwrap_or_else(|| start_page(base_url)))?;
        if let Some(cleared) = session_cookie(&SessionChange::End, base_url) {
            response.headers_mut().append(SET_COOKIE, cleared);
        }
        Ok(response)
    }
    .boxed()
}

/// Whether the visitor asks for it, or a page of this site: another website could otherwise sign visitors out.
fn is_own_wish(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

fn confirm() -> Response<Body> {
    let mut response = Response::new(Body::from(CONFIRM));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}
