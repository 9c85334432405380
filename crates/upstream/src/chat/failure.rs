//! What an upstream's error means for a vote.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::Ask;
use super::response::{number, text};
use crate::ladder::{Parameter, Refused};

/// What to do about an error.
#[derive(Debug, PartialEq)]
pub(crate) enum Remedy {
    /// Ask again without what was refused: it cost nothing and is no answer.
    StepDown(Refused),
    /// The model did not keep the form, and the server gave its answer no further: ask below the tools.
    Missed,
    /// Ask the same again, after this time if one is named.
    Wait(Option<Duration>),
    /// It will not get better: the upstream does not let us, or does not know the model.
    Rejected,
    /// A content policy or the model itself declined.
    Refused,
    /// The upstream failed.
    Failed,
}

/// An error as an upstream reports it.
#[derive(Debug)]
pub(crate) struct Complaint<'a> {
    /// The HTTP status, or the code inside an error that came with status 200.
    pub(crate) status: u16,
    /// The upstream's words.
    pub(crate) message: Cow<'a, str>,
    kind: Cow<'a, str>,
    wait: Option<Duration>,
    retryable: Option<bool>,
    /// Everything it said, for finding what was refused.
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

impl<'a> Complaint<'a> {
    /// An error body with a status of 400 or above.
    pub(crate) fn with_status(status: u16, body: &'a [u8], wait: Option<Duration>) -> Self {
        let outer: RawError<'a> = serde_json::from_slice(body).unwrap_or_default();
        // `{"error": {…}}`, `{"error": "…"}`, `{"message": …}` and `{"detail": …}` are all in use.
        let mut complaint = match outer.error {
            Some(error) => Self::inside(error, wait),
            None => Self::of(&outer, wait),
        };
        complaint.status = status;
        if complaint.message.is_empty() && !body.starts_with(b"<") {
            complaint.message = String::from_utf8_lossy(&body[..body.len().min(300)]);
            complaint.details.push_str(&complaint.message.to_lowercase());
        }
        complaint
    }

    /// An error inside an answer with status 200.
    pub(crate) fn inside(error: &'a RawValue, wait: Option<Duration>) -> Self {
        match text(Some(error)) {
            Some(message) => {
                let details = message.to_lowercase();
                Self { status: 0, message, kind: Cow::Borrowed(""), wait, retryable: None, details }
            }
            None => Self::of(&read(Some(error)), wait),
        }
    }

    fn of(error: &RawError<'a>, wait: Option<Duration>) -> Self {
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
            wait: wait.or_else(|| seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())),
            retryable: availability.retryable.map(|value| value.get() == "true"),
            details,
        }
    }

    /// What to do, given what was asked.
    pub(crate) fn remedy(&self, ask: &Ask<'_>) -> Remedy {
        let kind = &*self.kind;
        if kind == "tool_use_failed" && ask.rung.has_tool() {
            return Remedy::Missed;
        }
        // Some servers answer 500 to parameters they do not know.
        if matches!(self.status, 0 | 400 | 404 | 405 | 422 | 500 | 501)
            && let Some(refused) = self.refused(ask)
        {
            return Remedy::StepDown(refused);
        }
        if matches!(kind, "content_policy_violation" | "refusal" | "content_filter") {
            return Remedy::Refused;
        }
        let busy = matches!(
            kind,
            "rate_limit_exceeded" | "provider_overloaded" | "provider_unavailable" | "overloaded_error"
        ) || kind == "timeout"
            || (self.status == 0 && kind == "server");
        match self.status {
            _ if self.retryable == Some(false) => Remedy::Rejected,
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => Remedy::Wait(self.wait),
            0 if busy => Remedy::Wait(self.wait),
            400..=499 => Remedy::Rejected,
            0 if matches!(kind, "payment_required" | "permission_denied" | "context_length_exceeded") => {
                Remedy::Rejected
            }
            _ => Remedy::Failed,
        }
    }

    /// Whether it asks for fewer requests.
    pub(crate) fn is_rate_limit(&self) -> bool {
        self.status == 429 || self.kind == "rate_limit_exceeded"
    }

    /// What was refused, where the words name something that was sent.
    fn refused(&self, ask: &Ask<'_>) -> Option<Refused> {
        let says = |words: &[&str]| words.iter().any(|word| self.details.contains(word));
        let drops = |parameter, words: &[&str]| ask.sends(parameter) && says(words);
        // A question that is too long is counted out together with the tools it came with.
        if says(&["context length", "context_length", "context window", "too long", "too many tokens"]) {
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
        // A failure of the server's own that happens to name tools is no refusal of them.
        if self.status >= 500 && !unknown {
            return None;
        }
        if drops(Parameter::ParallelToolCalls, &["parallel_tool_calls", "parallel tool calls"]) {
            return Some(Refused::Parameter(Parameter::ParallelToolCalls));
        }
        if ask.rung.has_tool() && says(&["tool_choice", "tool choice"]) {
            return Some(Refused::ToolChoice);
        }
        if ask.rung == crate::ladder::Rung::Schema
            && says(&[
                "response_format",
                "response format",
                "json_schema",
                "json schema",
                "structured output",
                "structured_output",
            ])
        {
            return Some(Refused::ResponseFormat);
        }
        if ask.sends(Parameter::Strict)
            && self.details.split(|c: char| !c.is_alphanumeric()).any(|w| w == "strict")
        {
            return Some(Refused::Parameter(Parameter::Strict));
        }
        if drops(Parameter::MaxTokens, &["max_completion_tokens"]) {
            return Some(Refused::Parameter(Parameter::MaxTokens));
        }
        if drops(Parameter::System, &["system role", "system message", "developer instruction"]) {
            return Some(Refused::Parameter(Parameter::System));
        }
        if unknown && drops(Parameter::Reasoning, &["reasoning"]) {
            return Some(Refused::Parameter(Parameter::Reasoning));
        }
        if unknown
            && drops(Parameter::Provider, &["provider.sort", "'provider'", "\"provider\"", "`provider`"])
        {
            return Some(Refused::Parameter(Parameter::Provider));
        }
        let tools = ["tools", "tool use", "tool call", "tool_call", "function call", "functions"];
        (ask.rung.has_tool() && says(&tools)).then_some(Refused::Tools)
    }
}

/// An upstream's words as they may be shown to anybody: one line, short, without keys, tokens, account
/// numbers or addresses.
pub(crate) fn presentable(message: &str, secret: Option<&str>) -> String {
    const MOST: usize = 120;
    let mut text = message.chars().take(2000).collect::<String>();
    if let Some(secret) = secret.filter(|secret| secret.len() >= 4) {
        text = text.replace(secret, "…");
    }
    let words = text.split_whitespace().map(|word| if is_telling(word) { "…" } else { word });
    let mut shown = String::new();
    for word in words {
        if shown.len() + word.len() > MOST {
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

/// Words that may identify somebody or open something: addresses, keys, long mixed tokens.
fn is_telling(word: &str) -> bool {
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

/// `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
pub(crate) fn retry_after(header: &str, now: jiff::Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(header).ok()?.timestamp();
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_both_forms() {
        let now: jiff::Timestamp = "2026-01-31T00:00:00Z".parse().unwrap();
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("Fri, 30 Jan 2026 00:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("-3", now), None);
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn what_is_shown_tells_nothing() {
        let shown = presentable(
            "Incorrect API key provided: sk-or-v1-abc***def. See https://u:p@host/x or mail me@x.org (org-7Hq, \
             req 0a1b2c3d4e5f6a7b8c9d0e1f), key secret99.",
            Some("secret99"),
        );
        assert_eq!(shown, "Incorrect API key provided: … See … or mail … … req … key ….");
        assert!(presentable(&"word ".repeat(100), None).len() < 130);
    }
}
