//! Access tokens.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::email::Email;
use crate::fault::Fault;
use crate::identity::Identity;
use crate::key_terms::KeyScope;

/// Verifies access tokens of a configured issuer (RFC 6750, RFC 9068).
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// What a token proves. [`Kind::Unauthenticated`](crate::fault::Kind) with the reason if it is forged, expired, or
    /// meant for another service; [`Kind::Unavailable`](crate::fault::Kind) if the issuer's keys cannot be had.
    async fn verify(&self, token: &SecretString) -> Result<ProvenToken, Fault>;
}

/// What an access token proves.
#[derive(Debug)]
pub struct ProvenToken {
    /// Who it was issued for.
    pub identity: Identity,
    /// The address for an account that has none yet; no key to any account.
    pub email: Email,
    /// What it may be used for; `None` if it has no scope of this service.
    pub scope: Option<KeyScope>,
}
