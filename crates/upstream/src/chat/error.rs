//! Parses the errors of upstreams and decides how to handle them.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use ep_polling::ballot::Reason;
use ep_polling::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::VoteRequest;
use super::response::{number, text};
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
    /// Send the same request again, after this time if the upstream sent one.
    Wait(Option<Duration>),
    /// Do not retry. Contains the reason for the missing vote.
    GiveUp(Reason),
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
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    param: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    availability: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct RawHints<'a> {
    #[serde(borrow, default)]
    error_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    retry_after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    retryable: Option<&'a RawValue>,
    #[serde(borrow, default)]
    raw: Option<&'a RawValue>,
}

fn read<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

impl<'a> UpstreamError<'a> {
    /// Parses the error in a body with a status of 400 or above.
    pub(crate) fn from_body(status: u16, body: &'a [u8], retry_after: Option<Duration>) -> Self {
        let outer: RawError<'a> = serde_json::from_slice(body).unwrap_or_default();
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
        for more in [error.param, error.detail, metadata.raw].into_iter().flatten() {
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
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => Failure::Wait(self.retry_after),
            0 if busy => Failure::Wait(self.retry_after),
            400..=499 => Failure::GiveUp(Reason::Rejected),
            0 if matches!(kind, "payment_required" | "permission_denied" | "context_length_exceeded") => {
                Failure::GiveUp(Reason::Rejected)
            }
            _ => Failure::GiveUp(Reason::UpstreamError),
        }
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
        if names(OptionalParameter::System, &["system role", "system message", "developer instruction"]) {
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

/// Shortens an upstream's message to one line and removes keys, tokens, account numbers and URLs, so that it
/// can be shown to callers.
pub(crate) fn public_text(message: &str, secret: Option<&str>) -> String {
    const MAX_BYTES: usize = 120;
    let mut text = message.chars().take(2000).collect::<String>();
    if let Some(secret) = secret.filter(|secret| secret.len() >= 4) {
        text = text.replace(secret, "…");
    }
    let words = text.split_whitespace().map(|word| if is_sensitive(word) { "…" } else { word });
    let mut shown = String::new();
    for word in words {
        if shown.len() + word.len() > MAX_BYTES {
            shown.push('…');
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    shown
}

/// Returns true if a word may be a URL, a key or an identifier: a long mix of letters and digits.
fn is_sensitive(word: &str) -> bool {
    const PREFIXES: [&str; 9] = ["sk-", "sk_", "pk-", "org-", "org_", "user_", "user-", "key-", "bearer"];
    let lower = word.to_ascii_lowercase();
    let token = |part: &str| {
        part.len() >= 20
            && part.bytes().any(|b| b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_alphabetic())
    };
    lower.contains("://")
        || lower.contains('@')
        || lower
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
            .any(|part| token(part) || PREFIXES.iter().any(|prefix| part.starts_with(prefix)))
}

/// Parses a `Retry-After` header (RFC 9110 §10.2.3): seconds or a date.
pub(crate) fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(header).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(date.as_millis() as i64).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Timestamp::from_millis(1_769_817_600_000); // 2026-01-31T00:00:00Z
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Saturday, 31-Jan-26 00:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("Fri, 30 Jan 2026 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("-3", now), None);
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn public_text_contains_no_secrets() {
        let shown = public_text(
            "Incorrect API key provided: sk-or-v1-abc***def. See https://u:p@host/x or mail me@x.org (org-7Hq, \
             req 0a1b2c3d4e5f6a7b8c9d0e1f), key secret99.",
            Some("secret99"),
        );
        assert_eq!(shown, "Incorrect API key provided: … See … or mail … … req … key ….");
        assert!(public_text(&"word ".repeat(100), None).len() < 130);
    }
}
