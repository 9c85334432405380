//! The start page and its form.

mod examples;
mod featured;
mod form_rejection;
mod form_values;
mod open_poll;
mod panels;
mod view;
mod waiting_form;

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, HeaderValue, LINK, RETRY_AFTER, SET_COOKIE, VARY};
use axum::http::{HeaderMap, Response, StatusCode};
use ep_kernel::dispatch;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::{Call, Fault, Kind, Nothing};
use ep_site::http::{AppState, Exchange, Form, HandlerFuture, RequestHead, protect, reads_gzip};
use ep_site::layout::{own, return_to};
use ep_site::names::{ASK_PATH, HOME_MARKDOWN, LOGIN_PATH};
use ep_site::{HTML, QueryParameter, wants_markdown};
use ep_tools::account::GetBalance;
use ep_tools::entry_of;
use futures::FutureExt;

use self::examples::Example;
use self::form_values::PollFormValues;
use self::open_poll::open;
use self::view::{StartPage, StartPageData};
use super::public_page::{page_headers, with_headers};
use super::result::{Read, read};
use super::{PageState, RESULT_PAGE, see_other};
use crate::documents::home_links;

pub use self::featured::Featured;
pub(super) use self::form_values::FREE;
pub use self::panels::Panels;

/// Shows the start page. The form contains an earlier poll if `again` names one, or an example.
pub(crate) fn show(of_pages: PageState, exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        if wants_markdown(request.headers()) {
            let mut response = state.serve_document(HOME_MARKDOWN, request.headers())?;
            response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
            return Ok(response);
        }
        featured::renew(&of_pages, &state, &head, &admission).await;
        let query = request.uri().query().unwrap_or_default();
        let visit = Visit { of_pages: &of_pages, state: &state, head: &head, admission: &admission };
        if query.is_empty() && matches!(head.credential, Credential::None) {
            return visit.first(request.headers()).await;
        }
        let query = Form::parse(query.as_bytes());
        let values = match query.text("again") {
            "" => Example::form(query.text("example")).unwrap_or_default(),
            id => again(&state, &head, &admission, id).await?,
        };
        visit.page(&values, None).await
    }
    .boxed()
}

/// Query parameters of the form that has waited for a sign-in.
pub(super) const RESUME_QUERY: [QueryParameter; 1] =
    [QueryParameter::text("who", "`free` asks the free models instead of the chosen panel.")];

/// Shows the start page with the form that has waited for a sign-in. Without one, redirects to the start page.
pub(crate) fn resume(of_pages: PageState, exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let Some(values) = waiting_form::read(request.headers()) else { return see_other("/") };
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        let values = if query.text("who") == FREE { values.free() } else { values };
        let visit = Visit { of_pages: &of_pages, state: &state, head: &head, admission: &admission };
        visit.page(&values, None).await
    }
    .boxed()
}

/// Opens the poll of the form and redirects to its page. A visitor who needs an account signs in first. The page
/// shows other rejections beside the form.
pub(crate) fn ask(of_pages: PageState, exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, request, max_body, .. } = exchange;
        let (parts, body) = request.into_parts();
        let values = PollFormValues::read(&Form::read(&parts.headers, body, max_body).await?);
        let base_url = state.links().base_url();
        let visit = Visit { of_pages: &of_pages, state: &state, head: &head, admission: &admission };
        if open_poll::is_open(&values) {
            return match open_poll::propose(&state, &head, &values.question).await {
                Ok(proposed) => visit.page(&values.with(proposed), None).await,
                Err(refusal) => visit.page(&values, Some(&refusal)).await,
            };
        }
        let (to, cookie) = match open(&state, &head, &values).await {
            Ok(id) => {
                let waited = waiting_form::read(&parts.headers);
                let to = own(&state.links().url(RESULT_PAGE, &[("poll_id", id.as_str())]));
                (to, waited.and_then(|_| waiting_form::clear(base_url)))
            }
            Err(refusal) => {
                let needs_account = refusal.kind() == Kind::Unauthenticated;
                let Some(cookie) = needs_account.then(|| waiting_form::store(&values, base_url)).flatten()
                else {
                    return visit.page(&values, Some(&refusal)).await;
                };
                (format!("{LOGIN_PATH}{}", return_to(ASK_PATH)), Some(cookie))
            }
        };
        let mut response = see_other(&to)?;
        response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
        Ok(response)
    }
    .boxed()
}

/// A visit of the start page.
struct Visit<'a> {
    of_pages: &'a PageState,
    state: &'a AppState,
    head: &'a RequestHead,
    admission: &'a Admission,
}

impl Visit<'_> {
    /// Serves the default page for visitors without an account: only the nonce differs between them.
    async fn first(&self, request: &HeaderMap) -> Result<Response<Body>, Fault> {
        let Self { of_pages, state, .. } = self;
        let nonce = new_nonce(state);
        let now = || state.app.ports.clock.now();
        let Some(page) = of_pages.pages.start(now()) else {
            let html = self.render(&PollFormValues::default(), None, nonce.clone()).await?;
            of_pages.pages.cache_start(&html, &nonce, now());
            return response(state, html);
        };
        let Some(packed) = page.gzip(&nonce).filter(|_| reads_gzip(request)) else {
            return response(state, page.plain(&nonce));
        };
        let mut response = response(state, packed)?;
        let headers = response.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
        Ok(response)
    }

    async fn page(
        &self,
        values: &PollFormValues,
        rejection: Option<&Fault>,
    ) -> Result<Response<Body>, Fault> {
        let html = self.render(values, rejection, new_nonce(self.state)).await?;
        let mut response = response(self.state, html)?;
        if let Some(rejection) = rejection {
            *response.status_mut() =
                StatusCode::from_u16(rejection.kind().row().http).map_err(Fault::internal)?;
        }
        if let Some(seconds) = rejection.and_then(Fault::retry_after_seconds) {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        Ok(response)
    }

    async fn render(
        &self,
        values: &PollFormValues,
        rejection: Option<&Fault>,
        nonce: String,
    ) -> Result<String, Fault> {
        let Self { of_pages, state, head, admission } = self;
        let data = StartPageData {
            values,
            nonce,
            panels: of_pages.panels.get(state, head, admission).await?,
            balance: balance(state, head).await,
            rejection,
            featured: of_pages.featured.html(),
        };
        StartPage::new(&state.site, data).render().map_err(Fault::internal)
    }
}

/// Generates the idempotency key of a page's form.
fn new_nonce(state: &AppState) -> String {
    hex::encode(state.app.ports.entropy.bytes::<16>())
}

fn response(state: &AppState, html: impl Into<Body>) -> Result<Response<Body>, Fault> {
    let mut headers = page_headers(HTML, "no-store", "accept", protect);
    headers.insert(LINK, HeaderValue::try_from(home_links(&state.site)).map_err(Fault::internal)?);
    Ok(with_headers(html, headers))
}

/// Returns the balance of the visitor's account; `None` without an account or a valid session.
async fn balance(state: &AppState, head: &RequestHead) -> Option<String> {
    if matches!(head.credential, Credential::None) {
        return None;
    }
    let call = Call::new(head.guarded("web", head.credential.clone()));
    let entry = entry_of::<GetBalance>().ok()?;
    let read = dispatch::call::<GetBalance>(&state.app, entry, call, Nothing {}).await.ok()?;
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
        options: result.options,
        private,
        ..PollFormValues::default()
    })
}
