//! Renders pictures of polls, with limited concurrency.

use std::sync::Arc;

use axum::body::Bytes;
use ep_kernel::{Fault, Kind};
use tokio::sync::Semaphore;

use crate::share_image::Card;

/// Maximum number of pictures rendered at once; each takes a processor for some milliseconds.
const AT_ONCE: usize = 2;
/// Maximum number of requests that wait for a picture.
const WAITING: usize = 64;

/// A picture renderer.
#[derive(Clone)]
pub struct Pictures(Arc<Inner>);

struct Inner {
    drawing: Semaphore,
    waiting: Semaphore,
}

impl Default for Pictures {
    fn default() -> Self {
        let waiting = Semaphore::new(WAITING + AT_ONCE);
        Self(Arc::new(Inner { drawing: Semaphore::new(AT_ONCE), waiting }))
    }
}

impl Pictures {
    /// Renders a card as PNG.
    pub async fn png(&self, card: Card) -> Result<Bytes, Fault> {
        let Inner { drawing, waiting } = &*self.0;
        let _slot = waiting.try_acquire().map_err(|_| {
            Fault::new(Kind::Busy, "too many pictures are being drawn; ask again in a moment")
        })?;
        let _turn = drawing.acquire().await.map_err(Fault::internal)?;
        let drawn = tokio::task::spawn_blocking(move || card.png()).await.map_err(Fault::internal)?;
        Ok(Bytes::from(drawn.map_err(Fault::internal)?))
    }
}
