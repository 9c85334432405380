//! The room for bodies that are being received from callers without money: each takes memory until it has arrived.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Bytes of all such bodies together.
const ROOM: usize = 64 << 20;
/// Bytes of the bodies of one account, or from one address without an account.
const ROOM_OF_SENDER: usize = 16 << 20;
/// Bytes of each body that are not counted, so that usual requests are always received.
pub(super) const NOT_COUNTED: usize = 16 << 10;

/// The room, shared by all requests.
#[derive(Clone, Default)]
pub struct BodyRoom(Arc<Mutex<CountedBytes>>);

/// The counted bytes.
#[derive(Default)]
struct CountedBytes {
    all: usize,
    /// Those of each sender of such a body.
    of_sender: HashMap<String, usize>,
}

/// The error of a body for which there is no room.
#[derive(Debug, thiserror::Error)]
#[error("too many bodies are being received")]
pub(super) struct NoRoom;

impl BodyRoom {
    /// Returns a body that fails when the bodies being received take too much memory.
    pub fn limited(&self, body: Body, sender: String) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(LimitedBody { body, room: self.clone(), sender, received: 0, counted: 0 })
    }

    /// Counts bytes. Returns `false` if there is no room for them.
    fn take(&self, sender: &str, bytes: usize) -> bool {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.of_sender.get(sender).copied().unwrap_or_default();
        if taken.all + bytes > ROOM || own + bytes > ROOM_OF_SENDER {
            return false;
        }
        taken.all += bytes;
        taken.of_sender.insert(sender.to_owned(), own + bytes);
        true
    }

    fn give_back(&self, sender: &str, bytes: usize) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(bytes);
        let left = taken.of_sender.get(sender).map_or(0, |own| own.saturating_sub(bytes));
        if left == 0 {
            taken.of_sender.remove(sender);
        } else {
            taken.of_sender.insert(sender.to_owned(), left);
        }
    }
}

/// A body of which the received bytes are counted until it is dropped.
struct LimitedBody {
    body: Body,
    room: BodyRoom,
    sender: String,
    received: usize,
    counted: usize,
}

impl LimitedBody {
    /// Counts received bytes. Returns `false` if there is no room for them.
    fn receive(&mut self, bytes: usize) -> bool {
        self.received += bytes;
        let uncounted = self.received.saturating_sub(NOT_COUNTED + self.counted);
        if uncounted > 0 {
            if !self.room.take(&self.sender, uncounted) {
                return false;
            }
            self.counted += uncounted;
        }
        true
    }
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        Poll::Ready(if self.receive(bytes) { frame } else { Some(Err(axum::Error::new(NoRoom))) })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LimitedBody {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.room.give_back(&self.sender, self.counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads bodies of 1 MiB that do not end, until one is refused. Returns the others.
    async fn unfinished(room: &BodyRoom, sender: &str) -> Vec<Body> {
        let mut bodies = Vec::new();
        while bodies.len() < 100 {
            let parts = futures::stream::iter([Ok::<_, axum::Error>(Bytes::from(vec![b' '; 1 << 20]))]);
            let parts = futures::StreamExt::chain(parts, futures::stream::pending());
            let mut body = room.limited(Body::from_stream(parts), sender.to_owned());
            match http_body_util::BodyExt::frame(&mut body).await {
                Some(Ok(_)) => bodies.push(body),
                _ => break,
            }
        }
        bodies
    }

    #[tokio::test]
    async fn unfinished_bodies_take_bounded_memory() {
        let room = BodyRoom::default();
        let first = unfinished(&room, "192.0.2.1").await;
        assert_eq!(first.len(), 16);
        let mut others = Vec::new();
        for sender in ["192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"] {
            others.extend(unfinished(&room, sender).await);
        }
        assert_eq!(first.len() + others.len(), 65, "64 MiB, and the first 16 KiB of each");
        let small = room.limited(Body::from(vec![b' '; NOT_COUNTED]), "192.0.2.1".to_owned());
        assert!(axum::body::to_bytes(small, 1 << 20).await.is_ok());
        drop((first, others));
        let taken = room.0.lock().unwrap();
        assert_eq!((taken.all, taken.of_sender.len()), (0, 0));
    }
}
