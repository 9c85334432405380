//! Who may come in, and how often.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Mutex;

use secrecy::ExposeSecret;

use crate::api_key::ApiKey;
use crate::app::App;
use crate::caller::{Caller, Credential, KeyId};
use crate::fault::{Fault, Kind};
use crate::ports::Allowance;
use crate::tool::{Access, Rate, Spec};
use ep_polling::time::Timestamp;

/// When keys were last used, gathered here and written in one statement now and then.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<KeyId, Timestamp>>);

impl KeyUses {
    fn note(&self, key: KeyId, at: Timestamp) {
        if let Ok(mut uses) = self.0.lock() {
            uses.insert(key, at);
        }
    }

    /// Takes what was gathered.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        self.0.lock().map(|mut uses| uses.drain().collect()).unwrap_or_default()
    }
}

/// Proves who is calling. A wrong credential is a failure, never an anonymous caller.
pub async fn identify(app: &App, credential: Credential, address: IpAddr) -> Result<Caller, Refused> {
    let token = match credential {
        Credential::None => return Ok(Caller::Anonymous { address }),
        Credential::Proven(caller) => return Ok(caller),
        Credential::Bearer(token) => token,
    };
    let owner = match ApiKey::parse(token.expose_secret()) {
        Some(key) => app.accounts.key_owner(&key).await?,
        None => None,
    };
    if let Some(owner) = owner {
        app.key_uses.note(owner.key, app.clock.now());
        return Ok(Caller::Key { user: owner.user, key: owner.key });
    }
    // Guessing costs the guesser: a failed attempt is taken out of the address's own allowance.
    let advice = "this API key is not valid: it is misspelt or revoked; \
                  send Authorization: Bearer ep_k_… with an active key";
    Err(turned_away(app, &Caller::Anonymous { address }, advice).await)
}

/// Proves that an account is calling, for protocols that are for accounts alone, whatever the operation.
pub async fn account(app: &App, credential: Credential, address: IpAddr) -> Result<Caller, Refused> {
    let caller = identify(app, credential, address).await?;
    if Access::KEY.admits(&caller) {
        return Ok(caller);
    }
    let advice = "authentication required: send Authorization: Bearer ep_k_… with an API key; \
                  in an MCP client's settings this is a header";
    Err(turned_away(app, &caller, advice).await)
}

/// Counts a request that reaches no operation: a protocol's own, or one refused before. What reaches one
/// is counted by [`dispatch`](crate::dispatch::dispatch).
pub async fn count(app: &App, caller: &Caller) -> Result<Option<Allowance>, Refused> {
    let allowance = take(app, Rate::Default, caller).await;
    match &allowance {
        Some(left) if left.exhausted.is_some() => Err(Refused { fault: too_many(Some(left)), allowance }),
        _ => Ok(allowance),
    }
}

/// A caller who was not let in, and what is left of the allowance that the attempt was taken out of.
pub struct Refused {
    /// Why.
    pub fault: Fault,
    /// What is left.
    pub allowance: Option<Allowance>,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self { fault, allowance: None }
    }
}

async fn turned_away(app: &App, stranger: &Caller, advice: &str) -> Refused {
    let allowance = take(app, Rate::Default, stranger).await;
    let fault = match &allowance {
        Some(left) if left.exhausted.is_some() => too_many(Some(left)),
        _ => Fault::new(Kind::Unauthenticated, advice),
    };
    Refused { fault, allowance }
}

/// Refuses callers the operation, or this door to it, does not admit.
pub fn check_access(spec: &Spec, door: Access, caller: &Caller) -> Result<(), Fault> {
    let access = spec.access.and(door);
    if access.admits(caller) {
        return Ok(());
    }
    let way_in = match (access.cookie, access.key) {
        (true, true) => "sign in, or send Authorization: Bearer ep_k_… with an API key",
        (true, false) => "sign in with a browser: this takes a session cookie",
        (false, true) => "send Authorization: Bearer ep_k_… with an API key",
        (false, false) => "send the request without credentials",
    };
    Err(Fault::new(Kind::Unauthenticated, format!("authentication required: {way_in}")))
}

/// Takes one request out of the caller's allowance; `None` where it has no limit.
pub async fn take(app: &App, rate: Rate, caller: &Caller) -> Option<Allowance> {
    let settings = &app.settings;
    let (policy, per_minute) = match (rate, caller) {
        (Rate::Exempt, _) | (_, Caller::Local) => return None,
        (Rate::Free, _) => ("free", settings.free_rate_limit),
        (Rate::Default, Caller::Anonymous { .. }) => ("anonymous", settings.anonymous_rate_limit),
        (Rate::Default, _) => ("default", settings.rate_limit),
    };
    let per_minute = NonZeroU32::new(per_minute)?;
    Some(app.limiter.take(policy, &caller.scope(), per_minute).await)
}

/// The fault of a caller whose allowance is used up.
pub fn too_many(allowance: Option<&Allowance>) -> Fault {
    let wait =
        allowance.and_then(|allowance| allowance.exhausted).unwrap_or(std::time::Duration::from_mins(1));
    let limit = allowance.map(|a| format!(" ({} per minute)", a.limit)).unwrap_or_default();
    Fault::new(
        Kind::RateLimited,
        format!(
            "too many requests{limit}; wait {} s, then try again",
            wait.as_millis().div_ceil(1000).max(1)
        ),
    )
    .retry_after(wait)
}
