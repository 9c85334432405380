//! Routes for browsers (pages, forms, sign-in, sign-out), for probes, and for proxied metadata.

mod account;
mod batch;
mod calibration;
mod discovery;
mod docs;
mod document;
mod evaluation;
mod how_sure;
mod login;
mod models;
mod operation;
mod owned_page;
mod probes;
mod public_page;
mod result;
mod results;
mod start;

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use axum::http::{Response, StatusCode};
use ep_kernel::guard::Admission;
use ep_kernel::method::Method;
use ep_kernel::{Fault, Rate};
use ep_polling::PollId;
use ep_site::http::{Exchange, Handler, HandlerFuture};
use ep_site::layout::own;
use ep_site::names::{
    ACCOUNT_FORMS, ASK, ASK_PATH, BATCH_FORMS, BATCH_PAGE, CALIBRATION_MARKDOWN, CALIBRATION_PAGE, CALLBACK,
    DASHBOARD, DASHBOARD_PATH, DOCS, EMBED, EVALUATION_FORMS, EVALUATION_PAGE, HOME, HOW_SURE, LOGIN,
    LOGIN_PAGE, LOGIN_PATH, LOGOUT, MODELS_MARKDOWN, MODELS_PAGE, OEMBED, OPERATION_PAGE, RESULT_PAGE,
    RESULTS,
};
use ep_site::{Needs, Route, reads_html};
use futures::FutureExt;

use self::docs::DocsPages;
use self::result::{PageCache, Pictures};
use self::start::{Featured, Panels};

pub use document::document;
pub use probes::stopping;

/// Operations with the pages that show their output to people.
pub const PAGES_OF_OPERATIONS: [(&str, &str); 1] = [result::OPERATION_AND_PAGE];

/// Redirects a browser from an operation to its page, unless the request has a query.
pub fn to_page(route: &Route, exchange: &Exchange) -> Option<Response<Body>> {
    let request = &exchange.request;
    let page = route.page.filter(|_| request.method().is_safe() && reads_html(request.headers()))?;
    let (_, id) = exchange.params.as_ref().ok()?.iter().next()?;
    let id: PollId = id.parse().ok().filter(|_| request.uri().query().is_none())?;
    let to = own(&exchange.state.links().url(page, &[("poll_id", id.as_str())]));
    see_other(&to).ok()
}

/// Media types of a page that exists as HTML and Markdown.
const HTML_AND_MARKDOWN: &[&str] = &["text/html", "text/markdown"];

/// State of pages that outlives a request.
#[derive(Clone, Default)]
pub(crate) struct PageState {
    /// Cached pages of finished polls, and the start page.
    pages: PageCache,
    /// Pictures of polls.
    pictures: Pictures,
    /// The poll on the start page.
    featured: Arc<Featured>,
    /// The choices of a panel on the start page.
    panels: Arc<Panels>,
    /// The search and the pages of operations.
    docs: DocsPages,
}

/// A function that handles the requests of a route.
#[derive(Clone, Copy)]
enum HandlerFn {
    /// Needs the request only.
    Plain(fn(Exchange, Admission) -> HandlerFuture),
    /// Also needs the state of pages.
    WithState(fn(PageState, Exchange, Admission) -> HandlerFuture),
}
use HandlerFn::{Plain, WithState};

/// Handlers of pages, forms, redirects and probes. Each handler identifies its caller from the
/// content of the request, not from its credential.
static ENDPOINTS: [(Route, HandlerFn); 48] = [
    (
        page(LOGIN_PAGE, LOGIN_PATH, "The sign-in page.")
            .query(&login::QUERY)
            .personal(),
        Plain(login::sign_in::show),
    ),
    (
        page(DASHBOARD, DASHBOARD_PATH, "The account page of the signed-in browser.")
            .query(&account::QUERY)
            .personal(),
        Plain(account::show),
    ),
    (form(ACCOUNT_FORMS.keys, "/dashboard/keys", "Creates an API key."), Plain(account::create_key)),
    (opened(ACCOUNT_FORMS.keys, "/dashboard/keys"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.revocation, "/dashboard/keys/revoke", "Revokes an API key."), Plain(account::revoke_key)),
    (opened(ACCOUNT_FORMS.revocation, "/dashboard/keys/revoke"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.checkout, "/dashboard/checkout", "Starts a card payment."), Plain(account::checkout)),
    (opened(ACCOUNT_FORMS.checkout, "/dashboard/checkout"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.cancellation, "/dashboard/polls/cancel", "Cancels a poll."), Plain(account::cancel_poll)),
    (opened(ACCOUNT_FORMS.cancellation, "/dashboard/polls/cancel"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.poll_deletion, "/dashboard/polls/delete", "Deletes a poll."), Plain(account::data::delete_poll)),
    (opened(ACCOUNT_FORMS.poll_deletion, "/dashboard/polls/delete"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.export, "/dashboard/export", "Downloads the account's data."), Plain(account::data::export)),
    (opened(ACCOUNT_FORMS.export, "/dashboard/export"), Plain(to_page_of_form)),
    (form(ACCOUNT_FORMS.deletion, "/dashboard/delete", "Deletes the account."), Plain(account::data::delete_account)),
    (opened(ACCOUNT_FORMS.deletion, "/dashboard/delete"), Plain(account::gone)),
    (
        page(
            BATCH_PAGE,
            "/batches/{batch_id}",
            "The page of a batch. The suffix .csv after the id downloads its answers, .jsonl its results, .errors.jsonl its \
             errors.",
        )
            .media_types(&["text/html", "text/markdown", "text/csv", "application/jsonl"])
            .query(&batch::QUERY)
            .faults(&batch::FAULTS)
            .personal(),
        Plain(batch::show),
    ),
    (form(BATCH_FORMS.review, "/batches/review", "Stores the choice for a row of a batch."), Plain(batch::review)),
    (opened(BATCH_FORMS.review, "/batches/review"), Plain(to_page_of_form)),
    (form(BATCH_FORMS.sharing, "/batches/share", "Shares the page of a batch."), Plain(batch::share)),
    (opened(BATCH_FORMS.sharing, "/batches/share"), Plain(to_page_of_form)),
    (form(BATCH_FORMS.cancellation, "/batches/cancel", "Cancels a batch."), Plain(batch::cancel)),
    (opened(BATCH_FORMS.cancellation, "/batches/cancel"), Plain(to_page_of_form)),
    (
        page(EVALUATION_PAGE, "/evaluations/{evaluation_id}", "The page of an evaluation of models.")
            .faults(&evaluation::FAULTS)
            .personal(),
        Plain(evaluation::show),
    ),
    (form(EVALUATION_FORMS.0, "/evaluations/share", "Shares an evaluation."), Plain(evaluation::share)),
    (opened(EVALUATION_FORMS.0, "/evaluations/share"), Plain(to_page_of_form)),
    (form(EVALUATION_FORMS.1, "/evaluations/delete", "Deletes an evaluation."), Plain(evaluation::delete)),
    (opened(EVALUATION_FORMS.1, "/evaluations/delete"), Plain(to_page_of_form)),
    (page(HOME, "/", "The start page, with a form for a poll."), WithState(start::show)),
    (form(ASK, ASK_PATH, "Asks the poll of the start page's form."), WithState(start::ask)),
    (
        Route::form(Method::Get, ASK, ASK_PATH, "The start page with the form that has waited for a sign-in.")
            .rate(Rate::Results)
            .query(&start::RESUME_QUERY),
        WithState(start::resume),
    ),
    (page(EMBED, "/embed/{poll_id}", "A poll in a frame for other websites."), WithState(result::embed)),
    (
        page(MODELS_PAGE, "/models", "The models page.")
            .query(&models::QUERY)
            .faults(&models::FAULTS),
        Plain(models::page),
    ),
    (
        page(MODELS_MARKDOWN, "/models.md", "The models page in Markdown.")
            .media_types(&["text/markdown"])
            .query(&models::QUERY)
            .faults(&models::FAULTS),
        Plain(models::markdown),
    ),
    (
        page(CALIBRATION_PAGE, "/calibration", "The page that compares the agreement of panels with people's judgements."),
        Plain(calibration::page),
    ),
    (
        page(CALIBRATION_MARKDOWN, "/calibration.md", "The page about calibration in Markdown.")
            .media_types(&["text/markdown"]),
        Plain(calibration::markdown),
    ),
    (
        page(HOW_SURE, "/how-sure", "The page about the confidence of a result, with a poll to try.")
            .query(&how_sure::QUERY),
        Plain(how_sure::show),
    ),
    (
        page(RESULTS, "/results", "The page that opens a result by its link.")
            .query(&results::QUERY)
            .faults(&results::FAULTS),
        WithState(results::show),
    ),
    (
        page(DOCS, "/docs", "The start of the documentation, and the results of a search in it.")
            .query(&docs::QUERY),
        WithState(docs::show),
    ),
    (
        page(
            OPERATION_PAGE,
            "/api/docs/{operation}",
            "The page of an operation: code, fields and errors. The suffix .md selects Markdown.",
        ),
        WithState(docs::operation),
    ),
    (
        page(OEMBED, "/oembed", "Describes the frame of a poll's page (oEmbed 1.0).")
            .media_types(&["application/json"])
            .query(&result::OEMBED_QUERY),
        Plain(result::oembed),
    ),
    (
        page(
            RESULT_PAGE,
            "/results/{poll_id}",
            "The page of a poll. The suffix .md after the id selects Markdown, .csv the votes, .png or .svg the \
             picture.",
        )
        .media_types(&["text/html", "text/markdown", "text/csv", "image/png", "image/svg+xml"]),
        WithState(result::result),
    ),
    (
        Route::of_issuer(
            "openid_configuration",
            "/.well-known/openid-configuration",
            "The identity provider's metadata (OpenID Connect Discovery).",
        ),
        Plain(discovery::pass_on),
    ),
    (
        Route::redirect(LOGIN, "/api/auth/login", "Redirects the browser to the identity provider.")
            .needs(Needs::SignIn)
            .rate(Rate::SignIn)
            .query(&login::QUERY),
        Plain(login::begin),
    ),
    (
        Route::redirect(
            CALLBACK,
            "/api/auth/callback",
            "Signs a browser in after its return from the identity provider.",
        )
        .rate(Rate::SignIn)
        .query(&login::CALLBACK_QUERY),
        Plain(login::finish),
    ),
    (
        Route::redirect(LOGOUT, "/api/auth/logout", "Signs this browser out.").media_types(&["text/html"]),
        Plain(login::logout::handle),
    ),
    (Route::probe("liveness", "/healthz", "Liveness: 200 while the process serves requests."), Plain(probes::liveness)),
    (
        Route::probe(
            "readiness",
            "/readyz",
            "Readiness: 200 if requests can be served, 503 while the database is not available or the service is stopping.",
        ),
        Plain(probes::readiness),
    ),
];

/// Returns the routes.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ENDPOINTS.iter().map(|(route, _)| route)
}

/// Returns the routes with their handlers, which share the state of pages.
pub fn endpoints() -> impl Iterator<Item = (Route, Handler)> {
    let state = PageState::default();
    ENDPOINTS.iter().map(move |(route, handler)| {
        let handler = match *handler {
            Plain(handle) => Handler::new(handle),
            WithState(handle) => {
                let state = state.clone();
                Handler::new(move |exchange, admission| handle(state.clone(), exchange, admission))
            }
        };
        (route.clone(), handler)
    })
}

const fn page(name: &'static str, path: &'static str, summary: &'static str) -> Route {
    Route::page(name, path, summary).rate(Rate::Results).media_types(HTML_AND_MARKDOWN)
}

const fn form(name: &'static str, path: &'static str, summary: &'static str) -> Route {
    Route::form(Method::Post, name, path, summary).rate(Rate::Results)
}

/// Creates the route for a form's URL opened in a browser.
const fn opened(name: &'static str, path: &'static str) -> Route {
    Route::form(Method::Get, name, path, "Redirects to the page of this form.")
}

fn to_page_of_form(_: Exchange, _: Admission) -> HandlerFuture {
    std::future::ready(see_other(DASHBOARD_PATH)).boxed()
}

/// Returns the destination after sign-out.
pub fn start_page(base_url: &str) -> String {
    format!("{base_url}/")
}

/// Redirects a browser after a successful form, so that a reload does not submit it again.
fn see_other(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = redirect(to)?;
    *response.status_mut() = StatusCode::SEE_OTHER;
    Ok(response)
}

/// Redirects a browser. The response must not be cached, because it belongs to one visit.
fn redirect(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let to = HeaderValue::try_from(to).map_err(Fault::internal)?;
    response.headers_mut().insert(LOCATION, to);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
