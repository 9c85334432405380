//! Browser sessions: a cookie holds an encrypted random token, and a row is stored under the hash of the
//! token.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::fault::{Fault, Kind, Result};
use crate::output::SessionChange;
use crate::ports::{Clock, Entropy};
use crate::sealing::Sealer;
use ep_polling::Timestamp;
use ep_store::{CLOCKS_APART, NewSession, StoreError, StoredSession, TokenHash, UserId, Vault};

/// Encryption context of the cookie: its name.
const COOKIE: &str = "ep_session";
/// Encryption context of the provider's token.
const PROVIDER_TOKEN: &str = "provider token";
/// Number of writes of the last use per idle lifetime, at most.
const TOUCHES_PER_LIFETIME: u32 = 50;

/// Lifetimes of sessions.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// Maximum time without use. A session may last a fiftieth longer, because not every use is written.
    pub idle: Duration,
    /// Maximum total time.
    pub absolute: Duration,
}

/// Starts, verifies and ends sessions.
pub struct Sessions {
    vault: Vault,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    sealer: Sealer,
    lifetimes: Lifetimes,
}

impl Sessions {
    /// Creates the service. `sealer` encrypts the cookies.
    pub fn new(
        vault: Vault,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        sealer: Sealer,
        lifetimes: Lifetimes,
    ) -> Self {
        Self { vault, clock, entropy, sealer, lifetimes }
    }

    /// Starts a session with a new token. `provider_token` is the token for signing out at the identity
    /// provider. [`Kind::NotFound`] for an unknown user.
    pub async fn start(&self, user: UserId, provider_token: Option<&str>) -> Result<SessionChange> {
        let token = hex::encode(self.entropy.bytes::<32>());
        let seal = |text: &str, context| self.sealer.seal(text, context, self.entropy.bytes());
        let session = NewSession {
            hash: TokenHash::of(&token),
            user,
            created_at: self.clock.now(),
            provider_token: provider_token.map(|token| seal(token, PROVIDER_TOKEN)).transpose()?,
        };
        match self.vault.start_session(&session).await {
            Err(StoreError::NotFound(_)) => {
                return Err(Fault::new(Kind::NotFound, "this account no longer exists"));
            }
            started => started?,
        }
        let token = seal(&token, COOKIE)?.into();
        Ok(SessionChange::Start { token, lifetime: self.lifetimes.absolute })
    }

    /// Returns the user of this cookie; `None` if it is forged or its session has ended.
    pub async fn user(&self, cookie: &SecretString) -> Result<Option<UserId>> {
        let Some(hash) = self.hash(cookie) else { return Ok(None) };
        let now = self.clock.now();
        let Some(session) = self.vault.session(&hash).await?.filter(|session| self.lasts(session, now))
        else {
            return Ok(None);
        };
        if now.since(session.used_at) > self.lifetimes.idle / TOUCHES_PER_LIFETIME {
            self.vault.touch_session(&hash, now).await?;
        }
        Ok(Some(session.user))
    }

    /// Ends the session of this cookie, also for copies of the cookie. Returns the token for signing out at
    /// the identity provider, if any.
    pub async fn end(&self, cookie: &SecretString) -> Result<Option<SecretString>> {
        let Some(hash) = self.hash(cookie) else { return Ok(None) };
        let ended = self.vault.end_session(&hash).await?;
        let sealed = ended.and_then(|session| session.provider_token);
        sealed.map(|sealed| Ok(self.sealer.open(&sealed, PROVIDER_TOKEN)?.into())).transpose()
    }

    /// Deletes expired sessions and expired nonces.
    pub async fn sweep(&self) -> Result<()> {
        let now = self.clock.now();
        let (idle, absolute) = (now.before(self.idle()), now.before(self.lifetimes.absolute));
        // A nonce is stored until no process accepts it any more.
        self.vault.delete_old_sessions(idle, absolute, now.before(CLOCKS_APART)).await?;
        Ok(())
    }

    fn hash(&self, cookie: &SecretString) -> Option<TokenHash> {
        let token = self.sealer.open(cookie.expose_secret(), COOKIE).ok()?;
        Some(TokenHash::of(&token))
    }

    /// Returns the idle lifetime plus the maximum delay of writing a use.
    fn idle(&self) -> Duration {
        self.lifetimes.idle + self.lifetimes.idle / TOUCHES_PER_LIFETIME
    }

    fn lasts(&self, session: &StoredSession, now: Timestamp) -> bool {
        now.since(session.used_at) < self.idle() && now.since(session.created_at) < self.lifetimes.absolute
    }
}
