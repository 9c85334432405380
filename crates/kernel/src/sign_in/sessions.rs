//! Browser sessions: a cookie that holds a random token, encrypted, and a row by the hash of that token.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::answer::SessionChange;
use crate::caller::UserId;
use crate::fault::{Fault, Kind};
use crate::ports::{CLOCKS_APART, Clock, Entropy, NewSession, SessionStore, StoreError, StoredSession};
use crate::sealing::Sealer;
use crate::session_token::TokenHash;
use ep_polling::time::Timestamp;

/// What the cookie's encryption is bound to: its name.
const COOKIE: &str = "ep_session";
/// What the encryption of the provider's token is bound to.
const PROVIDER_TOKEN: &str = "provider token";
/// A use is written when the last one written is older than this part of the idle lifetime.
const TOUCHES_PER_LIFETIME: u32 = 50;

/// How long sessions last.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// Unused; up to a fiftieth more, because not every use is written.
    pub idle: Duration,
    /// In all.
    pub absolute: Duration,
}

/// Begins, proves and ends sessions.
pub struct Sessions {
    store: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    sealer: Sealer,
    lifetimes: Lifetimes,
}

impl Sessions {
    /// Sessions whose cookies are encrypted by `sealer`.
    pub fn new(
        store: Arc<dyn SessionStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        sealer: Sealer,
        lifetimes: Lifetimes,
    ) -> Self {
        Self { store, clock, entropy, sealer, lifetimes }
    }

    /// Begins a session with a token of its own. `provider_token` is what the identity provider is signed out
    /// with. [`Kind::NotFound`] for an unknown user.
    pub async fn start(&self, user: UserId, provider_token: Option<&str>) -> Result<SessionChange, Fault> {
        let token = hex::encode(self.entropy.bytes::<32>());
        let seal = |text: &str, context| self.sealer.seal(text, context, self.entropy.bytes());
        let session = NewSession {
            hash: TokenHash::of(&token),
            user,
            created_at: self.clock.now(),
            provider_token: provider_token.map(|token| seal(token, PROVIDER_TOKEN)).transpose()?,
        };
        match self.store.start_session(&session).await {
            Err(StoreError::NotFound(_)) => {
                return Err(Fault::new(Kind::NotFound, "this account no longer exists"));
            }
            started => started?,
        }
        let token = seal(&token, COOKIE)?.into();
        Ok(SessionChange::Start { token, lifetime: self.lifetimes.absolute })
    }

    /// Who is signed in with this cookie; `None` if it is forged, or its session has ended.
    pub async fn user(&self, cookie: &SecretString) -> Result<Option<UserId>, Fault> {
        let Some(hash) = self.hash(cookie) else { return Ok(None) };
        let now = self.clock.now();
        let Some(session) = self.store.session(&hash).await?.filter(|session| self.lasts(session, now))
        else {
            return Ok(None);
        };
        if now.since(session.used_at) > self.lifetimes.idle / TOUCHES_PER_LIFETIME {
            self.store.touch_session(&hash, now).await?;
        }
        Ok(Some(session.user))
    }

    /// Ends the session of this cookie, wherever the cookie is. What the identity provider is signed out with,
    /// if it signed in.
    pub async fn end(&self, cookie: &SecretString) -> Result<Option<SecretString>, Fault> {
        let Some(hash) = self.hash(cookie) else { return Ok(None) };
        let ended = self.store.end_session(&hash).await?;
        let sealed = ended.and_then(|session| session.provider_token);
        sealed.map(|sealed| Ok(self.sealer.open(&sealed, PROVIDER_TOKEN)?.into())).transpose()
    }

    /// Deletes sessions that have ended by time, and used nonces that have expired.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let now = self.clock.now();
        let (idle, absolute) = (now.before(self.idle()), now.before(self.lifetimes.absolute));
        // A nonce is remembered until no process takes it any more.
        self.store.delete_old_sessions(idle, absolute, now.before(CLOCKS_APART)).await?;
        Ok(())
    }

    fn hash(&self, cookie: &SecretString) -> Option<TokenHash> {
        let token = self.sealer.open(cookie.expose_secret(), COOKIE).ok()?;
        Some(TokenHash::of(&token))
    }

    /// The idle lifetime, and what the last use may be later than it was written.
    fn idle(&self) -> Duration {
        self.lifetimes.idle + self.lifetimes.idle / TOUCHES_PER_LIFETIME
    }

    fn lasts(&self, session: &StoredSession, now: Timestamp) -> bool {
        now.since(session.used_at) < self.idle() && now.since(session.created_at) < self.lifetimes.absolute
    }
}
