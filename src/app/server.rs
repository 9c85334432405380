//! The HTTP server: one router, one listener, a graceful shutdown.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::middleware::{from_fn_with_state, map_response};
use ep_site::config::Config;
use ep_site::http::{
    AppState, BodyRoom, DocumentResponses, Stopping, WebAccess, compression, finish_response, panicked,
    weaken_tag,
};
use hyper::body::Incoming;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;

use super::assemble;
use super::assemble::{Assembled, Environment};
use super::connections::{ConnectionLimits, Connections};
use super::cors::cors;
use super::http_connection::{CLOSE_TIMEOUT, Http};
use super::jobs;
use super::open_requests::OpenRequests;
use super::router;
use super::unread;
use super::unread::UnreadBody;
use crate::config;
use crate::telemetry;

/// Returns the state that handlers share.
pub(super) fn state(service: &Assembled, config: &Config) -> AppState {
    AppState {
        app: Arc::clone(&service.app),
        tools: service.site.tools,
        site: Arc::clone(&service.site),
        documents: Arc::new(DocumentResponses::new(&service.site)),
        proxies: config.server.trusted_proxies.clone().into(),
        bodies: BodyRoom::default(),
        web: WebAccess::new(config),
        provider: service.provider.clone(),
        oidc: service.oidc.clone(),
        accepts_user_ids: config.accounts.mcp_accept_user_id,
    }
}

/// Returns the router with all routes and layers.
pub fn router(service: &Assembled, config: &Config) -> Router {
    let state = state(service, config);
    let cors = cors(state.web.clone(), Arc::clone(&service.site));
    router::router(&state, &service.site, &service.payments)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(cors)
        .layer(from_fn_with_state(state.clone(), finish_response))
        .layer(compression())
        .layer(map_response(weaken_tag))
        .with_state(state)
}

/// Serves until `stop` resolves, then lets open requests and running polls end.
pub async fn serve(config: &Config, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
    let metrics = match config.telemetry.metrics_listen.as_str() {
        "" => None,
        address => {
            let address =
                address.parse().context("EP_METRICS_LISTEN must be an address such as 127.0.0.1:9090")?;
            Some((telemetry::listen(address, "EP_METRICS_LISTEN").await?, telemetry::start_metrics()?))
        }
    };
    config::check_chain_node(config)?;
    // The system chooses port 0 itself. Links contain the port, so it is bound before the service is assembled.
    let any_port = match config.server.listen.port() {
        0 => Some(listen(config).await?),
        _ => None,
    };
    let mut config = config.clone();
    if let Some(listener) = &any_port {
        config.server.listen = listener.local_addr()?;
    }
    let config = &config;
    let service = assemble::service(config, Environment::system()).await?;
    let listener = match any_port {
        Some(listener) => listener,
        None => listen(config).await?,
    };
    jobs::start_all(&service, metrics.as_ref().map(|(_, handle)| handle));
    let app = Arc::clone(&service.app);
    if let Some((listener, handle)) = metrics {
        tracing::info!(address = %listener.local_addr()?, "metrics at /metrics");
        telemetry::serve_metrics(listener, handle, &app.tasks);
    }
    tracing::info!(address = %listener.local_addr()?, base_url = app.ports.links.base_url(), "listening");
    let grace = Duration::from_secs(config.server.shutdown_grace_s);
    let stopping = async move {
        stop.await;
        tracing::info!("stopping: no new requests are accepted; waiting for running polls");
    };
    let limits = ConnectionLimits::new(config);
    let router = router(&service, config);
    let finish = async |deadline| service.stop(deadline).await;
    serve_on(listener, router, limits, stopping, grace, finish).await;
    tracing::info!("stopped");
    Ok(())
}

async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    telemetry::listen(config.server.listen, "EP_LISTEN or --listen").await
}

/// Response to a connection beyond the limits.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    content-length: 85\r\nretry-after: 5\r\nconnection: close\r\n\r\n\
    {\"error\":\"too many connections are open; reuse one, or try again in a few seconds\"}\r\n";

/// Serves a router on a listener until `stop` resolves. Open requests then have `grace` to end, and `finish`, given
/// the end of that grace, stops the rest. Meanwhile new connections are accepted, but only probes succeed on them.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
    finish: impl AsyncFnOnce(Instant),
) {
    let http = Arc::new(Http::new());
    let (stopping, tracker) = (CancellationToken::new(), TaskTracker::new());
    let (stopped, late_tracker) = (CancellationToken::new(), TaskTracker::new());
    let connections = Connections::new(limits);
    let ended = async {
        stop.await;
        let deadline = Instant::now() + grace;
        stopping.cancel();
        tracker.close();
        drop(tokio::time::timeout_at(deadline, tracker.wait()).await);
        finish(deadline).await;
    };
    let mut ended = std::pin::pin!(ended);
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => {
                failing = false;
                accepted
            }
            Err(error) => {
                // Usually too many open files: wait for connections to close. Log it once.
                if !failing {
                    tracing::warn!(error = %error, "failed to accept connections");
                }
                failing = true;
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let permit = match connections.admit(peer.ip()) {
            Ok(permit) => permit,
            Err(exceeded) => {
                metrics::counter!("ep_connections_refused_total", "limit" => exceeded.limit()).increment(1);
                refuse(stream);
                continue;
            }
        };
        // Otherwise, a response in two writes waits for the peer's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = %error, "failed to set TCP_NODELAY");
        }
        let is_late = stopping.is_cancelled();
        let (tracker, until) = if is_late { (&late_tracker, &stopped) } else { (&tracker, &stopping) };
        let requests = OpenRequests::default();
        let (router, begun, discarding) = (router.clone(), requests.clone(), tracker.clone());
        let (shutdown, begun_stopping) = (until.clone(), stopping.clone());
        let service = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            if begun_stopping.is_cancelled() {
                let state = if is_late { Stopping::Refusing } else { Stopping::Finishing };
                request.extensions_mut().insert(state);
            }
            let (unread, request) = UnreadBody::watch(request);
            let (open, answered) = (begun.begin(), router.clone().oneshot(request));
            let (discarding, shutdown) = (discarding.clone(), shutdown.clone());
            async move {
                let mut response = answered.await?;
                if let Some(body) = unread.and_then(|unread| unread.take(&mut response)) {
                    discarding.spawn(shutdown.run_until_cancelled_owned(unread::discard(body)));
                }
                Ok(response.map(|body| open.until_written(body)))
            }
        });
        let service = TowerToHyperService::new(service);
        let (http, connections, stopping) = (Arc::clone(&http), Arc::clone(&connections), until.clone());
        tracker.spawn(async move {
            let _permit = permit;
            let silent = std::pin::pin!(requests.idle_timeout(&connections.limits));
            http.serve(stream, service, &stopping, silent).await;
        });
    }
    drop(listener);
    stopped.cancel();
    late_tracker.close();
    drop(tokio::time::timeout(CLOSE_TIMEOUT, late_tracker.wait()).await);
}

/// Sends the error to a connection beyond the limits, if that does not block.
fn refuse(stream: TcpStream) {
    let written = stream.into_std().and_then(|mut stream| stream.write_all(TOO_MANY_CONNECTIONS));
    if let Err(error) = written {
        tracing::debug!(error = %error, "failed to send the error to a connection beyond the limits");
    }
}
