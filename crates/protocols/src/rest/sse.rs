//! Server-sent events (WHATWG HTML, section 9.2): a call that streams its progress.
//!
//! Sends `started`, then one event per vote, then exactly one `complete`, `running` or `error`. A failure before the
//! first event is an ordinary response with its status. If the client disconnects, only a read-only call ends.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use axum::response::sse::Event;
use ep_kernel::dispatch::admit;
use ep_kernel::guard::Guarded;
use ep_kernel::{Call, CallOutput, Fault, Links, StartedEvent};
use ep_site::http::{AppState, CallStep, Steps, counted, event_stream, fault, received, replayed};
use ep_site::names::{COMPLETE_EVENT, ERROR_EVENT, RUNNING_EVENT};
use ep_store::RequestId;
use futures::StreamExt;
use serde::Serialize;
use serde_json::Value;

use super::bind::Binding;
use super::respond;

pub(super) async fn stream(
    state: &AppState,
    request: &HeaderMap,
    binding: &Binding,
    call: Call,
    input: Result<Value, Fault>,
) -> Response<Body> {
    let (steps, mut queue) = Steps::queue();
    let request_id = call.request.request_id;
    let admitted = match admit(&state.app, binding.entry, Call { progress: Some(steps.sink()), ..call }).await
    {
        Ok(admitted) => admitted,
        Err(refused) => return respond(state, request, &binding.rest, refused),
    };
    let allowance = admitted.admission().allowance;
    let only_reads = binding.entry.spec.effect.read_only();
    steps.run(&state.app.tasks, admitted.run(input), only_reads);
    let first = match queue.recv().await {
        // Errors and dry runs get a plain response, not a stream; a finished poll gets its last event.
        Some(CallStep::End(done))
            if !done.result.as_ref().is_ok_and(|output| output.presentation.task_id.is_some()) =>
        {
            return respond(state, request, &binding.rest, *done);
        }
        Some(step) => step,
        None => return fault(Fault::internal("the call ended without a result")),
    };
    let replay = match &first {
        CallStep::End(done) => done.result.as_ref().ok().filter(|done| done.presentation.replayed),
        CallStep::Progress(_) => None,
    };
    let is_replay = replay.is_some();
    let start = match replay {
        Some(done) => started(state, done).await,
        None => None,
    };
    let links = Arc::clone(&state.app.ports.links);
    let steps = futures::stream::once(async move { first }).chain(received(queue));
    let events = futures::stream::iter(start).chain(steps.map(move |step| event(&links, request_id, step)));
    let mut response = event_stream(events);
    if is_replay {
        replayed(&mut response);
    }
    counted(response, allowance)
}

/// Returns the first event for a replayed poll, or `None` if the poll cannot be read. The stream then still has its
/// last event.
async fn started(state: &AppState, output: &CallOutput) -> Option<Event> {
    let poll = output.presentation.task_id.as_deref()?.parse().ok()?;
    let result_url = output.value["result_url"].as_str().map(ToOwned::to_owned);
    let event = state.app.ports.polls.started(&poll, result_url).await.ok()??;
    Some(write(StartedEvent::NAME, Some(0), &event))
}

fn event(links: &Links, request_id: RequestId, step: CallStep<Guarded<CallOutput>>) -> Event {
    match step {
        CallStep::Progress(step) => write(step.event, Some(step.id), &step.data),
        CallStep::End(done) => match done.result {
            Ok(output) => {
                let name = if output.presentation.interim.is_some() { RUNNING_EVENT } else { COMPLETE_EVENT };
                write(name, None, &output.value)
            }
            Err(refusal) => write(ERROR_EVENT, None, &refusal.problem(links, &request_id.to_string())),
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
        tracing::error!(error = %error, "failed to serialize an event");
        fallback.data("{}")
    })
}
