//! The scripted upstream server.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::decision::DecisionRequest;
use super::request::{ChosenOption, Request, RequestedForm};
use super::script::{Action, Behaviour, Billing, Form, Forms, Script};

/// An OpenAI-compatible server on this machine that follows a script. It runs in a separate thread, so that
/// tests may pause their clock. It stops when it is dropped.
pub struct ScriptedUpstream {
    address: SocketAddr,
    state: Arc<ServerState>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The requested model.
    pub model: String,
    /// The form of the vote request.
    pub requested_form: RequestedForm,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
    /// Time of arrival.
    pub at: Instant,
}

#[derive(Default)]
struct Log {
    calls: HashMap<String, usize>,
    total: usize,
    registry: usize,
    received: Vec<ReceivedRequest>,
}

struct ServerState {
    script: Mutex<Arc<Script>>,
    log: Mutex<Log>,
    /// One permit for each held request that may go on.
    released: Semaphore,
    /// One reference for each chat request that is being answered, and one of its own.
    answering: Arc<()>,
}

impl ServerState {
    /// Records a request. Returns the number of earlier requests to the model.
    fn receive(
        &self,
        script: &Script,
        model: &str,
        requested_form: RequestedForm,
        headers: HeaderMap,
        body: &[u8],
    ) -> usize {
        let mut log = self.log();
        log.total += 1;
        if script.keep_requests {
            log.received.push(ReceivedRequest {
                model: model.to_owned(),
                requested_form,
                headers,
                body: serde_json::from_slice(body).unwrap_or_default(),
                at: Instant::now(),
            });
        }
        let calls = log.calls.entry(model.to_owned()).or_default();
        *calls += 1;
        *calls - 1
    }

    /// Waits for the latency of a behaviour, and until a held request may go on.
    async fn delay(&self, script: &Script, behaviour: &Behaviour, before: usize) {
        let latency = behaviour.latency + behaviour.jitter.mul_f64((before as f64 * 0.618).fract());
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if script.held
            && let Ok(released) = self.released.acquire().await
        {
            released.forget();
        }
    }

    fn script(&self) -> Arc<Script> {
        Arc::clone(&self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Script {
    /// Returns the behaviour of a model.
    fn behaviour(&self, model: &str) -> Cow<'_, Behaviour> {
        let named = || model.rsplit_once('@').and_then(|(_, name)| Behaviour::named(name));
        match self.behaviours.get(model) {
            Some(behaviour) => Cow::Borrowed(behaviour),
            None => named().map_or(Cow::Borrowed(&self.default), Cow::Owned),
        }
    }
}

impl ScriptedUpstream {
    /// Starts the server on a free port.
    pub fn start(script: Script) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState {
            script: Mutex::new(Arc::new(script)),
            log: Mutex::default(),
            released: Semaphore::new(0),
            answering: Arc::new(()),
        });
        let stop = CancellationToken::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (router, stopped) = (router(Arc::clone(&state)), stop.clone());
        let thread = std::thread::Builder::new().name("scripted-upstream".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    () = stopped.cancelled() => {}
                }
            });
        })?;
        Ok(Self { address, state, stop, thread: Some(thread) })
    }

    /// Returns its base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Changes the script for future requests.
    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        let mut script = self.state.script.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut script));
    }

    /// Lets this many requests through that are held ([`Script::held`]), now or later.
    pub fn release(&self, requests: usize) {
        self.state.released.add_permits(requests);
    }

    /// Returns the number of requests to this model.
    pub fn calls(&self, model: &str) -> usize {
        self.state.log().calls.get(model).copied().unwrap_or(0)
    }

    /// Returns the number of requests to all models.
    pub fn total_calls(&self) -> usize {
        self.state.log().total
    }

    /// Returns the number of requests for the model list.
    pub fn registry_calls(&self) -> usize {
        self.state.log().registry
    }

    /// Returns the requests to this model, in order.
    pub fn received(&self, model: &str) -> Vec<ReceivedRequest> {
        self.state.log().received.iter().filter(|request| request.model == model).cloned().collect()
    }

    /// Returns the requests to all models, in order.
    pub fn all_received(&self) -> Vec<ReceivedRequest> {
        self.state.log().received.clone()
    }
}

impl Drop for ScriptedUpstream {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn router(state: Arc<ServerState>) -> Router {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(completions))
        .route("/v1/decisions", post(decisions))
        .route("/v1/systemone", post(decisions))
        .route("/v1beta/decisions", post(decisions))
        .layer(DefaultBodyLimit::max(8 * 1024 * 1024))
        .with_state(state)
}

fn reply(status: u16, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
    response
}

fn error(status: u16, message: &str) -> Response<Body> {
    reply(status, json!({ "error": { "code": status, "message": message } }).to_string())
}

async fn models(State(state): State<Arc<ServerState>>) -> Response<Body> {
    state.log().registry += 1;
    let script = state.script();
    match &script.registry_fails {
        Some((status, body)) => reply(*status, body.clone()),
        None => reply(200, json!({ "object": "list", "data": script.models }).to_string()),
    }
}

async fn completions(
    State(state): State<Arc<ServerState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let script = state.script();
    if !has_key(&script, &headers) {
        return error(401, "No auth credentials found");
    }
    let request: Request<'_> = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(why) => return error(400, &why.to_string()),
    };
    let (model, form) = (&*request.model, request.requested_form());
    let before = state.receive(&script, model, form, headers, &body);
    let behaviour = script.behaviour(model);
    let answering = Arc::clone(&state.answering);
    if script.places.is_some_and(|places| Arc::strong_count(&answering) - 1 > places) {
        return error(503, "all places are taken");
    }
    state.delay(&script, &behaviour, before).await;
    let chosen = request.choose(&script.votes_for);
    if request.is_for_explanation() {
        return perform(&script.explains, &behaviour, &request, &chosen).await;
    }
    if request.is_for_options() {
        let actions = script.proposes.get(&*request.model);
        let action = actions.and_then(|actions| actions.get(before).or(actions.last())).cloned();
        let action = action.unwrap_or_else(|| Action::proposes(&["Alpha", "Beta", "Gamma"]));
        return perform(&action, &behaviour, &request, &chosen).await;
    }
    let Some(action) = behaviour.actions.get(before).or(behaviour.actions.last()) else {
        return error(404, "no such model");
    };
    perform(action, &behaviour, &request, &chosen).await
}

/// Returns true if a request has the key that the script asks for. Google's clients have a header of their own.
fn has_key(script: &Script, headers: &HeaderMap) -> bool {
    script.key.as_ref().is_none_or(|key| {
        let given = |name: &str, value: String| headers.get(name).is_some_and(|given| *given == value);
        given("authorization", format!("Bearer {key}")) || given("x-goog-api-key", key.clone())
    })
}

/// Answers a question of a decision API. Only some actions have a meaning there.
async fn decisions(
    State(state): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let script = state.script();
    if !has_key(&script, &headers) {
        return error(401, "No auth credentials found");
    }
    let Some(request) = DecisionRequest::read(uri.path(), &body) else {
        return error(422, "not a question with choices");
    };
    let model = request.model.as_str();
    let before = state.receive(&script, model, RequestedForm::Decision, headers, &body);
    let behaviour = script.behaviour(model);
    state.delay(&script, &behaviour, before).await;
    match behaviour.actions.get(before).or(behaviour.actions.last()) {
        None => error(404, "no such model"),
        Some(Action::Obey(_)) => {
            let usage = match &behaviour.billing {
                Billing::Silent => json!(null),
                Billing::Usage(usage) => usage.clone(),
                Billing::Tokens(prompt, completion) | Billing::Header(prompt, completion, _) => {
                    request.usage(*prompt, *completion, None)
                }
                Billing::Cost(prompt, completion, cost) => request.usage(*prompt, *completion, Some(*cost)),
            };
            let named = behaviour.reported_model.as_deref().unwrap_or(model);
            reply(200, request.answer(&script.votes_for, named, &usage).to_string())
        }
        Some(action) => plain(action).await.unwrap_or_else(|| error(400, "this model does not chat")),
    }
}

async fn perform(
    action: &Action,
    behaviour: &Behaviour,
    request: &Request<'_>,
    chosen: &ChosenOption<'_>,
) -> Response<Body> {
    let say = |text: String, finish| completion(behaviour, request, &AssistantMessage::text(&text), finish);
    match action {
        Action::Obey(forms) => obey(forms, behaviour, request, chosen),
        Action::Says(template) => say(chosen.fill(template), "stop"),
        Action::Ends(template, finish) => say(chosen.fill(template), finish),
        Action::Calls(tool, templates) => {
            let arguments: Vec<String> = templates.iter().map(|template| chosen.fill(template)).collect();
            completion(behaviour, request, &AssistantMessage::calls(tool, &arguments), "tool_calls")
        }
        Action::Message(message, finish) => completion(behaviour, request, message, finish),
        Action::Slow(pause) => {
            let body = say(json!({ "option": chosen.value }).to_string(), "stop").into_body();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            let pieces: Vec<Bytes> = bytes.chunks(16).map(Bytes::copy_from_slice).collect();
            reply(200, Body::from_stream(slowly(pieces, *pause)))
        }
        other => plain(other).await.unwrap_or_else(|| error(500, "the script has no such action")),
    }
}

/// Performs an action that does not depend on the request. `None` for any other.
async fn plain(action: &Action) -> Option<Response<Body>> {
    Some(match action {
        Action::Status(status, body) => reply(*status, body.clone()),
        Action::StatusWithHeader(status, body, (name, value)) => {
            let mut response = reply(*status, body.clone());
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(*name, value);
            }
            response
        }
        Action::TopLevelError(error) => reply(200, json!({ "id": "gen-1", "error": error }).to_string()),
        Action::ChoiceError(error) => reply(
            200,
            json!({ "choices": [{ "error": error, "message": { "content": "" }, "finish_reason": "error" }] })
                .to_string(),
        ),
        Action::Bytes(bytes) => reply(200, bytes.clone()),
        Action::Huge(length) => reply(200, format!("{{\"padding\":\"{}\"}}", "x".repeat(*length))),
        Action::Hang => std::future::pending().await,
        Action::HalfOpen => reply(200, Body::from_stream(stream::pending::<std::io::Result<Bytes>>())),
        Action::BreakOff => {
            let pieces: [std::io::Result<Bytes>; 2] = [
                Ok(Bytes::from_static(b"{\"choices\":[{\"message\":")),
                Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            ];
            // Wait until the head is sent, so that the connection breaks in the body.
            let pieces = stream::iter(pieces).then(async |piece| {
                tokio::time::sleep(Duration::from_millis(10)).await;
                piece
            });
            reply(200, Body::from_stream(pieces))
        }
        Action::Obey(_)
        | Action::Says(_)
        | Action::Ends(..)
        | Action::Calls(..)
        | Action::Message(..)
        | Action::Slow(_) => return None,
    })
}

fn slowly(pieces: Vec<Bytes>, pause: Duration) -> impl stream::Stream<Item = std::io::Result<Bytes>> {
    stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(pause).await;
        Ok(piece)
    })
}

fn obey(
    forms: &Forms,
    behaviour: &Behaviour,
    request: &Request<'_>,
    chosen: &ChosenOption<'_>,
) -> Response<Body> {
    let (form, called) = match request.requested_form() {
        RequestedForm::Required => (forms.required, true),
        RequestedForm::Object => (forms.object, true),
        RequestedForm::Auto => (forms.auto, true),
        RequestedForm::Schema => (forms.schema, false),
        RequestedForm::Prose | RequestedForm::Decision => (Form::Ignored("{value}"), false),
    };
    match form {
        Form::Obeyed if called => {
            let arguments = [json!({ "option": chosen.value }).to_string()];
            completion(behaviour, request, &AssistantMessage::calls("vote", &arguments), "tool_calls")
        }
        Form::Obeyed => {
            let text = json!({ "option": chosen.value }).to_string();
            completion(behaviour, request, &AssistantMessage::text(&text), "stop")
        }
        Form::Ignored(template) => {
            completion(behaviour, request, &AssistantMessage::text(&chosen.fill(template)), "stop")
        }
        Form::Rejected(status, message) => error(status, message),
    }
}

/// The message of a model's response.
#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> AssistantMessage<'a> {
    fn text(content: &'a str) -> Self {
        Self { role: "assistant", content: Some(content), tool_calls: None }
    }

    fn calls(name: &'a str, arguments: &'a [String]) -> Self {
        let call =
            |arguments| Call { id: "call_1", kind: "function", function: Function { name, arguments } };
        let calls = arguments.iter().map(|arguments| call(arguments.as_str())).collect();
        Self { role: "assistant", content: None, tool_calls: Some(calls) }
    }
}

#[derive(Serialize)]
struct Completion<'a, M> {
    id: &'static str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a, M>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage<'a>>,
}

#[derive(Serialize)]
struct Choice<'a, M> {
    index: u8,
    message: &'a M,
    finish_reason: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Usage<'a> {
    Counted {
        prompt_tokens: u64,
        completion_tokens: u64,
        total_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    Given(&'a Value),
}

fn completion<M: Serialize>(
    behaviour: &Behaviour,
    request: &Request<'_>,
    message: &M,
    finish: &str,
) -> Response<Body> {
    let counted = |prompt_tokens: u64, completion_tokens: u64, cost| {
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        Usage::Counted { prompt_tokens, completion_tokens, total_tokens, cost }
    };
    let (usage, header) = match &behaviour.billing {
        Billing::Silent => (None, None),
        Billing::Tokens(prompt, completion) => (Some(counted(*prompt, *completion, None)), None),
        Billing::Cost(prompt, completion, cost) => (Some(counted(*prompt, *completion, Some(*cost))), None),
        Billing::Header(prompt, completion, cost) => (Some(counted(*prompt, *completion, None)), Some(cost)),
        Billing::Usage(usage) => (Some(Usage::Given(usage)), None),
    };
    let body = Completion {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1_767_225_600,
        model: behaviour.reported_model.as_deref().unwrap_or(&request.model),
        choices: [Choice { index: 0, message, finish_reason: finish }],
        usage,
    };
    let mut response = reply(200, serde_json::to_vec(&body).unwrap_or_default());
    if let Some(Ok(cost)) = header.map(|cost| cost.to_string().parse()) {
        response.headers_mut().insert("x-litellm-response-cost", cost);
    }
    response
}
