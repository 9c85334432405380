//! What browsers are sent through (signing in at the identity provider, signing out), what other services call, and what
//! is passed on of them.

mod deposit;
mod discovery;
mod login;
mod logout;
mod stripe;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use axum::http::{Response, StatusCode};
use ep_kernel::fault::Fault;
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};

use super::route::{Handler, Route, RouteKind};

pub use deposit::{AMOUNTS as DEPOSITS, DepositReceipt, DepositRequest, PaymentRequired, Usdc};

/// The name of the route that the identity provider sends visitors back to.
pub const CALLBACK: &str = "login_callback";

/// The name of the route by which browsers sign in.
pub const LOGIN: &str = "login";

/// The name of the route that signs a browser out.
pub const LOGOUT: &str = "logout";

/// The name of the route that takes deposits of USDC.
pub const DEPOSIT: &str = "deposit";

/// What the paths of signing in begin with: browsers send the cookie of a sign-in nowhere else.
const COOKIE_PATH: &str = "/api/auth";

/// Where a visitor is sent who has signed in and wanted to go nowhere else.
pub const DASHBOARD: &str = "/dashboard";

/// Every redirect, webhook and mirrored document. Whoever comes is known by what comes with the request, not by its credential.
pub static ROUTES: [Route; 6] = [
    Route {
        name: DEPOSIT,
        method: Method::Post,
        path: Cow::Borrowed("/api/deposit"),
        access: Access::PUBLIC,
        rate: Rate::Default,
        kind: RouteKind::Payment(deposit::handle),
        summary: Cow::Borrowed("Funds an account in USDC (x402, versions 1 and 2)."),
    },
    Route {
        name: "openid_configuration",
        method: Method::Get,
        path: Cow::Borrowed("/.well-known/openid-configuration"),
        access: Access::PUBLIC,
        rate: Rate::Public,
        kind: RouteKind::Mirror(discovery::pass_on),
        summary: Cow::Borrowed("What the identity provider says of itself (OpenID Connect Discovery)."),
    },
    Route {
        name: "stripe_webhook",
        method: Method::Post,
        path: Cow::Borrowed("/api/webhooks/stripe"),
        access: Access::PUBLIC,
        rate: Rate::Exempt,
        kind: RouteKind::Webhook(stripe::receive),
        summary: Cow::Borrowed("Takes what Stripe reports of payments."),
    },
    route(
        LOGIN,
        "/api/auth/login",
        Rate::SignIn,
        login::begin,
        "Sends the browser to the identity provider.",
    ),
    route(
        CALLBACK,
        "/api/auth/callback",
        Rate::SignIn,
        login::finish,
        "Takes the browser back from the identity provider, and signs it in.",
    ),
    route(LOGOUT, "/api/auth/logout", Rate::Public, logout::handle, "Signs this browser out."),
];

const fn route(
    name: &'static str,
    path: &'static str,
    rate: Rate,
    handler: Handler,
    summary: &'static str,
) -> Route {
    Route {
        name,
        method: Method::Get,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate,
        kind: RouteKind::Redirect(handler),
        summary: Cow::Borrowed(summary),
    }
}

/// The members of a redirect's query, and what they are.
pub fn query(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        LOGIN => &login::QUERY,
        CALLBACK => &login::CALLBACK_QUERY,
        _ => &[],
    }
}

/// Where a visitor is sent who has signed out.
pub fn start_page(base_url: &str) -> String {
    format!("{base_url}/")
}

/// Sends a browser elsewhere. Nobody may keep the response: it belongs to one visit.
fn redirect(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let to = HeaderValue::try_from(to).map_err(Fault::internal)?;
    response.headers_mut().insert(LOCATION, to);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
