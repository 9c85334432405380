//! Model Context Protocol, over Streamable HTTP at `/api/mcp` and over stdio.
//!
//! Stateless, and both eras on one endpoint: clients of 2026-07-28, whose requests describe themselves,
//! and clients that begin with `initialize`. The protocol is the rmcp crate's; it is named nowhere
//! outside this folder. What it leaves open is done here: who may call, bodies that are not JSON, plain
//! text errors.

mod catalogue;
mod guide;
mod handler;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use ep_kernel::admission::identify;
use ep_kernel::app::App;
use ep_kernel::caller::Caller;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Access, Entry};
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tower::ServiceExt as _;

use self::catalogue::Catalogue;
use self::handler::{Door, Handler};
use super::http::{Gate, Incoming, MAX_BODY, fault, json_response, read_body, wrong_method};

type Service = StreamableHttpService<Handler, NeverSessionManager>;

/// The MCP endpoint.
pub fn routes(gate: &Gate) -> Router<Gate> {
    let service = service(&gate.app, gate.tools);
    Router::new().route(
        "/api/mcp",
        any(move |state: State<Gate>, request: Request| serve(state, service.clone(), request)),
    )
}

/// Serves MCP on standard input and output until the client closes them.
pub async fn serve_stdio(app: Arc<App>, tools: &'static [Entry]) -> anyhow::Result<()> {
    let running =
        Handler::new(app, Catalogue::new(tools), Door::Stdio).serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
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
    let caller = match enter(&gate, &incoming).await {
        Ok(caller) => caller,
        Err(refusal) => return fault(&gate, &incoming.shown, &refusal, None),
    };
    let bytes = match read_body(body).await {
        Ok(bytes) => bytes,
        Err(refusal) => return fault(&gate, &incoming.shown, &refusal, None),
    };
    if let Some(refusal) = not_a_request(&bytes) {
        return refusal;
    }
    complete_headers(&mut parts);
    parts.extensions.insert(caller);
    parts.extensions.insert(incoming.address);
    let id = incoming.shown.request_id.to_string();
    // The transport never fails: its error type has no values.
    let answered = match service.oneshot(Request::from_parts(parts, Body::from(bytes))).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    };
    let mut response = speak_json(answered).await;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
    }
    response
}

/// MCP is for accounts: every request must prove one, listing tools included.
async fn enter(gate: &Gate, incoming: &Incoming) -> Result<Caller, Fault> {
    let caller = identify(&gate.app, incoming.credential.clone(), incoming.address).await?;
    if Access::KEY.admits(&caller) {
        return Ok(caller);
    }
    Err(Fault::new(
        Kind::Unauthenticated,
        "authentication required: send Authorization: Bearer ep_k_… with an API key; in an MCP client's settings this is a header",
    ))
}

/// What the transport would answer with plain text: bodies that are not JSON, and batches.
fn not_a_request(bytes: &Bytes) -> Option<Response<Body>> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err() {
        return Some(rpc_error(400, -32700, "the body is not valid JSON; send one JSON-RPC request"));
    }
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    (first != Some(&b'{'))
        .then(|| rpc_error(400, -32600, "batches are not supported; send one JSON-RPC request"))
}

fn rpc_error(status: u16, code: i32, message: &str) -> Response<Body> {
    json_response(
        status,
        &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } }),
    )
}

/// Plain HTTP clients leave these out or say `*/*`; the protocol insists on them.
fn complete_headers(parts: &mut Parts) {
    let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    if accepts.contains("*/*") || accepts.contains("application/*") {
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
    if !parts.headers.contains_key(CONTENT_TYPE) {
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
}

/// The transport refuses some requests in plain text; callers get JSON all the same.
async fn speak_json(response: Response<Body>) -> Response<Body> {
    let plain =
        response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if response.status().as_u16() < 400 || !plain {
        return response;
    }
    let status = response.status();
    let text = match axum::body::to_bytes(response.into_body(), 4096).await {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(_) => String::new(),
    };
    let message =
        if text.is_empty() { status.canonical_reason().unwrap_or("refused").to_owned() } else { text };
    let code = if status == StatusCode::FORBIDDEN { 40300 } else { -32600 };
    rpc_error(status.as_u16(), code, &message).into_response()
}
