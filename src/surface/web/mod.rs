//! What browsers are sent through (signing in at the identity provider, signing out), what other services call, and what
//! is passed on of them.

mod account;
mod account_data;
mod deposit;
mod discovery;
mod document;
mod login;
mod logout;
mod models;
mod pages;
mod probes;
mod sign_in;
mod start;
mod stripe;

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use axum::http::{Response, StatusCode};
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Rate, Tool};
use ep_polling::poll_id::PollId;
use ep_tools::results::GetPollResult;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::http::Exchange;
use super::route::{Handler, Route, RouteKind};
use crate::documents::{HOME, reads_html};
use crate::pages::own;

pub use deposit::{
    AMOUNTS as DEPOSITS, DepositReceipt, DepositRequest, PaymentRequired, Usdc, usdc_not_configured,
};
pub use document::document;
pub use probes::stopping;

/// The name of the route that the identity provider sends visitors back to.
pub const CALLBACK: &str = "login_callback";

/// The name of the route by which browsers sign in.
pub const LOGIN: &str = "login";

/// The name of the route that signs a browser out.
pub const LOGOUT: &str = "logout";

/// The name of the route that takes deposits of USDC.
pub const DEPOSIT: &str = "deposit";

/// The name of the page where people sign in.
pub const LOGIN_PAGE: &str = "login_page";

/// The name of the page of an account.
pub const DASHBOARD: &str = "dashboard";

/// Where on that page the account is funded.
pub const FUNDS: &str = "#funds";

/// The names of what the forms of that page are sent to.
pub const ACCOUNT_FORMS: AccountForms = AccountForms {
    keys: "account_keys",
    revocation: "account_key_revocation",
    checkout: "account_checkout",
    cancellation: "account_cancellation",
    poll_deletion: "account_poll_deletion",
    export: "account_export",
    deletion: "account_deletion",
};

/// See [`ACCOUNT_FORMS`].
pub struct AccountForms {
    /// A new key.
    pub keys: &'static str,
    /// The end of a key.
    pub revocation: &'static str,
    /// A payment by card.
    pub checkout: &'static str,
    /// The end of a poll.
    pub cancellation: &'static str,
    /// The deletion of a poll.
    pub poll_deletion: &'static str,
    /// A copy of the account's data.
    pub export: &'static str,
    /// The deletion of the account.
    pub deletion: &'static str,
}

/// The name of what the start page's form is sent to.
pub const ASK: &str = "ask";

/// The name of the page of a poll.
pub const RESULT_PAGE: &str = "result_page";

/// The name of what other websites show of a poll.
pub const EMBED: &str = "embedded_result";

/// The name of the description of that frame.
pub const OEMBED: &str = "oembed";

/// The pages that are written for each request and have one address.
pub const LISTED_PAGES: [&str; 2] = [HOME, MODELS_PAGE];

/// The name of the page of the models.
pub const MODELS_PAGE: &str = "models_page";

/// The name of its Markdown.
pub const MODELS_MARKDOWN: &str = "models_markdown";

/// What a page is written in.
pub fn media_types(page: &str) -> &'static [&'static str] {
    match page {
        RESULT_PAGE => &["text/html", "text/markdown", "text/csv", "image/png", "image/svg+xml"],
        HOME | EMBED | LOGIN_PAGE | DASHBOARD | MODELS_PAGE => &["text/html", "text/markdown"],
        OEMBED => &["application/json"],
        MODELS_MARKDOWN => &["text/markdown"],
        _ => &["text/html"],
    }
}

/// Whether a page sends some visitors on to another one.
pub fn leads_on(page: &str) -> bool {
    matches!(page, LOGIN_PAGE | DASHBOARD)
}

/// The page that shows people what an operation answers: a browser that opens the operation's address is sent there.
pub fn page_of(operation: &str) -> Option<&'static str> {
    (operation == GetPollResult::SPEC.name).then_some(RESULT_PAGE)
}

/// Sends a browser to the page of what it asks an operation for, where there is one and it asks for nothing else.
pub fn to_page(operation: &str, exchange: &Exchange) -> Option<Response<Body>> {
    let request = &exchange.request;
    let page = page_of(operation).filter(|_| request.method().is_safe() && reads_html(request.headers()))?;
    let (_, id) = exchange.params.as_ref().ok()?.iter().next()?;
    let id: PollId = id.parse().ok().filter(|_| request.uri().query().is_none())?;
    let to = own(&exchange.state.links().url(page, &[("poll_id", id.as_str())]));
    see_other(&to).ok()
}

/// What the paths of signing in begin with: browsers send the cookie of a sign-in nowhere else.
const COOKIE_PATH: &str = "/api/auth";

/// Whether this is a step of signing in or out, to which nobody comes back.
pub fn is_sign_in(path: &str) -> bool {
    path.starts_with(COOKIE_PATH)
}

/// Where a visitor is sent who has signed in and wanted to go nowhere else.
pub const DASHBOARD_PATH: &str = "/dashboard";

/// The paths of pages that no search engine is to read.
pub const UNLISTED_PATHS: [&str; 2] = [DASHBOARD_PATH, LOGIN_PATH];

const LOGIN_PATH: &str = "/login";

/// Every redirect, webhook and mirrored document. Whoever comes is known by what comes with the request, not by its credential.
pub static ROUTES: [Route; 32] = [
    page(LOGIN_PAGE, LOGIN_PATH, sign_in::show, "The page where people sign in."),
    page(
        DASHBOARD,
        DASHBOARD_PATH,
        account::show,
        "The page of the account that this browser is signed in to.",
    ),
    form(ACCOUNT_FORMS.keys, "/dashboard/keys", account::create_key, "Creates an API key."),
    opened(ACCOUNT_FORMS.keys, "/dashboard/keys"),
    form(ACCOUNT_FORMS.revocation, "/dashboard/keys/revoke", account::revoke_key, "Revokes an API key."),
    opened(ACCOUNT_FORMS.revocation, "/dashboard/keys/revoke"),
    form(ACCOUNT_FORMS.checkout, "/dashboard/checkout", account::checkout, "Begins a payment by card."),
    opened(ACCOUNT_FORMS.checkout, "/dashboard/checkout"),
    form(ACCOUNT_FORMS.cancellation, "/dashboard/polls/cancel", account::cancel_poll, "Cancels a poll."),
    opened(ACCOUNT_FORMS.cancellation, "/dashboard/polls/cancel"),
    form(
        ACCOUNT_FORMS.poll_deletion,
        "/dashboard/polls/delete",
        account_data::delete_poll,
        "Deletes a poll.",
    ),
    opened(ACCOUNT_FORMS.poll_deletion, "/dashboard/polls/delete"),
    form(ACCOUNT_FORMS.export, "/dashboard/export", account_data::export, "Downloads the account's data."),
    opened(ACCOUNT_FORMS.export, "/dashboard/export"),
    form(ACCOUNT_FORMS.deletion, "/dashboard/delete", account_data::delete_account, "Deletes the account."),
    opened(ACCOUNT_FORMS.deletion, "/dashboard/delete"),
    page(HOME, "/", start::show, "The start page: what this service is, and a place to try it."),
    form(ASK, "/ask", start::ask, "Asks what the start page's form says."),
    opened(ASK, "/ask"),
    page(EMBED, "/embed/{poll_id}", pages::embed, "A poll for a frame of another website."),
    page(MODELS_PAGE, "/models", models::page, "The models that vote, for people."),
    page(MODELS_MARKDOWN, "/models.md", models::markdown, "The models that vote, in Markdown."),
    page(OEMBED, "/oembed", pages::oembed, "Describes the frame of a poll's page (oEmbed 1.0)."),
    page(
        RESULT_PAGE,
        "/results/{poll_id}",
        pages::result,
        "The page of a poll, running or ended, for people; with .md behind the id its Markdown, with .csv its votes, with .png \
         or .svg its picture.",
    ),
    Route {
        name: DEPOSIT,
        method: Method::Post,
        path: Cow::Borrowed("/api/deposit"),
        access: Access::PUBLIC,
        rate: Rate::Default,
        kind: RouteKind::Payment(deposit::handle),
        summary: Cow::Borrowed("Funds an account in USDC (x402, versions 1 and 2)."),
    },
    Route {
        name: "openid_configuration",
        method: Method::Get,
        path: Cow::Borrowed("/.well-known/openid-configuration"),
        access: Access::PUBLIC,
        rate: Rate::Public,
        kind: RouteKind::Mirror(discovery::pass_on),
        summary: Cow::Borrowed("What the identity provider says of itself (OpenID Connect Discovery)."),
    },
    Route {
        name: "stripe_webhook",
        method: Method::Post,
        path: Cow::Borrowed("/api/webhooks/stripe"),
        access: Access::PUBLIC,
        rate: Rate::Exempt,
        kind: RouteKind::Webhook(stripe::receive),
        summary: Cow::Borrowed("Takes what Stripe reports of payments."),
    },
    route(
        LOGIN,
        "/api/auth/login",
        Rate::SignIn,
        login::begin,
        "Sends the browser to the identity provider.",
    ),
    route(
        CALLBACK,
        "/api/auth/callback",
        Rate::SignIn,
        login::finish,
        "Takes the browser back from the identity provider, and signs it in.",
    ),
    route(LOGOUT, "/api/auth/logout", Rate::Public, logout::handle, "Signs this browser out."),
    probe("liveness", "/healthz", probes::liveness, "Answers 200 while the process serves requests."),
    probe(
        "readiness",
        "/readyz",
        probes::readiness,
        "Answers 200 if requests can be served, and 503 while the database is not available or the service is stopping.",
    ),
];

const fn probe(name: &'static str, path: &'static str, handler: Handler, summary: &'static str) -> Route {
    Route {
        name,
        method: Method::Get,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate: Rate::Exempt,
        kind: RouteKind::Probe(handler),
        summary: Cow::Borrowed(summary),
    }
}

const fn page(name: &'static str, path: &'static str, handler: Handler, summary: &'static str) -> Route {
    Route {
        name,
        method: Method::Get,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate: Rate::Results,
        kind: RouteKind::Page(handler),
        summary: Cow::Borrowed(summary),
    }
}

/// What a browser gets that opens the address of a form: it is sent to the page above it.
const fn opened(name: &'static str, path: &'static str) -> Route {
    Route {
        name,
        method: Method::Get,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate: Rate::Public,
        kind: RouteKind::Form(to_page_of_form),
        summary: Cow::Borrowed("Leads to the page of this form."),
    }
}

fn to_page_of_form(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    let path = exchange.request.uri().path();
    let page = if path.starts_with(DASHBOARD_PATH) { DASHBOARD_PATH } else { "/" };
    std::future::ready(see_other(page)).boxed()
}

const fn form(name: &'static str, path: &'static str, handler: Handler, summary: &'static str) -> Route {
    Route {
        name,
        method: Method::Post,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate: Rate::Results,
        kind: RouteKind::Form(handler),
        summary: Cow::Borrowed(summary),
    }
}

const fn route(
    name: &'static str,
    path: &'static str,
    rate: Rate,
    handler: Handler,
    summary: &'static str,
) -> Route {
    Route {
        name,
        method: Method::Get,
        path: Cow::Borrowed(path),
        access: Access::PUBLIC,
        rate,
        kind: RouteKind::Redirect(handler),
        summary: Cow::Borrowed(summary),
    }
}

/// A member of the query of what is no operation.
pub struct QueryMember {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// Its JSON Schema.
    pub schema: &'static str,
}

impl QueryMember {
    /// A text that may be left out.
    const fn text(name: &'static str, description: &'static str) -> Self {
        Self { name, description, required: false, schema: r#"{ "type": "string" }"# }
    }
}

/// The members of the query of what is no operation.
pub fn query(name: &str) -> &'static [QueryMember] {
    match name {
        LOGIN | LOGIN_PAGE => &login::QUERY,
        DASHBOARD => &account::QUERY,
        CALLBACK => &login::CALLBACK_QUERY,
        OEMBED => &pages::OEMBED_QUERY,
        MODELS_PAGE | MODELS_MARKDOWN => &models::QUERY,
        _ => &[],
    }
}

/// Where a visitor is sent who has signed out.
pub fn start_page(base_url: &str) -> String {
    format!("{base_url}/")
}

/// Sends a browser to a page after what its form asked for has been done, so that a reload does not do it again.
fn see_other(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = redirect(to)?;
    *response.status_mut() = StatusCode::SEE_OTHER;
    Ok(response)
}

/// Sends a browser elsewhere. Nobody may keep the response: it belongs to one visit.
fn redirect(to: &str) -> Result<Response<Body>, Fault> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let to = HeaderValue::try_from(to).map_err(Fault::internal)?;
    response.headers_mut().insert(LOCATION, to);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
