//! The requests to one upstream over HTTP: their time and the length of the responses are limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ep_kernel::Clock;
use ep_outgoing::ResponseError;
use ep_polling::UsdFigure;
use reqwest::Client;
use reqwest::header::RETRY_AFTER;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::chat::{response, retry};
use crate::endpoint::{Endpoint, Route};

/// Maximum length of a response, in bytes; a vote has about a thousand.
const MAX_BODY: usize = 1024 * 1024;
/// Number of consecutive connection failures after which calls fail at once for a moment (a circuit breaker).
const MAX_CONNECT_FAILURES: u32 = 8;
const BREAK: Duration = Duration::from_secs(1);
/// A timer delay that occurs only if the process was paused.
const LATE: Duration = Duration::from_millis(500);

/// A client of one upstream.
pub(crate) struct Transport {
    http: Client,
    label: Arc<str>,
    clock: Arc<dyn Clock>,
    started: Instant,
    connect_failures: AtomicU32,
    /// End of the break without connections, in milliseconds after `started`.
    open_until: AtomicU32,
}

const ANSWERED: &str = "answered";
const RATE_LIMITED: &str = "rate_limited";
const REFUSED: &str = "refused";
const FAILED: &str = "failed";
const TIMEOUT: &str = "timeout";
const TOO_LONG: &str = "too_long";
const NOT_SENT: &str = "not_sent";
const UNREACHABLE: &str = "unreachable";
/// All outcomes of a call, for metrics.
const OUTCOMES: [&str; 8] =
    [ANSWERED, RATE_LIMITED, REFUSED, FAILED, TIMEOUT, TOO_LONG, NOT_SENT, UNREACHABLE];

/// An HTTP response of any status.
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    /// The time after which the upstream wants the next request, if its headers name one.
    pub(crate) retry_after: Option<Duration>,
    /// The cost in LiteLLM's header, in USD.
    pub(crate) cost: Option<UsdFigure>,
    pub(crate) body: Vec<u8>,
}

/// The reason for a missing response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportError {
    /// The connection failed, so nothing was sent.
    Connect,
    /// The connection broke before the response began.
    BeforeResponse,
    /// The connection broke in the middle of the response.
    DuringResponse,
    /// The response is longer than any vote.
    TooLong,
    /// The time ran out after the request was sent.
    Timeout,
    /// The vote was cancelled, or had no time left, before the request was sent.
    NotSent,
}

impl TransportError {
    /// True if the upstream may have responded, and may charge for it.
    pub(crate) const fn may_be_charged(self) -> bool {
        match self {
            Self::BeforeResponse | Self::DuringResponse | Self::TooLong | Self::Timeout => true,
            Self::Connect | Self::NotSent => false,
        }
    }
}

impl Transport {
    pub(crate) fn new(http: Client, endpoint: &Endpoint, clock: Arc<dyn Clock>) -> Self {
        let transport = Self {
            http,
            label: Arc::clone(&endpoint.label),
            clock,
            started: Instant::now(),
            connect_failures: AtomicU32::new(0),
            open_until: AtomicU32::new(0),
        };
        transport.register_metrics();
        transport
    }

    /// Returns the upstream's name in metrics.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Sends a request and reads the response, both by `deadline`. Does not send it if `dropped` is cancelled
    /// first.
    pub(crate) async fn send(
        &self,
        route: &Route,
        body: Vec<u8>,
        deadline: Instant,
        dropped: &CancellationToken,
    ) -> Result<RawResponse, TransportError> {
        if dropped.is_cancelled() {
            return Err(TransportError::NotSent);
        }
        if self.now() < self.open_until.load(Ordering::Relaxed) {
            return Err(TransportError::Connect);
        }
        let start = Instant::now();
        let mut exchange = std::pin::pin!(self.exchange(route, body));
        let in_time = tokio::time::timeout_at(deadline, &mut exchange).await;
        let result = match in_time {
            Ok(result) => result,
            // The process was paused, so the response may be waiting to be read.
            Err(_) if deadline.elapsed() > LATE => {
                tokio::time::timeout(LATE, exchange).await.unwrap_or(Err(TransportError::Timeout))
            }
            Err(_) => Err(TransportError::Timeout),
        };
        self.note_connection(result.as_ref().err() != Some(&TransportError::Connect));
        self.measure(&result, start.elapsed());
        result
    }

    async fn exchange(&self, route: &Route, body: Vec<u8>) -> Result<RawResponse, TransportError> {
        let request = self.http.post(route.url.clone()).headers(route.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| {
            tracing::debug!(error = %crate::endpoint::describe(&error), "no response");
            if error.is_connect() { TransportError::Connect } else { TransportError::BeforeResponse }
        })?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let cost = header("x-litellm-response-cost").and_then(response::usd);
        let status = response.status().as_u16();
        let retry_after = if response.headers().contains_key(RETRY_AFTER) || status >= 400 {
            retry::named_by_headers(response.headers(), self.clock.now())
        } else {
            None
        };
        let body = ep_outgoing::read_decoded(response, MAX_BODY).await.map_err(|error| match error {
            ResponseError::TooLong(_) => TransportError::TooLong,
            ResponseError::Unreachable(_) | ResponseError::Encoding => TransportError::DuringResponse,
        })?;
        Ok(RawResponse { status, retry_after, cost, body })
    }

    /// Counts connection failures, and opens the circuit after too many in a row.
    fn note_connection(&self, connected: bool) {
        if connected {
            self.connect_failures.store(0, Ordering::Relaxed);
        } else if self.connect_failures.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_CONNECT_FAILURES {
            self.open_until.store(self.now() + BREAK.as_millis() as u32, Ordering::Relaxed);
            self.connect_failures.store(0, Ordering::Relaxed);
        }
    }

    fn now(&self) -> u32 {
        self.started.elapsed().as_millis() as u32
    }

    fn measure(&self, result: &Result<RawResponse, TransportError>, took: Duration) {
        let outcome = match result {
            Ok(response) if response.status < 400 => ANSWERED,
            Ok(response) if response.status == 429 => RATE_LIMITED,
            Ok(response) if response.status < 500 => REFUSED,
            Ok(_) => FAILED,
            Err(TransportError::Timeout) => TIMEOUT,
            Err(TransportError::TooLong) => TOO_LONG,
            Err(TransportError::NotSent) => NOT_SENT,
            Err(_) => UNREACHABLE,
        };
        self.calls(outcome).increment(1);
        self.latency().record(took.as_secs_f64());
    }

    fn calls(&self, outcome: &'static str) -> metrics::Counter {
        metrics::counter!("ep_upstream_calls_total", "upstream" => Arc::clone(&self.label), "result" => outcome)
    }

    fn latency(&self) -> metrics::Histogram {
        metrics::histogram!("ep_upstream_latency_seconds", "upstream" => Arc::clone(&self.label))
    }

    /// Registers the metrics of this upstream, so that they exist before the first call.
    fn register_metrics(&self) {
        for outcome in OUTCOMES {
            self.calls(outcome).increment(0);
        }
        drop(self.latency());
    }
}
