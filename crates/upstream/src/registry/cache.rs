//! A cache of an upstream's model list. An outdated list stays in use while a new one is fetched. The stored
//! list is used if the upstream is unreachable. A list without usable models counts as a failed fetch: it is
//! neither used nor stored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ep_kernel::reading;
use ep_kernel::{Clock, Fault, Kind};
use ep_outgoing::ResponseError;
use ep_store::{CachedModelList, UpstreamCache};
use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Snapshot;
use super::listing::{self, Listing, MAX_ENTRIES, NotAList};
use crate::endpoint::describe;

/// Maximum length of a model list, in bytes; the largest known list has about one million.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// The age from which on a list is fetched again because an answer contradicts it.
const LEAST_AGE: Duration = Duration::from_mins(1);
/// Pause after a failed refresh; it doubles with every further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// Time for which other callers get the same error after a failure to fetch the first list. It doubles with
/// every further failure.
const FIRST_FAILURE_TTL: Duration = Duration::from_secs(2);
const LONGEST_FAILURE_TTL: Duration = Duration::from_mins(1);

const OK: &str = "ok";
const ERROR: &str = "error";
/// The results of a fetch, for metrics.
pub(crate) const FETCH_RESULTS: [&str; 2] = [OK, ERROR];

/// The model list of one upstream.
pub(crate) struct ModelListCache {
    pub(crate) http: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) upstream: Arc<str>,
    pub(crate) store: Arc<dyn UpstreamCache>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ttl: Duration,
    pub(crate) timeout: Duration,
    pub(crate) rules: listing::Rules,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) state: CacheState,
}

/// The mutable part of a [`ModelListCache`].
#[derive(Default)]
pub(crate) struct CacheState {
    current: RwLock<Option<Arc<Snapshot>>>,
    /// Locked while the first list is loaded or fetched. Contains the last failure.
    first: tokio::sync::Mutex<Option<LastFailure>>,
    refreshing: AtomicBool,
    /// Set after the stored list was looked up for a vote.
    stored_looked_up: OnceCell<()>,
}

/// The last failure to fetch the first list.
struct LastFailure {
    error: FetchError,
    retry_at: Instant,
    ttl: Duration,
}

/// The error of fetching a list.
#[derive(Debug, Clone, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    Unreachable(String),
    #[error("status {0}")]
    Status(u16),
    #[error("the response is no model list")]
    NotAList,
    #[error("the list is larger than {} MiB", MAX_BODY >> 20)]
    TooLarge,
    /// The list has this number of entries, but no model that can vote.
    #[error("none of the {0} entries is a model that can vote")]
    NoModels(usize),
}

impl FetchError {
    /// Returns the fault for callers. Only the log and the operator's terminal show its cause, with the URL that was tried.
    fn fault(&self, upstream: &str, retry_after: Duration) -> Fault {
        let text = match self {
            Self::Unreachable(_) => {
                "the model upstream is unreachable and no model list is stored; try again in a moment".to_owned()
            }
            Self::Status(status @ (401 | 403)) => format!(
                "the model upstream refused to list its models ({status}); the operator should check EP_UPSTREAM_API_KEY"
            ),
            Self::Status(404) => {
                "the model upstream has no /models (404); the operator should check EP_UPSTREAM_URL, which usually ends in /v1"
                    .to_owned()
            }
            Self::Status(status) => {
                format!("the model upstream failed to list its models ({status}); try again in a moment")
            }
            Self::TooLarge => format!(
                "the model upstream's list is larger than {} MiB, the maximum; the operator should name \
                 an upstream with fewer models in EP_UPSTREAM_URL",
                MAX_BODY >> 20
            ),
            Self::NoModels(0) => {
                "the model upstream lists no models; the operator should make one available there".to_owned()
            }
            Self::NoModels(entries) => format!(
                "none of the {entries} entries of the model upstream's list is a model that can vote; the \
                 operator should make one available there"
            ),
            Self::NotAList => {
                "the model upstream's response is no model list; the operator should check EP_UPSTREAM_URL"
                    .to_owned()
            }
        };
        let fault = Fault::new(Kind::Unavailable, text).retry_after(retry_after);
        match self {
            Self::Unreachable(_) => fault.caused_by(format!("{upstream}: {self}")),
            _ => fault.caused_by(upstream.to_owned()),
        }
    }
}

impl ModelListCache {
    /// Returns the current list. An outdated list is returned too, while a new one is fetched in the
    /// background.
    pub(crate) async fn snapshot(self: &Arc<Self>) -> Result<Arc<Snapshot>, Fault> {
        let snapshot = match self.current() {
            Some(snapshot) => snapshot,
            None => self.first().await?,
        };
        if self.clock.now().since(snapshot.fetched_at) >= self.ttl {
            self.refresh();
        }
        Ok(snapshot)
    }

    /// Fetches the list in the background if it is wrong, at most once a minute.
    pub(crate) fn refresh_outdated(self: &Arc<Self>) {
        let age = self.current().map(|snapshot| self.clock.now().since(snapshot.fetched_at));
        if age.is_some_and(|age| age >= LEAST_AGE) {
            self.refresh();
        }
    }

    /// Returns the current or stored list without a request to the upstream. Votes use it if it is available.
    pub(crate) async fn snapshot_if_known(&self) -> Option<Arc<Snapshot>> {
        if let Some(snapshot) = self.current() {
            return Some(snapshot);
        }
        self.state.stored_looked_up.get_or_init(async || drop(self.stored().await)).await;
        self.current()
    }

    fn current(&self) -> Option<Arc<Snapshot>> {
        self.state.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        *self.state.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Loads the first list of this process: the stored one, or else the upstream's.
    async fn first(&self) -> Result<Arc<Snapshot>, Fault> {
        let mut last_failure = self.state.first.lock().await;
        if let Some(snapshot) = self.current() {
            return Ok(snapshot);
        }
        if let Some(LastFailure { error, retry_at, .. }) = &*last_failure {
            let wait = retry_at.saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                return Err(error.fault(&self.upstream, wait));
            }
        }
        if let Some(snapshot) = self.stored().await {
            return Ok(snapshot);
        }
        match self.fetch().await {
            Ok(snapshot) => Ok(snapshot),
            Err(error) => {
                let ttl = last_failure
                    .as_ref()
                    .map_or(FIRST_FAILURE_TTL, |last| (last.ttl * 2).min(LONGEST_FAILURE_TTL));
                tracing::warn!(
                    upstream = %self.upstream, %error, retry_in_seconds = ttl.as_secs(),
                    "failed to fetch the model list; polls cannot start without one"
                );
                let fault = error.fault(&self.upstream, ttl);
                *last_failure = Some(LastFailure { error, retry_at: Instant::now() + ttl, ttl });
                Err(fault)
            }
        }
    }

    async fn stored(&self) -> Option<Arc<Snapshot>> {
        let stored = match self.store.model_list(&self.upstream).await {
            Ok(stored) => stored?,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "failed to read the stored model list"
                );
                return None;
            }
        };
        let (_, listing) = self.listed(stored.body).await.ok()?;
        let models = listing.models;
        // It may have no model that chats.
        if models.is_empty() {
            return None;
        }
        Some(self.set(Snapshot::new(stored.fetched_at, models)))
    }

    /// Fetches the list in the background until a fetch succeeds or the process ends. Does nothing if a
    /// refresh is already running.
    fn refresh(self: &Arc<Self>) {
        if self.state.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let cache = Arc::clone(self);
        self.tasks.spawn(async move {
            let _guard = RefreshGuard(&cache.state.refreshing);
            let mut pause = FIRST_PAUSE;
            loop {
                let stopped = cache.stop.cancelled();
                let error = tokio::select! {
                    () = stopped => return,
                    fetched = cache.fetch() => match fetched {
                        Ok(_) => return,
                        Err(error) => error,
                    },
                };
                tracing::warn!(
                    upstream = %cache.upstream, %error, retry_in_seconds = pause.as_secs(),
                    "failed to refresh the model list; the old one stays in use"
                );
                tokio::select! {
                    () = cache.stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
    }

    async fn fetch(&self) -> Result<Arc<Snapshot>, FetchError> {
        let fetched = self.fetch_once().await;
        let result = if fetched.is_ok() { OK } else { ERROR };
        metrics::counter!("ep_model_list_fetches_total", "result" => result).increment(1);
        fetched
    }

    async fn fetch_once(&self) -> Result<Arc<Snapshot>, FetchError> {
        let body = match tokio::time::timeout(self.timeout, self.download()).await {
            Ok(body) => body?,
            Err(_) => return Err(FetchError::Unreachable("timed out".to_owned())),
        };
        let now = self.clock.now();
        let (body, listing) = self.listed(body).await.map_err(|_| FetchError::NotAList)?;
        let models = listing.models;
        if models.is_empty() {
            return Err(FetchError::NoModels(listing.entries));
        }
        tracing::info!(upstream = %self.upstream, models = models.len(), "fetched the model list");
        if listing.entries > MAX_ENTRIES {
            let entries = listing.entries;
            tracing::warn!(entries, "read only the first {MAX_ENTRIES} entries of the model list");
        }
        let snapshot = self.set(Snapshot::new(now, models));
        let list = CachedModelList { fetched_at: now, body };
        if let Err(error) = self.store.save_model_list(&self.upstream, &list).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "failed to store the model list");
        }
        Ok(snapshot)
    }

    /// Reads a list beside the async workers, because it can have megabytes. Returns it with its content.
    async fn listed(&self, body: String) -> Result<(String, Listing), NotAList> {
        let (now, rules) = (self.clock.now(), self.rules.clone());
        let read = reading::read(body.len(), move || {
            let listing = listing::read(&body, now, &rules)?;
            Ok((body, listing))
        });
        let (body, listing) = read.await.unwrap_or(Err(NotAList))?;
        if listing.is_per_million {
            // A target of its own, which commands show.
            tracing::warn!(
                target: "ep_upstream::registry::prices",
                "the model list gives no unit for its prices; those of $0.001 and more are read as prices for a million tokens"
            );
        }
        Ok((body, listing))
    }

    async fn download(&self) -> Result<String, FetchError> {
        let unreachable = |error: reqwest::Error| FetchError::Unreachable(describe(&error));
        let request = self.http.get(self.url.clone()).headers(self.headers.clone());
        let response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let body = ep_outgoing::read_decoded(response, MAX_BODY).await.map_err(|error| match error {
            ResponseError::Unreachable(error) => unreachable(error),
            ResponseError::TooLong(_) => FetchError::TooLarge,
            ResponseError::Encoding => FetchError::NotAList,
        })?;
        String::from_utf8(body).map_err(|_| FetchError::NotAList)
    }
}

/// Marks a refresh as done when dropped, even after a panic.
struct RefreshGuard<'c>(&'c AtomicBool);

impl Drop for RefreshGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
