//! The start page and its form.

mod view;

use std::net::{IpAddr, Ipv4Addr};

use askama::Template;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LINK, RETRY_AFTER, VARY};
use axum::http::{Response, StatusCode};
use ep_kernel::dispatch::{Call, Dispatched, admit, dispatch, dispatch_typed};
use ep_kernel::event::StartedEvent;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::tool::{MessageContent, ParsedInput};
use ep_polling::poll_id::PollId;
use ep_polling::question::Question;
use ep_tools::account::GetBalance;
use ep_tools::entry_of;
use ep_tools::polls::{FreeAnswer, ListProfiles, PollFree, PollQuestion, StartPoll};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use self::view::{PollFormValues, StartPage, StartPageData, example_request};
use super::result::{Read, page_of, read};
use super::{PageState, RESULT_PAGE, see_other};
use crate::documents::home_links;
use crate::site::names::HOME_MARKDOWN;
use crate::site::{HTML, wants_markdown};

pub use self::view::Example;
use crate::http::{AppState, CallStep, Exchange, Form, RequestHead, Steps, protect};
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

/// Opens a poll and returns its id without waiting for the result. Visitors with an account use its models; other
/// visitors use the free models.
async fn open(state: &AppState, head: &RequestHead, values: &PollFormValues) -> Result<PollId, Fault> {
    let signed_in = !matches!(head.credential, Credential::None);
    if signed_in || values.needs_account() {
        match start(state, head, values).await {
            // A visitor with an expired session asks the free models, unless the form requires an account.
            Err(fault) if fault.rejects_credential() && !values.needs_account() => {}
            done => return done,
        }
    }
    ask_free(state, head, free_question(values), Some(key(values))).await
}

async fn start(state: &AppState, head: &RequestHead, values: &PollFormValues) -> Result<PollId, Fault> {
    let mut input = question(values)?;
    match values.profile() {
        Some(profile) => drop(input.insert("profile".into(), profile.into())),
        None => drop(input.insert("preset".into(), "free".into())),
    }
    for (name, text) in [("confidence_threshold", &values.confidence), ("max_cost_usd", &values.max_cost)] {
        if !text.is_empty() {
            let number = text.trim_start_matches('$').parse::<f64>().ok().filter(|number| number.is_finite());
            // The field's validation rejects other text. The text is passed unchanged, because an empty field
            // counts as absent.
            input.insert(name.into(), number.map_or_else(|| text.as_str().into(), Value::from));
        }
    }
    if values.private {
        input.insert("private".into(), true.into());
    }
    let call = Call {
        idempotency_key: Some(key(values)),
        ..Call::new(head.guarded("web", head.credential.clone()))
    };
    let entry = entry_of::<StartPoll>()?;
    let done = dispatch_typed::<StartPoll>(&state.app, entry, call, input.into()).await;
    poll_of(done.map(|done| done.output.poll_id))
}

/// Opens a free poll without a credential, and returns as soon as the poll has started.
async fn ask_free(
    state: &AppState,
    head: &RequestHead,
    input: Map<String, Value>,
    idempotency_key: Option<String>,
) -> Result<PollId, Fault> {
    let (steps, mut queue) = Steps::queue();
    let call = Call {
        idempotency_key,
        progress: Some(steps.sink()),
        ..Call::new(head.guarded("web", Credential::None))
    };
    let admitted = match admit(&state.app, entry_of::<PollFree>()?, call).await {
        Ok(admitted) => admitted,
        Err(rejection) => return poll_of(free_poll(rejection.result)),
    };
    steps.run(&state.app.tasks, admitted.run(Ok(input.into())), false);
    match queue.recv().await {
        Some(CallStep::Progress(step)) => serde_json::from_value(step.data)
            .map(|StartedEvent { poll_id, .. }| poll_id)
            .map_err(Fault::internal),
        Some(CallStep::End(done)) => poll_of(free_poll(done.result)),
        None => Err(Fault::internal("the call ended without a result")),
    }
}

/// Returns the poll of a call. A form that is submitted again while its poll is running leads to that poll.
fn poll_of(opened: Result<PollId, Fault>) -> Result<PollId, Fault> {
    match opened {
        Err(fault) if fault.kind() == Kind::InProgress => fault.poll().cloned().ok_or(fault),
        opened => opened,
    }
}

/// Returns the id of a free poll that has ended.
fn free_poll(done: Result<Dispatched, Fault>) -> Result<PollId, Fault> {
    match done?.output.typed()?.output {
        FreeAnswer::Complete(reply) => Ok(reply.poll_id),
        FreeAnswer::DryRun(_) => Err(Fault::internal("a poll of the form was only checked")),
    }
}

/// Builds the input of a free poll: options from lines, from the question, or proposed by the service.
fn free_question(values: &PollFormValues) -> Map<String, Value> {
    let options: Vec<&str> = values.option_lines().collect();
    let name = if options.is_empty() && values.question.contains('[') { "poll" } else { "question" };
    let mut members = Map::from_iter([(name.to_owned(), Value::from(values.question.as_str()))]);
    if !options.is_empty() {
        members.insert("options".to_owned(), options.into());
    }
    members
}

/// Builds the input of other polls. Without option lines, options are parsed from the question as for agents.
fn question(values: &PollFormValues) -> Result<Map<String, Value>, Fault> {
    if values.option_lines().next().is_some() {
        return Ok(free_question(values));
    }
    let understood =
        entry_of::<PollQuestion>()?.parse_input(&Map::new(), MessageContent::Text(&values.question));
    if let Some(ParsedInput::Input(understood)) = understood {
        return Ok(understood);
    }
    let (head, _) = values.question.rsplit_once('[').unwrap_or((&values.question, ""));
    Question::new(head).map_err(|rule| Fault::invalid("question", rule.to_string()))?;
    Err(Fault::invalid(
        "options",
        "options are missing and cannot be read from this question: write two to ten, one per line",
    ))
}

/// Returns the idempotency key of a form. The same form opens one poll; a changed form opens another.
fn key(values: &PollFormValues) -> String {
    let PollFormValues { question, options, voters, confidence, max_cost, private, nonce } = values;
    let mut digest = Sha256::new();
    for part in [question, options, voters, confidence, max_cost, &private.to_string(), nonce] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
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
