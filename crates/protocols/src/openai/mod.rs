//! OpenAI's HTTP API, so that its clients can ask a panel: models, chat completions, responses and decisions. Decisions have
//! two more dialects, of System One and Gemini.
//!
//! **A panel is a model.** A request is a decision if its answer has a form with a few possible values: a forced function,
//! or a JSON Schema. Each such field is a poll, and the winning value is the answer. Prose cannot be voted on and is refused.
//! Every response has OpenAI's error object, and evidence in headers and in the member `poll`.

mod batches;
mod chat;
mod decide;
mod decisions;
mod description;
mod field;
mod files;
mod lists;
mod models;
mod outcome;
mod prompt;
mod refusal;
mod request;
mod responses;
mod retries;
pub mod rows;
pub mod schema;
pub mod shape;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::guard::Admission;
use ep_kernel::method::Method::{self, Delete, Get, Post};
use ep_kernel::{Access, Effect, Fault, Problem, Rate};
use futures::FutureExt;
use serde_json::Value;

use decide::Dialect;
use decisions::gemini::GeminiRequest;
use decisions::open_ai::DecisionRequest;
use decisions::system_one::SystemOneRequest;
use ep_site::http::{Exchange, Handler};
use ep_site::protocol::{ErrorFormat, ErrorRenderer, Introduction};
use ep_site::route::Target;
use ep_site::{ProtectedResource, Protocol, ProtocolRoute, QueryParameter, Route};
pub use models::model_names;
use refusal::{error, error_with_detail, google_error};
use request::ChatRequest;
use responses::ResponseRequest;
use retries::Retries;

/// Paths below these belong to the protocol.
const PREFIXES: [&str; 2] = ["/v1/", "/v1beta/"];
/// The key of callers without an account: many clients insist on one.
const ANONYMOUS_KEY: &str = "free";

/// OpenAI's API.
static OPENAI: Protocol = Protocol {
    surface: "openai",
    group: "OpenAI",
    about: "OpenAI's API: a panel as a model, for every client that has a base URL and a model's name.",
    resource: ProtectedResource::API,
    headers: &[
        "poll-max-cost-usd",
        "poll-confidence-threshold",
        "poll-private",
        "x-stainless-retry-count",
        "x-typesafe-retry-count",
        "x-goog-api-key",
    ],
    response_headers: &[
        "poll-id",
        "poll-outcome",
        "poll-votes",
        "poll-confidence",
        "poll-termination",
        "poll-notices",
        "poll-cost-usd",
    ],
    credential_hint: "; without an account, send the key free",
    accepts_user_ids: false,
    anonymous_key: Some(ANONYMOUS_KEY),
    prefixes: &PREFIXES,
    introduction: || Introduction { versions: vec!["v1"], capabilities: Value::Null },
};

/// Everyone but browsers: their cookies are no credential of a program.
const ACCESS: Access = Access { anonymous: true, cookie: false, key: true };
/// Longer than any poll: bounds requests that hang.
const DEADLINE: Duration = Duration::from_hours(1);
/// Maximum size of a body, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Parameters of lists.
static LIST_QUERY: [QueryParameter; 3] = [
    QueryParameter::text("after", "The id of the last object of the page before."),
    QueryParameter {
        name: "limit",
        description: "The length of the page.",
        required: false,
        schema: r#"{ "type": "integer", "minimum": 1 }"#,
    },
    QueryParameter::text("purpose", "Of files: batch or batch_output."),
];

/// Returns the routes.
pub fn routes() -> impl Iterator<Item = Route> {
    endpoints().into_iter().map(|(route, _)| route)
}

// Summaries of routes that share them, or that are long.
const FIELDS: &str = "Decides the fields of an answer by votes (OpenAI).";
const ANSWERS: &str = "Answers choices, predicates and scores by votes (OpenAI).";
const SYSTEM_ONE: &str = "Answers choices, predicates and scores by votes (System One).";
const GEMINI: &str = "Answers choices, predicates and scores by votes (Gemini).";
const UPLOAD: &str = "Stores a file of requests, one on each line (OpenAI).";
const NEW_BATCH: &str = "Asks the requests of a file in the background (OpenAI).";

/// Returns the routes with their handlers.
pub fn endpoints() -> Vec<(Route, Handler)> {
    let retries = &Arc::new(Retries::new());
    let get = |name, path, summary| route(Get, name, path, summary, error);
    let read = |name, path, summary| stored(Effect::Read, Get, name, path, summary);
    let post = |effect, name, path, summary| stored(effect, Post, name, path, summary);
    vec![
        (
            get("openai", "/v1", "Lists the panels as models, at the base URL (OpenAI)."),
            handler(models::list),
        ),
        (get("openai_models", "/v1/models", "Lists the panels as models (OpenAI)."), handler(models::list)),
        (
            get("openai_model", "/v1/models/{model}", "Reads a panel as a model (OpenAI)."),
            handler(models::read),
        ),
        deciding::<ChatRequest>(retries, "openai_chat", "/v1/chat/completions", FIELDS, error),
        deciding::<ResponseRequest>(retries, "openai_responses", "/v1/responses", FIELDS, error),
        deciding::<DecisionRequest>(retries, "openai_decisions", "/v1/decisions", ANSWERS, error),
        deciding::<SystemOneRequest>(retries, "system_one", "/v1/systemone", SYSTEM_ONE, error_with_detail),
        deciding::<GeminiRequest>(retries, "gemini_decisions", "/v1beta/decisions", GEMINI, google_error),
        (
            post(Effect::Consult, "openai_upload", "/v1/files", UPLOAD).max_body(upload::MAX_UPLOAD),
            handler(upload::upload),
        ),
        (
            read("openai_files", "/v1/files", "Lists your files (OpenAI).").query(&LIST_QUERY),
            handler(files::list),
        ),
        (
            read("openai_file", "/v1/files/{file_id}", "Reads the description of a file (OpenAI)."),
            handler(files::read),
        ),
        (
            stored(
                Effect::Destroy,
                Delete,
                "openai_delete_file",
                "/v1/files/{file_id}",
                "Deletes a file (OpenAI).",
            ),
            handler(files::delete),
        ),
        (
            read("openai_content", "/v1/files/{file_id}/content", "Sends the lines of a file (OpenAI)."),
            handler(files::content),
        ),
        (post(Effect::Consult, "openai_new_batch", "/v1/batches", NEW_BATCH), handler(batches::create)),
        (
            read("openai_batches", "/v1/batches", "Lists your batches (OpenAI).").query(&LIST_QUERY),
            handler(batches::list),
        ),
        (
            read("openai_batch", "/v1/batches/{batch_id}", "Reads the state of a batch (OpenAI)."),
            handler(batches::read),
        ),
        (
            post(
                Effect::Stop,
                "openai_stop_batch",
                "/v1/batches/{batch_id}/cancel",
                "Ends a batch early (OpenAI).",
            ),
            handler(batches::cancel),
        ),
    ]
}

/// Returns a route of accounts: files and batches belong to one. An end is repeated without a mark.
fn stored(
    effect: Effect,
    method: Method,
    name: &'static str,
    path: &'static str,
    summary: &'static str,
) -> Route {
    let route = route(method, name, path, summary, error).access(Access::KEY).effect(effect);
    match route.target {
        Target::Protocol(endpoint) if matches!(effect, Effect::Stop) => {
            let target = Target::Protocol(ProtocolRoute { marks_replays: false, ..endpoint });
            Route { target, ..route }
        }
        _ => route,
    }
}

fn route(
    method: Method,
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    errors: fn(&Fault, &Problem) -> Value,
) -> Route {
    let endpoint = ProtocolRoute {
        protocol: &OPENAI,
        errors: ErrorFormat::Own(ErrorRenderer(errors)),
        opens_polls: method == Post,
        marks_replays: method == Post,
        shares_name: false,
        describe: description::describe,
    };
    Route::protocol(endpoint, method, name, path, summary)
        .access(ACCESS)
        .rate(Rate::Default)
        .deadline(DEADLINE)
        .max_body(MAX_BODY)
}

/// Returns an endpoint that opens polls.
fn deciding<D: Dialect>(
    retries: &Arc<Retries>,
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    errors: fn(&Fault, &Problem) -> Value,
) -> (Route, Handler) {
    let retries = Arc::clone(retries);
    let serve = move |exchange, admission| decide::serve::<D>(exchange, admission, Arc::clone(&retries));
    (route(Post, name, path, summary, errors), handler(serve))
}

fn handler<F>(serve: impl Fn(Exchange, Admission) -> F + Send + Sync + 'static) -> Handler
where
    F: Future<Output = Result<Response<Body>, Fault>> + Send + 'static,
{
    Handler::new(move |exchange, admission| serve(exchange, admission).boxed())
}
