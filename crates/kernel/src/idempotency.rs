//! Idempotency: the same request under the same key is carried out once.
//!
//! Follows the IETF draft "The Idempotency-Key HTTP Header Field" (httpapi, draft 07): another body
//! under the same key is refused, a request still running is reported as such, replies are kept for a
//! day. Server failures and rate limits are not kept. A reply that is not final yet is not kept either:
//! repeating the request then finds the same poll and answers how far it is.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::caller::Caller;
use crate::fault::{Fault, KeptFault, Kind};
use crate::ports::ClaimState;
use crate::tool::{Answered, Entry, Freshness};

/// How long replies are kept.
pub const KEPT: Duration = Duration::from_hours(24);
/// Longest key, in characters.
pub const MAX_KEY: usize = 255;
/// Stands for a reply that was not final yet.
const PENDING: &str = "pending";

/// A claimed idempotent request.
pub struct Claim {
    scope: String,
}

/// What claiming came to.
pub enum Claimed {
    /// Carry it out, then call [`Claim::finish`].
    Mine(Claim),
    /// It was carried out before; this was the reply.
    Before(Result<Answered, Fault>),
}

#[derive(Serialize, Deserialize)]
enum Kept {
    Answer { value: Value, immutable: bool, headline: Option<String>, handle: Option<String> },
    Fault(KeptFault),
}

/// Checks a key as it came: a structured-field string (`"…"`, RFC 9651) or a bare token.
pub fn check_key(raw: &str) -> Result<&str, Fault> {
    let raw = raw.trim();
    let key = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(raw);
    let fits = (1..=MAX_KEY).contains(&key.len())
        && key.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    if fits {
        Ok(key)
    } else {
        Err(Fault::invalid(
            "Idempotency-Key",
            format!("must be 1 to {MAX_KEY} visible ASCII characters, for example a UUID"),
        ))
    }
}

impl Claim {
    /// Claims a request, or finds what became of it.
    pub async fn make(
        app: &App,
        entry: &Entry,
        caller: &Caller,
        key: &str,
        input: &Value,
        deadline: Duration,
    ) -> Result<Claimed, Fault> {
        let scope = digest(&[&caller.scope(), entry.spec.name, key]);
        let fingerprint = digest(&[&input.to_string()]);
        let now = app.clock.now();
        let begun =
            app.idempotency.begin(&scope, &fingerprint, now, now.after(deadline), now.after(KEPT)).await?;
        match begun {
            ClaimState::Fresh => Ok(Claimed::Mine(Self { scope })),
            ClaimState::Done(reply) if reply == PENDING => Ok(Claimed::Mine(Self { scope })),
            ClaimState::Done(reply) => match serde_json::from_str(&reply).map_err(Fault::internal)? {
                Kept::Answer { value, immutable, headline, handle } => {
                    let freshness = if immutable { Freshness::Immutable } else { Freshness::Live };
                    Ok(Claimed::Before(Ok(Answered { value, freshness, headline, handle })))
                }
                Kept::Fault(fault) => Ok(Claimed::Before(Err(fault.into()))),
            },
            ClaimState::Running => Err(Fault::new(
                Kind::InProgress,
                "a request with this Idempotency-Key is still running; send it again in a few seconds",
            )
            .retry_after(Duration::from_secs(5))),
            ClaimState::Mismatch => Err(Fault::new(
                Kind::IdempotencyMismatch,
                "this Idempotency-Key was used for a request with another body; use a new key",
            )),
        }
    }

    /// The request's name: the same for every repetition, and for nothing else.
    pub fn request_ref(&self) -> &str {
        &self.scope
    }

    /// Keeps the reply, or gives the claim up where it must not be kept.
    pub async fn finish(self, app: &App, reply: &Result<Answered, Fault>) {
        let kept = match reply {
            Ok(Answered { freshness: Freshness::Pending(_), .. }) => Some(PENDING.to_owned()),
            Ok(answered) => {
                let immutable = answered.freshness == Freshness::Immutable;
                let Answered { value, headline, handle, .. } = answered.clone();
                serde_json::to_string(&Kept::Answer { value, immutable, headline, handle }).ok()
            }
            Err(fault) if fault.kind().is_ours() || fault.kind() == Kind::RateLimited => None,
            Err(fault) => serde_json::to_string(&Kept::Fault(fault.into())).ok(),
        };
        let done = match kept {
            Some(kept) => app.idempotency.finish(&self.scope, &kept).await,
            None => app.idempotency.forget(&self.scope).await,
        };
        if let Err(error) = done {
            // The claim's own deadline frees the key again.
            tracing::warn!(error = %error, "an idempotent reply could not be kept");
        }
    }
}

fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_quoted_or_bare() {
        assert_eq!(check_key("\"a-b\"").unwrap(), "a-b");
        assert_eq!(check_key(" 8e03978e-40d5 ").unwrap(), "8e03978e-40d5");
        for bad in ["", "\"\"", "a\"b", "ü", "tab\there", &"x".repeat(256)] {
            assert_eq!(check_key(bad).unwrap_err().kind(), Kind::InvalidInput, "{bad}");
        }
    }
}
