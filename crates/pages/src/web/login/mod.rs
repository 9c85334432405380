//! Sign-in at the identity provider.

pub(super) mod logout;
pub(super) mod sign_in;
mod view;

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::SET_COOKIE;
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_outside::identity::{Callback, FLOW_LIFETIME, Oidc, ProviderSignIn};
use ep_site::QueryParameter;
use ep_site::http::{AppState, Exchange, HandlerFuture, read_cookie, session_cookie, write_cookie};
use ep_site::names::{DASHBOARD_PATH, LOGIN_PATH, SIGN_IN_PREFIX};
use futures::FutureExt;
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::Url;

use super::redirect;

/// The cookie that a browser returns from the provider.
const COOKIE: &str = "ep_oidc";

/// Query parameters of a new sign-in: see [`LoginQuery`].
pub(super) const QUERY: [QueryParameter; 1] =
    [QueryParameter::text("return_to", "The path of this service to open afterwards; it may have a query.")];

/// Query parameters of the provider's redirect: see [`Callback`].
pub(super) const CALLBACK_QUERY: [QueryParameter; 4] = [
    QueryParameter::text("code", "The authorization code."),
    QueryParameter::text("state", "The state of the request."),
    QueryParameter::text("iss", "Who answers (RFC 9207)."),
    QueryParameter::text("error", "The provider's error (RFC 6749, section 4.1.2.1)."),
];

#[derive(Default, Deserialize)]
struct LoginQuery {
    /// Path of this service to redirect to after the sign-in.
    return_to: Option<String>,
}

/// Redirects a browser to the provider. A visitor from another website must confirm on the sign-in page first.
/// Otherwise that website could choose the time of the sign-in.
pub(crate) fn begin(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let oidc = provider(&exchange.state)?;
        let base_url = exchange.state.links().base_url();
        let requested = query::<LoginQuery>(&exchange).return_to;
        let return_to =
            requested.filter(|path| is_own_path(path, base_url)).unwrap_or_else(|| DASHBOARD_PATH.into());
        if !exchange.head.may_set_cookie {
            let query = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("return_to", &return_to)
                .finish();
            return redirect(&format!("{base_url}{LOGIN_PATH}?{query}"));
        }
        let begun = oidc.begin(return_to).await?;
        let mut response = redirect(&begun.url)?;
        let cookie = begun.cookie.expose_secret();
        set_cookie(&mut response, cookie, FLOW_LIFETIME, base_url);
        Ok(response)
    }
    .boxed()
}

/// Handles the redirect from the provider and starts a session. The request comes from the provider's website. Its
/// state and the sign-in cookie prove that this browser started the sign-in here.
pub(crate) fn finish(exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = &exchange;
        let oidc = provider(state)?;
        let nothing = || {
            let text = "this browser did not start this sign-in; start again at the sign-in page";
            Fault::new(Kind::Unauthenticated, text)
        };
        let cookie = read_cookie(request.headers(), COOKIE).ok_or_else(nothing)?;
        let signed_in = oidc.finish(&cookie, query::<Callback>(&exchange)).await?;
        let ProviderSignIn { identity, email, id_token, return_to } = signed_in;
        let account = state.app.sign_ups.sign_in(identity, email, false, &admission.caller).await?;
        let session = state.app.guard.sessions.start(account.user, id_token.as_deref()).await?;
        state.end_earlier_session(head).await;
        let base_url = state.links().base_url();
        let mark = if return_to.contains('?') { '&' } else { '?' };
        let notice = account.notice.map_or_else(String::new, |_| format!("{mark}notice=no_starter_credit"));
        let mut response = redirect(&format!("{base_url}{return_to}{notice}"))?;
        set_cookie(&mut response, "", Duration::ZERO, base_url);
        if let Some(cookie) = session_cookie(&session, base_url) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }
    .boxed()
}

fn provider(state: &AppState) -> Result<&Oidc, Fault> {
    state.oidc.as_deref().ok_or_else(|| {
        Fault::new(
            Kind::NotConfigured,
            "people do not sign in at an identity provider here: the operator sets EP_AUTH_ISSUER_URL, EP_AUTH_CLIENT_ID and \
             EP_AUTH_CLIENT_SECRET; a wallet can sign in without",
        )
    })
}

/// Parses the query; returns the default if it is invalid.
fn query<Q: Default + for<'q> Deserialize<'q>>(exchange: &Exchange) -> Q {
    axum::extract::Query::try_from_uri(exchange.request.uri()).map(|query| query.0).unwrap_or_default()
}

fn set_cookie(response: &mut Response<Body>, value: &str, lifetime: Duration, base_url: &str) {
    if let Some(cookie) = write_cookie(COOKIE, value, SIGN_IN_PREFIX, lifetime, base_url) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// True if this is a path of this service, with or without a query. Other URLs would allow redirects to other
/// websites.
pub(crate) fn is_own_path(path: &str, base_url: &str) -> bool {
    let Ok(base) = Url::parse(base_url) else { return false };
    let plain = path.starts_with('/') && path.len() <= 512 && !path.contains(['\\', '#']);
    plain
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic())
        && base.join(path).is_ok_and(|url| url.origin() == base.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_paths_are_returned_to() {
        for path in [
            "/",
            "/dashboard",
            "/results/EP-20260101-0000000000",
            "/a%2Fb",
            "/dashboard?search=%2F%2Fa&page=2",
        ] {
            assert!(is_own_path(path, "https://ep.example"), "{path}");
        }
        for path in [
            "",
            "dashboard",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "/a\r\nset-cookie: a=b",
            "/\t/evil.example",
            "/\u{e9}",
            "/a#b",
            "//evil.example?/",
            &"/".repeat(600),
        ] {
            assert!(!is_own_path(path, "https://ep.example"), "{path}");
        }
    }
}
