//! Pictures of polls, drawn once and kept.

use std::sync::Arc;

use axum::body::Bytes;
use ep_kernel::fault::{Fault, Kind};
use ep_share_image::Card;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

/// Pictures that are kept: some 30 KB each.
const KEPT: usize = 512;
/// Pictures that are drawn at once; each takes a processor for some milliseconds.
const AT_ONCE: usize = 2;
/// Requests that wait for one of those.
const WAITING: usize = 64;

/// Draws pictures, and keeps those of polls that have ended.
#[derive(Clone)]
pub struct Pictures(Arc<Inner>);

struct Inner {
    kept: Cache<String, Bytes>,
    drawing: Semaphore,
    waiting: Semaphore,
}

impl Default for Pictures {
    fn default() -> Self {
        let kept = Cache::new(KEPT);
        Self(Arc::new(Inner {
            kept,
            drawing: Semaphore::new(AT_ONCE),
            waiting: Semaphore::new(WAITING + AT_ONCE),
        }))
    }
}

impl Pictures {
    /// The PNG of this card; kept under `name`, if the card will not change.
    pub async fn png(&self, name: Option<&str>, card: impl FnOnce() -> Card) -> Result<Bytes, Fault> {
        let Inner { kept, drawing, waiting } = &*self.0;
        if let Some(known) = name.and_then(|name| kept.get(name)) {
            return Ok(known);
        }
        let _place = waiting.try_acquire().map_err(|_| {
            Fault::new(Kind::Busy, "too many pictures are being drawn; ask again in a moment")
        })?;
        let _turn = drawing.acquire().await.map_err(Fault::internal)?;
        let card = card();
        let drawn = tokio::task::spawn_blocking(move || card.png()).await.map_err(Fault::internal)?;
        let png = Bytes::from(drawn.map_err(Fault::internal)?);
        if let Some(name) = name {
            kept.insert(name.to_owned(), png.clone());
        }
        Ok(png)
    }
}
