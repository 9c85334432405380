//! Keeps the list current: stale while it is fetched again, and from the database where the upstream
//! cannot be reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::{CachedModelList, Clock, UpstreamCache};
use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Snapshot;
use super::listing;
use crate::client::describe;

/// Bytes of a model list that are read; the largest known one has about one million.
const MAX_BODY: usize = 16 * 1024 * 1024;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How long a failure to fetch the first list answers those who ask for it.
const FAILURE_HOLDS: Duration = Duration::from_secs(2);

/// The list of one upstream.
pub(crate) struct Keeper {
    pub(crate) http: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) upstream: Arc<str>,
    pub(crate) memory: Arc<dyn UpstreamCache>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ttl: Duration,
    pub(crate) timeout: Duration,
    pub(crate) unpriced_is_free: bool,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) state: State,
}

/// What a keeper knows.
#[derive(Default)]
pub(crate) struct State {
    current: RwLock<Option<Arc<Snapshot>>>,
    /// Held by the one who loads or fetches the first list, with the failure of whoever tried last.
    first: tokio::sync::Mutex<Option<(Instant, Failure)>>,
    refreshing: AtomicBool,
    /// Set once the database was asked on behalf of votes.
    looked: OnceCell<()>,
}

/// Why a list could not be had.
#[derive(Debug, Clone)]
enum Failure {
    Unreachable(String),
    Status(u16),
    NotAList,
}

impl Failure {
    fn fault(&self) -> Fault {
        let text = match self {
            Self::Unreachable(_) => {
                "the model upstream cannot be reached and no model list is remembered; try again in a moment".to_owned()
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
            Self::NotAList => {
                "the model upstream answered with something that is no model list; the operator should check EP_UPSTREAM_URL"
                    .to_owned()
            }
        };
        let fault = Fault::new(Kind::Unavailable, text).retry_after(FAILURE_HOLDS);
        match self {
            Self::Unreachable(why) => fault.caused_by(why.clone()),
            _ => fault,
        }
    }
}

impl Keeper {
    /// The current list; an old one while a new one is fetched behind it.
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

    /// The list as far as it is known without asking the upstream: for a vote, which can do without.
    pub(crate) async fn known(&self) -> Option<Arc<Snapshot>> {
        if let Some(snapshot) = self.current() {
            return Some(snapshot);
        }
        self.state.looked.get_or_init(async || drop(self.stored().await)).await;
        self.current()
    }

    fn current(&self) -> Option<Arc<Snapshot>> {
        self.state.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        *self.state.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// The first list of this process: the stored one, else the upstream's.
    async fn first(&self) -> Result<Arc<Snapshot>, Fault> {
        let mut failed = self.state.first.lock().await;
        if let Some(snapshot) = self.current() {
            return Ok(snapshot);
        }
        if let Some((at, failure)) = &*failed
            && at.elapsed() < FAILURE_HOLDS
        {
            return Err(failure.fault());
        }
        if let Some(snapshot) = self.stored().await {
            return Ok(snapshot);
        }
        match self.fetch().await {
            Ok(snapshot) => Ok(snapshot),
            Err(failure) => {
                tracing::warn!(upstream = %self.upstream, ?failure, "the model list cannot be fetched");
                let fault = failure.fault();
                *failed = Some((Instant::now(), failure));
                Err(fault)
            }
        }
    }

    async fn stored(&self) -> Option<Arc<Snapshot>> {
        let kept = match self.memory.model_list(&self.upstream).await {
            Ok(kept) => kept?,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the stored model list cannot be read"
                );
                return None;
            }
        };
        let models = listing::read(&kept.body, self.clock.now(), self.unpriced_is_free).ok()?;
        Some(self.put(Snapshot::new(kept.fetched_at, models)))
    }

    /// Fetches the list in the background, one at a time, until it succeeds or the process ends.
    fn refresh(self: &Arc<Self>) {
        if self.state.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let keeper = Arc::clone(self);
        self.tasks.spawn(async move {
            let _done = Done(&keeper.state.refreshing);
            let mut pause = FIRST_PAUSE;
            loop {
                let stopped = keeper.stop.cancelled();
                let failure = tokio::select! {
                    () = stopped => return,
                    fetched = keeper.fetch() => match fetched {
                        Ok(_) => return,
                        Err(failure) => failure,
                    },
                };
                tracing::warn!(
                    upstream = %keeper.upstream, ?failure, retry_in_seconds = pause.as_secs(),
                    "the model list cannot be refreshed; the old one stays in use"
                );
                tokio::select! {
                    () = keeper.stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
    }

    async fn fetch(&self) -> Result<Arc<Snapshot>, Failure> {
        let body = match tokio::time::timeout(self.timeout, self.download()).await {
            Ok(body) => body?,
            Err(_) => return Err(Failure::Unreachable("timed out".to_owned())),
        };
        let now = self.clock.now();
        let models = listing::read(&body, now, self.unpriced_is_free).map_err(|_| Failure::NotAList)?;
        tracing::info!(upstream = %self.upstream, models = models.len(), "model list fetched");
        let snapshot = self.put(Snapshot::new(now, models));
        let kept = CachedModelList { fetched_at: now, body };
        if let Err(error) = self.memory.save_model_list(&self.upstream, &kept).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "the model list could not be stored");
        }
        Ok(snapshot)
    }

    async fn download(&self) -> Result<String, Failure> {
        let lost = |error: reqwest::Error| Failure::Unreachable(describe(&error));
        let request = self.http.get(self.url.clone()).headers(self.headers.clone());
        let mut response = request.send().await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(Failure::NotAList);
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body).map_err(|_| Failure::NotAList)
    }
}

/// Marks a refresh as done, also where it panicked.
struct Done<'k>(&'k AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
