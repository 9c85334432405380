//! Access tokens.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::caller::UserId;
use crate::fault::Fault;

/// Verifies access tokens of a configured issuer (RFC 6750).
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// The account of this token; `None` if it is forged, expired, or meant for another service.
    async fn user(&self, token: &SecretString) -> Result<Option<UserId>, Fault>;
}
