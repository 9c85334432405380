//! OpenAI's HTTP API, so that its clients can ask a panel: `/v1/models` and `/v1/chat/completions`.
//!
//! **A panel is a model.** A request is a decision if its answer has a form with a few possible values: a forced function,
//! or a JSON Schema. Each such field is a poll, and the winning value is the answer. Prose cannot be voted on and is refused.
//! Every response has OpenAI's error object, and evidence in headers and in the member `poll`.

mod chat;
mod description;
mod models;
mod outcome;
mod prompt;
mod refusal;
mod request;
mod retries;
pub mod schema;
pub mod shape;

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate};
use futures::FutureExt;
use serde_json::Value;

use crate::http::{Handler, HandlerFuture};
use crate::site::protocol::{ErrorFormat, ErrorRenderer, Introduction};
use crate::site::{ProtectedResource, Protocol, ProtocolRoute, Route, RouteKind};
use retries::Retries;

/// Paths below this one belong to the protocol.
pub const PREFIX: &str = "/v1/";
/// The key of callers without an account: many clients insist on one.
const ANONYMOUS_KEY: &str = "free";

/// OpenAI's API.
static OPENAI: Protocol = Protocol {
    surface: "openai",
    group: "OpenAI",
    about: "OpenAI's API: a panel as a model, for every client that has a base URL and a model's name.",
    resource: ProtectedResource::API,
    headers: &["poll-max-cost-usd", "poll-confidence-threshold", "poll-private", "x-stainless-retry-count"],
    credential_hint: "; without an account, send the key free",
    accepts_user_ids: false,
    anonymous_key: Some(ANONYMOUS_KEY),
    prefix: Some(PREFIX),
    introduction: || Introduction { versions: vec!["v1"], capabilities: Value::Null },
};

/// Everyone but browsers: their cookies are no credential of a program.
const ACCESS: Access = Access { anonymous: true, cookie: false, key: true };
/// Longer than any poll: bounds requests that hang.
const DEADLINE: Duration = Duration::from_hours(1);
/// Maximum size of a body, in bytes.
const MAX_BODY: usize = 1024 * 1024;

const ENDPOINT: ProtocolRoute = ProtocolRoute {
    protocol: &OPENAI,
    errors: ErrorFormat::Own(ErrorRenderer(refusal::error)),
    opens_polls: false,
    shares_name: false,
    describe: description::describe,
};

/// Returns the routes.
pub fn routes() -> impl Iterator<Item = Route> {
    [
        route(Method::Get, "openai", "/v1", "Lists the panels as models, at the base URL (OpenAI)."),
        route(Method::Get, "openai_models", "/v1/models", "Lists the panels as models (OpenAI)."),
        route(Method::Get, "openai_model", "/v1/models/{model}", "Reads a panel as a model (OpenAI)."),
        route(
            Method::Post,
            "openai_chat",
            "/v1/chat/completions",
            "Decides the fields of an answer by votes (OpenAI).",
        ),
    ]
    .into_iter()
}

fn route(method: Method, name: &'static str, path: &'static str, summary: &'static str) -> Route {
    let endpoint = ProtocolRoute { opens_polls: method == Method::Post, ..ENDPOINT };
    Route { method, ..Route::post(name, path, RouteKind::Protocol(endpoint), summary) }
        .access(ACCESS)
        .rate(Rate::Default)
        .deadline(DEADLINE)
        .max_body(MAX_BODY)
}

/// Returns the routes with their handlers.
pub fn endpoints() -> Vec<(Route, Handler)> {
    let retries = Arc::new(Retries::new());
    let chat = Handler::new(move |exchange, admission| -> HandlerFuture {
        chat::serve(exchange, admission, Arc::clone(&retries)).boxed()
    });
    let list = Handler::new(|exchange, _| std::future::ready(Ok(models::list(&exchange))).boxed());
    let read = Handler::new(|exchange, _| std::future::ready(models::read(&exchange)).boxed());
    routes().zip([list.clone(), list, read, chat]).collect()
}
