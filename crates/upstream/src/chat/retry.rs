//! The time after which an upstream wants the next request: in headers, in fields, or in a sentence.

use std::time::{Duration, SystemTime};

use ep_polling::Timestamp;
use reqwest::header::HeaderMap;

/// Returns the time that the headers of a refusal name, whichever they use.
pub(crate) fn named_by_headers(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = ["retry-after-ms", "x-ms-retry-after-ms"].into_iter().find_map(|name| {
        let ms: f64 = value(name)?.parse().ok()?;
        Duration::try_from_secs_f64(ms / 1e3).ok()
    });
    milliseconds
        .or_else(|| retry_after(value("retry-after")?, now))
        .or_else(|| reset_of_limits(headers, now))
        .or_else(|| rate_limit_field(value("ratelimit")?))
        .or_else(|| time_until(value("ratelimit-reset")?, now))
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

/// The reset of the limit that is used up, as `x-ratelimit-remaining-tokens: 0` tells; else the next one of all.
fn reset_of_limits(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let resets = headers.iter().filter_map(|(name, value)| {
        let limit = name.as_str().strip_prefix("x-ratelimit-reset")?;
        let remaining = headers.get(format!("x-ratelimit-remaining{limit}"));
        let is_used_up = remaining.is_some_and(|left| left.as_bytes().trim_ascii() == b"0");
        Some((!is_used_up, time_until(value.to_str().ok()?.trim(), now)?))
    });
    resets.min().map(|(_, wait)| wait)
}

/// Parses the `RateLimit` header in its forms (draft-ietf-httpapi-ratelimit-headers): `"default";r=0;t=5` and
/// `limit=10, remaining=0, reset=5`.
fn rate_limit_field(header: &str) -> Option<Duration> {
    let mut parts = header.split([';', ',']).filter_map(|part| part.trim().split_once('='));
    let (_, seconds) = parts.find(|(name, _)| matches!(*name, "t" | "reset"))?;
    Duration::try_from_secs_f64(seconds.trim().parse().ok()?).ok()
}

/// Figures from here on are seconds or milliseconds since 1970.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLISECONDS: f64 = 1e12;

/// Parses a time until a reset: seconds, `1m30s`, or seconds or milliseconds since 1970.
fn time_until(text: &str, now: Timestamp) -> Option<Duration> {
    let Ok(number) = text.parse::<f64>() else { return duration(text) };
    if number < EPOCH_SECONDS {
        return Duration::try_from_secs_f64(number).ok();
    }
    let millis = if number < EPOCH_MILLISECONDS { number * 1e3 } else { number };
    Some(Timestamp::from_millis(millis as i64).since(now))
}

/// Parses a duration with units, such as `2s`, `1m30.5s` or `450ms`.
fn duration(text: &str) -> Option<Duration> {
    text.parse::<jiff::SignedDuration>().ok().and_then(|duration| Duration::try_from(duration).ok())
}

/// Returns the time that a message names, in lower case: “try again in 2 seconds”, or Google's `"retrydelay":"2s"`.
pub(crate) fn named_by_text(message: &str) -> Option<Duration> {
    const PHRASES: [&str; 5] = ["try again in ", "retry in ", "retry after ", "try again after ", "wait "];
    let quoted = message.find("\"retrydelay\"").and_then(|at| {
        let value = message[at..].split_once(':')?.1.trim_start().strip_prefix('"')?;
        duration(value.split('"').next()?)
    });
    quoted.or_else(|| {
        let rest = PHRASES.iter().find_map(|phrase| message.split_once(phrase).map(|(_, rest)| rest))?;
        let mut words = rest.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
        let first = words.next()?;
        duration(first).or_else(|| duration(&format!("{}{}", first.parse::<f64>().ok()?, words.next()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-31T00:00:00Z.
    const NOW: Timestamp = Timestamp::from_millis(1_769_817_600_000);

    fn headers(fields: &[(&'static str, &str)]) -> Option<Duration> {
        let fields = fields
            .iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()));
        named_by_headers(&fields.collect(), NOW)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("7", NOW), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:30 GMT", NOW), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Saturday, 31-Jan-26 00:00:30 GMT", NOW), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Sat, 31 Jan 2026 00:00:00 GMT", NOW), Some(Duration::ZERO));
        assert_eq!(retry_after("Fri, 30 Jan 2026 00:00:00 GMT", NOW), Some(Duration::ZERO));
        assert_eq!(retry_after("-3", NOW), None);
        assert_eq!(retry_after("soon", NOW), None);
    }

    #[test]
    fn every_usual_header_is_read() {
        let (two, ninety) = (Some(Duration::from_secs(2)), Some(Duration::from_secs(90)));
        for (fields, expected) in [
            (&[("retry-after-ms", "2000"), ("retry-after", "3")][..], two),
            (&[("x-ms-retry-after-ms", "2000")], two),
            (&[("x-ratelimit-reset", "2")], two),
            (&[("x-ratelimit-reset", "1769817602")], two),
            (&[("x-ratelimit-reset", "1769817602000")], two),
            (&[("x-ratelimit-reset-requests", "1m30s"), ("x-ratelimit-reset-tokens", "2s")], two),
            (
                &[
                    ("x-ratelimit-reset-requests", "1m30s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "2s"),
                    ("x-ratelimit-remaining-tokens", "8"),
                ],
                ninety,
            ),
            (&[("ratelimit", "\"default\";r=0;t=2")], two),
            (&[("ratelimit", "limit=10, remaining=0, reset=2")], two),
            (&[("ratelimit-reset", "2")], two),
            (&[("x-ratelimit-limit", "2"), ("x-ratelimit-reset", "soon")], None),
        ] {
            assert_eq!(headers(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn sentences_name_a_time() {
        for (text, seconds) in [
            ("rate limit is exceeded. try again in 2 seconds.", Some(2.0)),
            ("please try again in 1m30.5s. visit", Some(90.5)),
            ("please try again in 20ms.", Some(0.02)),
            ("retry after 3 s", Some(3.0)),
            (r#"{"@type":"retryinfo","retrydelay": "2s"}"#, Some(2.0)),
            ("please try again later", None),
            ("try again in a moment", None),
        ] {
            assert_eq!(named_by_text(text).map(|wait| wait.as_secs_f64()), seconds, "{text}");
        }
    }
}
