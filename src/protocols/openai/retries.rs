//! Automatic retries of clients, which send no `Idempotency-Key`: a repetition joins the polls of the first attempt.
//!
//! A request is joined in these cases; any other repetition opens new polls:
//!
//! - It says that it is a retry, and the same request came within ten minutes, to any replica.
//! - The process of the same request has ended without a response within ten minutes.
//! - The connection of the same request to this process is gone, while its polls still run.
//!
//! The idempotency key of a request is its digest and the number of its repetitions, so that every replica finds it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use ep_kernel::app::App;
use ep_kernel::caller::Caller;
use ep_kernel::dispatch::earlier;
use ep_kernel::fault::Fault;
use ep_kernel::ports::RequestProgress;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Time within which a retry belongs to its first attempt.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Maximum number of remembered requests.
const MAX_REQUESTS: usize = 10_000;
/// Maximum number of repetitions of a request in a day that other replicas find.
const MAX_REPETITIONS: u32 = 1000;
/// Headers in which clients count their retries.
const RETRY_COUNTS: [&str; 2] = ["x-stainless-retry-count", "x-typesafe-retry-count"];

/// The digest of a request.
type Fingerprint = [u8; 32];

/// The recent requests of this process.
pub struct Retries {
    requests: Cache<Fingerprint, Arc<Attempt>>,
    /// Held while a number is taken, so that two requests at once get two.
    numbering: Mutex<()>,
}

/// A request that is being answered, or was.
#[derive(Debug)]
struct Attempt {
    /// Its number among equal requests.
    number: u32,
    since: Instant,
    /// True once the response is complete.
    answered: AtomicBool,
    /// True once the client has closed the connection.
    gone: AtomicBool,
}

/// Notes when a request ends: with its response, or without.
pub struct Connection(Arc<Attempt>);

impl Retries {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self { requests: Cache::new(MAX_REQUESTS), numbering: Mutex::new(()) }
    }

    /// Returns the idempotency key of a request: that of an earlier attempt if this one repeats it, else a new one.
    /// `request` are the parts that a repetition has in common.
    pub async fn key<'r>(
        &self,
        app: &App,
        operation: &str,
        caller: &Caller,
        headers: &HeaderMap,
        request: impl IntoIterator<Item = &'r [u8]>,
    ) -> Result<(String, Connection), Fault> {
        let fingerprint = fingerprint(caller, request);
        let key = |number: u32| format!("{}-{number}", hex::encode(fingerprint));
        let known = self.requests.get(&fingerprint).filter(|attempt| attempt.since.elapsed() < REMEMBERED);
        if let Some(attempt) = known.as_ref().filter(|attempt| attempt.is_lost()) {
            return Ok((key(attempt.number), Connection(Arc::clone(attempt))));
        }
        let mut number = known.as_ref().map_or(0, |attempt| attempt.number);
        let mut newest: Option<(Duration, RequestProgress, u32)> = None;
        while number < MAX_REPETITIONS
            && let Some((age, progress)) = earlier(app, operation, caller, &key(number)).await?
        {
            if newest.is_none_or(|(youngest, ..)| age <= youngest) {
                newest = Some((age, progress, number));
            }
            number += 1;
        }
        let is_retry = is_retry(headers);
        let joined = newest.filter(|(age, progress, _)| {
            *age < REMEMBERED && (is_retry || *progress == RequestProgress::Abandoned)
        });
        let _taking = self.numbering.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = self.requests.get(&fingerprint).filter(|attempt| attempt.since.elapsed() < REMEMBERED);
        let number = match (joined, latest) {
            (Some((_, _, number)), _) => number,
            // The first attempt has not claimed its key yet.
            (None, Some(attempt)) if is_retry && attempt.number == number => number,
            (None, Some(attempt)) => number.max(attempt.number + 1),
            (None, None) => number,
        };
        let attempt = Arc::new(Attempt {
            number,
            since: Instant::now(),
            answered: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        });
        self.requests.insert(fingerprint, Arc::clone(&attempt));
        Ok((key(number), Connection(attempt)))
    }
}

impl Attempt {
    /// True if the client is gone before its response.
    fn is_lost(&self) -> bool {
        self.gone.load(Ordering::Relaxed) && !self.answered.load(Ordering::Relaxed)
    }
}

fn fingerprint<'r>(caller: &Caller, request: impl IntoIterator<Item = &'r [u8]>) -> Fingerprint {
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
fn is_retry(headers: &HeaderMap) -> bool {
    let counts =
        RETRY_COUNTS.iter().filter_map(|name| headers.get(*name)?.to_str().ok()?.parse::<u32>().ok());
    counts.max().unwrap_or(0) > 0
}

impl Connection {
    /// Notes that the polls have ended, so that only a retry joins them.
    pub fn answered(&self) {
        self.0.answered.store(true, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}
