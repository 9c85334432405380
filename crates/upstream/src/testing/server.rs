//! The scripted upstream itself.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::reading::{AskedFor, Chosen, Request};
use super::script::{Act, Billing, Form, Forms, Part, Script};

/// An OpenAI-compatible server on this machine that plays a script. It runs on a thread of its own, so
/// that tests may pause their clock; it stops when it is dropped.
pub struct ScriptedUpstream {
    address: SocketAddr,
    stage: Arc<Stage>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The model it asked.
    pub model: String,
    /// The form in which it asked for a vote.
    pub asked_for: AskedFor,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Value,
}

#[derive(Default)]
struct Log {
    calls: HashMap<String, usize>,
    total: usize,
    registry: usize,
    seen: Vec<Seen>,
}

struct Stage {
    script: Mutex<Arc<Script>>,
    log: Mutex<Log>,
}

impl Stage {
    fn script(&self) -> Arc<Script> {
        Arc::clone(&self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptedUpstream {
    /// Starts to play at a free port.
    pub fn start(script: Script) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stage = Arc::new(Stage { script: Mutex::new(Arc::new(script)), log: Mutex::default() });
        let stop = CancellationToken::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (router, stopped) = (router(Arc::clone(&stage)), stop.clone());
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
        Ok(Self { address, stage, stop, thread: Some(thread) })
    }

    /// Its base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Changes the script from now on.
    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        let mut script = self.stage.script.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut script));
    }

    /// How often this model was asked.
    pub fn calls(&self, model: &str) -> usize {
        self.stage.log().calls.get(model).copied().unwrap_or(0)
    }

    /// How often any model was asked.
    pub fn total_calls(&self) -> usize {
        self.stage.log().total
    }

    /// How often the model list was asked for.
    pub fn registry_calls(&self) -> usize {
        self.stage.log().registry
    }

    /// The requests to this model, in order.
    pub fn seen(&self, model: &str) -> Vec<Seen> {
        self.stage.log().seen.iter().filter(|seen| seen.model == model).cloned().collect()
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

fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(completions))
        .layer(DefaultBodyLimit::max(8 * 1024 * 1024))
        .with_state(stage)
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

async fn models(State(stage): State<Arc<Stage>>) -> Response<Body> {
    stage.log().registry += 1;
    let script = stage.script();
    match &script.registry_fails {
        Some((status, body)) => reply(*status, body.clone()),
        None => reply(200, json!({ "object": "list", "data": script.models }).to_string()),
    }
}

async fn completions(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let script = stage.script();
    if let Some(key) = &script.key
        && headers.get("authorization").is_none_or(|given| *given != format!("Bearer {key}"))
    {
        return error(401, "No auth credentials found");
    }
    let request: Request<'_> = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(why) => return error(400, &why.to_string()),
    };
    let model = &*request.model;
    let before = {
        let mut log = stage.log();
        log.total += 1;
        if script.keep_requests {
            log.seen.push(Seen {
                model: model.to_owned(),
                asked_for: request.asked_for(),
                headers,
                body: serde_json::from_slice(&body).unwrap_or_default(),
            });
        }
        if let Some(calls) = log.calls.get_mut(model) {
            *calls += 1;
            *calls - 1
        } else {
            log.calls.insert(model.to_owned(), 1);
            0
        }
    };
    let named = || model.rsplit_once('@').and_then(|(_, name)| Part::named(name));
    let named_part;
    let part = match script.parts.get(model) {
        Some(part) => part,
        None => match named() {
            Some(part) => {
                named_part = part;
                &named_part
            }
            None => &script.default,
        },
    };
    let latency = part.latency + part.jitter.mul_f64((before as f64 * 0.618).fract());
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let Some(act) = part.acts.get(before).or(part.acts.last()) else { return error(404, "no such model") };
    perform(act, part, &request, &request.choose(&script.choose)).await
}

async fn perform(act: &Act, part: &Part, request: &Request<'_>, chosen: &Chosen<'_>) -> Response<Body> {
    let say = |text: String, finish| completion(part, request, &Spoken::text(&text), finish);
    match act {
        Act::Obey(forms) => obey(forms, part, request, chosen),
        Act::Says(template) => say(chosen.fill(template), "stop"),
        Act::Ends(template, finish) => say(chosen.fill(template), finish),
        Act::Calls(tool, templates) => {
            let arguments: Vec<String> = templates.iter().map(|template| chosen.fill(template)).collect();
            completion(part, request, &Spoken::calls(tool, &arguments), "tool_calls")
        }
        Act::Message(message, finish) => completion(part, request, message, finish),
        Act::Status(status, body) => reply(*status, body.clone()),
        Act::Limited(status, body, (name, value)) => {
            let mut response = reply(*status, body.clone());
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(*name, value);
            }
            response
        }
        Act::ErrorAbove(error) => reply(200, json!({ "id": "gen-1", "error": error }).to_string()),
        Act::ErrorInside(error) => reply(
            200,
            json!({ "choices": [{ "error": error, "message": { "content": "" }, "finish_reason": "error" }] })
                .to_string(),
        ),
        Act::Bytes(bytes) => reply(200, bytes.clone()),
        Act::Huge(length) => reply(200, format!("{{\"padding\":\"{}\"}}", "x".repeat(*length))),
        Act::Hang => std::future::pending().await,
        Act::HalfOpen => reply(200, Body::from_stream(stream::pending::<std::io::Result<Bytes>>())),
        Act::BreakOff => {
            let pieces: [std::io::Result<Bytes>; 2] = [
                Ok(Bytes::from_static(b"{\"choices\":[{\"message\":")),
                Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            ];
            // Time for the head to leave: without it there is no middle to break off in.
            let pieces = stream::iter(pieces).then(async |piece| {
                tokio::time::sleep(Duration::from_millis(10)).await;
                piece
            });
            reply(200, Body::from_stream(pieces))
        }
        Act::Slow(pause) => {
            let body = say(format!("{{\"option\":\"{}\"}}", chosen.code), "stop").into_body();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            let pieces: Vec<Bytes> = bytes.chunks(16).map(Bytes::copy_from_slice).collect();
            reply(200, Body::from_stream(slowly(pieces, *pause)))
        }
    }
}

fn slowly(pieces: Vec<Bytes>, pause: Duration) -> impl stream::Stream<Item = std::io::Result<Bytes>> {
    stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(pause).await;
        Ok(piece)
    })
}

fn obey(forms: &Forms, part: &Part, request: &Request<'_>, chosen: &Chosen<'_>) -> Response<Body> {
    let (form, called) = match request.asked_for() {
        AskedFor::Required => (forms.required, true),
        AskedFor::Object => (forms.object, true),
        AskedFor::Auto => (forms.auto, true),
        AskedFor::Schema => (forms.schema, false),
        AskedFor::Prose => (Form::Ignored("{code}"), false),
    };
    match form {
        Form::Obeyed if called => {
            let arguments = [format!("{{\"option\":\"{}\"}}", chosen.code)];
            completion(part, request, &Spoken::calls("vote", &arguments), "tool_calls")
        }
        Form::Obeyed => {
            let text = format!("{{\"option\":\"{}\"}}", chosen.code);
            completion(part, request, &Spoken::text(&text), "stop")
        }
        Form::Ignored(template) => completion(part, request, &Spoken::text(&chosen.fill(template)), "stop"),
        Form::Refused(status, message) => error(status, message),
    }
}

/// A message as a model speaks it.
#[derive(Serialize)]
struct Spoken<'a> {
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

impl<'a> Spoken<'a> {
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

fn completion<M: Serialize>(part: &Part, request: &Request<'_>, message: &M, finish: &str) -> Response<Body> {
    let counted = |prompt_tokens: u64, completion_tokens: u64, cost| {
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        Usage::Counted { prompt_tokens, completion_tokens, total_tokens, cost }
    };
    let (usage, header) = match &part.billing {
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
        model: part.answers_as.as_deref().unwrap_or(&request.model),
        choices: [Choice { index: 0, message, finish_reason: finish }],
        usage,
    };
    let mut response = reply(200, serde_json::to_vec(&body).unwrap_or_default());
    if let Some(Ok(cost)) = header.map(|cost| cost.to_string().parse()) {
        response.headers_mut().insert("x-litellm-response-cost", cost);
    }
    response
}
