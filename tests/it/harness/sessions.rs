//! Browser sessions without a sign-in.

use async_trait::async_trait;
use ep_kernel::caller::UserId;
use ep_kernel::fault::Fault;
use ep_kernel::ports::SessionVerifier;
use secrecy::{ExposeSecret, SecretString};

/// Cookies of this form prove the user they name.
pub struct NamedSessions;

#[async_trait]
impl SessionVerifier for NamedSessions {
    async fn user(&self, cookie: &SecretString) -> Result<Option<UserId>, Fault> {
        let user = cookie.expose_secret().strip_prefix("session-of-");
        Ok(user.and_then(|user| user.parse().ok()))
    }
}
