//! A single vote of a model that chats: the requests, the evaluation of its responses, and the choice of the next
//! request.
//!
//! Most votes take one request. If the server does not support the format of the request, it is sent again at
//! a lower fallback level. If the upstream is busy, the vote waits and retries. If the response names no
//! option, the model is asked once more. Every response that was or may have been charged counts as a paid
//! answer; the maximum per vote is [`PAID_RESPONSES`](ep_polling::roster::PAID_RESPONSES).

use ep_kernel::CallLimits;
use ep_polling::{BallotMode, BallotView, Casting, Member, ModelResponse, NoVote, Reason};

use crate::calls::{Caller, Calls};
use crate::chat::error::{Failure, RetryAction, UpstreamError, Wait};
use crate::chat::request::{Asks, VoteRequest};
use crate::chat::response::Completion;
use crate::chat::shapes::repaired;
use crate::endpoint::Route;
use crate::fallback::{FallbackLevels, ModelFallback};
use crate::fallback_level::FallbackLevel;
use crate::parsing::{self, ParsedVote, ResponseContent};
use crate::request_profile::{Need, REASONING_OUTPUT_TOKENS, RequestProfile};
use crate::transport::RawResponse;

/// Maximum number of requests per vote, without those after a wait. In practice, rejected formats and parameters need far fewer.
const MAX_REQUESTS: u32 = 16;

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

/// Requests votes from the models of one upstream that chat.
pub(crate) struct Voting {
    pub(crate) route: Route,
    pub(crate) fallback: FallbackLevels,
    pub(crate) is_openrouter: bool,
}

/// A vote in progress.
struct Vote<'v> {
    voting: &'v Voting,
    calls: Calls<'v>,
    member: &'v Member,
    view: &'v BallotView,
    capabilities: Capabilities,
    fallback: ModelFallback<'v>,
    casting: Option<Casting>,
    /// Requests have the plainest form.
    is_plain: bool,
    /// A response declared no vote, so that the model is asked again.
    asked_again: bool,
    /// The number of failures with the status 500.
    breaks: u32,
}

/// The next step of a vote.
enum NextStep {
    /// The vote is complete.
    Finish(Result<usize, NoVote>),
    /// Send another request at this level.
    AskAgain(FallbackLevel),
    /// Send another request at this level after the named time, or after a default one. If waiting does not help, the vote ends
    /// with the other result.
    Wait { level: FallbackLevel, wait: Wait, otherwise: NoVote },
    /// Send another request at this level that follows the unusable response.
    Repair(FallbackLevel, String),
}

impl Voting {
    /// Returns a request for a vote, with everything that is known about the model.
    pub(crate) fn request<'r>(
        &self,
        member: &'r Member,
        view: &'r BallotView,
        capabilities: Capabilities,
        profile: RequestProfile,
    ) -> VoteRequest<'r> {
        VoteRequest {
            model: member.model.as_str(),
            view,
            level: profile.level,
            profile,
            max_tokens: member.output_tokens,
            lowest_effort: capabilities.lowest_effort,
            is_openrouter: self.is_openrouter,
            asks: Asks::Vote,
        }
    }

    /// Requests a vote from one model that chats.
    pub(crate) async fn vote(
        &self,
        caller: &Caller,
        member: &Member,
        view: &BallotView,
        capabilities: Capabilities,
        limits: CallLimits,
    ) -> ModelResponse {
        let calls = Calls::new(caller, member, limits);
        let fallback = self.fallback.of_model(&member.model, capabilities.first_level).await;
        let is_plain = fallback.profile().needs(Need::Plain);
        let mut vote = Vote {
            voting: self,
            calls,
            member,
            view,
            capabilities,
            fallback,
            casting: None,
            is_plain,
            asked_again: false,
            breaks: 0,
        };
        let result = vote.run().await;
        ModelResponse { casting: vote.casting, ..vote.calls.finish(result) }
    }
}

impl Vote<'_> {
    async fn run(&mut self) -> Result<usize, NoVote> {
        let mut level = self.fallback.profile().level;
        let mut unusable_response: Option<String> = None;
        loop {
            let deadline = self.calls.next_request().await?;
            tracing::Span::current().record("fallback_level", level.as_str());
            let is_repeated = self.calls.has_paid_response();
            let profile = self.fallback.profile();
            let (level_sent, profile) =
                if self.is_plain { (FallbackLevel::Prose, profile.plainest()) } else { (level, profile) };
            let request = VoteRequest {
                level: level_sent,
                max_tokens: self.member.output_tokens.saturating_mul(if is_repeated { 2 } else { 1 }),
                asks: unusable_response.as_deref().map_or(Asks::Vote, Asks::VoteAfter),
                ..self.voting.request(self.member, self.view, self.capabilities, profile)
            };
            let step = match self.calls.send(&self.voting.route, request.body(), deadline).await {
                Ok(response) => self.after_response(&response, &request),
                Err(error) => match self.calls.after_transport_error(error) {
                    Ok(()) => NextStep::AskAgain(level),
                    Err(no_vote) => NextStep::Finish(Err(no_vote)),
                },
            };
            match step {
                NextStep::Finish(result) => return result,
                _ if self.calls.requests().saturating_sub(self.calls.waits()) >= MAX_REQUESTS => {
                    return Err(NoVote::new(Reason::Rejected, "the upstream rejected every request format"));
                }
                NextStep::AskAgain(next) => level = next,
                NextStep::Repair(next, bad) => (level, unusable_response) = (next, Some(bad)),
                NextStep::Wait { level: next, wait, otherwise } => {
                    self.calls.wait(wait, otherwise).await?;
                    level = next;
                }
            }
        }
    }

    fn after_response(&mut self, response: &RawResponse, request: &VoteRequest<'_>) -> NextStep {
        if response.status >= 400 {
            let usage = Completion::read(&response.body).and_then(|body| body.usage());
            self.calls.note_error(response, usage);
            let error = UpstreamError::from_body(response.status, &response.body, response.retry_after);
            return self.after_upstream_error(&error, request);
        }
        let Some(completion) = Completion::read(&response.body).filter(|_| response.status < 300) else {
            if response.status < 300
                && let Some(body) = repaired(&response.body)
            {
                return self.after_response(&RawResponse { body, ..*response }, request);
            }
            return NextStep::Finish(Err(self.calls.unknown_response(response, "completion")));
        };
        let choice = completion.choice();
        if let Some(error) = completion.error(choice.as_ref()) {
            self.calls.note_error(response, completion.usage());
            let error = UpstreamError::from_field(error, response.retry_after);
            return self.after_upstream_error(&error, request);
        }
        let model = completion.model();
        self.calls.note_response(response, completion.usage(), request.level.as_str(), model.as_deref());
        let choice = choice.unwrap_or_default();
        let cut_off = choice.is_cut_off();
        let declined = choice.declined();
        let mut content = choice.content();
        let reasoned = choice.reasoned(completion.usage(), content.text.as_deref());
        let is_empty =
            content.calls.is_empty() && content.text.as_deref().is_none_or(|text| text.trim().is_empty());
        if self.member.output_tokens < REASONING_OUTPUT_TOKENS
            && (reasoned == Some(true) || (cut_off && is_empty))
        {
            self.fallback.note_reasoning();
        }
        self.casting = Some(Casting {
            mode: ballot_mode(request.level, &content),
            reasoned,
            asked_again: self.asked_again,
        });
        if declined {
            // A complete tool call still counts, but not text left by a filter or text that explains a
            // refusal.
            content.text = None;
        }
        match parsing::parse(&content, self.view, request.choice_form(), cut_off) {
            ParsedVote::Vote(option) if self.is_plain => {
                self.fallback.record_plain_response(self.calls.begun());
                NextStep::Finish(Ok(option))
            }
            ParsedVote::Vote(option) => {
                self.fallback.record_response(request.level, has_requested_form(request.level, &content));
                NextStep::Finish(Ok(option))
            }
            // A text that was cut off while it compared the options contains no choice yet.
            ParsedVote::Conflicting if cut_off && content.calls.is_empty() => {
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
            ParsedVote::Missing | ParsedVote::CutOff if declined => {
                let detail = "the model or its provider declined to answer";
                NextStep::Finish(Err(NoVote::new(Reason::Refused, detail)))
            }
            ParsedVote::CutOff => self.after_unusable_answer(&content, true, request),
            ParsedVote::Missing => self.after_unusable_answer(&content, false, request),
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
            NoVote::new(Reason::Truncated, "the response reached the token limit before it declared a vote")
        } else {
            NoVote::new(
                Reason::Unparsable,
                "the response declares no vote for one option, even after a second request",
            )
        };
        // More tokens help if the reasoning or the tool call was cut off. A model that wrote text instead of
        // a tool call would only write more text.
        let text_instead_of_call = has_text && request.level.has_tool() && content.calls.is_empty();
        if cut_off && !text_instead_of_call {
            self.asked_again = true;
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
        self.asked_again = true;
        self.retry_if_allowed(NextStep::Repair(next, unusable_response), otherwise)
    }

    /// Returns this step, or `otherwise` if the step could exceed the maximum number of paid answers.
    fn retry_if_allowed(&self, step: NextStep, otherwise: NoVote) -> NextStep {
        if !self.calls.may_pay_again() {
            return NextStep::Finish(Err(otherwise));
        }
        self.calls.count_second_request(otherwise.reason);
        step
    }

    fn after_upstream_error(&mut self, error: &UpstreamError<'_>, request: &VoteRequest<'_>) -> NextStep {
        match error.retry_action(request) {
            RetryAction::AskWithout(unsupported) => {
                let next = self.fallback.note_unsupported(request.level, unsupported);
                let otherwise = self.calls.no_vote(error, Reason::Rejected, "rejected the request format");
                self.retry_if_allowed(NextStep::AskAgain(next), otherwise)
            }
            RetryAction::AskWithoutTool => {
                self.calls.note_unreported();
                let detail = "the model did not call the tool";
                self.repair(request.level, String::new(), NoVote::new(Reason::Unparsable, detail))
            }
            RetryAction::Failed(failure @ Failure::Wait(wait)) => {
                // Some servers answer 500 to a tool, a schema or a system message. After two of them, the plainest request is sent.
                self.breaks += u32::from(error.status == 500 && !error.is_rate_limit());
                self.is_plain |= self.breaks > 1;
                let otherwise = self.calls.failed(error, failure);
                NextStep::Wait { level: request.level, wait, otherwise }
            }
            RetryAction::Failed(Failure::GiveUp(Reason::Rejected))
                if !self.is_plain && error.is_unexplained() =>
            {
                self.is_plain = true;
                let otherwise = self.calls.no_vote(error, Reason::Rejected, "rejected the request");
                self.retry_if_allowed(NextStep::AskAgain(request.level), otherwise)
            }
            RetryAction::Failed(failure @ Failure::GiveUp(_)) => {
                NextStep::Finish(Err(self.calls.failed(error, failure)))
            }
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
