//! Unread rests of request bodies.
//!
//! Over HTTP/1.1, if a response is sent before its request's body has arrived, hyper closes the connection, mostly
//! without announcing it. A client that reuses its connections then loses its next request. So a small rest is read
//! and discarded; otherwise the response announces the close (RFC 9112, sections 9.3 and 9.6).

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};

/// Maximum discarded size, in bytes.
const MAX_DISCARDED: u64 = 1024 * 1024;
/// Time limit for the rest to arrive.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Slot for a request's body that is dropped before its end.
#[derive(Debug)]
pub(crate) struct UnreadBody {
    body: Arc<Mutex<Option<Incoming>>>,
    /// True if the client waits for "100 Continue" before it sends the body (RFC 9110, section 10.1.1).
    on_demand: bool,
}

impl UnreadBody {
    /// Watches a request's body. Returns `None` for a request without one, and over HTTP/2, where an unread body
    /// does not affect other requests.
    pub(crate) fn watch(request: Request<Incoming>) -> (Option<Self>, Request<Body>) {
        if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
            return (None, request.map(Body::new));
        }
        let unread = Self { body: Arc::default(), on_demand: request.headers().contains_key(EXPECT) };
        let slot = Arc::clone(&unread.body);
        (Some(unread), request.map(|body| Body::new(WatchedBody { body: Some(body), slot })))
    }

    /// Takes the unread rest of a body, to be discarded. If it is too large or will not arrive, the response
    /// announces that the connection closes.
    pub(crate) fn take<B>(&self, response: &mut Response<B>) -> Option<Incoming> {
        let body = self.body.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let may_come = !self.on_demand && response.status() != StatusCode::REQUEST_TIMEOUT;
        if !may_come || body.size_hint().lower() > MAX_DISCARDED {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        may_come.then_some(body)
    }
}

/// Reads and discards a body within limits; beyond them, its connection closes. This delivers the response even to a
/// client that sends the whole body before it reads.
pub(crate) async fn discard(mut body: Incoming) {
    let discarded = async {
        let mut left = MAX_DISCARDED;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len) as u64;
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    };
    // An error or a timeout ends the body and closes the connection.
    drop(tokio::time::timeout(DISCARD_TIMEOUT, discarded).await);
}

/// A body that is moved to the slot if it is dropped before its end.
struct WatchedBody {
    body: Option<Incoming>,
    slot: Arc<Mutex<Option<Incoming>>>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take_if(|body| !body.is_end_stream()) {
            *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}
