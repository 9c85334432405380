//! Access tokens.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::fault::Result;
use ep_store::{Email, Identity, KeyScope};

/// Verifies access tokens of a configured issuer (RFC 6750, RFC 9068).
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// Verifies a token. [`Kind::Unauthenticated`](crate::fault::Kind) with the reason if it is forged,
    /// expired, or meant for another service; [`Kind::Unavailable`](crate::fault::Kind) if the issuer's keys
    /// cannot be fetched.
    async fn verify(&self, token: &SecretString) -> Result<ProvenToken>;
}

/// A verified access token.
#[derive(Debug)]
pub struct ProvenToken {
    /// The identity that it was issued for.
    pub identity: Identity,
    /// The email address for a new account. It never identifies an existing one.
    pub email: Email,
    /// The scope; `None` if the token has no scope of this service.
    pub scope: Option<KeyScope>,
}
