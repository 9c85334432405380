//! The HTTP server: one router, one listener, one graceful end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{Method, Request, Response, header};
use axum::middleware::map_response;
use ep_kernel::app::App;
use ep_kernel::tool::Entry;
use ep_tools::TOOLS;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::ServiceExt;
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

/// How long a connection may take to send the head of its next request; slower ones are closed.
const HEAD_WITHIN: Duration = Duration::from_secs(75);

/// Serves a router on a listener until `stop` resolves; open requests then get `grace` to end.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> anyhow::Result<()> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    http.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEAD_WITHIN));
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually too many open files: those that close make room.
                tracing::warn!(error = %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Without TCP_NODELAY an answer in two writes waits for the peer's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = %error, "TCP_NODELAY could not be set");
        }
        let router = router.clone();
        let service = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().oneshot(request.map(Body::new))
        });
        let service = TowerToHyperService::new(service);
        let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let watched = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(error = %error, "a connection broke off");
            }
        });
    }
    drop(listener);
    drop(tokio::time::timeout(grace, connections.shutdown()).await);
    Ok(())
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
