//! The identity provider's metadata, for clients that fetch it from this service.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_site::NO_ISSUER;
use ep_site::http::{EntityTag, Exchange, HandlerFuture};
use futures::FutureExt;

/// Returns the provider's metadata (OpenID Connect Discovery 1.0 §4). Its issuer is the provider, not this service.
pub(super) fn pass_on(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        let absent = || Fault::new(Kind::NotFound, NO_ISSUER);
        let provider = exchange.state.provider.as_ref().ok_or_else(absent)?;
        let bytes = serde_json::to_vec(&*provider.document().await?).map_err(Fault::internal)?;
        let tag = EntityTag::of(&bytes);
        let mut response = Response::new(Body::from(bytes));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        if let Some(tag) = tag {
            tag.apply(exchange.request.headers(), &mut response);
        }
        Ok(response)
    }
    .boxed()
}
