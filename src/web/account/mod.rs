//! The account page and its forms. Each form calls its operation through dispatch, with the visitor's session.

pub(super) mod data;
mod parts;
mod refusal;
mod signed_out;
mod view;

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, SET_COOKIE, VARY,
};
use axum::http::{Response, StatusCode};
use ep_kernel::caller::UserId;
use ep_kernel::dispatch::{Call, admit, dispatch, dispatch_typed};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::output::CallOutput;
use ep_kernel::tool::{SessionChange, Tool};
use ep_tools::account::{
    CheckoutLink, CreateCheckout, CurrentUser, GetBalance, GetCurrentUser, ListSpending,
};
use ep_tools::entry_of;
use ep_tools::examples::GetExample;
use ep_tools::keys::{CreateKey, CreatedKey, ListKeys, RevokeKey};
use ep_tools::polls::CancelPoll;
use ep_tools::results::ListResults;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::signed_out::{AccountGonePage, CheckoutPage, SignedOutPage};
use self::view::{AccountData, AccountPage, AccountView};
use super::see_other;
use crate::http::{AppState, Exchange, Form, RequestHead, protect, session_cookie};
use crate::layout::{Renders, own, return_to};
use crate::site::deposit::{DEPOSITS, cents_of};
use crate::site::names::{ACCOUNT_FORMS, DASHBOARD_PATH, LOGIN_PAGE};
use crate::site::{HTML, MARKDOWN, QueryParameter, Rail, wants_markdown};

/// Query parameters of the page.
pub(super) const QUERY: [QueryParameter; 5] = [
    QueryParameter::text("search", "Words of the questions to list."),
    QueryParameter::text("page", "The number of the page of the list; 1 if it is not a number."),
    QueryParameter::text("funded", "The payment from which the browser returns; `no` if it was cancelled."),
    QueryParameter::text("notice", "A message after a sign-in."),
    QueryParameter::text("done", "The result of a form of the page."),
];

/// Polls per page.
const LISTED: u32 = 20;
/// Maximum page number.
const PAGES: u32 = 100_000;
/// Maximum number of running polls shown.
const RUNNING: u32 = 20;
/// Maximum number of retries, and the delay between them, while the same submission is in progress.
const REPEATS: (u32, Duration) = (20, Duration::from_millis(250));

/// The query value after the deletion of an account.
const DELETED: &str = "deleted";

/// A signed-in visitor.
pub(crate) struct Visitor<'a> {
    state: &'a AppState,
    head: &'a RequestHead,
    admission: Admission,
    user: CurrentUser,
}

impl<'a> Visitor<'a> {
    /// Returns the visitor, or `None` if the session has expired.
    pub(super) async fn of(state: &'a AppState, head: &'a RequestHead) -> Result<Option<Self>, Fault> {
        if !matches!(head.credential, Credential::Session(_)) {
            return Ok(None);
        }
        let call = Call::new(head.guarded("web", head.credential.clone()));
        let admitted = match admit(&state.app, entry_of::<GetCurrentUser>()?, call).await {
            Ok(admitted) => admitted,
            Err(refused) => match refused.result {
                Err(fault) if fault.kind() == Kind::Unauthenticated => return Ok(None),
                refused => {
                    return Err(refused.err().unwrap_or_else(|| Fault::internal("nothing was refused")));
                }
            },
        };
        let admission = admitted.admission().clone();
        let user = admitted.run(Ok(json!({}))).await.result?.output.typed()?.output;
        Ok(Some(Self { state, head, admission, user }))
    }

    /// Calls an operation and returns its output.
    pub(super) async fn ask<T: Tool>(&self, input: Value) -> Result<T::Output, Fault>
    where
        T::Output: DeserializeOwned,
    {
        let call = Call::new(self.head.admitted("web", self.admission.clone()));
        Ok(dispatch_typed::<T>(&self.state.app, entry_of::<T>()?, call, input).await?.output)
    }

    /// Calls an operation and returns its output as JSON, for a download.
    pub(super) async fn json_of<T: Tool>(&self, input: Value) -> Result<Value, Fault> {
        let call = Call::new(self.head.admitted("web", self.admission.clone()));
        Ok(dispatch(&self.state.app, entry_of::<T>()?, call, Ok(input)).await.result?.output.value)
    }

    /// Runs an operation once per submitted form. A repeated submission returns the first output.
    pub(super) async fn change<T: Tool>(&self, input: Value, form: &Form) -> Result<CallOutput, Fault> {
        let mut digest = Sha256::new();
        for (name, value) in form.fields() {
            for part in [name, value] {
                digest.update(part.len().to_le_bytes());
                digest.update(part);
            }
        }
        let key = hex::encode(digest.finalize());
        let mut repeats = 0;
        loop {
            let call = Call {
                idempotency_key: Some(key.clone()),
                ..Call::new(self.head.admitted("web", self.admission.clone()))
            };
            let done = dispatch(&self.state.app, entry_of::<T>()?, call, Ok(input.clone())).await.result;
            match done {
                // The form was submitted twice, and the first submission is still in progress.
                Err(fault) if fault.kind() == Kind::InProgress && repeats < REPEATS.0 => repeats += 1,
                done => return Ok(done?.output),
            }
            tokio::time::sleep(REPEATS.1).await;
        }
    }

    /// Returns the account's id.
    pub(crate) fn account(&self) -> Result<UserId, Fault> {
        self.admission.caller.user().ok_or_else(|| Fault::internal("a visitor has no account"))
    }

    /// Builds the page, with the outcome of a form.
    async fn page(&self, view: AccountView<'_>) -> Result<AccountPage<'_>, Fault> {
        let site = &self.state.site;
        let search = view.search.to_owned();
        let page = view.page;
        let offset = (page - 1) * LISTED;
        let past = json!({ "limit": LISTED + 1, "offset": offset, "search": search });
        let example = self.ask::<GetExample>(json!({ "language": "mcp-config" })).await?;
        let data = AccountData {
            user: self.user.clone(),
            balance: self.ask::<GetBalance>(json!({})).await?,
            spending: self.ask::<ListSpending>(json!({})).await?,
            running: self.ask::<ListResults>(json!({ "limit": RUNNING, "running": true })).await?.results,
            past: self.ask::<ListResults>(past).await?.results,
            listed: LISTED as usize,
            keys: self.ask::<ListKeys>(json!({})).await?.keys,
            mcp_config: example.code,
            nonce: hex::encode(self.state.app.entropy.bytes::<16>()),
            is_deleted_poll: view
                .typed
                .and_then(|form| form.text("poll_id").parse().ok())
                .is_some_and(|id| self.state.app.ports.polls.is_deleted(&id)),
        };
        Ok(AccountPage::new(site, view, data))
    }
}

/// Shows the account page, or redirects visitors without a session to the sign-in page.
pub(crate) fn show(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let Some(visitor) = Visitor::of(&state, &head).await? else {
            let login = own(&state.links().url(LOGIN_PAGE, &[]));
            let mut response = see_other(&format!("{login}{}", return_to(DASHBOARD_PATH)))?;
            forget(&state, &head, response.headers_mut());
            return Ok(response);
        };
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        let page = query.text("page").parse().unwrap_or(1).clamp(1, PAGES);
        let view = AccountView {
            page,
            // A longer text matches nothing.
            search: query.text("search"),
            funded: query.text("funded"),
            notice: query.text("notice"),
            done: query.text("done"),
            ..AccountView::default()
        };
        answered(&visitor.page(view).await?, request.headers(), &head, &state)
    }
    .boxed()
}

/// The outcome of a form.
pub(super) enum Done {
    /// A redirect to the page, which shows the outcome.
    Elsewhere(&'static str),
    /// A new key.
    Key(CreatedKey),
    /// URL of the processor's page.
    Checkout(String),
    /// The first page of a data export.
    Export(UserId, Value),
    /// The account was deleted.
    Gone,
}

/// Runs a form. The page shows a rejection beside the form; submitted values survive an expired session.
pub(super) async fn sent(
    exchange: Exchange,
    name: &'static str,
    run: impl AsyncFnOnce(&Visitor<'_>, &Form) -> Result<Done, Fault>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let form = Form::read(&parts.headers, body, max_body).await?;
    let visitor = match Visitor::of(&state, &head).await {
        Ok(Some(visitor)) => visitor,
        Ok(None) => {
            let page = SignedOutPage::new(&state.site, name, &form, None);
            return with_status(answered(&page, &parts.headers, &head, &state)?, 403, None);
        }
        Err(fault) if fault.kind() == Kind::RateLimited => {
            let page = SignedOutPage::new(&state.site, name, &form, Some(&fault));
            let wait = fault.retry_after_seconds();
            return with_status(
                answered(&page, &parts.headers, &head, &state)?,
                fault.kind().row().http,
                wait,
            );
        }
        Err(fault) => return Err(fault),
    };
    let view = AccountView { page: 1, ..AccountView::default() };
    match run(&visitor, &form).await {
        Ok(Done::Elsewhere(to)) => see_other(&format!("{DASHBOARD_PATH}{to}")),
        Ok(Done::Key(key)) => {
            let view = AccountView { created: Some(key), ..view };
            answered(&visitor.page(view).await?, &parts.headers, &head, &state)
        }
        Ok(Done::Checkout(url)) => {
            let shown = Rail::checkout_form(name).ok_or_else(|| Fault::internal("no rail has this form"))?;
            let page = CheckoutPage::new(&state.site, shown, url, form.text("amount"));
            answered(&page, &parts.headers, &head, &state)
        }
        Ok(Done::Export(user, first)) => Ok(data::download(&state, user, first)),
        Ok(Done::Gone) => {
            let form = own(&state.links().url(name, &[]));
            let mut response = see_other(&format!("{form}?done={DELETED}"))?;
            forget(&state, &head, response.headers_mut());
            Ok(response)
        }
        Err(fault) => {
            let status = fault.kind().row().http;
            let wait = fault.retry_after_seconds();
            let view = AccountView { refused: Some((name, &fault)), typed: Some(&form), ..view };
            with_status(answered(&visitor.page(view).await?, &parts.headers, &head, &state)?, status, wait)
        }
    }
}

/// Shows the page after the deletion of an account; it can be reloaded. Other visits redirect to the account page.
pub(crate) fn gone(exchange: Exchange, _: Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    async move {
        let Exchange { state, head, request, .. } = exchange;
        let query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
        if query.text("done") != DELETED || Visitor::of(&state, &head).await?.is_some() {
            return see_other(DASHBOARD_PATH);
        }
        answered(&AccountGonePage::new(&state.site), request.headers(), &head, &state)
    }
    .boxed()
}

fn with_status(
    mut response: Response<Body>,
    status: u16,
    wait: Option<u64>,
) -> Result<Response<Body>, Fault> {
    *response.status_mut() = StatusCode::from_u16(status).map_err(Fault::internal)?;
    if let Some(seconds) = wait {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

/// Creates a key and shows it once.
pub(crate) fn create_key(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.keys, async |visitor: &Visitor<'_>, form: &Form| {
        let mut input = json!({ "label": form.text("label") });
        if !form.text("scope").is_empty() {
            input["scope"] = form.text("scope").into();
        }
        Ok(Done::Key(visitor.change::<CreateKey>(input, form).await?.typed()?.output))
    })
    .boxed()
}

/// Revokes a key.
pub(crate) fn revoke_key(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.revocation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<RevokeKey>(json!({ "key_id": form.text("key_id") }), form).await?;
        Ok(Done::Elsewhere("?done=revoked#keys"))
    })
    .boxed()
}

/// Begins a payment on the processor's page. CSP `form-action` forbids a redirect to another website, so the response is a page with
/// a link.
pub(crate) fn checkout(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.checkout, async |visitor: &Visitor<'_>, form: &Form| {
        let amount = form.text("amount").trim_start_matches('$');
        let cents = cents_of(amount).filter(|cents| DEPOSITS.contains(cents)).ok_or_else(|| {
            let (least, most) = (DEPOSITS.start() / 100, DEPOSITS.end() / 100);
            let text = format!("enter an amount from ${least} to ${most}, for example 5 or 12.50.");
            Fault::invalid("amount", text)
        })?;
        let input = json!({ "amount_cents": cents });
        let page: CheckoutLink = visitor.change::<CreateCheckout>(input, form).await?.typed()?.output;
        Ok(Done::Checkout(page.url))
    })
    .boxed()
}

/// Cancels a poll. Its votes stay.
pub(crate) fn cancel_poll(
    exchange: Exchange,
    _: Admission,
) -> BoxFuture<'static, Result<Response<Body>, Fault>> {
    sent(exchange, ACCOUNT_FORMS.cancellation, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<CancelPoll>(json!({ "poll_id": form.text("poll_id") }), form).await?;
        Ok(Done::Elsewhere("?done=cancelled#polls"))
    })
    .boxed()
}

/// Renders a page for one visitor as HTML or Markdown.
pub(crate) fn answered(
    page: &impl Renders,
    request: &HeaderMap,
    head: &RequestHead,
    state: &AppState,
) -> Result<Response<Body>, Fault> {
    let (text, media_type) = if wants_markdown(request) {
        (page.markdown().map_err(Fault::internal)?, MARKDOWN)
    } else {
        (page.html().map_err(Fault::internal)?, HTML)
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept, cookie"));
    protect(headers);
    if page.is_for_nobody() {
        forget(state, head, headers);
    }
    Ok(response)
}

/// Clears the cookie of an expired session.
fn forget(state: &AppState, head: &RequestHead, headers: &mut HeaderMap) {
    if matches!(head.credential, Credential::Session(_))
        && let Some(cleared) = session_cookie(&SessionChange::End, state.links().base_url())
    {
        headers.append(SET_COOKIE, cleared);
    }
}
