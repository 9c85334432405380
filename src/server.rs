//! The HTTP server: one router, one listener, a graceful shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::HeaderName;
use axum::http::{Method, Request};
use axum::middleware::from_fn_with_state;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{Any, CorsLayer};

use crate::config::Config;
use crate::surface::http::{AppState, finish_response, panicked};
use crate::surface::router;
use crate::telemetry;
use crate::wiring::{self, Assembled, Environment};

/// Everything the service answers, with the layers around it.
pub fn router(service: &Assembled, config: &Config) -> Router {
    let state = AppState {
        app: Arc::clone(&service.app),
        tools: service.site.tools,
        proxies: config.server.trusted_proxies.clone().into(),
    };
    router::router(&state, &service.site)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(cors())
        .layer(from_fn_with_state(state.clone(), finish_response))
        .with_state(state)
}

/// Serves until `stop` resolves, then lets requests and polls end.
pub async fn serve(config: &Config, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
    let metrics = if config.telemetry.metrics_listen.is_empty() {
        None
    } else {
        Some((config.telemetry.metrics_listen.parse::<SocketAddr>()?, telemetry::start_metrics()?))
    };
    let service = wiring::assemble(config, Environment::system()).await?;
    let listener = TcpListener::bind(config.server.listen).await?;
    service.start_background_work();
    let app = Arc::clone(&service.app);
    if let Some((address, handle)) = metrics {
        let bound = telemetry::serve_metrics(address, handle, &app.tasks).await?;
        tracing::info!(address = %bound, "metrics at /metrics");
    }
    tracing::info!(address = %listener.local_addr()?, base_url = app.ports.links.base_url(), "listening");
    let grace = Duration::from_secs(config.server.shutdown_grace_s);
    let stopping = async move {
        stop.await;
        tracing::info!("stopping: no new requests are accepted; waiting for running polls");
    };
    let deadline = serve_on(listener, router(&service, config), stopping, grace).await;
    service.stop(deadline).await;
    tracing::info!("stopped");
    Ok(())
}

/// How long a connection may take to send the head of its next request; slower ones are closed.
const HEAD_WITHIN: Duration = Duration::from_secs(75);

/// Serves a router on a listener until `stop` resolves; open requests then have `grace` to end. Returns the
/// end of that grace, which whatever stops next shares.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> Instant {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    http.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEAD_WITHIN));
    let (connections, tracker) = (GracefulShutdown::new(), TaskTracker::new());
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually too many open files: wait for connections to close.
                tracing::warn!(error = %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Without it, a response in two writes waits for the peer's delayed acknowledgement.
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
        tracker.spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(error = %error, "a connection broke off");
            }
        });
    }
    drop(listener);
    let deadline = Instant::now() + grace;
    drop(tokio::time::timeout_at(deadline, connections.shutdown()).await);
    deadline
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
