//! Model Context Protocol, over Streamable HTTP at `/api/mcp` and over stdio.
//!
//! Stateless; one endpoint serves protocol version 2026-07-28 (no handshake) and the versions that start with
//! `initialize`. The rmcp crate implements the protocol; only this folder uses it. This folder adds JSON-RPC
//! errors for bodies that are not JSON-RPC, and for errors in plain text. Models pay for every token: tool lists and
//! results are short, and single votes are omitted by default.

mod app;
mod call;
mod call_result;
mod catalogue;
mod confirm;
mod envelope;
#[cfg_attr(not(feature = "conformance-fixtures"), path = "no_fixtures.rs")]
mod fixtures;
mod handler;
mod introduction;
mod ongoing;
mod output;
mod page;
mod prompts;
mod resources;
mod server;
mod stdio;
mod stream;
mod tasks;
mod toolset;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::http::header::{CONTENT_TYPE, HeaderValue, VARY};
use ep_kernel::app::App;
use ep_kernel::guard::Admission;
use ep_kernel::method::Method;
use ep_kernel::reading;
use ep_kernel::{Access, Effect, Entry, Fault, Kind, Rate, Task};
use ep_store::KeyScope;
use futures::FutureExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value, json};

use call::CallSource;
use envelope::{Accepted, ReceivedMessage, complete_headers, plain_errors_as_json};
use ep_site::http::{Exchange, HandlerFuture, WebAccess, read_bytes, replayed};
use ep_site::names::{MCP_PAGE, MCP_RESOURCE};
use ep_site::protocol::{Description, EVENTS, JSON, message_event, rpc_error, rpc_request, rpc_response};
use ep_site::{ProtectedResource, Protocol, ProtocolRoute, Route, http, protocol};
use handler::{Handler, Transport};
use ongoing::Handover;
use stream::{RepeatedRequest, as_stream, ask, wants_progress};
use toolset::Toolset;

pub use stdio::serve_stdio;

type Service = StreamableHttpService<Handler, NeverSessionManager>;

/// Name of the endpoint's routes.
const ROUTE: &str = "mcp";

/// Model Context Protocol.
static MCP: Protocol = Protocol {
    surface: "mcp",
    group: "MCP",
    about: "Model Context Protocol.",
    resource: ProtectedResource { document: MCP_RESOURCE, route: Some(ROUTE), scope: KeyScope::Polls },
    headers: &["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", toolset::HEADER],
    response_headers: &[],
    credential_hint: "; in an MCP client's settings this is a header",
    accepts_user_ids: true,
    anonymous_key: None,
    prefixes: &[],
    introduction: introduction::introduction,
};

/// Deadline for requests that hang, longer than any operation.
const DEADLINE: Duration = Duration::from_hours(1);

/// The endpoint. Every request needs an API key or an access token, including requests that list tools.
const ENDPOINT: ProtocolRoute = ProtocolRoute {
    protocol: &MCP,
    errors: protocol::RPC_ERROR,
    opens_polls: true,
    marks_replays: true,
    shares_name: false,
    describe: |_, _| description(),
};

/// The endpoint at its paths, and its page for people.
pub static ROUTES: [Route; 4] = [
    route("/api/mcp"),
    route("/api/mcp/"),
    route("/api/mcp/x/{toolset}"),
    // Programs that open an event stream get an error.
    Route::page(MCP_PAGE, "/api/mcp", "Connection instructions for MCP clients.")
        .faults(&[Kind::MethodNotAllowed]),
];

const fn route(path: &'static str) -> Route {
    let summary = "Model Context Protocol over Streamable HTTP.";
    Route::protocol(ENDPOINT, Method::Post, ROUTE, path, summary)
        .access(Access::KEY)
        .rate(Rate::Default)
        .deadline(DEADLINE)
}

/// The routes with their handlers.
pub fn endpoints(
    app: &Arc<App>,
    tools: &'static [Entry],
    web: &WebAccess,
) -> impl Iterator<Item = (Route, http::Handler)> {
    let endpoint = Endpoint::new(app, tools, web);
    let serve = http::Handler::new(move |exchange, admission| -> HandlerFuture {
        endpoint.clone().serve(exchange, admission).boxed()
    });
    let page = http::Handler::new(page::serve);
    ROUTES.iter().map(move |route| {
        let handler = if route.name == MCP_PAGE { &page } else { &serve };
        (route.clone(), handler.clone())
    })
}

/// Requests and responses of the endpoint, for the API description.
fn description() -> Description {
    let toolset = toolset::names().join("|");
    Description {
        about: "",
        bodies: vec![rpc_request()],
        body_required: true,
        body_type: JSON,
        responses: vec![
            protocol::Response {
                status: 200,
                description: "The response.",
                content: vec![(JSON, rpc_response()), (EVENTS, message_event())],
            },
            protocol::Response {
                status: 202,
                description: "The notification was accepted.",
                content: Vec::new(),
            },
        ],
        error: rpc_error(),
        placeholder: json!({ "type": "string", "pattern": format!("^({toolset})(,({toolset}))*$") }),
    }
}

/// Serves requests to the MCP endpoint.
#[derive(Clone)]
struct Endpoint {
    service: Arc<Service>,
    tools: &'static [Entry],
}

impl Endpoint {
    /// Creates an endpoint for these operations.
    fn new(app: &Arc<App>, tools: &'static [Entry], web: &WebAccess) -> Self {
        Self { service: Arc::new(service(app, tools, web)), tools }
    }

    /// Serves a request that the guard has admitted.
    async fn serve(self, exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
        let Exchange { head, request, params, max_body, .. } = exchange;
        let (mut parts, body) = request.into_parts();
        let params = params.map_err(|_| Fault::invalid(toolset::PATH, "must be text in UTF-8"))?;
        let path = params.iter().find(|(name, _)| *name == toolset::PATH).map(|(_, names)| names);
        let toolset = Toolset::of(path, &parts.headers, parts.uri.query())?;
        let bytes = read_bytes(body, max_body).await?;
        let received = match reading::read(bytes.len(), move || ReceivedMessage::read(bytes)).await? {
            Ok(received) => received,
            Err(refusal) => {
                admission.check_allowance()?;
                return Ok(*refusal);
            }
        };
        let ReceivedMessage { message, bytes, arguments } = received;
        // Checked before the transport, which would return a rejected tool call with status 200.
        admission.check_token(effect(self.tools, &message))?;
        let (Accepted { streams, json }, was_replayed) =
            (complete_headers(&mut parts), Arc::new(OnceLock::new()));
        let handover = (streams && wants_progress(&message)).then(Handover::default);
        let source = CallSource {
            request: head.admitted(MCP.surface, admission.clone()),
            idempotency_key: head.idempotency_key,
            streams,
            toolset,
            replayed: Arc::clone(&was_replayed),
            handover,
            arguments: arguments.map(Arc::new),
        };
        let again = source
            .handover
            .is_some()
            .then(|| RepeatedRequest::of(&self.service, &parts, &bytes, &message, source.clone()));
        parts.extensions.insert(source);
        let mut answered = ask(&self.service, Request::from_parts(parts, Body::from(bytes))).await;
        if let Some(again) = again
            && let Some(response) = again.respond().await
        {
            answered = response;
        }
        let mut response = plain_errors_as_json(answered).await;
        response.headers_mut().append(VARY, HeaderValue::from_static(toolset::HEADER));
        match was_replayed.get() {
            Some(true) => replayed(&mut response),
            // The request called no operation, so its allowance is checked here.
            None if !is_stream(&response) => admission.check_allowance()?,
            Some(false) | None => {}
        }
        Ok(if json { response } else { as_stream(response).await })
    }
}

/// Returns the side effects of the requested operation.
fn effect(tools: &[Entry], message: &Map<String, Value>) -> Effect {
    let is_called = |entry: &&Entry| match message.get("method").and_then(Value::as_str) {
        Some("tools/call") => message.get("params").is_some_and(|params| params["name"] == entry.spec.name),
        Some("tasks/cancel") => entry.spec.task == Task::Cancel,
        _ => false,
    };
    tools.iter().find(is_called).map_or(Effect::Read, |entry| entry.spec.effect)
}

/// True if a response is an event stream, which starts before the call of the operation.
fn is_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.starts_with(b"text/event-stream")
}

fn service(app: &Arc<App>, tools: &'static [Entry], web: &WebAccess) -> Service {
    let base_url = app.ports.links.base_url();
    let host = url::Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let hosts = host.into_iter().chain(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    let origins = web.origins().chain(["http://localhost:*", "http://127.0.0.1:*"].map(str::to_owned));
    // [`Endpoint::serve`] enforces the limit of each route.
    let max_body = ROUTES.iter().map(|route| route.max_body).max().unwrap_or_default();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(max_body)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_cancellation_token(app.tasks.token());
    let handler = Handler::new(Arc::clone(app), tools, Transport::Http);
    let make = move || Ok(handler.clone());
    StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config)
}
