//! The requests of one vote: the time at which each may be sent, their cost, and the meaning of their failures. It is the
//! same for models that chat and for decision models.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ep_kernel::{CallLimits, Turn};
use ep_polling::roster::PAID_RESPONSES;
use ep_polling::{Member, ModelId, ModelResponse, NoVote, Reason};
use ep_store::LogLimit;
use futures::FutureExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::availability::Availability;
use crate::chat::cost::VoteCost;
use crate::chat::error::{Failure, UpstreamError, Wait};
use crate::chat::public_text::public_text;
use crate::chat::response::Usage;
use crate::endpoint::Route;
use crate::rate_limit::RateLimits;
use crate::transport::{RawResponse, Transport, TransportError};
use crate::windows::{LOOK, Place, Windows};

/// Maximum number of waits after failures other than a busy upstream, per vote.
const MAX_WAITS: u32 = 2;
/// The first pause before a request is sent again. Each further one is twice as long, up to sixteen times.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The counters of second requests and of pauses, and the values of their labels.
pub(crate) const SECOND_REQUESTS: &str = "ep_upstream_second_requests_total";
pub(crate) const SECOND_REQUEST_REASONS: [Reason; 4] =
    [Reason::Truncated, Reason::Conflicting, Reason::Unparsable, Reason::Rejected];
pub(crate) const PAUSES: &str = "ep_upstream_pauses_total";
pub(crate) const PAUSE_CAUSES: [&str; 3] = ["named", "busy", "failed"];

/// Longer than any call. It limits times, so that their sums cannot overflow.
pub(crate) const MAX_DURATION: Duration = Duration::from_hours(24);

/// Sends the requests of votes to one upstream, within its limits.
pub(crate) struct Caller {
    pub(crate) transport: Transport,
    pub(crate) limits: RateLimits,
    pub(crate) availability: Availability,
    pub(crate) windows: Windows,
    /// A response said that the upstream no longer has a model of its list.
    pub(crate) list_is_outdated: AtomicBool,
    /// The API key, which no message may contain.
    pub(crate) secret: Option<SecretString>,
    pub(crate) model_timeout: Duration,
}

impl Caller {
    /// Takes a place for a call to this model by this time, or waits in line for it. It fails earlier if the upstream answers nobody,
    /// and in a poll if refusals of the upstream delay it for longer than a model may take.
    pub(crate) async fn place<'c>(
        &'c self,
        model: &'c ModelId,
        turn: Turn,
        until: Instant,
        dropped: &CancellationToken,
    ) -> Result<Place<'c>, NoVote> {
        let mut waiting = self.windows.place(model, turn);
        if let Some(place) = (&mut waiting).now_or_never() {
            return Ok(place);
        }
        let begun = Instant::now();
        let late = |reason| {
            NoVote::new(reason, "too many requests were in flight; this one could not be sent in time")
        };
        loop {
            tokio::select! {
                biased;
                place = &mut waiting => return Ok(place),
                () = dropped.cancelled() => return Err(cancelled_vote()),
                () = tokio::time::sleep_until(until) => {
                    let is_narrow = self.windows.are_narrow(model);
                    return Err(late(if is_narrow { Reason::Busy } else { Reason::Deadline }));
                }
                () = tokio::time::sleep(LOOK) => {}
            }
            self.windows.widen_settled(model);
            if self.availability.is_silent() && self.availability.patience(begun).is_zero() {
                return Err(answers_nobody());
            }
            if !turn.of_batch && begun.elapsed() >= self.model_timeout && self.windows.are_narrow(model) {
                return Err(late(Reason::Busy));
            }
        }
    }
}

/// Refusals of the service itself, which each model of each poll would repeat.
static REFUSALS: LogLimit = LogLimit::new();

/// Logs that the upstream refuses the service's key, its credit, or the use of a model.
fn log_refusal(status: u16) {
    if let Some(suppressed) = REFUSALS.admit() {
        let message =
            "the upstream refuses requests: check its key, its credit and the models that it permits";
        tracing::warn!(status, suppressed, "{message}");
    }
}

/// The requests of one vote.
pub(crate) struct Calls<'v> {
    caller: &'v Caller,
    member: &'v Member,
    begun: Instant,
    /// The deadline of the poll.
    poll_deadline: Instant,
    /// Cancelled when the vote is no longer needed.
    dropped: CancellationToken,
    turn: Turn,
    /// The place of the next request, or of the one in flight.
    place: Option<Place<'v>>,
    /// The time at which the last request got its place.
    sent_at: Instant,
    /// The deadline of this model. Its time starts when its first request may be sent.
    model_deadline: Option<Instant>,
    cost: VoteCost,
    paid_responses: u32,
    requests: u32,
    waits: u32,
    /// The time from which on a busy upstream is awaited.
    busy_since: Option<Instant>,
    reconnected: bool,
    answered_by: Option<String>,
}

impl<'v> Calls<'v> {
    pub(crate) fn new(caller: &'v Caller, member: &'v Member, limits: CallLimits) -> Self {
        let begun = Instant::now();
        Self {
            caller,
            member,
            begun,
            poll_deadline: begun + limits.within.min(MAX_DURATION),
            dropped: limits.dropped,
            turn: limits.turn,
            place: None,
            sent_at: begun,
            model_deadline: None,
            cost: VoteCost::new(member.price),
            paid_responses: 0,
            requests: 0,
            waits: 0,
            busy_since: None,
            reconnected: false,
            answered_by: None,
        }
    }

    /// Returns the time at which the vote began.
    pub(crate) const fn begun(&self) -> Instant {
        self.begun
    }

    /// Returns the number of requests so far.
    pub(crate) const fn requests(&self) -> u32 {
        self.requests
    }

    /// Returns the number of waits for a busy upstream so far.
    pub(crate) const fn waits(&self) -> u32 {
        self.waits
    }

    /// Returns true if a response was, or may have been, charged.
    pub(crate) const fn has_paid_response(&self) -> bool {
        self.paid_responses > 0
    }

    /// Returns true if another response would not exceed the maximum number of paid ones.
    pub(crate) const fn may_pay_again(&self) -> bool {
        self.paid_responses < PAID_RESPONSES
    }

    /// Waits until the limits allow another request, and counts it. Returns its deadline.
    pub(crate) async fn next_request(&mut self) -> Result<Instant, NoVote> {
        let free = self.member.price.is_some_and(|price| price.is_free());
        match self.caller.limits.reserve(free, self.deadline()) {
            Ok(reservation) => tokio::select! {
                // Check the reservation first, because most requests need not wait.
                biased;
                () = reservation.wait() => {}
                () = self.dropped.cancelled() => return Err(cancelled_vote()),
            },
            Err(reached) => {
                let text = format!(
                    "the upstream's limit of requests for {} is reached; the next one is possible in {} s, too late for this vote",
                    if free { "free models" } else { "all models" },
                    reached.wait.as_secs() + 1,
                );
                return Err(NoVote::new(Reason::RateLimited, text));
            }
        }
        self.wait_for_an_answer().await?;
        self.take_place().await?;
        let now = Instant::now();
        self.sent_at = now;
        let model_timeout = self.caller.model_timeout.min(MAX_DURATION);
        let deadline = *self.model_deadline.get_or_insert(self.poll_deadline.min(now + model_timeout));
        if now >= deadline {
            return Err(self.out_of_time());
        }
        self.requests += 1;
        Ok(deadline)
    }

    /// Waits while the upstream answers nobody, and another request tests it.
    async fn wait_for_an_answer(&mut self) -> Result<(), NoVote> {
        while !self.caller.availability.admits() {
            let since = *self.busy_since.get_or_insert_with(Instant::now);
            if self.caller.availability.patience(since).is_zero() || Instant::now() + LOOK >= self.deadline()
            {
                return Err(answers_nobody());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.dropped.cancelled() => return Err(cancelled_vote()),
            }
        }
        Ok(())
    }

    /// Takes a place for the next request. While it waits for one, the time of the model does not pass.
    async fn take_place(&mut self) -> Result<(), NoVote> {
        let begun = self.model_deadline.map(|_| Instant::now());
        let (caller, model) = (self.caller, &self.member.model);
        self.place = Some(caller.place(model, self.turn, self.poll_deadline, &self.dropped).await?);
        if let Some((deadline, begun)) = self.model_deadline.as_mut().zip(begun) {
            *deadline = self.poll_deadline.min(*deadline + begun.elapsed());
        }
        Ok(())
    }

    /// Sends a request by its deadline.
    pub(crate) async fn send(
        &mut self,
        route: &Route,
        body: Vec<u8>,
        deadline: Instant,
    ) -> Result<RawResponse, TransportError> {
        let sent = self.caller.transport.send(route, body, deadline, &self.dropped).await;
        self.place = None;
        sent
    }

    /// Counts a missing response. Returns the missing vote, unless the request can be sent again.
    pub(crate) fn after_transport_error(&mut self, error: TransportError) -> Result<(), NoVote> {
        use TransportError::{BeforeResponse, Connect, DuringResponse, NotSent, Timeout, TooLong};
        if error.may_be_charged() {
            self.note_unreported();
        }
        let (reason, detail) = match error {
            Connect => (Reason::Unreachable, "the upstream could not be reached"),
            BeforeResponse => {
                (Reason::Unreachable, "the connection to the upstream broke before its response")
            }
            DuringResponse => {
                (Reason::Unreachable, "the connection to the upstream broke in the middle of its response")
            }
            TooLong => (Reason::UpstreamError, "the upstream's response was too long to be a vote"),
            Timeout => return Err(self.out_of_time()),
            NotSent => return Err(cancelled_vote()),
        };
        let retry = matches!(error, Connect | BeforeResponse) && !self.reconnected;
        if retry && self.may_pay_again() {
            self.reconnected = true;
            return Ok(());
        }
        Err(NoVote::new(reason, detail))
    }

    /// Counts a paid response of this form, and remembers the model that it names.
    pub(crate) fn note_response(
        &mut self,
        response: &RawResponse,
        usage: Option<Usage>,
        form: &'static str,
        model: Option<&str>,
    ) {
        self.cost.add_response(response.cost, usage);
        self.paid_responses += 1;
        self.caller.availability.note_answer();
        self.caller.windows.note_answer(&self.member.model);
        let upstream = Arc::clone(self.caller.transport.label());
        metrics::counter!("ep_upstream_rungs_total", "upstream" => upstream, "rung" => form).increment(1);
        self.answered_by = model
            .filter(|model| *model != self.member.model.as_str())
            .map(|model| model.chars().filter(|c| !c.is_control()).take(120).collect());
    }

    /// Counts a second request, by the reason for which the vote would be missing without it.
    pub(crate) fn count_second_request(&self, reason: Reason) {
        let upstream = Arc::clone(self.caller.transport.label());
        metrics::counter!(SECOND_REQUESTS, "upstream" => upstream, "reason" => reason.as_str()).increment(1);
    }

    fn count_pause(&self, cause: &'static str) {
        let upstream = Arc::clone(self.caller.transport.label());
        metrics::counter!(PAUSES, "upstream" => upstream, "cause" => cause).increment(1);
    }

    /// Counts a response of unknown cost that may be charged.
    pub(crate) fn note_unreported(&mut self) {
        self.cost.add_unreported();
        self.paid_responses += 1;
    }

    /// Counts an error, which costs only what it reports.
    pub(crate) fn note_error(&mut self, response: &RawResponse, usage: Option<Usage>) {
        self.paid_responses += u32::from(self.cost.add_failure(response.cost, usage));
    }

    /// Counts a response that is not a `document`, and returns the missing vote.
    pub(crate) fn unknown_response(&mut self, response: &RawResponse, document: &str) -> NoVote {
        self.note_unreported();
        match response.status {
            300..400 => NoVote::new(Reason::UpstreamError, "the upstream redirects instead of responding"),
            _ => NoVote::new(Reason::UpstreamError, format!("the upstream's response is not a {document}")),
        }
    }

    /// Sleeps for a time that grows, or for the named one if it is longer, plus jitter, so that calls do not return all at once. Fails
    /// if the vote has no time left, or if waiting does not help: a busy upstream is awaited until it has answered nobody for
    /// [`PATIENCE`](crate::availability::PATIENCE), any other failure twice.
    pub(crate) async fn wait(
        &mut self,
        Wait { named, is_busy }: Wait,
        otherwise: NoVote,
    ) -> Result<(), NoVote> {
        let now = Instant::now();
        let pause = FIRST_PAUSE * (1 << self.waits.min(4));
        let mut wait = named.unwrap_or_default().max(pause).min(MAX_DURATION);
        let max_jitter = wait.max(Duration::from_millis(200)).min(Duration::from_secs(4)) / 4;
        wait += max_jitter.mul_f64(fastrand::f64());
        self.waits += 1;
        if is_busy {
            self.caller.availability.note_busy();
            self.caller.windows.note_refusal(&self.member.model, self.sent_at);
            let since = *self.busy_since.get_or_insert(now);
            let patience = self.caller.availability.patience(since);
            if patience.is_zero() {
                return Err(otherwise);
            }
            if named.is_none() {
                wait = wait.min(patience);
            }
        } else if self.waits > MAX_WAITS {
            return Err(otherwise);
        }
        if !self.may_pay_again() || now + wait >= self.deadline() {
            return Err(otherwise);
        }
        self.count_pause(match named {
            Some(_) => PAUSE_CAUSES[0],
            None if is_busy => PAUSE_CAUSES[1],
            None => PAUSE_CAUSES[2],
        });
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.dropped.cancelled() => Err(otherwise),
        }
    }

    /// Returns the missing vote after an error of the upstream that is not retried.
    pub(crate) fn failed(&self, error: &UpstreamError<'_>, failure: Failure) -> NoVote {
        if error.is_unknown_model() {
            self.caller.list_is_outdated.store(true, Ordering::Relaxed);
        }
        match (failure, error.status) {
            (Failure::Wait(_), _) if error.is_rate_limit() => {
                self.no_vote(error, Reason::RateLimited, "asks for fewer requests")
            }
            (Failure::Wait(wait), _) if wait.is_busy => self.no_vote(error, Reason::Busy, "is busy"),
            (Failure::Wait(_), _) => self.no_vote(error, Reason::UpstreamError, "failed"),
            // Readers of a result must not learn about the operator's key, credit and account.
            (Failure::GiveUp(Reason::Rejected), status @ 401..=403) => {
                log_refusal(status);
                NoVote::new(Reason::Rejected, "the model is not available here")
            }
            (Failure::GiveUp(reason @ Reason::Rejected), _) => {
                self.no_vote(error, reason, "rejected the request")
            }
            (Failure::GiveUp(reason @ Reason::Refused), _) => {
                self.no_vote(error, reason, "declined to answer")
            }
            (Failure::GiveUp(reason), _) => self.no_vote(error, reason, "failed"),
        }
    }

    /// Builds a missing vote: what the upstream did, and its message without secrets.
    pub(crate) fn no_vote(&self, error: &UpstreamError<'_>, reason: Reason, what: &str) -> NoVote {
        let secret = self.caller.secret.as_ref().map(ExposeSecret::expose_secret);
        let (status, message) = (error.status, public_text(&error.message, secret));
        tracing::debug!(status, message, "the upstream reported an error");
        let code = if status == 0 { String::new() } else { format!(" ({status})") };
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        NoVote::new(reason, format!("the upstream {what}{code}{message}"))
    }

    /// Records the vote's span, and builds the response of a model without a form or probabilities.
    pub(crate) fn finish(self, vote: Result<usize, NoVote>) -> ModelResponse {
        let span = tracing::Span::current();
        span.record("attempts", self.requests);
        if let Err(no_vote) = &vote {
            span.record("failure", no_vote.reason.as_str());
            tracing::debug!(reason = no_vote.reason.as_str(), detail = no_vote.detail, "no vote");
        }
        ModelResponse {
            vote,
            probabilities: None,
            casting: None,
            spend: self.cost.total(),
            tokens: self.cost.tokens(),
            answered_by: self.answered_by,
        }
    }

    /// Returns the deadline of this vote.
    fn deadline(&self) -> Instant {
        self.model_deadline.unwrap_or(self.poll_deadline)
    }

    fn out_of_time(&self) -> NoVote {
        if self.deadline() >= self.poll_deadline {
            NoVote::new(Reason::Deadline, "no response before the poll's deadline")
        } else {
            let seconds = self.caller.model_timeout.as_secs_f64();
            NoVote::new(Reason::Timeout, format!("no response within {seconds} s"))
        }
    }
}

/// Returns the missing vote of a model whose upstream has answered nobody for too long.
fn answers_nobody() -> NoVote {
    NoVote::new(Reason::Busy, "the upstream is busy and answers no request")
}

/// Builds the result for a poll that ended before this model was asked.
fn cancelled_vote() -> NoVote {
    NoVote::new(Reason::Deadline, "the poll ended before this model was asked")
}
