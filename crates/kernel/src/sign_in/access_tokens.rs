//! Callers with an access token of the configured issuer.

use std::net::IpAddr;
use std::sync::Arc;

use secrecy::SecretString;

use super::SignUps;
use crate::caller::Caller;
use crate::fault::Result;
use crate::ports::{ProvenToken, TokenVerifier};

/// Finds the accounts of access tokens.
pub struct AccessTokens {
    /// Verifies the tokens.
    pub verifier: Arc<dyn TokenVerifier>,
    /// Finds or creates the accounts, shared with users who sign in at the same issuer.
    pub sign_ups: Arc<SignUps>,
}

impl AccessTokens {
    /// Returns the caller with this token. Creates an account for its holder if there is none yet, as signing
    /// in does. Fails as [`TokenVerifier::verify`] does.
    pub async fn caller(&self, token: &SecretString, address: IpAddr) -> Result<Caller> {
        let ProvenToken { identity, email, scope } = self.verifier.verify(token).await?;
        let client = Caller::Anonymous { address };
        let user = self.sign_ups.sign_in_by_token(identity, email, &client).await?;
        Ok(Caller::Token { user, scope })
    }
}
