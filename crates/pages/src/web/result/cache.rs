//! In-memory cache of pages that are the same for every visitor.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use ep_polling::Timestamp;
use ep_site::http::{Rendered, Spliced};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::ResultFormat;

/// Cache capacity in bytes.
const CAPACITY: u64 = 32 << 20;
/// Estimated overhead of a cache entry in bytes.
const OVERHEAD: usize = 1024;
/// Lifetime of a cache entry. Changes, such as the deletion of a poll, can stay invisible for this long.
const LASTS: Duration = Duration::from_secs(60);

/// Cache key of a poll's page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// The poll's id, as it was requested.
    pub id: String,
    /// True for the version that other websites show in a frame.
    pub embedded: bool,
    /// The format of the page.
    pub format: ResultFormat,
}

struct CachedPage {
    page: Arc<Rendered>,
    since: Timestamp,
}

#[derive(Clone)]
struct Size;

impl Weighter<PageKey, Arc<CachedPage>> for Size {
    fn weight(&self, _: &PageKey, cached: &Arc<CachedPage>) -> u64 {
        (cached.page.size() + OVERHEAD) as u64
    }
}

/// A cache of the start page and of public pages of finished polls, in every format.
#[derive(Clone)]
pub struct PageCache {
    results: Arc<Cache<PageKey, Arc<CachedPage>, Size>>,
    start: Arc<RwLock<Option<CachedStartPage>>>,
}

struct CachedStartPage {
    page: Arc<Spliced>,
    since: Timestamp,
}

impl Default for PageCache {
    fn default() -> Self {
        Self { results: Arc::new(Cache::with_weighter(1024, CAPACITY, Size)), start: Arc::default() }
    }
}

impl PageCache {
    /// Returns a page that was cached less than a minute ago.
    pub fn get(&self, key: &PageKey, now: Timestamp) -> Option<Arc<Rendered>> {
        let cached = self.results.get(key)?;
        (now.since(cached.since) < LASTS).then(|| Arc::clone(&cached.page))
    }

    /// Renews a cached page of any age for another minute. The caller has checked that its poll still exists.
    pub fn renew(&self, key: &PageKey, now: Timestamp) -> Option<Arc<Rendered>> {
        let page = Arc::clone(&self.results.get(key)?.page);
        self.insert(key.clone(), Arc::clone(&page), now);
        Some(page)
    }

    /// Caches a page that will not change.
    pub fn insert(&self, key: PageKey, page: Arc<Rendered>, now: Timestamp) {
        self.results.insert(key, Arc::new(CachedPage { page, since: now }));
    }

    /// Returns the start page for a visitor without an account, with a gap for the nonce of its form. Returns `None` if
    /// the page was not cached within the last minute.
    pub fn start(&self, now: Timestamp) -> Option<Arc<Spliced>> {
        let cached = self.start.read().ok()?;
        let cached = cached.as_ref().filter(|cached| now.since(cached.since) < LASTS)?;
        Some(Arc::clone(&cached.page))
    }

    /// Caches the start page, which was rendered with this nonce.
    pub fn cache_start(&self, html: &str, nonce: &str, now: Timestamp) {
        let page = Spliced::new(html, nonce).map(Arc::new);
        if let Ok(mut cached) = self.start.write() {
            *cached = page.map(|page| CachedStartPage { page, since: now });
        }
    }

    /// Removes the start page from the cache.
    pub fn forget_start(&self) {
        if let Ok(mut cached) = self.start.write() {
            *cached = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    #[test]
    fn pages_are_cached_for_a_minute() {
        let pages = PageCache::default();
        let began = Timestamp::from_millis(0);
        let key = PageKey { id: "EP-1".into(), embedded: false, format: ResultFormat::Page };
        let page = Rendered::new("page".into(), HeaderMap::new());
        pages.insert(key.clone(), Arc::new(page), began);
        pages.cache_start("a form with nonce 1.", "nonce 1", began);
        let seconds = |count| began.after(Duration::from_secs(count));
        assert!(pages.get(&key, seconds(59)).is_some() && pages.get(&key, seconds(60)).is_none());
        let other = PageKey { embedded: true, ..key };
        assert!(pages.get(&other, began).is_none() && pages.renew(&other, began).is_none());
        let key = PageKey { embedded: false, ..other };
        assert!(pages.renew(&key, seconds(90)).is_some() && pages.get(&key, seconds(100)).is_some());
        assert_eq!(pages.start(seconds(59)).unwrap().plain("m"), "a form with m.");
        assert!(pages.start(seconds(60)).is_none());
        pages.forget_start();
        assert!(pages.start(began).is_none());
    }
}
