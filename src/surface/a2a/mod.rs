//! Agent2Agent: JSON-RPC at `/api/a2a` in the dialects of 1.0 and 0.3, which differ in their method
//! names, and the older `POST /api/a2a/tasks/send`.
//!
//! **An A2A task and a poll are the same row seen twice**: a task's id is its poll's.

mod dialect;
mod errors;
mod message;
mod rpc;
mod send;
mod task;

use axum::Router;
use axum::routing::post;

use super::http::Gate;

/// The A2A endpoints.
pub fn routes() -> Router<Gate> {
    Router::new()
        .route("/api/a2a", post(rpc::serve).fallback(rpc::not_posted))
        .route("/api/a2a/", post(rpc::serve).fallback(rpc::not_posted))
        .route("/api/a2a/tasks/send", post(rpc::serve_tasks_send).fallback(rpc::not_posted))
}
