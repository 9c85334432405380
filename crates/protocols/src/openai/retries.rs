//! Automatic retries of clients, which send no `Idempotency-Key`: a repetition gets the polls of the first attempt.
//!
//! A request repeats another in these cases; else it opens polls of its own:
//!
//! - It says that it is a retry, and the same request opened polls within ten minutes, on any replica.
//! - The process of the same request ended before its polls, which were opened within ten minutes.
//! - The connection of the same request to this process was closed before its response, within ten minutes.
//!
//! The polls have a reference, so that every replica finds them: the digest of the request, the span of time in which it
//! came first, and its number among equal requests of that span.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use ep_kernel::app::App;
use ep_kernel::{Caller, Fault};
use ep_store::PollOpening;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Time within which a retry belongs to its first attempt, and the length of a span.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Maximum number of remembered requests.
const MAX_REQUESTS: usize = 10_000;
/// Maximum number of equal requests in a span that other replicas find.
const MAX_EQUAL: u64 = 1000;
/// Headers in which clients count their retries.
const RETRY_COUNTS: [&str; 2] = ["x-stainless-retry-count", "x-typesafe-retry-count"];

/// The digest of a request.
pub type Fingerprint = [u8; 32];

/// The recent requests of this process.
pub struct Retries {
    requests: Cache<Fingerprint, Arc<Attempt>>,
    /// Held while a number is taken, so that two requests at once get two.
    numbering: Mutex<()>,
}

/// A request that is being answered, or was.
#[derive(Debug)]
struct Attempt {
    place: Place,
    since: Instant,
    /// True once the response is complete.
    answered: AtomicBool,
    /// True once the request has failed.
    failed: AtomicBool,
    /// True once the client has closed the connection.
    gone: AtomicBool,
}

/// The place of a request among equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Number of the span of time.
    span: i64,
    /// Number among the equal requests of the span.
    number: u64,
}

/// Notes when a request ends: with its response, or without.
pub struct Connection(Arc<Attempt>);

impl Retries {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self { requests: Cache::new(MAX_REQUESTS), numbering: Mutex::new(()) }
    }

    /// Returns the reference of a request's polls: that of an earlier attempt if this one repeats it, else a new one.
    pub async fn reference(
        &self,
        app: &App,
        headers: &HeaderMap,
        fingerprint: Fingerprint,
    ) -> Result<(String, Connection), Fault> {
        let now = app.ports.clock.now();
        let span = now.millis() / REMEMBERED.as_millis() as i64;
        let known = self.recent(&fingerprint);
        if let Some(attempt) = known.as_ref().filter(|attempt| attempt.is_lost()) {
            attempt.gone.store(false, Ordering::Relaxed);
            return Ok((attempt.place.reference(&fingerprint), Connection(Arc::clone(attempt))));
        }
        let mut newest: Option<(PollOpening, Place)> = None;
        let mut free = Place { span, number: 0 };
        for span in [span - 1, span] {
            free = match &known {
                Some(attempt) if attempt.place.span > span => continue,
                Some(attempt) if attempt.place.span == span => attempt.place,
                _ => Place { span, number: 0 },
            };
            while free.number < MAX_EQUAL
                && let Some(opening) = app.ports.polls.opened_by(&free.reference(&fingerprint)).await?
            {
                newest = Some((opening, free));
                free.number += 1;
            }
        }
        let is_retry = is_retry(headers);
        let is_answered = |place| {
            known.as_ref().is_some_and(|known| known.place == place && known.answered.load(Ordering::Relaxed))
        };
        let joined = newest.filter(|(opening, place)| {
            now.since(opening.created_at) < REMEMBERED
                && (is_retry || (opening.is_interrupted && !is_answered(*place)))
        });
        let _taking = self.numbering.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match (joined, self.recent(&fingerprint)) {
            (Some((_, place)), _) => place,
            // Its polls are not stored yet, or never will be.
            (None, Some(latest)) if latest.place == free && (is_retry || latest.has_failed()) => free,
            (None, Some(latest)) if latest.place.span == free.span => {
                Place { number: free.number.max(latest.place.number + 1), ..free }
            }
            // Other replicas do not find it, but no two requests share it.
            _ if free.number == MAX_EQUAL => {
                Place { number: u64::from_le_bytes(app.ports.entropy.bytes()) | (1 << 32), ..free }
            }
            _ => free,
        };
        let attempt = Arc::new(Attempt {
            place,
            since: Instant::now(),
            answered: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        });
        self.requests.insert(fingerprint, Arc::clone(&attempt));
        Ok((place.reference(&fingerprint), Connection(attempt)))
    }

    /// Returns the latest of the equal requests, if it is not forgotten.
    fn recent(&self, fingerprint: &Fingerprint) -> Option<Arc<Attempt>> {
        self.requests.get(fingerprint).filter(|attempt| attempt.since.elapsed() < REMEMBERED)
    }
}

impl Place {
    fn reference(self, fingerprint: &Fingerprint) -> String {
        format!("v1-{}-{}-{}", hex::encode(fingerprint), self.span, self.number)
    }
}

impl Attempt {
    /// True if the client is gone before its response.
    fn is_lost(&self) -> bool {
        self.gone.load(Ordering::Relaxed) && !self.answered.load(Ordering::Relaxed) && !self.has_failed()
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Returns the digest of a request. `request` are the parts that a repetition has in common.
pub fn fingerprint<'r>(caller: &Caller, request: impl IntoIterator<Item = &'r [u8]>) -> Fingerprint {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    add(caller.scope().as_bytes());
    request.into_iter().for_each(add);
    digest.finalize().into()
}

/// True if the client says that it repeats the request.
pub(super) fn is_retry(headers: &HeaderMap) -> bool {
    let counts =
        RETRY_COUNTS.iter().filter_map(|name| headers.get(*name)?.to_str().ok()?.parse::<u32>().ok());
    counts.max().unwrap_or(0) > 0
}

impl Connection {
    /// Notes that the polls have ended, so that only a retry joins them.
    pub fn answered(&self) {
        self.0.answered.store(true, Ordering::Relaxed);
    }

    /// Notes that the request has failed. The next one takes its place, unless polls were opened.
    pub fn failed(&self) {
        self.0.failed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}
