//! The identity provider's own metadata, for clients that look for it here.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::documents::NO_ISSUER;
use crate::surface::http::{self, Exchange};

/// Passes on what the provider says of itself (OpenID Connect Discovery 1.0 §4). The issuer that it names is the
/// provider, not this service.
pub(super) fn pass_on(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let absent = || Fault::new(Kind::NotFound, NO_ISSUER);
        let provider = exchange.state.provider.as_ref().ok_or_else(absent)?;
        let mut response = http::json(200, &*provider.document().await?);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        Ok(response)
    }
    .boxed()
}
