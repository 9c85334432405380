//! Pages that are the same for everybody, kept in memory for a while.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use ep_polling::time::Timestamp;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::Shape;
use crate::surface::http::Rendered;

/// Bytes that are kept together.
const CAPACITY: u64 = 32 << 20;
/// What is kept for one page apart from its bytes.
const OVERHEAD: usize = 1024;
/// What has changed since, as a poll that was deleted, may be shown for so long.
const LASTS: Duration = Duration::from_secs(60);

/// Which form of which poll: its id, as it was asked for; whether in a frame; its shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// The poll.
    pub id: String,
    /// Whether it is what other websites show in a frame.
    pub embedded: bool,
    /// Which form of it.
    pub shape: Shape,
}

struct Kept {
    page: Arc<Rendered>,
    since: Timestamp,
}

#[derive(Clone)]
struct Size;

impl Weighter<PageKey, Arc<Kept>> for Size {
    fn weight(&self, _: &PageKey, kept: &Arc<Kept>) -> u64 {
        (kept.page.size() + OVERHEAD) as u64
    }
}

/// Public pages of polls that have ended, in every form, and the start page.
#[derive(Clone)]
pub struct KeptPages {
    results: Arc<Cache<PageKey, Arc<Kept>, Size>>,
    start: Arc<RwLock<Option<KeptStart>>>,
}

struct KeptStart {
    html: String,
    nonce: String,
    since: Timestamp,
}

impl Default for KeptPages {
    fn default() -> Self {
        Self { results: Arc::new(Cache::with_weighter(1024, CAPACITY, Size)), start: Arc::default() }
    }
}

impl KeptPages {
    /// A page that was kept less than a minute ago.
    pub fn get(&self, key: &PageKey, now: Timestamp) -> Option<Arc<Rendered>> {
        let kept = self.results.get(key)?;
        (now.since(kept.since) < LASTS).then(|| Arc::clone(&kept.page))
    }

    /// The same however long ago, for a minute more: its poll is still there.
    pub fn renew(&self, key: &PageKey, now: Timestamp) -> Option<Arc<Rendered>> {
        let page = Arc::clone(&self.results.get(key)?.page);
        self.keep(key.clone(), Arc::clone(&page), now);
        Some(page)
    }

    /// Keeps a page that will not change.
    pub fn keep(&self, key: PageKey, page: Arc<Rendered>, now: Timestamp) {
        self.results.insert(key, Arc::new(Kept { page, since: now }));
    }

    /// The start page as a visitor without an account first sees it, if it was kept less than a minute ago; its form has
    /// this nonce.
    pub fn start(&self, nonce: &str, now: Timestamp) -> Option<String> {
        let kept = self.start.read().ok()?;
        let kept = kept.as_ref().filter(|kept| now.since(kept.since) < LASTS)?;
        Some(kept.html.replacen(&kept.nonce, nonce, 1))
    }

    /// Keeps that page, which was rendered with this nonce.
    pub fn keep_start(&self, html: String, nonce: String, now: Timestamp) {
        if let Ok(mut kept) = self.start.write() {
            *kept = Some(KeptStart { html, nonce, since: now });
        }
    }

    /// Lets the start page be rendered anew.
    pub fn forget_start(&self) {
        if let Ok(mut kept) = self.start.write() {
            *kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    #[test]
    fn pages_are_kept_for_a_minute() {
        let pages = KeptPages::default();
        let began = Timestamp::from_millis(0);
        let key = PageKey { id: "EP-1".into(), embedded: false, shape: Shape::Page };
        let page = Rendered::new("page".into(), HeaderMap::new());
        pages.keep(key.clone(), Arc::new(page), began);
        pages.keep_start("a form with n".into(), "n".into(), began);
        let seconds = |count| began.after(Duration::from_secs(count));
        assert!(pages.get(&key, seconds(59)).is_some() && pages.get(&key, seconds(60)).is_none());
        let other = PageKey { embedded: true, ..key };
        assert!(pages.get(&other, began).is_none() && pages.renew(&other, began).is_none());
        let key = PageKey { embedded: false, ..other };
        assert!(pages.renew(&key, seconds(90)).is_some() && pages.get(&key, seconds(100)).is_some());
        assert_eq!(pages.start("m", seconds(59)).as_deref(), Some("a form with m"));
        assert_eq!(pages.start("m", seconds(60)), None);
        pages.forget_start();
        assert_eq!(pages.start("m", began), None);
    }
}
