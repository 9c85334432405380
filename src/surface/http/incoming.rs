//! Reads a request's head.

use std::time::Duration;

use axum::http::header::{ACCEPT, AUTHORIZATION, HeaderMap, IF_NONE_MATCH};
use axum::http::request::Parts;
use ep_kernel::caller::{Credential, RequestId};
use ep_kernel::dispatch::Call;
use ep_kernel::event::ProgressSink;
use ep_kernel::tool::Access;

use super::{Gate, address};

/// How the caller wants errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorStyle {
    /// `{"error": "…"}`.
    Plain,
    /// Problem details (RFC 9457).
    Problem,
}

/// A request's head, as far as every surface needs it.
pub struct Incoming {
    /// What it shows to say who is calling.
    pub credential: Credential,
    /// Where it came from.
    pub address: std::net::IpAddr,
    /// What answers need to know of it.
    pub shown: Shown,
}

/// What an answer needs to know of its request.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The request's name.
    pub request_id: RequestId,
    /// How the caller wants errors.
    pub style: ErrorStyle,
    /// `Idempotency-Key`, echoed.
    pub idempotency_key: Option<String>,
    /// Whether a credential was shown.
    pub credential: bool,
    /// `If-None-Match`.
    pub known_etag: Option<String>,
}

impl Incoming {
    /// Reads the head.
    pub fn read(gate: &Gate, parts: &Parts) -> Self {
        let headers = &parts.headers;
        let credential = match text(headers, AUTHORIZATION.as_str()) {
            Some(value) => {
                let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
                // Another scheme is a wrong credential, not none.
                let token = if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" };
                Credential::Bearer(token.to_owned().into())
            }
            None => Credential::None,
        };
        let shown = Shown {
            request_id: RequestId::from_random(gate.app.entropy.bytes()),
            style: style(headers),
            idempotency_key: text(headers, "idempotency-key").map(str::to_owned),
            credential: !matches!(credential, Credential::None),
            known_etag: text(headers, IF_NONE_MATCH.as_str()).map(str::to_owned),
        };
        Self { credential, address: address::of(parts, &gate.proxies), shown }
    }

    /// The call this request makes.
    pub fn call(
        self,
        gate: &Gate,
        surface: &'static str,
        door: Access,
        wait_limit: Option<Duration>,
        progress: Option<ProgressSink>,
    ) -> Call {
        Call {
            app: gate.app.clone(),
            surface,
            request_id: self.shown.request_id,
            credential: self.credential,
            address: self.address,
            door,
            idempotency_key: self.shown.idempotency_key,
            wait_limit,
            progress,
            told: None,
        }
    }
}

/// A header as text. One that is no text counts as present and empty, so that it is refused where it matters.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or(""))
}

fn style(headers: &HeaderMap) -> ErrorStyle {
    let machine = text(headers, "x-machine-client").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let accepts =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    let problem = accepts.into_iter().any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/problem+json"));
        let refused =
            parts.any(|p| p.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0));
        named && !refused
    });
    if machine || problem { ErrorStyle::Problem } else { ErrorStyle::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_details_only_where_asked_for() {
        let styled = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            style(&headers)
        };
        assert_eq!(styled("accept", "*/*"), ErrorStyle::Plain);
        assert_eq!(styled("accept", "application/json, application/problem+json"), ErrorStyle::Problem);
        assert_eq!(styled("accept", "application/problem+json;q=0"), ErrorStyle::Plain);
        assert_eq!(styled("x-machine-client", "true"), ErrorStyle::Problem);
        assert_eq!(styled("x-machine-client", "false"), ErrorStyle::Plain);
    }
}
