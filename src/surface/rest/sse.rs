//! Server-sent events (WHATWG HTML, section 9.2): a call whose progress is sent as it happens.
//!
//! `started`, then one event per step, then exactly one `complete` or `error`. What fails before the
//! first event is an ordinary response with its status. A client that leaves does not end its call.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use ep_kernel::dispatch::{Call, Dispatched, dispatch};
use ep_kernel::event::{Progress, ProgressSink};
use ep_kernel::fault::Fault;
use ep_kernel::tool::Freshness;
use futures::StreamExt;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::bind::Binding;
use crate::surface::http::{Gate, Incoming, Shown, fault, finish, outcome};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

enum Step {
    Progress(Progress),
    End(Box<Dispatched>),
}

pub(super) async fn stream(
    gate: &Gate,
    binding: &Binding,
    incoming: Incoming,
    input: Result<Value, Fault>,
) -> Response<Body> {
    let (steps, mut received) = mpsc::unbounded_channel();
    let progress = steps.clone();
    // At most one step per model and call: the queue is bounded by the roster.
    let sink = ProgressSink::new(move |step| drop(progress.send(Step::Progress(step))));
    let shown = incoming.shown.clone();
    let told = Arc::new(OnceLock::new());
    let call = Call {
        told: Some(Arc::clone(&told)),
        ..incoming.call(gate, "sse", binding.rest.only, None, Some(sink))
    };
    let entry = binding.entry;
    gate.app.tasks.spawn(async move {
        let done = dispatch(entry, call, input).await;
        drop(steps.send(Step::End(Box::new(done))));
    });
    let first = match received.recv().await {
        // What fails or is only priced has no story, just an answer; a replayed call has an end.
        Some(Step::End(done)) if done.result.is_err() || !done.replayed => {
            return outcome(gate, &shown, binding.rest.status, &done);
        }
        Some(step) => step,
        None => return fault(gate, &shown, &Fault::internal("the call ended without a word"), None),
    };
    let rest =
        futures::stream::unfold(
            received,
            |mut received| async move { Some((received.recv().await?, received)) },
        );
    let replayed = matches!(&first, Step::End(_));
    let base_url = gate.app.settings.base_url.clone();
    let request = shown.clone();
    let events = futures::stream::once(async move { first })
        .chain(rest)
        .map(move |step| tell(&base_url, &request, step));
    let body = Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    finish(&shown, headers, told.get().copied().flatten().as_ref());
    if replayed {
        headers.insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    }
    response
}

fn tell(base_url: &str, shown: &Shown, step: Step) -> Event {
    match step {
        Step::Progress(Progress { event, id, data, .. }) => write(event, Some(id), &data),
        Step::End(done) => match done.result {
            Ok(answered) if matches!(answered.freshness, Freshness::Pending(_)) => {
                write("running", None, &answered.value)
            }
            Ok(answered) => write("complete", None, &answered.value),
            Err(refusal) => write("error", None, &refusal.problem(base_url, &shown.request_id.to_string())),
        },
    }
}

fn write(name: &str, id: Option<u64>, data: &impl Serialize) -> Event {
    let event = Event::default().event(name);
    let event = match id {
        Some(id) => event.id(id.to_string()),
        None => event,
    };
    let fallback = event.clone();
    event.json_data(data).unwrap_or_else(|error| {
        tracing::error!(error = %error, "an event could not be written as JSON");
        fallback.data("{}")
    })
}
