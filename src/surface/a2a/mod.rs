//! Agent2Agent: JSON-RPC at `/api/a2a` in the dialects of 1.0 and 0.3, which differ in their method
//! names, the HTTP+JSON binding below it, and the older `POST /api/a2a/tasks/send`.
//!
//! **A task is a conversation that leads to a poll**, and belongs to the account whose agent began it: to others it does
//! not exist. It has the id of its poll if it began with one. Its state follows the poll's. Skills that are no poll
//! answer with a message. gRPC is not offered.

mod conversation;
mod dialect;
mod endpoint;
mod envelope;
mod errors;
mod events;
#[cfg_attr(not(feature = "conformance-fixtures"), path = "no_fixtures.rs")]
mod fixtures;
mod http_json;
mod message;
mod methods;
mod modes;
mod operations;
mod payment;
mod pushes;
mod request;
mod sending;
mod task;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_kernel::method::Method::{self, Delete, Get, Post};
use ep_kernel::tool::Rate;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::http::Exchange;
use super::route::{Protocol, Route, RouteKind};

pub use endpoint::{serve, serve_tasks_send};
pub use http_json::HttpOperation;
pub use message::MAX_ID;
pub use pushes::send_pushes;

/// The A2A endpoints.
pub static ROUTES: [Route; 23] = [
    route("a2a", "/api/a2a", Protocol::A2a),
    route("a2a", "/api/a2a/", Protocol::A2a),
    route("a2a_tasks_send", "/api/a2a/tasks/send", Protocol::A2aTasksSend),
    http(Post, "/api/a2a/message:send", HttpOperation::Send, false),
    http(Post, "/api/a2a/message:stream", HttpOperation::Stream, false),
    http(Get, "/api/a2a/tasks", HttpOperation::List, false),
    http(Get, "/api/a2a/tasks/{task}", HttpOperation::Read, false),
    http(Post, "/api/a2a/tasks/{task}", HttpOperation::Act, false),
    http(Post, "/api/a2a/tasks/{taskId}/pushNotificationConfigs", HttpOperation::CreatePush, false),
    http(Get, "/api/a2a/tasks/{taskId}/pushNotificationConfigs", HttpOperation::ListPushes, false),
    http(Get, "/api/a2a/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::GetPush, false),
    http(Delete, "/api/a2a/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::DeletePush, false),
    http(Get, "/api/a2a/extendedAgentCard", HttpOperation::ExtendedCard, false),
    http(Post, "/api/a2a/v1/message:send", HttpOperation::Send, true),
    http(Post, "/api/a2a/v1/message:stream", HttpOperation::Stream, true),
    http(Get, "/api/a2a/v1/tasks", HttpOperation::List, true),
    http(Get, "/api/a2a/v1/tasks/{task}", HttpOperation::Read, true),
    http(Post, "/api/a2a/v1/tasks/{task}", HttpOperation::Act, true),
    http(Post, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs", HttpOperation::CreatePush, true),
    http(Get, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs", HttpOperation::ListPushes, true),
    http(Get, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::GetPush, true),
    http(Delete, "/api/a2a/v1/tasks/{taskId}/pushNotificationConfigs/{id}", HttpOperation::DeletePush, true),
    http(Get, "/api/a2a/v1/card", HttpOperation::ExtendedCard, true),
];

/// Answers a request of the HTTP+JSON binding; `older` is that of 0.3.
pub fn serve_http(
    exchange: Exchange,
    admission: Admission,
    operation: HttpOperation,
    older: bool,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    http_json::answer(exchange, admission, operation, older).boxed()
}

const fn http(method: Method, path: &'static str, operation: HttpOperation, older: bool) -> Route {
    by(method, "a2a_http", path, Protocol::A2aHttp { operation, older })
}

const fn route(name: &'static str, path: &'static str, protocol: Protocol) -> Route {
    by(Post, name, path, protocol)
}

const fn by(method: Method, name: &'static str, path: &'static str, protocol: Protocol) -> Route {
    Route {
        name,
        method,
        path: Cow::Borrowed(path),
        access: fixtures::ACCESS,
        rate: Rate::Default,
        kind: RouteKind::Protocol(protocol),
        summary: Cow::Borrowed("Takes messages of other agents and answers with tasks (A2A)."),
    }
}
