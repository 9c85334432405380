//! Agent2Agent: JSON-RPC at `/api/a2a` in the dialects of 1.0 and 0.3, which differ in their method
//! names, the HTTP+JSON binding below it, and the older `POST /api/a2a/tasks/send`.
//!
//! **A task is a conversation that leads to a poll.** It belongs to the account of the agent that began it; other
//! accounts get "not found". It has its poll's id if it began with a poll. Its state follows the poll's. Skills that
//! start no poll return a message. gRPC is not supported.

mod conversation;
mod description;
mod dialect;
mod endpoint;
mod envelope;
mod errors;
mod events;
mod fields;
#[cfg_attr(not(feature = "conformance-fixtures"), path = "no_fixtures.rs")]
mod fixtures;
mod http_json;
mod message;
mod message_form;
mod message_names;
mod methods;
mod modes;
mod opening;
mod operations;
mod payment;
mod payment_extension;
mod payments;
mod push_delivery;
mod pushes;
mod request;
mod sending;
mod sent;
mod skill_calls;
mod task;

use std::time::Duration;

use ep_kernel::Rate;
use ep_kernel::method::Method::{self, Delete, Get, Post};
use ep_store::KeyScope;
use futures::FutureExt;
use serde_json::Value;

use endpoint::{serve, serve_tasks_send};
use ep_site::http::{Handler, HandlerFuture};
use ep_site::names::A2A_RESOURCE;
use ep_site::protocol::{Description, ErrorFormat, Introduction};
use ep_site::{ProtectedResource, Protocol, ProtocolRoute, Route};
use http_json::HttpOperation;

pub use payment_extension::PAYMENT_EXTENSION;
pub use push_delivery::send_pushes;
pub use request::AgentParts;

/// Name of the JSON-RPC endpoint's routes.
const ROUTE: &str = "a2a";

/// Agent2Agent.
static A2A: Protocol = Protocol {
    surface: "a2a",
    group: "A2A",
    about: "Agent2Agent: JSON-RPC and HTTP+JSON.",
    resource: ProtectedResource { document: A2A_RESOURCE, route: Some(ROUTE), scope: KeyScope::Polls },
    headers: &["a2a-version", "a2a-extensions"],
    response_headers: &[],
    credential_hint: "; A2A clients find it in the agent card, as the security scheme bearer",
    accepts_user_ids: false,
    anonymous_key: None,
    prefixes: &[],
    introduction: || Introduction { versions: vec!["1.0", "0.3"], capabilities: Value::Null },
};

/// Longer than any operation: bounds requests that hang.
const DEADLINE: Duration = Duration::from_hours(1);

/// The endpoints of the HTTP+JSON binding: method, path, operation, and `true` for version 0.3.
static HTTP: [(Method, &str, HttpOperation, bool); 20] = [
    (Post, "/api/a2a/message:send", HttpOperation::Send, false),
    (Post, "/api/a2a/message:stream", HttpOperation::Stream, false),
    (Get, "/api/a2a/tasks", HttpOperation::List, false),
    (Get, "/api/a2a/tasks/{task}", HttpOperation::Read, false),
    (Post, "/api/a2a/tasks/{task}", HttpOperation::Act, false),
    (Post, "/api/a2a/tasks/{taskId}/pushNotificationConfigs", HttpOperation::CreatePush, false),
    (Get, "/api/a2a/tasks/{taskId}/pushNotificationConfigs", HttpOperation::ListPushes, false),
    (Get, "/api/a2a/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::GetPush, false),
    (Delete, "/api/a2a/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::DeletePush, false),
    (Get, "/api/a2a/extendedAgentCard", HttpOperation::ExtendedCard, false),
    (Post, "/api/a2a/v1/message:send", HttpOperation::Send, true),
    (Post, "/api/a2a/v1/message:stream", HttpOperation::Stream, true),
    (Get, "/api/a2a/v1/tasks", HttpOperation::List, true),
    (Get, "/api/a2a/v1/tasks/{task}", HttpOperation::Read, true),
    (Post, "/api/a2a/v1/tasks/{task}", HttpOperation::Act, true),
    (Post, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs", HttpOperation::CreatePush, true),
    (Get, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs", HttpOperation::ListPushes, true),
    (Get, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::GetPush, true),
    (Delete, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::DeletePush, true),
    (Get, "/api/a2a/v1/card", HttpOperation::ExtendedCard, true),
];

/// An endpoint of the protocol.
#[derive(Clone, Copy)]
enum Endpoint {
    JsonRpc,
    TasksSend,
    /// The HTTP+JSON binding; `older` for that of 0.3.
    Http {
        operation: HttpOperation,
        older: bool,
    },
}

/// Returns the routes.
pub fn routes() -> impl Iterator<Item = Route> {
    table().map(|(route, _)| route)
}

/// Returns the routes with their handlers.
pub fn endpoints(parts: &AgentParts) -> Vec<(Route, Handler)> {
    let handler = |endpoint| {
        let parts = parts.clone();
        Handler::new(move |exchange, admission| -> HandlerFuture {
            let parts = parts.clone();
            match endpoint {
                Endpoint::JsonRpc => serve(exchange, admission, parts).boxed(),
                Endpoint::TasksSend => serve_tasks_send(exchange, admission, parts).boxed(),
                Endpoint::Http { operation, older } => {
                    http_json::handle(exchange, admission, operation, older, parts).boxed()
                }
            }
        })
    };
    table().map(|(route, endpoint)| (route, handler(endpoint))).collect()
}

/// Returns the routes with their endpoints.
fn table() -> impl Iterator<Item = (Route, Endpoint)> {
    let json_rpc = [
        (route(Post, ROUTE, "/api/a2a", JSON_RPC), Endpoint::JsonRpc),
        (route(Post, ROUTE, "/api/a2a/", JSON_RPC), Endpoint::JsonRpc),
        (route(Post, "a2a_tasks_send", "/api/a2a/tasks/send", TASKS_SEND), Endpoint::TasksSend),
    ];
    let http = HTTP.iter().map(|&(method, path, operation, older)| {
        let opens_polls = matches!(operation, HttpOperation::Send | HttpOperation::Stream);
        let route = route(method, "a2a_http", path, ProtocolRoute { opens_polls, ..HTTP_JSON });
        (route, Endpoint::Http { operation, older })
    });
    json_rpc.into_iter().chain(http)
}

const JSON_RPC: ProtocolRoute = ProtocolRoute {
    protocol: &A2A,
    errors: ErrorFormat::Negotiated,
    opens_polls: true,
    marks_replays: false,
    shares_name: false,
    describe: |_, _| description::json_rpc(),
};
const TASKS_SEND: ProtocolRoute = ProtocolRoute { describe: |_, _| description::tasks_send(), ..JSON_RPC };
const HTTP_JSON: ProtocolRoute = ProtocolRoute { shares_name: true, describe: describe_http, ..JSON_RPC };

fn describe_http(method: Method, path: &str) -> Description {
    let endpoint = HTTP.iter().find(|endpoint| (endpoint.0, endpoint.1) == (method, path));
    description::http(endpoint.map_or(HttpOperation::Send, |endpoint| endpoint.2))
}

fn route(method: Method, name: &'static str, path: &'static str, endpoint: ProtocolRoute) -> Route {
    let summary = "Receives messages of agents and returns tasks (A2A).";
    Route::protocol(endpoint, method, name, path, summary)
        .access(fixtures::ACCESS)
        .rate(Rate::Default)
        .deadline(DEADLINE)
}
