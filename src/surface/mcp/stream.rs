//! Calls with progress over HTTP: an event stream of notifications that ends with the response.
//!
//! rmcp keeps queues and tasks of 50 KiB for every request that it waits for. So it checks such a request and is done with
//! it; the call is carried out here, and rmcp answers the same request again once it has ended.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use axum::http::request::Parts;
use axum::http::{Request, Response};
use axum::response::sse::Event;
use ep_kernel::dispatch::Dispatched;
use ep_kernel::event::Progress;
use ep_kernel::guard::Guarded;
use futures::StreamExt;
use futures::future::BoxFuture;
use rmcp::model::{ErrorCode, ProgressNotificationParam, ProgressToken};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Service;
use super::call::RequestScope;
use crate::surface::http::event_stream;

/// Longest response, in bytes: far above any poll's.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

/// A call that is being carried out.
pub(super) struct OngoingCall {
    dispatched: BoxFuture<'static, Guarded<Dispatched>>,
    steps: mpsc::Receiver<Box<Progress>>,
    token: Option<ProgressToken>,
    /// Takes the request back when the call is dropped before its end.
    withdraws: Option<DropGuard>,
    done: Option<Box<Guarded<Dispatched>>>,
}

/// What comes next of a call.
pub(super) enum Next {
    Step(ProgressNotificationParam),
    End(Box<Guarded<Dispatched>>),
}

impl OngoingCall {
    pub(super) fn new(
        dispatched: BoxFuture<'static, Guarded<Dispatched>>,
        steps: mpsc::Receiver<Box<Progress>>,
        token: Option<ProgressToken>,
        withdraws: Option<&CancellationToken>,
    ) -> Self {
        let withdraws = withdraws.map(|withdrawn| withdrawn.clone().drop_guard());
        Self { dispatched, steps, token, withdraws, done: None }
    }

    /// The next step, or the end once there is none.
    pub(super) async fn next(&mut self) -> Next {
        loop {
            let step = if self.done.is_some() {
                self.steps.try_recv().ok()
            } else {
                tokio::select! {
                    biased;
                    Some(step) = self.steps.recv() => Some(step),
                    done = &mut self.dispatched => {
                        self.withdraws.take().map(DropGuard::disarm);
                        self.done = Some(Box::new(done));
                        continue;
                    }
                }
            };
            match (step, &self.token) {
                (Some(step), Some(token)) => {
                    let note = ProgressNotificationParam::new(token.clone(), f64::from(step.done));
                    return Next::Step(note.with_total(f64::from(step.total)).with_message(step.message));
                }
                (Some(_), None) => {}
                (None, _) => {
                    if let Some(done) = self.done.take() {
                        return Next::End(done);
                    }
                }
            }
        }
    }
}

/// Where the two times that rmcp sees a request meet.
#[derive(Clone, Default)]
pub(super) struct Handover(Arc<Mutex<Handed>>);

#[derive(Default)]
enum Handed {
    #[default]
    Nothing,
    Begun(Box<OngoingCall>),
    Done(Box<Guarded<Dispatched>>),
}

impl Handover {
    fn swap(&self, handed: Handed) -> Handed {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), handed)
    }

    /// Leaves a call to the stream.
    pub(super) fn begin(&self, call: OngoingCall) {
        self.swap(Handed::Begun(Box::new(call)));
    }

    /// What has become of the call, the second time.
    pub(super) fn done(&self) -> Option<Guarded<Dispatched>> {
        match self.swap(Handed::Nothing) {
            Handed::Done(done) => Some(*done),
            _ => None,
        }
    }
}

/// Whether a message is a call that asks for progress.
pub(super) fn wants_progress(message: &Map<String, Value>) -> bool {
    let token = message.get("params").and_then(|params| params.pointer("/_meta/progressToken"));
    token.is_some() && message.get("method").is_some_and(|method| method == "tools/call")
}

/// A request that rmcp sees twice.
pub(super) struct Repetition {
    service: Arc<Service>,
    parts: Parts,
    body: Bytes,
    id: Value,
    handover: Handover,
}

impl Repetition {
    /// The same request, in memory of its own: its connection's read buffer is free again.
    pub(super) fn of(
        service: &Arc<Service>,
        parts: &Parts,
        body: &[u8],
        message: &Map<String, Value>,
        scope: RequestScope,
    ) -> Self {
        let mut copy = Request::new(()).into_parts().0;
        copy.method = parts.method.clone();
        copy.uri = parts.uri.to_string().parse().unwrap_or_default();
        let kept: Vec<_> = parts.headers.iter().filter(|(name, _)| is_read(name)).collect();
        copy.headers = HeaderMap::with_capacity(kept.len());
        for (name, value) in kept {
            if let Some(value) = copied(value) {
                copy.headers.append(name.clone(), value);
            }
        }
        let handover = scope.handover.clone().unwrap_or_default();
        copy.extensions.insert(scope);
        Self {
            service: service.clone(),
            parts: copy,
            body: Bytes::copy_from_slice(body),
            id: message.get("id").cloned().unwrap_or_default(),
            handover,
        }
    }

    /// The response of the call that rmcp has left to this stream; `None` if it has left none.
    pub(super) async fn respond(self) -> Option<Response<Body>> {
        let Handed::Begun(mut call) = self.handover.swap(Handed::Nothing) else { return None };
        let first = match call.next().await {
            Next::End(done) => return Some(self.answer(done).await),
            Next::Step(note) => event(&note),
        };
        let rest = futures::stream::unfold(Some(Box::new((call, self))), |ongoing| async move {
            let mut ongoing = ongoing?;
            Some(match ongoing.0.next().await {
                Next::Step(note) => (event(&note), Some(ongoing)),
                Next::End(done) => (ongoing.1.last(done).await, None),
            })
        });
        Some(event_stream(futures::stream::iter([first]).chain(rest)))
    }

    async fn answer(self, done: Box<Guarded<Dispatched>>) -> Response<Body> {
        self.handover.swap(Handed::Done(done));
        ask(&self.service, Request::from_parts(self.parts, Body::from(self.body))).await
    }

    /// The response as the last event.
    async fn last(self, done: Box<Guarded<Dispatched>>) -> Event {
        let id = self.id.clone();
        let body = axum::body::to_bytes(self.answer(done).await.into_body(), MAX_RESPONSE).await;
        let response: Option<Box<RawValue>> = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
        let text = if let Some(response) = &response {
            response.get().to_owned()
        } else {
            // rmcp answers in plain text while the service stops.
            let error = json!({ "code": ErrorCode::INTERNAL_ERROR, "message": "the service is stopping" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
        };
        Event::default().data(text)
    }
}

/// What rmcp answers.
pub(super) async fn ask(service: &Service, request: Request<Body>) -> Response<Body> {
    // Boxed, because it is several KiB that are moved otherwise.
    Box::pin(service.handle(request)).await.map(Body::new)
}

/// Whether rmcp reads a header: the transport's own, and those of the protocol.
fn is_read(name: &HeaderName) -> bool {
    matches!(*name, HOST | ORIGIN | ACCEPT | CONTENT_TYPE) || name.as_str().starts_with("mcp-")
}

fn copied(value: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_bytes(value.as_bytes()).ok()
}

fn event(note: &ProgressNotificationParam) -> Event {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": note });
    Event::default().data(note.to_string())
}
