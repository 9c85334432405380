//! Agent2Agent: JSON-RPC at `/api/a2a` in the dialects of 1.0 and 0.3, which differ in their method
//! names, and the older `POST /api/a2a/tasks/send`.
//!
//! **The A2A task of a poll has the poll's id as its id** and is not stored a second time; the message that
//! opened the poll is kept beside it. Skills that are no poll answer with a message.

mod conversation;
mod dialect;
mod endpoint;
mod envelope;
mod errors;
mod events;
mod message;
mod methods;
mod modes;
mod operations;
mod request;
mod sending;
mod task;

use std::borrow::Cow;

use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};

use super::route::{Protocol, Route, RouteKind};

pub use endpoint::{serve, serve_tasks_send};

/// The A2A endpoints.
pub static ROUTES: [Route; 3] = [
    route("a2a", "/api/a2a", Protocol::A2a),
    route("a2a", "/api/a2a/", Protocol::A2a),
    route("a2a_tasks_send", "/api/a2a/tasks/send", Protocol::A2aTasksSend),
];

const fn route(name: &'static str, path: &'static str, protocol: Protocol) -> Route {
    Route {
        name,
        method: Method::Post,
        path: Cow::Borrowed(path),
        access: Access::KEY,
        rate: Rate::Default,
        kind: RouteKind::Protocol(protocol),
        summary: Cow::Borrowed("Takes messages of other agents and answers with tasks (A2A)."),
    }
}
