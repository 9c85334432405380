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

use ep_kernel::fault::{Fault, Problem};
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Effect, Rate};
use futures::FutureExt;
use serde_json::Value;

use decide::Dialect;
use ep_site::http::{Handler, HandlerFuture};
use ep_site::protocol::{ErrorFormat, ErrorRenderer, Introduction};
use ep_site::route::Target;
use ep_site::{ProtectedResource, Protocol, ProtocolRoute, QueryParameter, Route};
pub use models::model_names;
use refusal::{error, error_with_detail, google_error};
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

/// Returns the routes with their handlers.
pub fn endpoints() -> Vec<(Route, Handler)> {
    let retries = Arc::new(Retries::new());
    let list = || Handler::new(|exchange, admission| models::list(exchange, admission).boxed());
    let read = Handler::new(|exchange, admission| models::read(exchange, admission).boxed());
    vec![
        (get("openai", "/v1", "Lists the panels as models, at the base URL (OpenAI)."), list()),
        (get("openai_models", "/v1/models", "Lists the panels as models (OpenAI)."), list()),
        (get("openai_model", "/v1/models/{model}", "Reads a panel as a model (OpenAI)."), read),
        (
            post(
                "openai_chat",
                "/v1/chat/completions",
                "Decides the fields of an answer by votes (OpenAI).",
                error,
            ),
            deciding::<request::ChatRequest>(&retries),
        ),
        (
            post(
                "openai_responses",
                "/v1/responses",
                "Decides the fields of an answer by votes (OpenAI).",
                error,
            ),
            deciding::<responses::ResponseRequest>(&retries),
        ),
        (
            post(
                "openai_decisions",
                "/v1/decisions",
                "Answers choices, predicates and scores by votes (OpenAI).",
                error,
            ),
            deciding::<decisions::open_ai::DecisionRequest>(&retries),
        ),
        (
            post(
                "system_one",
                "/v1/systemone",
                "Answers choices, predicates and scores by votes (System One).",
                error_with_detail,
            ),
            deciding::<decisions::system_one::SystemOneRequest>(&retries),
        ),
        (
            post(
                "gemini_decisions",
                "/v1beta/decisions",
                "Answers choices, predicates and scores by votes (Gemini).",
                google_error,
            ),
            deciding::<decisions::gemini::GeminiRequest>(&retries),
        ),
        (
            stored(
                Effect::Consult,
                post(
                    "openai_upload",
                    "/v1/files",
                    "Stores a file of requests, one on each line (OpenAI).",
                    error,
                ),
            )
            .max_body(upload::MAX_UPLOAD),
            Handler::new(|exchange, admission| upload::upload(exchange, admission).boxed()),
        ),
        (
            stored(Effect::Read, get("openai_files", "/v1/files", "Lists your files (OpenAI)."))
                .query(&LIST_QUERY),
            Handler::new(|exchange, admission| files::list(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Read,
                get("openai_file", "/v1/files/{file_id}", "Reads the description of a file (OpenAI)."),
            ),
            Handler::new(|exchange, admission| files::read(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Destroy,
                route(
                    Method::Delete,
                    "openai_delete_file",
                    "/v1/files/{file_id}",
                    "Deletes a file (OpenAI).",
                    error,
                ),
            ),
            Handler::new(|exchange, admission| files::delete(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Read,
                get("openai_content", "/v1/files/{file_id}/content", "Sends the lines of a file (OpenAI)."),
            ),
            Handler::new(|exchange, admission| files::content(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Consult,
                post(
                    "openai_new_batch",
                    "/v1/batches",
                    "Asks the requests of a file in the background (OpenAI).",
                    error,
                ),
            ),
            Handler::new(|exchange, admission| batches::create(exchange, admission).boxed()),
        ),
        (
            stored(Effect::Read, get("openai_batches", "/v1/batches", "Lists your batches (OpenAI)."))
                .query(&LIST_QUERY),
            Handler::new(|exchange, admission| batches::list(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Read,
                get("openai_batch", "/v1/batches/{batch_id}", "Reads the state of a batch (OpenAI)."),
            ),
            Handler::new(|exchange, admission| batches::read(exchange, admission).boxed()),
        ),
        (
            stored(
                Effect::Stop,
                post(
                    "openai_stop_batch",
                    "/v1/batches/{batch_id}/cancel",
                    "Ends a batch early (OpenAI).",
                    error,
                ),
            ),
            Handler::new(|exchange, admission| batches::cancel(exchange, admission).boxed()),
        ),
    ]
}

/// Narrows a route to accounts: files and batches belong to one. An end is repeated without a mark.
fn stored(effect: Effect, route: Route) -> Route {
    let route = route.access(Access::KEY).effect(effect);
    match route.target {
        Target::Protocol(endpoint) if matches!(effect, Effect::Stop) => {
            let target = Target::Protocol(ProtocolRoute { marks_replays: false, ..endpoint });
            Route { target, ..route }
        }
        _ => route,
    }
}

fn get(name: &'static str, path: &'static str, summary: &'static str) -> Route {
    route(Method::Get, name, path, summary, error)
}

fn post(
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    errors: fn(&Fault, &Problem) -> Value,
) -> Route {
    route(Method::Post, name, path, summary, errors)
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
        opens_polls: method == Method::Post,
        marks_replays: method == Method::Post,
        shares_name: false,
        describe: description::describe,
    };
    Route::protocol(endpoint, method, name, path, summary)
        .access(ACCESS)
        .rate(Rate::Default)
        .deadline(DEADLINE)
        .max_body(MAX_BODY)
}

/// Returns the handler of an endpoint that opens polls.
fn deciding<D: Dialect>(retries: &Arc<Retries>) -> Handler {
    let retries = Arc::clone(retries);
    Handler::new(move |exchange, admission| -> HandlerFuture {
        decide::serve::<D>(exchange, admission, Arc::clone(&retries)).boxed()
    })
}
