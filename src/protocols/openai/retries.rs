//! Automatic retries of clients, which send no `Idempotency-Key`: a repetition joins the poll of the first attempt.
//!
//! A request is joined if it says that it is a retry and the same request came within ten minutes, or if the connection of
//! the same request is gone while its poll still runs. Any other repetition is a new poll. This is known to one process:
//! a retry that reaches another replica opens a poll of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::HeaderMap;
use ep_kernel::caller::Caller;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Time within which a retry belongs to its first attempt.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Maximum number of remembered requests.
const MAX_REQUESTS: usize = 10_000;
/// Headers in which clients count their retries.
const RETRY_COUNTS: [&str; 2] = ["x-stainless-retry-count", "x-typesafe-retry-count"];

/// The digest of a request.
type Fingerprint = [u8; 32];

/// The recent requests of this process.
pub struct Retries(Cache<Fingerprint, Arc<Attempt>>);

/// A request, with the key of its polls.
#[derive(Debug)]
pub struct Attempt {
    key: String,
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
        Self(Cache::new(MAX_REQUESTS))
    }

    /// Returns the idempotency key of a request: that of an earlier attempt if this one repeats it, else a new one.
    /// `request` are the parts that a repetition has in common.
    pub fn key<'r>(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        request: impl IntoIterator<Item = &'r [u8]>,
        new: impl FnOnce() -> String,
    ) -> (String, Connection) {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        };
        add(caller.scope().as_bytes());
        request.into_iter().for_each(add);
        let fingerprint: Fingerprint = digest.finalize().into();
        let counts =
            RETRY_COUNTS.iter().filter_map(|name| headers.get(*name)?.to_str().ok()?.parse::<u32>().ok());
        let is_retry = counts.max().unwrap_or(0) > 0;
        let known = self.0.get(&fingerprint).filter(|attempt| attempt.since.elapsed() < REMEMBERED);
        let joined = known.filter(|attempt| {
            is_retry || (attempt.gone.load(Ordering::Relaxed) && !attempt.answered.load(Ordering::Relaxed))
        });
        let attempt = joined.unwrap_or_else(|| {
            let attempt = Arc::new(Attempt {
                key: new(),
                since: Instant::now(),
                answered: AtomicBool::new(false),
                gone: AtomicBool::new(false),
            });
            self.0.insert(fingerprint, Arc::clone(&attempt));
            attempt
        });
        (attempt.key.clone(), Connection(attempt))
    }
}

impl Connection {
    /// Notes that the poll has ended, so that only a retry joins it.
    pub fn answered(&self) {
        self.0.answered.store(true, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_join_their_first_attempt() {
        let retries = Retries::new();
        let mut number = 0;
        let mut key = |headers: &HeaderMap, body: &str| {
            number += 1;
            retries.key(&Caller::Local, headers, [body.as_bytes()], || format!("key {number}"))
        };
        let plain = HeaderMap::new();
        let retry =
            HeaderMap::from_iter([("x-stainless-retry-count".parse().unwrap(), "1".parse().unwrap())]);
        let (first, connection) = key(&plain, "a");
        // The same question again, while the first is answered, is another poll.
        let (second, other) = key(&plain, "a");
        assert_ne!(first, second);
        drop(connection);
        assert_eq!(key(&retry, "a").0, second, "the newest attempt");
        assert_ne!(key(&retry, "b").0, second);
        drop(other);
        let (joined, again) = key(&plain, "a");
        assert_eq!(joined, second, "its connection is gone and it has no answer");
        again.answered();
        drop(again);
        assert_ne!(key(&plain, "a").0, second);
    }
}
