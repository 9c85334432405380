//! Idempotency: a request with a key runs once.
//!
//! Follows the IETF draft "The Idempotency-Key HTTP Header Field" (httpapi, draft 07). Another body under the
//! same key is rejected, a request still running is reported as such, and replies are stored for a day.
//! Server failures and rejections for lack of capacity or money are not stored. Neither is an interim reply:
//! a repetition finds the same poll and returns its progress.
//!
//! A claim is a lease. It is renewed while the request runs, and expires soon after its process has ended.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::caller::Caller;
use crate::canonical;
use crate::fault::{Fault, Kind, Result, StoredFault};
use crate::output::{CallOutput, Presentation};
use crate::ports::{Clock, Entropy};
use crate::sealing::Sealer;
use ep_store::{ClaimRecord, ClaimState, Runtime};

/// Time for which replies are stored.
pub const STORED_FOR: Duration = Duration::from_hours(24);
/// Maximum length of a key, in characters.
pub const MAX_KEY: usize = 255;
/// Stored instead of an interim reply.
const PENDING: &str = "pending";
/// Prefix of a stored reply that holds a secret; the rest is encrypted.
const SEALED: &str = "sealed:";

/// Runs idempotent requests once.
pub struct Idempotency {
    /// Stores the replies.
    pub runtime: Runtime,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for encryption.
    pub entropy: Arc<dyn Entropy>,
    /// Encrypts replies that hold a secret.
    pub sealer: Sealer,
    /// Time until the claim of an unresponsive process expires.
    pub lease: Duration,
}

/// A claimed idempotent request.
#[derive(Debug)]
pub struct Claim {
    scope: String,
    credential: String,
    epoch: i64,
    request_ref: String,
}

/// The result of claiming a request.
#[derive(Debug)]
pub enum Claimed {
    /// A new request. Run it with [`Idempotency::keep`], then call [`Idempotency::finish`].
    New(Claim),
    /// The same request is running; this is its [`Claim::request_ref`].
    Running(String),
    /// The request has already run; this is its reply.
    Replay(Box<Result<CallOutput>>),
}

#[derive(Serialize, Deserialize)]
enum StoredReply {
    #[serde(alias = "Answer")]
    Output {
        value: Value,
        presentation: Box<Presentation>,
    },
    Fault(StoredFault),
}

/// Parses the header value: a structured-field string (`"…"`, RFC 9651) or a bare token.
/// [`Kind::InvalidInput`](crate::fault::Kind) for another form.
pub fn check_key(raw: &str) -> Result<&str> {
    let raw = raw.trim();
    let key = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(raw);
    let fits = (1..=MAX_KEY).contains(&key.len())
        && key.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    let rule = || {
        format!("must be 1 to {MAX_KEY} printable ASCII characters other than \" and \\, for example a UUID")
    };
    if fits { Ok(key) } else { Err(Fault::invalid("Idempotency-Key", rule())) }
}

impl Claim {
    fn new(scope: String, credential: String, record: ClaimRecord) -> Self {
        let request_ref = request_ref(&scope, record);
        Self { scope, credential, epoch: record.epoch, request_ref }
    }

    /// Returns a key that is the same for every repetition of this request and unique otherwise. A request
    /// with the same key after [`STORED_FOR`] is a new one.
    pub fn request_ref(&self) -> &str {
        &self.request_ref
    }
}

impl Idempotency {
    /// Claims a request of this operation and caller, or returns its reply. `fingerprint` is that of its input.
    pub async fn claim(
        &self,
        operation: &str,
        caller: &Caller,
        key: &str,
        fingerprint: &str,
    ) -> Result<Claimed> {
        let scope = digest(&[&caller.scope(), operation, check_key(key)?]);
        let now = self.clock.now();
        let expires = now.after(STORED_FOR);
        match self.runtime.begin_claim(&scope, fingerprint, now, self.lease, expires).await? {
            ClaimState::Claimed(record) => Ok(Claimed::New(Claim::new(scope, caller.credential(), record))),
            ClaimState::Done(record, reply) if reply == PENDING => {
                Ok(Claimed::New(Claim::new(scope, caller.credential(), record)))
            }
            ClaimState::Done(_, reply) => {
                self.read(&reply, &scope, &caller.credential()).map(|reply| Claimed::Replay(Box::new(reply)))
            }
            ClaimState::Running(record) => Ok(Claimed::Running(request_ref(&scope, record))),
            ClaimState::Mismatch => Err(Fault::new(
                Kind::IdempotencyMismatch,
                "this Idempotency-Key was used for a request with another body; use a new key",
            )),
        }
    }

    /// Runs a claimed request and renews the claim meanwhile.
    pub async fn keep<T>(&self, claim: &Claim, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep(self.lease / 3) => {}
            }
            if let Err(error) = self.runtime.renew_claim(&claim.scope, claim.epoch, self.lease).await {
                tracing::warn!(error = %error, "failed to renew an idempotency claim");
            }
        }
    }

    /// Stores the reply, or releases the claim if the reply must not be stored.
    pub async fn finish(&self, claim: Claim, reply: &Result<CallOutput>) {
        let stored = match reply {
            Ok(CallOutput { presentation, .. }) if presentation.interim.is_some() => Some(PENDING.to_owned()),
            Ok(output) => self.write(output, &claim).ok(),
            Err(fault) if fault.kind().is_ours() || is_temporary(fault.kind()) => None,
            Err(fault) => serde_json::to_string(&StoredReply::Fault(fault.into())).ok(),
        };
        let done = match stored {
            Some(stored) => self.runtime.finish_claim(&claim.scope, claim.epoch, &stored).await,
            None => self.runtime.renew_claim(&claim.scope, claim.epoch, Duration::ZERO).await,
        };
        if let Err(error) = done {
            // The key becomes free when the claim's lease expires.
            tracing::warn!(error = %error, "failed to store an idempotent reply");
        }
    }

    /// Deletes expired replies.
    pub async fn sweep(&self) -> Result<()> {
        Ok(self.runtime.sweep_claims(self.clock.now()).await.map(drop)?)
    }

    fn write(&self, output: &CallOutput, claim: &Claim) -> Result<String> {
        let CallOutput { value, mut presentation } = output.clone();
        let sensitive = presentation.sensitive;
        let value = presentation.repeated.take().unwrap_or(value);
        let reply = StoredReply::Output { value, presentation: Box::new(presentation) };
        let text = serde_json::to_string(&reply).map_err(Fault::internal)?;
        if !sensitive {
            return Ok(text);
        }
        let context = sealed_for(&claim.scope, &claim.credential);
        Ok(format!("{SEALED}{}", self.sealer.seal(&text, &context, self.entropy.bytes())?))
    }

    /// Reads a stored reply. One that holds a secret is returned to the credential of the first request alone: another
    /// one of the account may be more limited.
    fn read(&self, stored: &str, scope: &str, credential: &str) -> Result<Result<CallOutput, Fault>> {
        let opened;
        let text = match stored.strip_prefix(SEALED) {
            Some(sealed) => {
                opened = self.sealer.open(sealed, &sealed_for(scope, credential)).map_err(|_| {
                    Fault::new(
                        Kind::IdempotencyMismatch,
                        "this Idempotency-Key was used with another credential, and the response has a secret; use a \
                         new key",
                    )
                })?;
                opened.as_str()
            }
            None => stored,
        };
        Ok(match serde_json::from_str(text).map_err(Fault::internal)? {
            StoredReply::Output { value, presentation } => {
                Ok(CallOutput { value, presentation: *presentation })
            }
            StoredReply::Fault(fault) => Err(fault.into()),
        })
    }
}

/// The context that a reply with a secret is encrypted in.
fn sealed_for(scope: &str, credential: &str) -> String {
    format!("{scope}:{credential}")
}

/// The stored reply to requests about a poll that was deleted: a repeated request is refused, and opens no other poll.
/// Empty if it cannot be written.
pub fn reply_of_deleted_poll() -> String {
    let fault = Fault::new(Kind::NotFound, "this poll was deleted; to ask again, use a new Idempotency-Key");
    serde_json::to_string(&StoredReply::Fault((&fault).into())).unwrap_or_default()
}

/// Computes [`Claim::request_ref`].
fn request_ref(scope: &str, record: ClaimRecord) -> String {
    digest(&[scope, &record.expires_at.millis().to_string()])
}

/// True if an unchanged request may succeed the next moment.
const fn is_temporary(kind: Kind) -> bool {
    matches!(kind, Kind::RateLimited | Kind::Busy | Kind::InsufficientBalance)
}

/// Returns a hash of the input, independent of the order of JSON fields.
pub fn fingerprint(input: &Value) -> String {
    digest(&[&canonical::text(input)])
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
    fn keys_are_quoted_or_bare() {
        assert_eq!(check_key("\"a-b\"").unwrap(), "a-b");
        assert_eq!(check_key(" 8e03978e-40d5 ").unwrap(), "8e03978e-40d5");
        for bad in ["", "\"\"", "a\"b", "ü", "tab\there", &"x".repeat(256)] {
            assert_eq!(check_key(bad).unwrap_err().kind(), Kind::InvalidInput, "{bad}");
        }
    }

    #[test]
    fn fingerprints_do_not_depend_on_the_order_of_fields() {
        let parsed = |text: &str| fingerprint(&serde_json::from_str(text).unwrap());
        assert_eq!(
            parsed(r#"{"a":1,"b":{"c":[2,{"x":1,"y":2}],"d":3}}"#),
            parsed(r#"{"b":{"d":3,"c":[2,{"y":2,"x":1}]},"a":1}"#)
        );
        assert_ne!(parsed(r#"{"a":[1,2]}"#), parsed(r#"{"a":[2,1]}"#));
    }
}
