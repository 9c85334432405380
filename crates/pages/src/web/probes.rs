//! Probes of orchestrators and load balancers.

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_site::http;
use ep_site::http::{Exchange, HandlerFuture, Stopping};
use futures::FutureExt;
use serde_json::json;

/// Succeeds while the process serves requests. It ignores the database, because a restart would not repair it.
pub(super) fn liveness(_: Exchange, _: Admission) -> HandlerFuture {
    std::future::ready(Ok(state("ok"))).boxed()
}

/// Fails while the service is stopping or the database is unavailable, so that traffic goes to another replica.
pub(super) fn readiness(exchange: Exchange, _: Admission) -> HandlerFuture {
    async move {
        if exchange.request.extensions().get::<Stopping>().is_some() {
            return Err(stopping());
        }
        exchange.state.app.ports.health.check().await?;
        Ok(state("ready"))
    }
    .boxed()
}

/// Returns the fault of a service that is stopping.
pub fn stopping() -> Fault {
    let text = "the service is stopping; send the request again in a few seconds";
    Fault::new(Kind::Unavailable, text).retry_after(std::time::Duration::from_secs(2))
}

fn state(state: &str) -> Response<Body> {
    let mut response = http::json(200, &json!({ "status": state }));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
