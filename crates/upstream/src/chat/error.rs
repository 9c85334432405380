//! Parses the errors of upstreams and decides how to handle them.

use std::borrow::Cow;
use std::time::Duration;

use ep_polling::Reason;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::VoteRequest;
use super::response::{number, text};
use super::retry::named_by_text;
use crate::fallback_level::FallbackLevel;
use crate::request_profile::{OptionalParameter, Unsupported};

/// The action after an error.
#[derive(Debug, PartialEq)]
pub(crate) enum RetryAction {
    /// Send a request without the unsupported feature. The rejected request cost nothing and does not count
    /// as a response.
    AskWithout(Unsupported),
    /// Send a request without a tool: the model ignored the tool, and the server did not forward its
    /// response.
    AskWithoutTool,
    /// The failure has nothing to do with the format of the request.
    Failed(Failure),
}

/// A failure of any request, whatever its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Send the same request again after a wait.
    Wait(Wait),
    /// Do not retry. Contains the reason for the missing vote.
    GiveUp(Reason),
}

/// A wait before a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The time that the upstream named.
    pub(crate) named: Option<Duration>,
    /// The upstream has no place for the request now, and may have one soon.
    pub(crate) is_busy: bool,
}

/// Returns true for a status that asks for fewer requests, or for later ones.
pub(crate) const fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// An error reported by an upstream.
#[derive(Debug)]
pub(crate) struct UpstreamError<'a> {
    /// The HTTP status, or the code of an error inside a response with status 200; 0 if there is none.
    pub(crate) status: u16,
    pub(crate) message: Cow<'a, str>,
    kind: Cow<'a, str>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
    /// The whole error text in lower case, to search for unsupported features.
    details: String,
}

#[derive(Deserialize, Default)]
struct RawError<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: Option<&'a RawValue>,
    param: Option<&'a RawValue>,
    detail: Option<&'a RawValue>,
    details: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    availability: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct RawHints<'a> {
    #[serde(borrow)]
    error_type: Option<&'a RawValue>,
    retry_after: Option<&'a RawValue>,
    retryable: Option<&'a RawValue>,
    raw: Option<&'a RawValue>,
}

fn read<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

impl<'a> UpstreamError<'a> {
    /// Parses the error in a body with a status of 400 or above.
    pub(crate) fn from_body(status: u16, body: &'a [u8], retry_after: Option<Duration>) -> Self {
        // Google sends its errors in a list.
        let outer: Option<RawError<'a>> = serde_json::from_slice(body).ok();
        let first = || serde_json::from_slice::<Vec<RawError<'a>>>(body).ok()?.into_iter().next();
        let outer =
            outer.filter(|_| !body.trim_ascii_start().starts_with(b"[")).or_else(first).unwrap_or_default();
        // Servers send `{"error": {…}}`, `{"error": "…"}`, `{"message": …}` or `{"detail": …}`.
        let mut error = match outer.error {
            Some(inner) => Self::from_field(inner, retry_after),
            None => Self::from_raw(&outer, retry_after),
        };
        error.status = status;
        if error.message.is_empty() && !body.starts_with(b"<") {
            error.message = String::from_utf8_lossy(&body[..body.len().min(300)]);
            error.details.push_str(&error.message.to_lowercase());
        }
        error
    }

    /// Parses the value of an `error` field, which may occur in a response with status 200.
    pub(crate) fn from_field(error: &'a RawValue, retry_after: Option<Duration>) -> Self {
        match text(Some(error)) {
            Some(message) => {
                let details = message.to_lowercase();
                Self { status: 0, message, kind: Cow::Borrowed(""), retry_after, retryable: None, details }
            }
            None => Self::from_raw(&read(Some(error)), retry_after),
        }
    }

    fn from_raw(error: &RawError<'a>, retry_after: Option<Duration>) -> Self {
        let metadata: RawHints<'a> = read(error.metadata);
        let availability: RawHints<'a> = read(error.availability);
        let message = text(error.message).or_else(|| text(error.detail)).unwrap_or_default();
        let mut details = message.to_lowercase();
        for more in [error.param, error.detail, error.details, metadata.raw].into_iter().flatten() {
            details.push(' ');
            details.push_str(&more.get().chars().take(2000).collect::<String>().to_lowercase());
        }
        let seconds = number(availability.retry_after).or_else(|| number(metadata.retry_after));
        Self {
            status: number(error.code).map_or(0, |code| code as u16),
            kind: text(metadata.error_type)
                .or_else(|| text(error.code))
                .or_else(|| text(error.kind))
                .unwrap_or_default(),
            message,
            retry_after: retry_after
                .or_else(|| seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())),
            retryable: availability.retryable.map(|value| value.get() == "true"),
            details,
        }
    }

    /// Decides the action for the failed request for a vote by chat.
    pub(crate) fn retry_action(&self, request: &VoteRequest<'_>) -> RetryAction {
        if self.kind == "tool_use_failed" && request.level.has_tool() {
            return RetryAction::AskWithoutTool;
        }
        // Some servers respond with 500 to unknown parameters.
        if matches!(self.status, 0 | 400 | 404 | 405 | 422 | 500 | 501)
            && let Some(unsupported) = self.unsupported(request)
        {
            return RetryAction::AskWithout(unsupported);
        }
        RetryAction::Failed(self.failure())
    }

    /// Decides if a request is sent again without changes.
    pub(crate) fn failure(&self) -> Failure {
        let kind = &*self.kind;
        if matches!(kind, "content_policy_violation" | "refusal" | "content_filter") {
            return Failure::GiveUp(Reason::Refused);
        }
        let busy = matches!(
            kind,
            "rate_limit_exceeded"
                | "provider_overloaded"
                | "provider_unavailable"
                | "overloaded_error"
                | "timeout"
        ) || (self.status == 0 && kind == "server");
        match self.status {
            _ if self.retryable == Some(false) => Failure::GiveUp(Reason::Rejected),
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => Failure::Wait(self.wait()),
            0 if busy => Failure::Wait(self.wait()),
            400..=499 => Failure::GiveUp(Reason::Rejected),
            0 if matches!(kind, "payment_required" | "permission_denied" | "context_length_exceeded") => {
                Failure::GiveUp(Reason::Rejected)
            }
            _ => Failure::GiveUp(Reason::UpstreamError),
        }
    }

    /// Returns true if a server refused a request for a reason that it does not name, so that the plainest request may work.
    pub(crate) fn is_unexplained(&self) -> bool {
        let explained = [
            "api key",
            "api_key",
            "unauthorized",
            "credit",
            "quota",
            "billing",
            "payment",
            "balance",
            "model not found",
            "model_not_found",
            "no such model",
            "does not exist",
            "unknown model",
            "invalid model",
            "not a valid model",
            "context",
            "too long",
            "too many tokens",
            "maximum length",
            "policy",
            "safety",
            "moderation",
            "flagged",
            "filtered",
        ];
        matches!(self.status, 400 | 422)
            && self.retryable != Some(false)
            && !explained.iter().any(|word| self.details.contains(word) || self.kind.contains(word))
    }

    fn wait(&self) -> Wait {
        let is_busy = is_busy(self.status)
            || matches!(&*self.kind, "rate_limit_exceeded" | "provider_overloaded" | "overloaded_error");
        Wait { named: self.retry_after.or_else(|| named_by_text(&self.details)), is_busy }
    }

    /// Returns true if the upstream no longer has the model. “No endpoints found that support tool use” is about the request.
    pub(crate) fn is_unknown_model(&self) -> bool {
        let says = |words: &[&str]| words.iter().any(|word| self.details.contains(word));
        self.kind == "model_not_found"
            || (self.status == 404
                && says(&[
                    "no such model",
                    "model not found",
                    "does not exist",
                    "unknown model",
                    "not found, try pulling",
                ]))
    }

    /// Returns true if the error is a rate limit.
    pub(crate) fn is_rate_limit(&self) -> bool {
        self.status == 429 || self.kind == "rate_limit_exceeded"
    }

    /// Returns the unsupported feature if the text names one that the request used.
    fn unsupported(&self, request: &VoteRequest<'_>) -> Option<Unsupported> {
        let says = |words: &[&str]| words.iter().any(|word| self.details.contains(word));
        let names = |parameter, words: &[&str]| request.sends(parameter) && says(words);
        // An error about the prompt's length may mention the tools, which count towards the length.
        if says(&["context length", "context_length", "context window", "too many tokens"]) {
            return None;
        }
        // "Too long" may also refer to a value of the enum.
        let about_enum = names(OptionalParameter::TextValues, &["enum"]);
        if !about_enum && says(&["too long"]) {
            return None;
        }
        let unknown = says(&[
            "support",
            "unknown",
            "unrecognized",
            "unexpected",
            "not permitted",
            "not allowed",
            "extra",
            "requires",
            "not enabled",
            "invalid",
        ]);
        // A server error that only mentions tools does not mean that they are unsupported.
        if self.status >= 500 && !unknown && !about_enum {
            return None;
        }
        // Some reasoning models support function tools only with `reasoning_effort: "none"`, others not at
        // all.
        if request.level.has_tool() && says(&["reasoning_effort"]) {
            if request.turns_reasoning_off() {
                return Some(Unsupported::Tools);
            }
            if says(&["function", "tool"]) {
                return Some(Unsupported::Parameter(OptionalParameter::DefaultEffort));
            }
        }
        if names(OptionalParameter::ParallelToolCalls, &["parallel_tool_calls", "parallel tool calls"]) {
            return Some(Unsupported::Parameter(OptionalParameter::ParallelToolCalls));
        }
        if request.streams() {
            if request.sends_stream_options() && says(&["stream_options", "include_usage"]) {
                return Some(Unsupported::StreamOptions);
            }
        } else if says(&[
            "non-stream",
            "only support stream",
            "only supports stream",
            "stream mode",
            "must be streamed",
        ]) || says(&[
            "requires stream",
            "stream=true",
            "\"stream\": true",
            "`stream` must",
            "'stream' must",
        ]) {
            return Some(Unsupported::WholeResponse);
        }
        // Bedrock names its own field for `required`.
        if request.level.has_tool() && says(&["toolchoice"]) {
            return Some(Unsupported::ForcedCall);
        }
        if request.level.has_tool() && says(&["tool_choice", "tool choice"]) {
            return Some(Unsupported::ToolChoice);
        }
        // Providers limit the length, the characters or the total size of an enum's values.
        if about_enum {
            return Some(Unsupported::Parameter(OptionalParameter::TextValues));
        }
        if request.level == FallbackLevel::Schema
            && says(&[
                "response_format",
                "response format",
                "json_schema",
                "json schema",
                "structured output",
                "structured_output",
            ])
        {
            return Some(Unsupported::ResponseFormat);
        }
        if request.sends(OptionalParameter::Strict)
            && self.details.split(|c: char| !c.is_alphanumeric()).any(|w| w == "strict")
        {
            return Some(Unsupported::Parameter(OptionalParameter::Strict));
        }
        if names(OptionalParameter::MaxTokens, &["max_completion_tokens"]) {
            return Some(Unsupported::Parameter(OptionalParameter::MaxTokens));
        }
        if names(
            OptionalParameter::System,
            &[
                "system role",
                "system message",
                "developer instruction",
                "roles must alternate",
                "only user and assistant",
            ],
        ) {
            return Some(Unsupported::Parameter(OptionalParameter::System));
        }
        if unknown && names(OptionalParameter::Reasoning, &["reasoning"]) {
            return Some(Unsupported::Parameter(OptionalParameter::Reasoning));
        }
        if unknown
            && names(
                OptionalParameter::Provider,
                &["provider.sort", "'provider'", "\"provider\"", "`provider`"],
            )
        {
            return Some(Unsupported::Parameter(OptionalParameter::Provider));
        }
        let tools = ["tools", "tool use", "tool call", "tool_call", "function call", "functions"];
        (request.level.has_tool() && says(&tools)).then_some(Unsupported::Tools)
    }
}
