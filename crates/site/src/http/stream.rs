//! Server-sent events (WHATWG HTML, section 9.2), and calls that send their progress.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use ep_kernel::event::MAX_EVENTS;
use ep_kernel::{Progress, ProgressSink, Tasks};
use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

/// Interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Progress or result of a call. Boxed, because a queue has room for dozens.
pub enum CallStep<T> {
    /// A progress step.
    Progress(Box<Progress>),
    /// The result.
    End(Box<T>),
}

/// Sender of a call's progress and result.
pub struct Steps<T>(mpsc::Sender<CallStep<T>>);

impl<T: Send + 'static> Steps<T> {
    /// Returns a queue with room for every step of a call.
    pub fn queue() -> (Self, mpsc::Receiver<CallStep<T>>) {
        let (sender, receiver) = mpsc::channel(MAX_EVENTS);
        (Self(sender), receiver)
    }

    /// Returns a sink for progress; a step is dropped only if the client has disconnected.
    pub fn sink(&self) -> ProgressSink {
        let steps = self.0.clone();
        ProgressSink::new(move |step| drop(steps.try_send(CallStep::Progress(Box::new(step)))))
    }

    /// Runs the call in the background. A read-only call stops when the client disconnects.
    pub fn run(self, tasks: &Tasks, call: BoxFuture<'static, T>, only_reads: bool) {
        let Self(steps) = self;
        tasks.spawn(async move {
            let done = tokio::select! {
                done = call => done,
                () = steps.closed(), if only_reads => return,
            };
            drop(steps.send(CallStep::End(Box::new(done))).await);
        });
    }
}

/// Returns the messages of a queue as a stream.
pub fn received<T: Send + 'static>(queue: mpsc::Receiver<T>) -> impl Stream<Item = T> + Send {
    futures::stream::unfold(queue, |mut queue| async move { Some((queue.recv().await?, queue)) })
}

/// Returns an event stream response.
pub fn event_stream(events: impl Stream<Item = Event> + Send + 'static) -> Response<Body> {
    let events = futures::StreamExt::map(events, Ok::<_, Infallible>);
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
