//! Calls with progress over HTTP: an event stream of notifications that ends with the response.
//!
//! rmcp allocates queues and tasks of 50 KiB for every waiting request. So rmcp only validates such a request, and
//! this module runs the call. When the call has ended, rmcp receives the same request again and writes its response.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};
use axum::http::request::Parts;
use axum::http::{Request, Response};
use axum::response::sse::Event;
use ep_kernel::CallOutput;
use ep_kernel::guard::Guarded;
use ep_site::http::event_stream;
use futures::StreamExt;
use rmcp::model::{ErrorCode, ProgressNotificationParam};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Service;
use super::call::CallSource;
use super::ongoing::{CallEvent, Handover};

/// Maximum response size, in bytes: far above any poll's.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

/// True for a call that requests progress.
pub(super) fn wants_progress(message: &Map<String, Value>) -> bool {
    let token = message.get("params").and_then(|params| params.pointer("/_meta/progressToken"));
    token.is_some() && message.get("method").is_some_and(|method| method == "tools/call")
}

/// A request that rmcp receives twice.
pub(super) struct RepeatedRequest {
    service: Arc<Service>,
    parts: Parts,
    body: Bytes,
    id: Value,
    handover: Handover,
}

impl RepeatedRequest {
    /// Copies a request, so that its connection's read buffer can be freed.
    pub(super) fn of(
        service: &Arc<Service>,
        parts: &Parts,
        body: &[u8],
        message: &Map<String, Value>,
        source: CallSource,
    ) -> Self {
        let mut copy = Request::new(()).into_parts().0;
        copy.method = parts.method.clone();
        copy.uri = parts.uri.to_string().parse().unwrap_or_default();
        // rmcp reads the headers of the transport and of the protocol.
        let is_read = |name: &HeaderName| {
            matches!(*name, HOST | ORIGIN | ACCEPT | CONTENT_TYPE) || name.as_str().starts_with("mcp-")
        };
        let read: Vec<_> = parts.headers.iter().filter(|(name, _)| is_read(name)).collect();
        copy.headers = HeaderMap::with_capacity(read.len());
        for (name, value) in read {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                copy.headers.append(name.clone(), value);
            }
        }
        let handover = source.handover.clone().unwrap_or_default();
        copy.extensions.insert(source);
        Self {
            service: service.clone(),
            parts: copy,
            body: Bytes::copy_from_slice(body),
            id: message.get("id").cloned().unwrap_or_default(),
            handover,
        }
    }

    /// Returns the response of the call that rmcp handed over; `None` if there is none.
    pub(super) async fn respond(self) -> Option<Response<Body>> {
        let mut call = self.handover.begun()?;
        let first = match call.next().await {
            CallEvent::End(done) => return Some(self.respond_to(done).await),
            CallEvent::Progress(note) => event(&note),
        };
        let rest = futures::stream::unfold(Some(Box::new((call, self))), |ongoing| async move {
            let mut ongoing = ongoing?;
            Some(match ongoing.0.next().await {
                CallEvent::Progress(note) => (event(&note), Some(ongoing)),
                CallEvent::End(done) => (ongoing.1.last(done).await, None),
            })
        });
        Some(event_stream(futures::stream::iter([first]).chain(rest)))
    }

    async fn respond_to(self, done: Box<Guarded<CallOutput>>) -> Response<Body> {
        self.handover.end(done);
        ask(&self.service, Request::from_parts(self.parts, Body::from(self.body))).await
    }

    /// Returns the response as the last event.
    async fn last(self, done: Box<Guarded<CallOutput>>) -> Event {
        let id = self.id.clone();
        let body = axum::body::to_bytes(self.respond_to(done).await.into_body(), MAX_RESPONSE).await;
        let response: Option<Box<RawValue>> = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
        let text = if let Some(response) = &response {
            response.get().to_owned()
        } else {
            // rmcp responds in plain text while the service stops.
            let error = json!({ "code": ErrorCode::INTERNAL_ERROR, "message": "the service is stopping" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
        };
        Event::default().data(text)
    }
}

/// Returns rmcp's response.
pub(super) async fn ask(service: &Service, request: Request<Body>) -> Response<Body> {
    // Boxed, because moving the future would copy several KiB.
    Box::pin(service.handle(request)).await.map(Body::new)
}

/// Returns the document of a success as an event stream with one event, for clients that accept nothing else
/// (modelcontextprotocol/python-sdk#2349).
pub(super) async fn as_stream(response: Response<Body>) -> Response<Body> {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !response.status().is_success() || !kind.starts_with(b"application/json") {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let event = axum::body::to_bytes(body, MAX_RESPONSE).await.ok();
    let event = event.and_then(|bytes| Some(Event::default().data(std::str::from_utf8(&bytes).ok()?)));
    let (stream, body) = event_stream(futures::stream::iter(event)).into_parts();
    head.headers.remove(CONTENT_LENGTH);
    head.headers.extend(stream.headers);
    Response::from_parts(head, body)
}

fn event(note: &ProgressNotificationParam) -> Event {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": note });
    Event::default().data(note.to_string())
}
