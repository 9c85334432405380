//! `POST /v1/chat/completions`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Response};
use axum::response::sse::Event;
use ep_kernel::caller::Caller;
use ep_kernel::dispatch::{Call, Dispatched, dispatch};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::{Admission, Credential, Guarded};
use ep_kernel::tool::{Entry, Task};
use ep_polling::time::Timestamp;
use ep_tools::polls::Decisions;
use ep_tools::results::PollResult;
use futures::StreamExt;
use serde_json::{Map, Value, json};

use super::models;
use super::outcome::{Outcome, evidence, sentence, write_headers};
use super::prompt;
use super::refusal::{Code, Refusal};
use super::request::{ChatRequest, Form};
use super::retries::{Connection, Retries};
use super::shape::Field;
use crate::http::{AppState, Exchange, RequestHead, event_stream, malformed_body, read_body};

/// Time between two looks at a request that is still running.
const REPEAT: Duration = Duration::from_millis(500);

/// Headers that set the terms of the polls, with the field of the operation.
const TERMS: [(&str, &str); 2] =
    [("poll-max-cost-usd", "max_cost_usd"), ("poll-confidence-threshold", "confidence_threshold")];
/// Header that publishes the polls of an account.
const PRIVATE: &str = "poll-private";

/// Serves a request.
pub(super) async fn serve(
    exchange: Exchange,
    admission: Admission,
    retries: Arc<Retries>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, max_body).await?;
    let parsed: Value = serde_json::from_slice(&body).map_err(|error| malformed_body(&error))?;
    let asked = ChatRequest::read(&parsed)?;
    let questions = questions(&asked);
    let input = input(&state, &asked, questions, &parts.headers, &admission)?;
    let (key, connection) = if let Some(key) = &head.idempotency_key {
        (key.clone(), None)
    } else {
        let new = || hex::encode(state.app.entropy.bytes::<16>());
        let (key, connection) = retries.key(&admission.caller, &parts.headers, parts.uri.path(), &body, new);
        (key, Some(connection))
    };
    let work = Work { state, head, admission, input, key, connection };
    if asked.stream {
        return Ok(stream(asked, work));
    }
    let (created, decided) = work.decide().await?;
    let answer = Completion::new(&asked, &decided.results, created)?;
    let mut response = Response::new(Body::from(answer.whole().to_string()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some((field, poll)) = asked.answer.fields.first().zip(decided.results.first()) {
        write_headers(headers, field, poll);
    }
    Ok(response)
}

fn questions(asked: &ChatRequest) -> Vec<Value> {
    let question = |field: &Field| {
        let text = prompt::question(&asked.question, field);
        let choices = if field.is_score { "levels" } else { "options" };
        let mut members = Map::new();
        members.insert("question".to_owned(), text.into());
        members.insert(choices.to_owned(), field.options().into());
        Value::Object(members)
    };
    asked.answer.fields.iter().map(question).collect()
}

/// Builds the input of the operation. Polls of accounts are private, unless the caller publishes them.
fn input(
    state: &AppState,
    asked: &ChatRequest,
    questions: Vec<Value>,
    headers: &HeaderMap,
    admission: &Admission,
) -> Result<Value, Fault> {
    let mut members = Map::new();
    members.insert("questions".to_owned(), Value::Array(questions));
    let preset = models::preset(state, &asked.model)?;
    if matches!(admission.caller, Caller::Anonymous { .. }) {
        if preset.as_deref().is_some_and(|preset| preset != models::FREE) {
            let advice =
                format!("the model {} needs an API key; without one, use the model free", asked.model);
            return Err(Fault::new(Kind::Unauthenticated, advice));
        }
        return Ok(Value::Object(members));
    }
    members.extend(preset.map(|preset| ("preset".to_owned(), preset.into())));
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let publishes = text(PRIVATE).is_some_and(|value| value.eq_ignore_ascii_case("false"));
    members.insert("private".to_owned(), (!publishes).into());
    for (header, field) in TERMS {
        if let Some(value) = text(header) {
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
            let number =
                number.ok_or_else(|| Refusal::new(Code::UnsupportedValue, header, "must be a number"))?;
            members.insert(field.to_owned(), number.into());
        }
    }
    Ok(Value::Object(members))
}

/// A request that is ready to open its polls.
struct Work {
    state: AppState,
    head: RequestHead,
    admission: Admission,
    input: Value,
    key: String,
    connection: Option<Connection>,
}

impl Work {
    /// Opens the polls, or joins those of the same request, and returns their results when they have ended.
    async fn decide(self) -> Result<(Timestamp, Decisions), Fault> {
        let entry = self.operation()?;
        loop {
            let Guarded { result, .. } =
                dispatch(&self.state.app, entry, self.call(), Ok(self.input.clone())).await;
            match result {
                // A repetition of a request that still runs waits for it.
                Err(fault) if fault.kind() == Kind::InProgress => tokio::time::sleep(REPEAT).await,
                Err(fault) => return Err(fault),
                Ok(Dispatched { output, .. }) => {
                    if let Some(connection) = &self.connection {
                        connection.answered();
                    }
                    let decided: Decisions = output.typed()?.output;
                    let created = decided.results.first().map(|poll| poll.created_at);
                    return Ok((created.unwrap_or_else(|| self.state.app.ports.clock.now()), decided));
                }
            }
        }
    }

    /// Returns the operation that decides for this caller.
    fn operation(&self) -> Result<&'static Entry, Fault> {
        let mut deciding = self.state.tools.iter().filter(|entry| entry.spec.task == Task::Decide);
        let anonymous = matches!(self.admission.caller, Caller::Anonymous { .. });
        let found = deciding.find(|entry| entry.spec.access.anonymous == anonymous);
        found.ok_or_else(|| Fault::internal("no operation decides for this caller"))
    }

    fn call(&self) -> Call {
        let request = match self.admission.caller {
            // Counted as a free poll.
            Caller::Anonymous { .. } => self.head.guarded(super::OPENAI.surface, Credential::None),
            _ => self.head.admitted(super::OPENAI.surface, self.admission.clone()),
        };
        Call { idempotency_key: Some(self.key.clone()), ..Call::new(request) }
    }
}

/// A chat completion.
struct Completion<'a> {
    asked: &'a ChatRequest,
    id: String,
    created: i64,
    /// The answer as JSON, or the sentence of a refusal.
    answer: Result<String, String>,
    evidence: Value,
}

impl<'a> Completion<'a> {
    fn new(asked: &'a ChatRequest, polls: &[PollResult], created: Timestamp) -> Result<Self, Fault> {
        let fields = &asked.answer.fields;
        if fields.len() != polls.len() {
            return Err(Fault::internal("a field has no poll"));
        }
        let both = || std::iter::zip(fields, polls);
        let sentences: Vec<String> = both().map(|(field, poll)| sentence(field, poll)).collect();
        let mut winners = Vec::with_capacity(fields.len());
        let mut undecided = Vec::new();
        for ((field, poll), sentence) in both().zip(&sentences) {
            match Outcome::of(field, poll) {
                Outcome::Decided(value) => winners.push(value),
                Outcome::Tie | Outcome::NoVotes => undecided.push(sentence.clone()),
            }
        }
        let answer = if undecided.is_empty() {
            Ok(asked.answer.shape.fill(&winners, &sentences.join(" ")).to_string())
        } else {
            Err(undecided.join(" "))
        };
        let mut evidence: Vec<Value> = both().map(|(field, poll)| evidence(field, poll)).collect();
        let evidence = if evidence.len() == 1 { evidence.swap_remove(0) } else { Value::Array(evidence) };
        let id = polls.first().map(|poll| format!("chatcmpl-{}", poll.poll_id)).unwrap_or_default();
        Ok(Self { asked, id, created: created.millis() / 1000, answer, evidence })
    }

    /// Returns the content of the message: the answer, fenced if it is part of a text.
    fn content(&self) -> Option<String> {
        let answer = self.answer.as_ref().ok()?;
        match self.asked.form {
            Form::Json => Some(answer.clone()),
            Form::Fenced => Some(format!("```json\n{answer}\n```")),
            Form::Call(_) | Form::FunctionCall(_) => None,
        }
    }

    fn finish_reason(&self) -> &'static str {
        match (&self.answer, &self.asked.form) {
            (Ok(_), Form::Call(_)) => "tool_calls",
            (Ok(_), Form::FunctionCall(_)) => "function_call",
            _ => "stop",
        }
    }

    /// Adds the call, if the answer is one. `index` is set in events.
    fn add_call(&self, message: &mut Map<String, Value>, index: Option<u32>) {
        let Ok(arguments) = &self.answer else { return };
        let function = |name: &str| json!({ "name": name, "arguments": arguments });
        match &self.asked.form {
            Form::Call(name) => {
                let id = self.id.replace("chatcmpl-", "call_");
                let mut call = json!({ "id": id, "type": "function", "function": function(name) });
                if let Some(index) = index {
                    call["index"] = index.into();
                }
                message.insert("tool_calls".to_owned(), json!([call]));
            }
            Form::FunctionCall(name) => drop(message.insert("function_call".to_owned(), function(name))),
            Form::Json | Form::Fenced => {}
        }
    }

    fn envelope(&self, object: &str, choices: Value) -> Map<String, Value> {
        let model = if self.asked.model.is_empty() { models::DEFAULT } else { &self.asked.model };
        let envelope = json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": model,
            "choices": choices,
        });
        match envelope {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Returns the completion as one object.
    fn whole(&self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.content().into());
        message.insert("refusal".to_owned(), self.answer.as_ref().err().cloned().into());
        self.add_call(&mut message, None);
        let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": self.finish_reason() });
        let mut whole = self.envelope("chat.completion", json!([choice]));
        whole.insert("usage".to_owned(), usage());
        whole.insert("poll".to_owned(), self.evidence.clone());
        Value::Object(whole)
    }

    /// Returns the completion as chunks.
    fn chunks(&self) -> Vec<Value> {
        let chunk = |delta: Value, finish: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
            Value::Object(self.envelope("chat.completion.chunk", json!([choice])))
        };
        let mut delta = Map::new();
        delta.extend(self.content().map(|content| ("content".to_owned(), content.into())));
        delta.extend(
            self.answer.as_ref().err().map(|refusal| ("refusal".to_owned(), refusal.as_str().into())),
        );
        self.add_call(&mut delta, Some(0));
        let mut last = chunk(json!({}), Some(self.finish_reason()));
        last["poll"] = self.evidence.clone();
        let mut chunks =
            vec![chunk(json!({ "role": "assistant" }), None), chunk(Value::Object(delta), None), last];
        if self.asked.include_usage {
            let mut usage_chunk = self.envelope("chat.completion.chunk", json!([]));
            usage_chunk.insert("usage".to_owned(), usage());
            chunks.push(Value::Object(usage_chunk));
        }
        chunks
    }
}

/// Token counts. A poll has none of its own: its cost is in the member `poll`.
fn usage() -> Value {
    json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })
}

/// Sends the completion as events. Comments keep the connection open until the poll has ended.
fn stream(asked: ChatRequest, work: Work) -> Response<Body> {
    let links = Arc::clone(&work.state.app.ports.links);
    let request_id = work.head.request_id.to_string();
    let decided = async move {
        let completed = async {
            let (created, decided) = work.decide().await?;
            Ok::<_, Fault>(Completion::new(&asked, &decided.results, created)?.chunks())
        };
        let events = match completed.await {
            Ok(chunks) => chunks,
            Err(fault) => vec![super::refusal::error(&fault, &fault.problem(&links, &request_id))],
        };
        let events = events.into_iter().map(|chunk| Event::default().data(chunk.to_string()));
        futures::stream::iter(events.chain([Event::default().data("[DONE]")]).collect::<Vec<Event>>())
    };
    event_stream(futures::stream::once(decided).flatten())
}
