//! Model Context Protocol, over Streamable HTTP at `/api/mcp` and over stdio.
//!
//! Stateless, and both eras on one endpoint: clients of 2026-07-28, whose requests describe themselves,
//! and clients that begin with `initialize`. The protocol is the rmcp crate's; it is named nowhere
//! outside this folder. What it leaves open is done here: who may call, bodies that are not JSON, plain
//! text errors.

mod catalogue;
mod envelope;
mod guide;
mod handler;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{Method, Response};
use axum::routing::any;
use ep_kernel::admission::{account, count};
use ep_kernel::app::App;
use ep_kernel::tool::Entry;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt as _;

use self::catalogue::Catalogue;
use self::envelope::{complete_headers, not_a_message, speak_json};
use self::handler::{Door, Handler, Visit};
use super::http::{Gate, Incoming, MAX_BODY, fault, finish, read_body, wrong_method};

type Service = StreamableHttpService<Handler, NeverSessionManager>;

/// The MCP endpoint.
pub fn routes(gate: &Gate) -> Router<Gate> {
    let service = service(&gate.app, gate.tools);
    let handler = any(move |state: State<Gate>, request: Request| serve(state, service.clone(), request));
    Router::new().route("/api/mcp", handler.clone()).route("/api/mcp/", handler)
}

/// Serves MCP on standard input and output until the client closes them.
pub async fn serve_stdio(app: Arc<App>, tools: &'static [Entry]) -> anyhow::Result<()> {
    let handler = Handler::new(app, Catalogue::new(tools), Door::Stdio);
    match handler.serve(rmcp::transport::stdio()).await {
        Ok(running) => drop(running.waiting().await?),
        // Closed before it said anything: a host that only looked.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn service(app: &Arc<App>, tools: &'static [Entry]) -> Service {
    let base_url = &app.settings.base_url;
    let host = url::Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let hosts = host.into_iter().chain(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    let origins = [origin(base_url), "http://localhost:*".into(), "http://127.0.0.1:*".into()];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_cancellation_token(app.tasks.token());
    let (app, catalogue) = (Arc::clone(app), Catalogue::new(tools));
    let make = move || Ok(Handler::new(Arc::clone(&app), catalogue.clone(), Door::Http));
    StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config)
}

/// The base URL's origin, its port spelled out.
fn origin(base_url: &str) -> String {
    let parsed = url::Url::parse(base_url).ok();
    let full = parsed.and_then(|url| {
        Some(format!("{}://{}:{}", url.scheme(), url.host_str()?, url.port_or_known_default()?))
    });
    full.unwrap_or_else(|| base_url.to_owned())
}

async fn serve(State(gate): State<Gate>, service: Service, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let incoming = Incoming::read(&gate, &parts);
    if parts.method != Method::POST {
        return wrong_method(&gate, &parts, "POST, OPTIONS");
    }
    // MCP is for accounts: every request must prove one, listing tools included.
    let caller = match account(&gate.app, incoming.credential.clone(), incoming.address).await {
        Ok(caller) => caller,
        Err(refused) => return fault(&gate, &incoming.shown, &refused.fault, refused.allowance.as_ref()),
    };
    let bytes = match read_body(body).await {
        Ok(bytes) => bytes,
        Err(refusal) => return fault(&gate, &incoming.shown, &refusal, None),
    };
    if let Some(mut refusal) = not_a_message(&bytes) {
        finish(&incoming.shown, refusal.headers_mut(), None);
        return refusal;
    }
    let told = Arc::new(OnceLock::new());
    let visit = Visit {
        caller: caller.clone(),
        address: incoming.address,
        request_id: incoming.shown.request_id,
        idempotency_key: incoming.shown.idempotency_key.clone(),
        streams: complete_headers(&mut parts),
        told: Arc::clone(&told),
    };
    parts.extensions.insert(visit);
    // The transport never fails: its error type has no values.
    let answered = match service.oneshot(Request::from_parts(parts, Body::from(bytes))).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    };
    let mut response = speak_json(answered).await;
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let (allowance, replayed) = match told.get() {
        Some(told) => *told,
        // An event stream begins before anything is told.
        None if kind.starts_with(b"text/event-stream") => (None, false),
        None => match count(&gate.app, &caller).await {
            Ok(allowance) => (allowance, false),
            Err(refused) => return fault(&gate, &incoming.shown, &refused.fault, refused.allowance.as_ref()),
        },
    };
    finish(&incoming.shown, response.headers_mut(), allowance.as_ref());
    if replayed {
        let replayed = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    }
    response
}
