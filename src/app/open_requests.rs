//! The open requests of one connection, which is closed after being idle for too long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;

use super::connections::ConnectionLimits;

/// The open requests of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenRequests(Arc<watch::Sender<usize>>);

impl OpenRequests {
    /// Counts a request until it is dropped.
    pub(crate) fn begin(&self) -> OpenRequest {
        self.0.send_modify(|open| *open += 1);
        OpenRequest(Arc::clone(&self.0))
    }

    /// Resolves when the connection has been idle for too long.
    pub(crate) async fn idle_timeout(&self, limits: &ConnectionLimits) {
        let mut open = self.0.subscribe();
        let mut wait = limits.first_request;
        loop {
            let idle = *open.borrow_and_update() == 0;
            tokio::select! {
                changed = open.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait), if idle => return,
            }
            wait = limits.next_request;
        }
    }
}

/// An open request, until its response is written or abandoned.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<watch::Sender<usize>>);

impl OpenRequest {
    /// Keeps the request open until its body ends.
    pub(crate) fn until_written(self, body: Body) -> Body {
        Body::new(Tracked { body, _request: self })
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}

struct Tracked {
    body: Body,
    _request: OpenRequest,
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_only_between_requests() {
        let limits = ConnectionLimits::example(0, 0);
        let requests = OpenRequests::default();
        let begun = tokio::time::Instant::now();
        requests.idle_timeout(&limits).await;
        assert_eq!(begun.elapsed(), limits.first_request);
        let request = requests.begin();
        let silent = requests.idle_timeout(&limits);
        let mut silent = std::pin::pin!(silent);
        let hour = Duration::from_hours(1);
        assert!(tokio::time::timeout(hour, &mut silent).await.is_err(), "a request is open");
        drop(request);
        let ended = tokio::time::Instant::now();
        silent.await;
        assert_eq!(ended.elapsed(), limits.next_request);
    }
}
