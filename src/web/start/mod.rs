//! The start page and its form.

mod form_rejection;
mod form_values;
mod open_poll;
mod view;

use std::net::{IpAddr, Ipv4Addr};

use askama::Template;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LINK, RETRY_AFTER, VARY};
use axum::http::{Response, StatusCode};
use ep_kernel::dispatch::{Call, dispatch, dispatch_typed};
use ep_kernel::fault::Fault;
use ep_kernel::guard::{Admission, Credential};
use ep_tools::account::GetBalance;
use ep_tools::entry_of;
use ep_tools::polls::{ListProfiles, PollFree};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use self::form_values::PollFormValues;
use self::view::{StartPage, StartPageData, example_request};
use super::result::{Read, page_of, read};
use super::{PageState, RESULT_PAGE, see_other};
use crate::documents::home_links;
use crate::site::names::HOME_MARKDOWN;
use crate::site::{HTML, wants_markdown};

use self::open_poll::{free_poll, open, poll_of};
pub use self::view::Example;
use crate::http::{AppState, Exchange, Form, RequestHead, protect};
use crate::layout::own;

/// Shows the start page. If `again` names a poll, the form contains its question and options.
pub(crate) fn show(
    of_pages: PageState,
    exchange: Exchange,
    admission: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        if wants_markdown(request.headers()) {
            let mut response = state.serve_document(HOME_MARKDOWN, request.headers())?;
            response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
            return Ok(response);
        }
        if of_pages.example.is_due(state.app.ports.clock.now()) {
            state.app.tasks.spawn(poll_example(
                of_pages.clone(),
                state.clone(),
                head.clone(),
                admission.clone(),
            ));
        }
        let query = request.uri().query().unwrap_or_default();
        if query.is_empty() && matches!(head.credential, Credential::None) {
            return first(&of_pages, &state, &head, &admission).await;
        }
        let query = Form::parse(query.as_bytes());
        let values = match query.text("again") {
            "" => PollFormValues::default(),
            id => again(&state, &head, &admission, id).await?,
        };
        page(&of_pages.example, &state, &head, &admission, &values, None).await
    }
    .boxed()
}

/// Serves the default page for visitors without an account: only the nonce differs between them.
async fn first(
    of_pages: &PageState,
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
) -> Result<Response<Body>, Fault> {
    let nonce = new_nonce(state);
    if let Some(html) = of_pages.pages.start(&nonce, state.app.ports.clock.now()) {
        return response(state, html);
    }
    let html =
        render(&of_pages.example, state, head, admission, &PollFormValues::default(), None, nonce.clone())
            .await?;
    of_pages.pages.cache_start(html.clone(), nonce, state.app.ports.clock.now());
    response(state, html)
}

/// Opens the poll of the form and redirects to its page. The page shows a rejection beside the form.
pub(crate) fn ask(
    of_pages: PageState,
    exchange: Exchange,
    admission: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, max_body, .. } = exchange;
        let (parts, body) = request.into_parts();
        let values = PollFormValues::read(&Form::read(&parts.headers, body, max_body).await?);
        match open(&state, &head, &values).await {
            Ok(id) => see_other(&own(&state.links().url(RESULT_PAGE, &[("poll_id", id.as_str())]))),
            Err(refusal) => page(&of_pages.example, &state, &head, &admission, &values, Some(&refusal)).await,
        }
    }
    .boxed()
}

async fn page(
    example: &Example,
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    values: &PollFormValues,
    rejection: Option<&Fault>,
) -> Result<Response<Body>, Fault> {
    let html = render(example, state, head, admission, values, rejection, new_nonce(state)).await?;
    let mut response = response(state, html)?;
    if let Some(rejection) = rejection {
        *response.status_mut() =
            StatusCode::from_u16(rejection.kind().row().http).map_err(Fault::internal)?;
    }
    if let Some(seconds) = rejection.and_then(Fault::retry_after_seconds) {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

/// Generates the idempotency key of a page's form.
fn new_nonce(state: &AppState) -> String {
    hex::encode(state.app.entropy.bytes::<16>())
}

async fn render(
    example: &Example,
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    values: &PollFormValues,
    rejection: Option<&Fault>,
    nonce: String,
) -> Result<String, Fault> {
    let call = Call::new(head.admitted("web", admission.clone()));
    let listed = dispatch_typed::<ListProfiles>(&state.app, entry_of::<ListProfiles>()?, call, json!({}));
    let mut profiles = listed.await?.output.profiles;
    // Cheapest profile first.
    profiles.reverse();
    let data =
        StartPageData { values, nonce, profiles, balance: balance(state, head).await, rejection, example };
    StartPage::new(&state.site, data).render().map_err(Fault::internal)
}

fn response(state: &AppState, html: String) -> Result<Response<Body>, Fault> {
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    headers.insert(LINK, HeaderValue::try_from(home_links(&state.site)).map_err(Fault::internal)?);
    protect(headers);
    Ok(response)
}

/// Returns the balance of the visitor's account; `None` without an account or a valid session.
async fn balance(state: &AppState, head: &RequestHead) -> Option<String> {
    if matches!(head.credential, Credential::None) {
        return None;
    }
    let call = Call::new(head.guarded("web", head.credential.clone()));
    let entry = entry_of::<GetBalance>().ok()?;
    let read = dispatch_typed::<GetBalance>(&state.app, entry, call, json!({})).await.ok()?;
    Some(read.output.balance)
}

/// Fills in the form from an earlier poll.
async fn again(
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    id: &str,
) -> Result<PollFormValues, Fault> {
    let Read { result, private, .. } = read(state, head.credential.clone(), head, admission, id).await?;
    Ok(PollFormValues {
        question: result.question.unwrap_or_default(),
        options: result.options.join("\n"),
        private,
        ..PollFormValues::default()
    })
}

/// Polls the example and shows its result. For a day, every replica gets the same poll for its idempotency key.
async fn poll_example(of_pages: PageState, state: AppState, head: RequestHead, admission: Admission) {
    let head = RequestHead { address: IpAddr::V4(Ipv4Addr::LOCALHOST), credential: Credential::None, ..head };
    let answered = async {
        let input: Value = serde_json::from_str(example_request()).map_err(Fault::internal)?;
        let call = Call {
            idempotency_key: Some("start page example".to_owned()),
            ..Call::new(head.guarded("web", Credential::None))
        };
        let done = dispatch(&state.app, entry_of::<PollFree>()?, call, Ok(input)).await.result;
        let id = poll_of(free_poll(done))?;
        let read = read(&state, Credential::None, &head, &admission, id.as_str()).await?;
        of_pages.example.show(page_of(&state, read, id.as_str(), ""));
        of_pages.pages.forget_start();
        Ok::<_, Fault>(())
    };
    if let Err(fault) = answered.await {
        tracing::debug!(error = %fault, "the example of the start page could not be answered");
    }
}
