//! One adaptor for OpenAI-compatible chat completions: the wire, without any policy. What to ask next
//! is decided in [`voting`](crate::voting).

pub(crate) mod failure;
pub(crate) mod prompt;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod spend;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ep_kernel::ports::Clock;
use ep_polling::money::UsdFigure;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Url};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::client::Address;

/// Bytes of an answer that are read; a vote needs a thousandth of it.
const MAX_BODY: usize = 1024 * 1024;
/// Failures to connect in a row, and how long they are believed.
const TRIPS_AFTER: u32 = 8;
const TRIPPED_FOR: Duration = Duration::from_secs(1);

/// The door to one upstream's `/chat/completions`.
pub(crate) struct Chat {
    http: Client,
    url: Url,
    headers: HeaderMap,
    /// Shared by all polls, so that sockets never run out.
    slots: Semaphore,
    label: Arc<str>,
    clock: Arc<dyn Clock>,
    started: Instant,
    refused_in_a_row: AtomicU32,
    /// Milliseconds after `started` until which connecting is not tried.
    tripped_until: AtomicU32,
}

/// What came back, whatever its status.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// `Retry-After`.
    pub(crate) wait: Option<Duration>,
    /// LiteLLM's figure for what it cost, in USD.
    pub(crate) cost: Option<UsdFigure>,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// No connection; nothing was sent.
    Connect,
    /// The connection broke before anything came back.
    Early,
    /// It broke in the middle of the answer.
    Midway,
    /// The answer is longer than any vote.
    TooLong,
    /// Time ran out after the request had left.
    Timeout,
    /// Time ran out before it could leave: too many requests are in flight.
    Crowded,
}

impl Chat {
    pub(crate) fn new(
        http: Client,
        url: Url,
        address: &Address,
        slots: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut headers = address.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            http,
            url,
            headers,
            slots: Semaphore::new(slots),
            label: Arc::clone(&address.label),
            clock,
            started: Instant::now(),
            refused_in_a_row: AtomicU32::new(0),
            tripped_until: AtomicU32::new(0),
        }
    }

    /// The upstream's name in metrics.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Sends one request and reads its answer, until `until`.
    pub(crate) async fn ask(&self, body: Vec<u8>, until: Instant) -> Result<Reply, Lost> {
        let Ok(Ok(_slot)) = tokio::time::timeout_at(until, self.slots.acquire()).await else {
            return Err(Lost::Crowded);
        };
        if self.is_tripped() {
            return Err(Lost::Connect);
        }
        let start = Instant::now();
        let result = tokio::time::timeout_at(until, self.exchange(body)).await.unwrap_or(Err(Lost::Timeout));
        self.note(result.as_ref().err() == Some(&Lost::Connect));
        self.record(&result, start.elapsed());
        result
    }

    async fn exchange(&self, body: Vec<u8>) -> Result<Reply, Lost> {
        let request = self.http.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(|error| {
            tracing::debug!(error = %crate::client::describe(&error), "no answer");
            if error.is_connect() { Lost::Connect } else { Lost::Early }
        })?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = header(RETRY_AFTER.as_str());
        let wait = wait.and_then(|value| failure::retry_after(value, self.clock.now().calendar()));
        let cost = header("x-litellm-response-cost").and_then(response::usd);
        let status = response.status().as_u16();
        let mut body = Vec::with_capacity(response.content_length().unwrap_or(1024).min(64 * 1024) as usize);
        while let Some(chunk) = response.chunk().await.map_err(|_| Lost::Midway)? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(Lost::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status, wait, cost, body })
    }

    /// Whether connecting just failed so often that trying again only wastes the poll's time.
    fn is_tripped(&self) -> bool {
        self.now() < self.tripped_until.load(Ordering::Relaxed)
    }

    fn note(&self, refused: bool) {
        if !refused {
            self.refused_in_a_row.store(0, Ordering::Relaxed);
        } else if self.refused_in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= TRIPS_AFTER {
            self.tripped_until.store(self.now() + TRIPPED_FOR.as_millis() as u32, Ordering::Relaxed);
            self.refused_in_a_row.store(0, Ordering::Relaxed);
        }
    }

    fn now(&self) -> u32 {
        self.started.elapsed().as_millis() as u32
    }

    fn record(&self, result: &Result<Reply, Lost>, took: Duration) {
        let outcome = match result {
            Ok(reply) if reply.status < 400 => "answered",
            Ok(reply) if reply.status == 429 => "rate_limited",
            Ok(reply) if reply.status < 500 => "refused",
            Ok(_) => "failed",
            Err(Lost::Timeout | Lost::Crowded) => "timeout",
            Err(Lost::TooLong) => "too_long",
            Err(_) => "unreachable",
        };
        let upstream = Arc::clone(&self.label);
        metrics::counter!("ep_upstream_calls_total", "upstream" => upstream, "result" => outcome)
            .increment(1);
        let upstream = Arc::clone(&self.label);
        metrics::histogram!("ep_upstream_latency_seconds", "upstream" => upstream).record(took.as_secs_f64());
    }
}
