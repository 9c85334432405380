//! Runs the polls of a request, in every dialect: reads the body, opens the polls or joins those of the same request, and
//! waits for their ends.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};
use axum::response::sse::Event;
use ep_kernel::app::App;
use ep_kernel::dispatch::dispatch;
use ep_kernel::guard::{Admission, Credential};
use ep_kernel::reading;
use ep_kernel::{Call, CallOutput, Caller, Entry, Fault, Kind, Task, WhileRunning};
use ep_polling::options::{FREE_MAX_OPTION_CHARS, FREE_MAX_OPTIONS};
use ep_polling::question::FREE_MAX_CHARS;
use ep_polling::{Timestamp, TokenUsage};
use ep_site::http::{AppState, Exchange, RequestHead, event_stream, parse_body, read_body, replayed};
use ep_site::route::MAX_BODY;
use ep_site::{ModelAlias, Site};
use ep_tools::polls::Decisions;
use ep_tools::results::PollResult;
use futures::StreamExt;
use serde_json::{Map, Value};

use super::field::{FieldKind, Question};
use super::models::Voters;
use super::outcome::FieldResult;
use super::refusal::{Code, Refusal};
use super::retries::{Connection, Fingerprint, Retries, fingerprint};

/// Time within which a failure is answered with its status, before events begin.
const BEFORE_EVENTS: Duration = Duration::from_millis(500);

/// Headers that set the terms of the polls, with the field of the operation.
const TERMS: [(&str, &str); 2] =
    [("poll-max-cost-usd", "max_cost_usd"), ("poll-confidence-threshold", "confidence_threshold")];
/// Header that publishes the polls of an account.
const PRIVATE: &str = "poll-private";

/// The form of requests and responses of an endpoint.
pub(super) trait Dialect: Sized + Send + Sync + 'static {
    /// The parameter that holds the text of the questions.
    const TEXT: &'static str;
    /// Header with the request's id, besides `X-Request-Id`.
    const REQUEST_ID: Option<&'static str> = None;
    /// The policy for calls in flight; none for the default one.
    const PACE: Option<&'static str> = None;

    /// Reads the body of a request.
    fn read(body: &Value, aliases: &[ModelAlias]) -> Result<Self, Refusal>;

    /// Returns the name of the model, which stands for a panel; empty for the default one.
    fn model(&self) -> &str;

    /// Returns the questions to decide.
    fn questions(&self) -> &[Question];

    /// True if the response is sent as events.
    fn is_stream(&self) -> bool {
        false
    }

    /// Returns the response as one object.
    fn whole(&self, decided: &Decided) -> Result<Value, Fault>;

    /// Returns the response as events.
    fn events(&self, _: &Decided) -> Vec<Event> {
        Vec::new()
    }

    /// Returns the events for this error object.
    fn error_events(&self, _: &Value) -> Vec<Event> {
        Vec::new()
    }
}

/// Polls that have ended, one for each question.
pub(super) struct Decided {
    /// Time at which the first poll was accepted.
    pub created: Timestamp,
    /// The results, in the order of the questions.
    pub polls: Vec<PollResult>,
    /// The tokens of all voters.
    pub usage: TokenUsage,
}

impl Decided {
    /// Reads the output of the operation for these questions.
    pub fn of(output: CallOutput, questions: &[Question]) -> Result<Self, Fault> {
        let Decisions { results: polls, usage } = output.typed()?.output;
        match polls.first() {
            Some(first) if polls.len() == questions.len() => {
                Ok(Self { created: first.created_at, polls, usage })
            }
            _ => Err(Fault::internal("a question has no poll")),
        }
    }

    /// Returns the questions with their results.
    pub fn results<'a>(&'a self, questions: &'a [Question]) -> impl Iterator<Item = FieldResult<'a>> + Clone {
        std::iter::zip(questions, &self.polls)
            .map(|(question, poll)| FieldResult { field: &question.field, poll })
    }

    /// Returns the id of the first poll.
    pub fn id(&self) -> &str {
        self.polls.first().map_or("", |poll| poll.poll_id.as_str())
    }

    /// Returns the evidence: an object for one question, else a list.
    pub fn evidence(&self, questions: &[Question]) -> Value {
        let mut evidence: Vec<Value> = self.results(questions).map(|result| result.evidence()).collect();
        if evidence.len() == 1 { evidence.swap_remove(0) } else { Value::Array(evidence) }
    }
}

/// Serves a request.
pub(super) async fn serve<D: Dialect>(
    exchange: Exchange,
    admission: Admission,
    retries: Arc<Retries>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let anonymous = matches!(admission.caller, Caller::Anonymous { .. });
    let max_body = if anonymous { max_body.min(MAX_BODY) } else { max_body };
    let body = read_body(&parts.headers, body, max_body).await?;
    let unread = UnreadRequest {
        app: Arc::clone(&state.app),
        site: Arc::clone(&state.site),
        terms: if anonymous { Ok(None) } else { read_terms(&parts.headers).map(Some) },
        path: parts.uri.path().to_owned(),
        headers: TERMS
            .map(|(header, _)| header)
            .into_iter()
            .chain([PRIVATE])
            .map(|header| parts.headers.get(header).cloned())
            .collect(),
        caller: admission.caller.clone(),
        body,
    };
    let ReadRequest { request, input, fingerprint } =
        reading::read(unread.body.len(), move || unread.read::<D>()).await??;
    let request_id = D::REQUEST_ID.zip(HeaderValue::try_from(head.request_id.to_string()).ok());
    let polls = if let Some(key) = &head.idempotency_key {
        PollsOf::Key(key.clone())
    } else {
        let (reference, connection) = retries.reference(&state.app, &parts.headers, fingerprint).await?;
        PollsOf::Request { reference, connection }
    };
    let work = Work { state, head, admission, input, polls };
    if request.is_stream() {
        return stream(request, work).await;
    }
    let (decided, is_replayed) = work.decide(request.questions()).await?;
    let mut response = Response::new(Body::from(request.whole(&decided)?.to_string()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some((name, id)) = request_id {
        headers.insert(HeaderName::from_static(name), id);
    }
    if let Some(first) = decided.results(request.questions()).next() {
        first.write_headers(headers);
    }
    if is_replayed {
        replayed(&mut response);
    }
    Ok(response)
}

/// A request that was received.
struct UnreadRequest {
    app: Arc<App>,
    site: Arc<Site>,
    terms: Result<Option<Terms>, Fault>,
    path: String,
    /// The headers that set the terms.
    headers: Vec<Option<HeaderValue>>,
    caller: Caller,
    body: Bytes,
}

/// A request that was read.
struct ReadRequest<D> {
    request: D,
    /// The input of the operation.
    input: Value,
    /// What a repetition has in common.
    fingerprint: Fingerprint,
}

impl UnreadRequest {
    fn read<D: Dialect>(self) -> Result<ReadRequest<D>, Fault> {
        let request = D::read(&parse_body(&self.body)?, &self.site.settings.model_aliases)?;
        let input = input(&self.app, &self.site, &request, self.terms?)?;
        let headers = self.headers.iter().map(|value| value.as_ref().map_or(&[][..], HeaderValue::as_bytes));
        // A later version of the program can read other questions from the same body.
        let questions = input.to_string();
        let parts = headers.chain([self.path.as_bytes(), &self.body, questions.as_bytes()]);
        Ok(ReadRequest { fingerprint: fingerprint(&self.caller, parts), request, input })
    }
}

/// Terms of the polls of an account: arguments of the operation.
pub(super) type Terms = Map<String, Value>;

/// Reads the headers with terms. Polls are private, unless the caller publishes them.
pub(super) fn read_terms(headers: &HeaderMap) -> Result<Terms, Fault> {
    let mut terms = Terms::new();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let publishes = text(PRIVATE).is_some_and(|value| value.eq_ignore_ascii_case("false"));
    terms.insert("private".to_owned(), (!publishes).into());
    for (header, field) in TERMS {
        if let Some(value) = text(header) {
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
            let number =
                number.ok_or_else(|| Refusal::new(Code::UnsupportedValue, header, "must be a number"))?;
            terms.insert(field.to_owned(), number.into());
        }
    }
    Ok(terms)
}

/// Builds the input of the operation. Callers without an account have no terms.
pub(super) fn input<D: Dialect>(
    app: &App,
    site: &Site,
    request: &D,
    terms: Option<Terms>,
) -> Result<Value, Fault> {
    let mut members = Map::new();
    members.insert("questions".to_owned(), request.questions().iter().map(question).collect());
    let voters = Voters::of(app, site, terms.is_some(), request.model())?;
    let Some(terms) = terms else {
        if !voters.is_free() {
            let advice =
                format!("the model {} needs an API key; without one, use the model free", request.model());
            return Err(Fault::new(Kind::Unauthenticated, advice));
        }
        request.questions().iter().try_for_each(|question| within_free_limits(question, D::TEXT))?;
        return Ok(Value::Object(members));
    };
    voters.write(&mut members);
    members.extend(D::PACE.map(|pace| ("pace".to_owned(), pace.into())));
    members.extend(terms);
    Ok(Value::Object(members))
}

/// Checks the limits of free polls, so that a refusal names them.
fn within_free_limits(question: &Question, parameter: &str) -> Result<(), Refusal> {
    let field = &question.field;
    let length = question.text.chars().count();
    if length > FREE_MAX_CHARS {
        let text = format!(
            "makes a question of {length} characters; the free models take at most {FREE_MAX_CHARS}: shorten it, or send an \
             API key"
        );
        return Err(Refusal::new(Code::UnsupportedValue, parameter, text));
    }
    let values = field.values.len();
    if values > FREE_MAX_OPTIONS {
        let text = format!(
            "has {values} possible values; the free models take at most {FREE_MAX_OPTIONS}: send fewer, or an API key"
        );
        return Err(Refusal::new(Code::TooManyChoices, &field.path, text));
    }
    if field.texts().iter().any(|text| text.chars().count() > FREE_MAX_OPTION_CHARS) {
        let text = format!(
            "has a value of more than {FREE_MAX_OPTION_CHARS} characters, which the free models do not take: shorten it, or \
             send an API key"
        );
        return Err(Refusal::new(Code::UnsupportedValue, &field.path, text));
    }
    Ok(())
}

/// Returns a question in the form of the operation.
fn question(question: &Question) -> Value {
    let choices = match question.field.kind {
        FieldKind::Score => "levels",
        FieldKind::Choice | FieldKind::Predicate => "options",
    };
    let mut members = Map::new();
    members.insert("question".to_owned(), question.text.as_str().into());
    members.insert(choices.to_owned(), question.field.texts().into());
    if question.field.kind == FieldKind::Predicate {
        members.insert("complete".to_owned(), true.into());
    }
    Value::Object(members)
}

/// Returns the operation that decides for this caller.
pub(super) fn operation(tools: &'static [Entry], caller: &Caller) -> Result<&'static Entry, Fault> {
    let mut deciding = tools.iter().filter(|entry| entry.spec.task == Task::Decide);
    let anonymous = matches!(caller, Caller::Anonymous { .. });
    let found = deciding.find(|entry| entry.spec.access.anonymous == anonymous);
    found.ok_or_else(|| Fault::internal("no operation decides for this caller"))
}

/// A request that is ready to open its polls.
struct Work {
    state: AppState,
    head: RequestHead,
    admission: Admission,
    input: Value,
    polls: PollsOf,
}

/// The polls of a request, which a repetition gets again.
enum PollsOf {
    /// Those of an Idempotency-Key.
    Key(String),
    /// Those of the same request, if this one repeats it.
    Request {
        /// Their reference.
        reference: String,
        /// The connection that waits for them.
        connection: Connection,
    },
}

impl Work {
    /// Opens the polls, or joins those of the same request, and returns their results when they have ended. Also returns true if
    /// an earlier request with the same Idempotency-Key has opened them.
    async fn decide(self, questions: &[Question]) -> Result<(Decided, bool), Fault> {
        let entry = operation(self.state.tools, &self.admission.caller)?;
        let done = dispatch(&self.state.app, entry, self.call(), Ok(self.input)).await.result;
        let output = done.map_err(|fault| {
            if let PollsOf::Request { connection, .. } = &self.polls {
                connection.failed();
            }
            located(fault, questions)
        })?;
        let has_key = match &self.polls {
            PollsOf::Key(_) => true,
            PollsOf::Request { connection, .. } => {
                connection.answered();
                false
            }
        };
        let is_replay = has_key && output.presentation.replayed;
        Ok((Decided::of(output, questions)?, is_replay))
    }

    fn call(&self) -> Call {
        let request = match self.admission.caller {
            // Counted as a free poll.
            Caller::Anonymous { .. } => self.head.guarded(super::OPENAI.surface, Credential::None),
            _ => self.head.admitted(super::OPENAI.surface, self.admission.clone()),
        };
        let (idempotency_key, request_ref) = match &self.polls {
            PollsOf::Key(key) => (Some(key.clone()), None),
            PollsOf::Request { reference, .. } => (None, Some(reference.clone())),
        };
        // A repetition of a request that still runs waits for it.
        let while_running = WhileRunning::AwaitOutput(Duration::MAX);
        // Single votes are not shown.
        Call { idempotency_key, request_ref, while_running, without_votes: true, ..Call::new(request) }
    }
}

/// Replaces the path of a refused part of the operation's input with its header, or its path in the request.
pub(super) fn located(fault: Fault, questions: &[Question]) -> Fault {
    let refused = fault.fields().first().map(|refused| refused.field.as_str());
    if let Some((header, _)) = TERMS.into_iter().find(|(_, field)| refused == Some(*field)) {
        let problem = fault.message().split_once(' ').map_or(fault.message(), |(_, problem)| problem);
        return Refusal::new(Code::UnsupportedValue, header, problem).into();
    }
    if let Some(wrong) = fault.fields().first().filter(|wrong| wrong.field == "panel") {
        return Refusal::new(Code::ModelNotFound, "model", wrong.detail.as_str()).into();
    }
    let found = fault.fields().first().and_then(|refused| {
        let (index, rest) = refused.field.strip_prefix("questions[")?.split_once(']')?;
        let path = &questions.get(index.parse::<usize>().ok()?)?.field.path;
        let part = rest.trim_start_matches('.');
        let problem = fault.message().strip_prefix(part).unwrap_or(fault.message());
        Some((path, format!("cannot be decided: {part}{problem}")))
    });
    match found {
        Some((path, text)) if fault.kind() == Kind::InvalidInput => {
            Refusal::new(Code::UnsupportedValue, path, text).into()
        }
        _ => fault,
    }
}

/// Sends the response as events. Comments keep the connection open until the polls have ended.
async fn stream<D: Dialect>(request: D, work: Work) -> Result<Response<Body>, Fault> {
    let links = Arc::clone(&work.state.app.ports.links);
    let request_id = work.head.request_id.to_string();
    let request = Arc::new(request);
    let deciding = {
        let request = Arc::clone(&request);
        async move { work.decide(request.questions()).await }
    };
    let mut deciding = Box::pin(deciding);
    let early = tokio::time::timeout(BEFORE_EVENTS, &mut deciding).await;
    let is_replayed = matches!(early, Ok(Ok((_, true))));
    let decided = match early {
        Ok(Err(fault)) => return Err(fault),
        Ok(Ok(decided)) => futures::future::Either::Left(std::future::ready(Ok(decided))),
        Err(_) => futures::future::Either::Right(deciding),
    };
    let events = async move {
        let events = match decided.await {
            Ok((decided, _)) => request.events(&decided),
            Err(fault) => {
                request.error_events(&super::refusal::error(&fault, &fault.problem(&*links, &request_id)))
            }
        };
        futures::stream::iter(events)
    };
    let mut response = event_stream(futures::stream::once(events).flatten());
    if is_replayed {
        replayed(&mut response);
    }
    Ok(response)
}
