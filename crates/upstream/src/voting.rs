//! A single vote: the requests to a model, the evaluation of its responses, and the choice of the next
//! request.
//!
//! Most votes take one request. If the server does not support the format of the request, it is sent again at
//! a lower fallback level. If the upstream is busy, the vote waits and retries. If the response names no
//! option, the model is asked once more. Every response that was or may have been charged counts as a paid
//! answer; the maximum per vote is [`PAID_RESPONSES`].

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::ports::CallLimits;
use ep_polling::ballot::{BallotMode, BallotView, Casting, ModelResponse, NoVote, Reason};
use ep_polling::roster::{Member, PAID_RESPONSES};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::chat::cost::VoteCost;
use crate::chat::error::{RetryAction, UpstreamError, public_text};
use crate::chat::request::{Follows, VoteRequest};
use crate::chat::response::Completion;
use crate::chat::{Chat, RawResponse, TransportError};
use crate::fallback::{FallbackLevels, ModelFallback};
use crate::fallback_level::FallbackLevel;
use crate::parsing::{self, ParsedVote, ResponseContent};
use crate::rate_limit::RateLimits;

/// Maximum number of waits for a busy upstream, per vote.
const MAX_WAITS: u32 = 2;
/// Maximum number of requests per vote. In practice, rejected formats and parameters need far fewer.
const MAX_REQUESTS: u32 = 16;

/// Longer than any call. It limits times, so that their sums cannot overflow.
pub(crate) const MAX_DURATION: Duration = Duration::from_hours(24);

/// Request capabilities of a model according to the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// The strictest level that its listed parameters support.
    pub(crate) first_level: FallbackLevel,
    /// The lowest reasoning effort that it supports.
    pub(crate) lowest_effort: Option<&'static str>,
}

impl Capabilities {
    /// Capabilities without a registry entry: start at the strictest level.
    pub(crate) const UNKNOWN: Self = Self { first_level: FallbackLevel::Required, lowest_effort: None };
}

/// Requests votes from the models of one upstream.
pub(crate) struct Voting {
    pub(crate) chat: Chat,
    pub(crate) fallback: FallbackLevels,
    pub(crate) limits: RateLimits,
    pub(crate) secret: Option<SecretString>,
    pub(crate) is_openrouter: bool,
    pub(crate) model_timeout: Duration,
}

/// A vote in progress.
struct Vote<'v> {
    voting: &'v Voting,
    member: &'v Member,
    view: &'v BallotView,
    capabilities: Capabilities,
    fallback: ModelFallback<'v>,
    /// The deadline of the poll.
    poll_deadline: Instant,
    /// Cancelled when the vote is no longer needed.
    dropped: CancellationToken,
    /// The deadline of this model. Its time starts when its first request may be sent.
    model_deadline: Option<Instant>,
    cost: VoteCost,
    paid_responses: u32,
    requests: u32,
    waits: u32,
    reconnected: bool,
    answered_by: Option<String>,
    casting: Option<Casting>,
}

/// The next step of a vote.
enum NextStep {
    /// The vote is complete.
    Finish(Result<usize, NoVote>),
    /// Send another request at this level.
    AskAgain(FallbackLevel),
    /// Send another request at this level after this time, or after a default one. If the deadline is too
    /// close, the vote ends with this result.
    Wait(FallbackLevel, Option<Duration>, NoVote),
    /// Send another request at this level that follows the unusable response.
    Repair(FallbackLevel, String),
}

impl Voting {
    /// Requests a vote from one model.
    pub(crate) async fn vote(
        &self,
        member: &Member,
        view: &BallotView,
        capabilities: Capabilities,
        limits: CallLimits,
    ) -> ModelResponse {
        let poll_deadline = Instant::now() + limits.within.min(MAX_DURATION);
        let mut vote = Vote {
            voting: self,
            member,
            view,
            capabilities,
            fallback: self.fallback.of_model(&member.model, capabilities.first_level).await,
            poll_deadline,
            dropped: limits.dropped,
            model_deadline: None,
            cost: VoteCost::new(member.price),
            paid_responses: 0,
            requests: 0,
            waits: 0,
            reconnected: false,
            answered_by: None,
            casting: None,
        };
        let result = vote.run().await;
        let span = tracing::Span::current();
        span.record("attempts", vote.requests);
        if let Err(no_vote) = &result {
            span.record("failure", no_vote.reason.as_str());
            tracing::debug!(reason = no_vote.reason.as_str(), detail = no_vote.detail, "no vote");
        }
        ModelResponse {
            vote: result,
            casting: vote.casting,
            spend: vote.cost.total(),
            tokens: vote.cost.tokens(),
            answered_by: vote.answered_by,
        }
    }

    fn public_text(&self, message: &str) -> String {
        public_text(message, self.secret.as_ref().map(ExposeSecret::expose_secret))
    }
}

impl Vote<'_> {
    async fn run(&mut self) -> Result<usize, NoVote> {
        let mut level = self.fallback.profile().level;
        let mut unusable_response: Option<String> = None;
        loop {
            let deadline = self.wait_for_rate_limit().await?;
            self.requests += 1;
            tracing::Span::current().record("fallback_level", level.as_str());
            let first_response = self.paid_responses == 0;
            let request = VoteRequest {
                model: self.member.model.as_str(),
                view: self.view,
                level,
                profile: self.fallback.profile(),
                max_tokens: self.member.output_tokens.saturating_mul(if first_response { 1 } else { 2 }),
                lowest_effort: self.capabilities.lowest_effort,
                is_openrouter: self.voting.is_openrouter,
                follows: unusable_response.as_deref().map(Follows::Unusable),
            };
            let step = match self.voting.chat.send(request.body(), deadline, &self.dropped).await {
                Ok(response) => self.after_response(&response, &request),
                Err(error) => self.after_transport_error(error, level),
            };
            match step {
                NextStep::Finish(result) => return result,
                _ if self.requests >= MAX_REQUESTS => {
                    return Err(NoVote::new(Reason::Rejected, "the upstream rejected every request format"));
                }
                NextStep::AskAgain(next) => level = next,
                NextStep::Repair(next, bad) => (level, unusable_response) = (next, Some(bad)),
                NextStep::Wait(next, wait, otherwise) => {
                    self.wait(wait, otherwise).await?;
                    level = next;
                }
            }
        }
    }

    /// Returns the deadline of this vote.
    fn deadline(&self) -> Instant {
        self.model_deadline.unwrap_or(self.poll_deadline)
    }

    /// Waits until the rate limits allow a request. Returns the deadline of the request.
    async fn wait_for_rate_limit(&mut self) -> Result<Instant, NoVote> {
        let free = self.member.price.is_some_and(|price| price.is_free());
        match self.voting.limits.reserve(free, self.deadline()) {
            Ok(reservation) => tokio::select! {
                // Check the reservation first, because most requests need not wait.
                biased;
                () = reservation.wait() => {}
                () = self.dropped.cancelled() => return Err(cancelled_vote()),
            },
            Err(reached) => {
                let text = format!(
                    "the upstream allows {} requests a minute for {}; the next one is possible in {} s, too late for this vote",
                    reached.per_minute,
                    if free { "free models" } else { "all models" },
                    reached.wait.as_secs() + 1,
                );
                return Err(NoVote::new(Reason::RateLimited, text));
            }
        }
        let now = Instant::now();
        let model_timeout = self.voting.model_timeout.min(MAX_DURATION);
        let deadline = *self.model_deadline.get_or_insert(self.poll_deadline.min(now + model_timeout));
        if now >= deadline { Err(self.out_of_time()) } else { Ok(deadline) }
    }

    fn out_of_time(&self) -> NoVote {
        if self.deadline() >= self.poll_deadline {
            NoVote::new(Reason::Deadline, "no response before the poll's deadline")
        } else {
            let seconds = self.voting.model_timeout.as_secs_f64();
            NoVote::new(Reason::Timeout, format!("no response within {seconds} s"))
        }
    }

    /// Sleeps for the requested or default time plus jitter, so that calls do not return all at once. Fails
    /// if that would take too long.
    async fn wait(&mut self, asked: Option<Duration>, otherwise: NoVote) -> Result<(), NoVote> {
        let wait = asked.unwrap_or(Duration::from_millis(250) * (1 << self.waits.min(4))).min(MAX_DURATION);
        let max_jitter = wait.max(Duration::from_millis(200)).min(Duration::from_secs(4)) / 4;
        let wait = wait + max_jitter.mul_f64(fastrand::f64());
        self.waits += 1;
        if self.waits > MAX_WAITS
            || self.paid_responses >= PAID_RESPONSES
            || Instant::now() + wait >= self.deadline()
        {
            return Err(otherwise);
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.dropped.cancelled() => Err(otherwise),
        }
    }

    fn after_transport_error(&mut self, error: TransportError, level: FallbackLevel) -> NextStep {
        use TransportError::{BeforeResponse, Cancelled, Connect, DuringResponse, NoSlot, Timeout, TooLong};
        if error.may_be_charged() {
            self.cost.add_unreported();
            self.paid_responses += 1;
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
            Timeout => return NextStep::Finish(Err(self.out_of_time())),
            Cancelled => return NextStep::Finish(Err(cancelled_vote())),
            NoSlot => {
                (Reason::Deadline, "too many requests were in flight; this one could not be sent in time")
            }
        };
        let retry = matches!(error, Connect | BeforeResponse) && !self.reconnected;
        if retry && self.paid_responses < PAID_RESPONSES {
            self.reconnected = true;
            return NextStep::AskAgain(level);
        }
        NextStep::Finish(Err(NoVote::new(reason, detail)))
    }

    fn after_response(&mut self, response: &RawResponse, request: &VoteRequest<'_>) -> NextStep {
        if response.status >= 400 {
            let usage = Completion::read(&response.body).and_then(|body| body.usage());
            self.paid_responses += u32::from(self.cost.add_failure(response.cost, usage));
            let error = UpstreamError::from_body(response.status, &response.body, response.retry_after);
            return self.after_upstream_error(&error, request);
        }
        let Some(completion) = Completion::read(&response.body).filter(|_| response.status < 300) else {
            self.cost.add_unreported();
            self.paid_responses += 1;
            let text = match response.status {
                300..400 => {
                    "the upstream redirects; the operator should configure the URL that it redirects to"
                }
                _ => "the upstream's response is not a completion",
            };
            return NextStep::Finish(Err(NoVote::new(Reason::UpstreamError, text)));
        };
        let choice = completion.choice();
        if let Some(error) = completion.error(choice.as_ref()) {
            self.paid_responses += u32::from(self.cost.add_failure(response.cost, completion.usage()));
            let error = UpstreamError::from_field(error, response.retry_after);
            return self.after_upstream_error(&error, request);
        }
        self.cost.add_response(response.cost, completion.usage());
        self.paid_responses += 1;
        let (upstream, level) = (Arc::clone(self.voting.chat.label()), request.level.as_str());
        metrics::counter!("ep_upstream_rungs_total", "upstream" => upstream, "rung" => level).increment(1);
        self.answered_by = completion
            .model()
            .filter(|model| *model != request.model)
            .map(|model| model.chars().filter(|c| !c.is_control()).take(120).collect());
        let choice = choice.unwrap_or_default();
        let finish = choice.finish_reason().unwrap_or_default();
        let declined = choice.declined();
        let mut content = choice.content();
        let reasoned = choice.reasoned(completion.usage(), content.text.as_deref());
        self.casting = Some(Casting { mode: ballot_mode(request.level, &content), reasoned });
        if declined {
            // A complete tool call still counts, but not text left by a filter or text that explains a
            // refusal.
            content.text = None;
        }
        match parsing::parse(&content, self.view, request.choice_form()) {
            ParsedVote::Vote(option) => {
                self.fallback.record_response(request.level, has_requested_form(request.level, &content));
                NextStep::Finish(Ok(option))
            }
            // A text that was cut off while it compared the options contains no choice yet.
            ParsedVote::Conflicting if finish == "length" && content.calls.is_empty() => {
                self.after_unusable_answer(&content, true, request)
            }
            ParsedVote::Conflicting => {
                let no_vote = NoVote::new(Reason::Conflicting, "the response votes for several options");
                if !request.level.has_tool() || !content.calls.is_empty() {
                    return NextStep::Finish(Err(no_vote));
                }
                // The model wrote text instead of the tool call. Another format may lead to a single vote.
                let text = content.text.as_deref().map(parsing::without_reasoning).unwrap_or_default();
                self.repair(request.level, text.to_string(), no_vote)
            }
            ParsedVote::Missing if declined => {
                let detail = "the model or its provider declined to answer";
                NextStep::Finish(Err(NoVote::new(Reason::Refused, detail)))
            }
            ParsedVote::Missing => self.after_unusable_answer(&content, finish == "length", request),
        }
    }

    fn after_unusable_answer(
        &mut self,
        content: &ResponseContent<'_>,
        cut_off: bool,
        request: &VoteRequest<'_>,
    ) -> NextStep {
        let text = content.text.as_deref().map(parsing::without_reasoning).unwrap_or_default();
        let has_text = !text.trim().is_empty();
        let no_vote = if cut_off {
            NoVote::new(Reason::Truncated, "the response reached the token limit before it named an option")
        } else {
            NoVote::new(Reason::Unparsable, "the response names no option, even after a second request")
        };
        // More tokens help if the reasoning or the tool call was cut off. A model that wrote text instead of
        // a tool call would only write more text.
        let text_instead_of_call = has_text && request.level.has_tool() && content.calls.is_empty();
        if cut_off && !text_instead_of_call {
            return self.retry_if_allowed(NextStep::AskAgain(request.level), no_vote);
        }
        let bad = if has_text { &text } else { content.calls.first().unwrap_or(&text) };
        self.repair(request.level, bad.to_string(), no_vote)
    }

    /// Handles a response that ignored the requested format: asks for a better one, unless that could exceed
    /// the maximum number of paid answers.
    fn repair(&mut self, level: FallbackLevel, unusable_response: String, otherwise: NoVote) -> NextStep {
        self.fallback.record_response(level, false);
        let next = self.fallback.profile().repair_level(level);
        self.retry_if_allowed(NextStep::Repair(next, unusable_response), otherwise)
    }

    /// Returns this step, or `otherwise` if the step could exceed the maximum number of paid answers.
    fn retry_if_allowed(&self, step: NextStep, otherwise: NoVote) -> NextStep {
        if self.paid_responses < PAID_RESPONSES { step } else { NextStep::Finish(Err(otherwise)) }
    }

    fn after_upstream_error(&mut self, error: &UpstreamError<'_>, request: &VoteRequest<'_>) -> NextStep {
        let message = self.voting.public_text(&error.message);
        tracing::debug!(status = error.status, message, "the upstream reported an error");
        let status = error.status;
        let no_vote = |reason, what: &str| {
            let code = if status == 0 { String::new() } else { format!(" ({status})") };
            let message = if message.is_empty() { String::new() } else { format!(": {message}") };
            NoVote::new(reason, format!("the upstream {what}{code}{message}"))
        };
        match error.retry_action(request) {
            RetryAction::AskWithout(unsupported) => {
                let next = self.fallback.note_unsupported(request.level, unsupported);
                let otherwise = no_vote(Reason::Rejected, "rejected the request format");
                self.retry_if_allowed(NextStep::AskAgain(next), otherwise)
            }
            RetryAction::AskWithoutTool => {
                self.cost.add_unreported();
                self.paid_responses += 1;
                let detail = "the model did not call the tool";
                self.repair(request.level, String::new(), NoVote::new(Reason::Unparsable, detail))
            }
            RetryAction::Wait(wait) if error.is_rate_limit() => {
                NextStep::Wait(request.level, wait, no_vote(Reason::RateLimited, "asks for fewer requests"))
            }
            RetryAction::Wait(wait) => {
                // Some servers break while they build a forced call. If that happens twice, use a lower
                // level.
                let breaks = status == 500 && request.level.has_tool() && self.waits > 0;
                let next = if breaks {
                    self.fallback.record_response(request.level, false);
                    self.fallback.profile().repair_level(request.level)
                } else {
                    request.level
                };
                NextStep::Wait(next, wait, no_vote(Reason::UpstreamError, "failed"))
            }
            RetryAction::GiveUp(reason) => NextStep::Finish(Err(match (reason, status) {
                // Callers must not see the upstream's text about keys, credit and accounts.
                (Reason::Rejected, 401) => {
                    NoVote::new(Reason::Rejected, "the upstream rejected the service's key (401)")
                }
                (Reason::Rejected, 402) => NoVote::new(
                    Reason::Rejected,
                    "the upstream requires payment from the operator of this service (402)",
                ),
                (Reason::Rejected, 403) => NoVote::new(
                    Reason::Rejected,
                    "the upstream does not permit the service to use this model (403)",
                ),
                (Reason::Rejected, _) => no_vote(reason, "rejected the request"),
                (Reason::Refused, _) => no_vote(reason, "declined to answer"),
                _ => no_vote(reason, "failed"),
            })),
        }
    }
}

/// Returns the form of a response to a request at this level.
fn ballot_mode(level: FallbackLevel, content: &ResponseContent<'_>) -> BallotMode {
    match level {
        FallbackLevel::Required | FallbackLevel::Object if has_requested_form(level, content) => {
            BallotMode::ForcedTool
        }
        _ if !content.calls.is_empty() => BallotMode::OfferedTool,
        FallbackLevel::Schema if has_requested_form(level, content) => BallotMode::JsonSchema,
        _ => BallotMode::Text,
    }
}

/// Returns true if a response has the requested format.
fn has_requested_form(level: FallbackLevel, content: &ResponseContent<'_>) -> bool {
    match level {
        FallbackLevel::Required | FallbackLevel::Object | FallbackLevel::Auto => !content.calls.is_empty(),
        FallbackLevel::Schema => {
            content.text.as_deref().is_some_and(|text| text.trim_start().starts_with(['{', '`']))
        }
        FallbackLevel::Prose => true,
    }
}

/// Builds the result for a poll that ended before this model was asked.
fn cancelled_vote() -> NoVote {
    NoVote::new(Reason::Deadline, "the poll ended before this model was asked")
}
