//! The HTTP server: one router, one listener, one graceful end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{Method, Response, header};
use axum::middleware::map_response;
use axum::serve::ListenerExt;
use ep_kernel::app::App;
use ep_kernel::tool::Entry;
use ep_tools::TOOLS;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{Any, CorsLayer};

use crate::config::Config;
use crate::surface::http::{Gate, json_response};
use crate::surface::{a2a, mcp, rest};
use crate::{documents, telemetry, wiring};

/// Every route of a service with these operations.
pub fn router(app: Arc<App>, tools: &'static [Entry], config: &Config) -> Router {
    let gate = Gate { app, tools, proxies: config.server.trusted_proxies.clone().into() };
    Router::new()
        .merge(rest::routes(tools))
        .merge(mcp::routes(&gate))
        .merge(a2a::routes())
        .merge(documents::routes())
        .fallback(rest::unknown_route)
        .layer(map_response(harden))
        .layer(cors())
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(gate)
}

/// Serves until `stop` resolves, then lets requests and polls end.
pub async fn serve(config: &Config, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
    let metrics = if config.telemetry.metrics_listen.is_empty() {
        None
    } else {
        Some((config.telemetry.metrics_listen.parse::<SocketAddr>()?, telemetry::start_metrics()?))
    };
    let running = wiring::assemble(config).await?;
    let listener = TcpListener::bind(config.server.listen).await?;
    running.begin_upkeep();
    let app = Arc::clone(&running.app);
    if let Some((address, handle)) = metrics {
        let bound = telemetry::serve_metrics(address, handle, app.tasks.token()).await?;
        tracing::info!(address = %bound, "metrics at /metrics");
    }
    tracing::info!(address = %listener.local_addr()?, base_url = app.settings.base_url, "listening");
    let stopping = {
        let tasks = app.tasks.clone();
        async move {
            stop.await;
            tracing::info!("stopping: no new requests; running polls may end");
            drop(tasks);
        }
    };
    let grace = Duration::from_secs(config.server.shutdown_grace_s);
    serve_on(listener, router(app, TOOLS, config), stopping, grace).await?;
    running.stop(grace).await;
    tracing::info!("stopped");
    Ok(())
}

/// Serves a router on a listener until `stop` resolves; open requests then get `grace` to end.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> anyhow::Result<()> {
    // Without TCP_NODELAY an answer in two writes waits for the peer's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = %error, "TCP_NODELAY could not be set");
        }
    });
    let (told, hear) = tokio::sync::oneshot::channel::<()>();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, service).with_graceful_shutdown(async move {
        stop.await;
        drop(told);
    });
    let overdue = async move {
        drop(hear.await);
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        done = served => Ok(done?),
        () = overdue => Ok(()),
    }
}

/// Browsers may call everything from anywhere, without cookies.
fn cors() -> CorsLayer {
    let exposed = [
        "x-request-id",
        "ratelimit",
        "ratelimit-policy",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "idempotency-key",
        "idempotent-replayed",
        "retry-after",
        "www-authenticate",
        "etag",
    ];
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        .allow_headers(Any)
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(Duration::from_hours(1))
}

async fn harden(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A panic in a surface itself; those in tools never get here.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response<Body> {
    tracing::error!("a surface panicked");
    let fault = ep_kernel::fault::Fault::internal("panic in a surface");
    json_response(fault.kind().row().http, &fault.body())
}
