//! What browsers are sent through: signing out.

mod logout;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use axum::http::{Response, StatusCode};
use ep_kernel::fault::Fault;
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};

use super::route::{Route, RouteKind};

/// Every redirect. Whoever is sent through them is known by what comes with the request, not by its credential.
pub static ROUTES: [Route; 1] = [Route {
    name: "logout",
    method: Method::Get,
    path: Cow::Borrowed("/api/auth/logout"),
    access: Access::PUBLIC,
    rate: Rate::Public,
    kind: RouteKind::Redirect(logout::handle),
    summary: Cow::Borrowed("Signs this browser out."),
}];

/// Sends a browser elsewhere. Nobody may keep the response: it belongs to one visit.
fn redirect(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let to = HeaderValue::try_from(to).map_err(Fault::internal)?;
    response.headers_mut().insert(LOCATION, to);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
