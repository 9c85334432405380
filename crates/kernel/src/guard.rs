//! The guard: everything the service answers passes it, but for preflight requests and panics of a surface
//! itself, which are only counted.
//!
//! Identify → access → rate → deadline → panic → log and metrics, over any future.
//! [`dispatch`](crate::dispatch::dispatch) is the guard plus decoding, idempotency and the tool; protocol
//! endpoints, documents, redirects, webhooks, pages, 404 and 405 pass it too.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use crate::api_key::{ApiKey, KEY_PREFIX};
use crate::caller::{Caller, RequestId, UserId};
use crate::fault::{Fault, Kind, whole_seconds};
use crate::key_terms::KeyScope;
use crate::key_uses::KeyUses;
use crate::keys::Keys;
use crate::log_limit::LogLimit;
use crate::ports::{Allowance, Balances, Clock, KeyOwner, Limiter};
use crate::sign_in::{AccessTokens, Sessions};
use crate::tool::{Access, Effect, Rate};

/// Identifies callers, checks access and counts requests.
pub struct Guard {
    /// Requests per minute.
    pub limits: Limits,
    /// Counts requests.
    pub limiter: Arc<dyn Limiter>,
    /// Finds the owners of API keys.
    pub keys: Arc<Keys>,
    /// Proves browser sessions.
    pub sessions: Arc<Sessions>,
    /// Reads the balances of accounts.
    pub balances: Arc<dyn Balances>,
    /// Proves access tokens, if an issuer is configured.
    pub tokens: Option<AccessTokens>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// When keys were last used; written every few seconds.
    pub key_uses: KeyUses,
}

/// Requests per minute; zero is no limit.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one account.
    pub account: u32,
    /// Of one address without credentials.
    pub anonymous: u32,
    /// Attempts to sign in of one address.
    pub sign_in: u32,
    /// Free polls of one address.
    pub free: u32,
    /// Public results read by one address without credentials.
    pub results: u32,
    /// Of one address, for documents and unknown paths.
    pub public: u32,
}

/// Name, access, rate limit and deadline of one route.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Its name in logs and metrics.
    pub name: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Its side effects, which the scope of a key must allow.
    pub effect: Effect,
    /// Which allowance requests are counted against.
    pub rate: Rate,
    /// How long it may take.
    pub deadline: Duration,
    /// Appended to the 401 message: where to configure the credential.
    pub credential_hint: &'static str,
    /// Whether it is a protocol endpoint (MCP, A2A): its operations pass the guard again, so refusing a
    /// caller without allowance and the log entry are left to them.
    pub protocol: bool,
}

/// The surface of health checks, which are logged at the level debug.
pub const PROBE: &str = "probe";

/// How long something may take that does not wait for models.
pub const INSTANT: Duration = Duration::from_secs(15);

/// How long it may take to identify the caller of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

impl Policy {
    /// The policy of something that answers at once, and changes nothing.
    pub const fn instant(name: &'static str, access: Access, rate: Rate) -> Self {
        Self {
            name,
            access,
            effect: Effect::Read,
            rate,
            deadline: INSTANT,
            credential_hint: "",
            protocol: false,
        }
    }
}

/// A request as a surface hands it to the guard.
#[derive(Debug, Clone)]
pub struct Request {
    /// The surface, for logs and metrics.
    pub surface: &'static str,
    /// The request's id in logs and error bodies.
    pub request_id: RequestId,
    /// The credential that was sent.
    pub credential: Credential,
    /// The client's address.
    pub address: IpAddr,
}

/// The credential of a request.
#[derive(Debug, Clone)]
pub enum Credential {
    /// None.
    None,
    /// `Authorization: Bearer …`, whatever it holds.
    Bearer(SecretString),
    /// A key in a header that this service does not read.
    Misplaced {
        /// The header.
        header: &'static str,
    },
    /// The session cookie.
    Session(SecretString),
    /// A user id in place of a key, where the operator accepts it. Deprecated: valid only for an account without money.
    UserId(UserId),
    /// The guard has admitted and counted this request already.
    Admitted(Admission),
}

/// A caller whom the guard has admitted.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Who is calling.
    pub caller: Caller,
    /// What is left of the caller's allowance, if there is a limit.
    pub allowance: Option<Allowance>,
}

impl Admission {
    /// The operator in this very process: no account, no limits.
    pub const LOCAL: Self = Self { caller: Caller::Local, allowance: None };

    /// Refuses a caller whose key's or token's scope does not reach as far as an effect.
    pub fn check_scope(&self, effect: Effect) -> Result<(), Fault> {
        check_scope(effect, &self.caller)
    }

    /// The same, for access tokens alone: their clients can ask for a wider scope, if the response's status is 403
    /// (RFC 6750 §3.1).
    pub fn check_token(&self, effect: Effect) -> Result<(), Fault> {
        if matches!(self.caller, Caller::Token { .. }) { self.check_scope(effect) } else { Ok(()) }
    }

    /// Refuses a caller whose allowance is used up.
    pub fn check_allowance(&self) -> Result<(), Fault> {
        exhausted(self.allowance.as_ref()).map_or(Ok(()), Err)
    }
}

/// An admitted request that has not been carried out yet.
pub struct Admitted {
    policy: Policy,
    surface: &'static str,
    request_id: RequestId,
    admission: Admission,
    started: Instant,
    upstream_us: Arc<AtomicU64>,
    span: Span,
}

/// What became of a request.
#[derive(Debug)]
pub struct Guarded<T> {
    /// The request's id.
    pub request_id: RequestId,
    /// The answer or the refusal.
    pub result: Result<T, Fault>,
    /// What is left of the caller's allowance, if there is a limit.
    pub allowance: Option<Allowance>,
}

/// A refusal, and what is left of the allowance that the request was counted against.
#[derive(Debug)]
struct Refused {
    fault: Fault,
    allowance: Option<Allowance>,
}

impl Guard {
    /// Identifies the caller, checks access and counts the request. A refusal is logged and final.
    pub async fn admit<T>(&self, policy: Policy, request: Request) -> Result<Admitted, Guarded<T>> {
        let Request { surface, request_id, credential, address } = request;
        let span = tracing::info_span!(
            "call",
            tool = policy.name,
            surface,
            request_id = %request_id,
            caller = tracing::field::Empty,
            user = tracing::field::Empty,
        );
        let started = Instant::now();
        let entered = self.enter(&policy, credential, address).instrument(span.clone()).await;
        let admission = match entered {
            Ok(admission) => admission,
            Err(Refused { fault, allowance }) => {
                let result = Err(fault);
                span.in_scope(|| log_request(&policy, surface, started.elapsed(), Duration::ZERO, &result));
                return Err(Guarded { request_id, result, allowance });
            }
        };
        span.record("caller", admission.caller.kind());
        if let Some(user) = admission.caller.user() {
            span.record("user", tracing::field::display(user));
        }
        let upstream_us = Arc::default();
        Ok(Admitted { policy, surface, request_id, admission, started, upstream_us, span })
    }

    /// Admits a request and carries `work` out, given the caller.
    pub async fn run<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        policy: Policy,
        request: Request,
        work: impl FnOnce(Admission) -> F,
    ) -> Guarded<T> {
        match self.admit(policy, request).await {
            Ok(admitted) => {
                let work = work(admitted.admission.clone());
                admitted.run(work).await
            }
            Err(refused) => refused,
        }
    }

    /// Counts a request that something outside the guard has answered, for its headers.
    pub async fn count(&self, address: IpAddr) -> Option<Allowance> {
        self.take(Rate::Exempt, &Caller::Anonymous { address }).await
    }

    /// Counts a request without a valid signature against its address, and returns the fault to answer it with:
    /// [`Kind::RateLimited`] once the address has sent too many.
    pub async fn invalid_signature(&self, address: IpAddr, fault: Fault) -> Fault {
        self.refuse(address, fault).await.fault
    }

    /// Counts a wrong credential against the client's address, which limits guessing.
    async fn refuse(&self, address: IpAddr, fault: Fault) -> Refused {
        let allowance = self.take(Rate::Default, &Caller::Anonymous { address }).await;
        Refused { fault: exhausted(allowance.as_ref()).unwrap_or(fault), allowance }
    }

    async fn enter(
        &self,
        policy: &Policy,
        credential: Credential,
        address: IpAddr,
    ) -> Result<Admission, Refused> {
        let admission = match credential {
            Credential::Admitted(admission) => admission,
            credential => {
                let caller = match self.identify_for(policy.rate, credential, address).await {
                    Ok(caller) => caller.unwrap_or(Caller::Anonymous { address }),
                    Err(fault) if fault.kind() == Kind::Unauthenticated => {
                        let words = format!("{fault}{}", policy.credential_hint);
                        return Err(self.refuse(address, Fault::wrong_credential(words)).await);
                    }
                    Err(fault) => return Err(Refused { fault, allowance: None }),
                };
                Admission { allowance: self.take(policy.rate, &caller).await, caller }
            }
        };
        // A refused request is counted too, and a caller who asks too often learns that first.
        let refusal = self.check_access(policy, &admission.caller).err();
        let deferred = policy.rate == Rate::Exempt || (policy.protocol && refusal.is_none());
        let too_many = if deferred { None } else { exhausted(admission.allowance.as_ref()) };
        match too_many.or(refusal) {
            Some(fault) => Err(Refused { fault, allowance: admission.allowance }),
            None => Ok(admission),
        }
    }

    /// Identifies the caller of a request that is counted so. A probe is answered without that where it takes
    /// too long: it asks whether the database is away.
    async fn identify_for(
        &self,
        rate: Rate,
        credential: Credential,
        address: IpAddr,
    ) -> Result<Option<Caller>, Fault> {
        if rate == Rate::SignIn {
            // Who signs in proves it anew: an old cookie must not be in the way.
            return Ok(None);
        }
        let identified = self.identify(credential, address);
        if rate != Rate::Exempt {
            return identified.await;
        }
        match tokio::time::timeout(PROBE_TIMEOUT, identified).await {
            Ok(Err(fault)) if fault.kind() == Kind::Unauthenticated => Err(fault),
            Ok(Ok(caller)) => Ok(caller),
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    /// Identifies the caller; `None` if no credential was sent. A wrong credential is a failure, never
    /// an anonymous caller.
    async fn identify(&self, credential: Credential, address: IpAddr) -> Result<Option<Caller>, Fault> {
        let (caller, refusal) = match credential {
            Credential::None => return Ok(None),
            Credential::Admitted(admission) => return Ok(Some(admission.caller)),
            Credential::Bearer(token) => (
                self.bearer(&token, address).await?,
                "this API key is not valid: it is misspelt, has expired or was revoked; \
                 send Authorization: Bearer ep_k_… with an active key",
            ),
            Credential::Misplaced { header } => {
                let text = format!(
                    "the header {header} is not read here; send the key as Authorization: Bearer ep_k_…"
                );
                return Err(Fault::wrong_credential(text));
            }
            Credential::UserId(user) => (
                self.account_without_money(user).await?,
                "a user id is accepted only for an account without money; \
                 send Authorization: Bearer ep_k_… with an API key",
            ),
            Credential::Session(token) => (
                self.sessions.user(&token).await?.map(|user| Caller::Session { user }),
                "this session has ended: sign in again, or send no session cookie",
            ),
        };
        caller.map(Some).ok_or_else(|| Fault::wrong_credential(refusal))
    }

    /// The caller of a bare user id; `None` for an unknown user. A user id is not secret, so an account that has money
    /// is refused, and the caller may neither manage keys nor change settings.
    async fn account_without_money(&self, user: UserId) -> Result<Option<Caller>, Fault> {
        let balance = self.balances.balance(user).await?;
        let empty = balance.filter(|balance| balance.posted.is_zero() && balance.held.is_zero());
        Ok(empty.map(|_| Caller::Token { user, scope: Some(KeyScope::Polls) }))
    }

    async fn bearer(&self, token: &SecretString, address: IpAddr) -> Result<Option<Caller>, Fault> {
        if let Some(key) = ApiKey::parse(token.expose_secret()) {
            let owner = self.keys.owner(&key).await?;
            return Ok(owner.map(|owner| {
                let KeyOwner { key, user, terms } = owner;
                self.key_uses.note(key, self.clock.now());
                Caller::Key { user, key, terms }
            }));
        }
        match &self.tokens {
            Some(tokens) if !token.expose_secret().starts_with(KEY_PREFIX) => {
                tokens.caller(token, address).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Refuses callers whom the policy does not admit.
    fn check_access(&self, policy: &Policy, caller: &Caller) -> Result<(), Fault> {
        let access = policy.access;
        if access.admits(caller) {
            return check_scope(policy.effect, caller);
        }
        let advice = match (access.cookie, access.key) {
            (true, true) => "sign in, or send Authorization: Bearer ep_k_… with an API key",
            (true, false) => "sign in with a browser: this takes its session cookie, and no API key",
            (false, true) => "send Authorization: Bearer ep_k_… with an API key",
            (false, false) => "send the request without credentials",
        };
        let token = if access.key && self.tokens.is_some() { " or an access token" } else { "" };
        let hint = policy.credential_hint;
        Err(Fault::needs_credential(format!("authentication required: {advice}{token}{hint}")))
    }

    /// Counts one request against the caller's allowance; `None` if there is no limit.
    async fn take(&self, rate: Rate, caller: &Caller) -> Option<Allowance> {
        let (policy, per_minute) = match (rate, caller) {
            (_, Caller::Local) => return None,
            (Rate::Free, _) => ("free", self.limits.free),
            (Rate::SignIn, _) => ("sign-in", self.limits.sign_in),
            (Rate::Public | Rate::Exempt, _) => ("public", self.limits.public),
            (Rate::Results, Caller::Anonymous { .. }) => ("results", self.limits.results),
            (Rate::Default, Caller::Anonymous { .. }) => ("anonymous", self.limits.anonymous),
            (Rate::Default | Rate::Results, _) => ("default", self.limits.account),
        };
        let per_minute = NonZeroU32::new(per_minute)?;
        Some(self.limiter.take(policy, &caller.scope(), per_minute).await)
    }
}

impl Admitted {
    /// Who is calling, and what is left of the allowance.
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The request's id.
    pub const fn request_id(&self) -> RequestId {
        self.request_id
    }

    /// Counts the microseconds that the request waits for models.
    pub(crate) fn upstream_us(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.upstream_us)
    }

    /// How long the request may take.
    pub(crate) const fn deadline(&self) -> Duration {
        self.policy.deadline
    }

    /// Carries the request out within its deadline; a panic becomes a fault.
    pub fn run<T>(self, work: impl Future<Output = Result<T, Fault>>) -> impl Future<Output = Guarded<T>> {
        let deadline = self.policy.deadline;
        self.finish(bounded(deadline, work))
    }

    /// Carries out work that keeps the deadline itself.
    pub(crate) fn finish<T>(
        self,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> impl Future<Output = Guarded<T>> {
        // Boxed, because an async block keeps room for a captured future twice.
        let work = Box::pin(work.instrument(self.span.clone()));
        async move {
            let result = work.await;
            let upstream = Duration::from_micros(self.upstream_us.load(Ordering::Relaxed));
            self.span.in_scope(|| {
                log_request(&self.policy, self.surface, self.started.elapsed(), upstream, &result);
            });
            Guarded { request_id: self.request_id, result, allowance: self.admission.allowance }
        }
    }
}

/// Runs `work`; a panic or an overrun becomes a fault.
pub(crate) async fn bounded<T>(
    deadline: Duration,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(deadline, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
            Err(Fault::internal(format!("panic: {text}")))
        }
        Err(_) => Err(Fault::new(
            Kind::DeadlineExceeded,
            format!("no answer within {} s; try again later", deadline.as_secs()),
        )),
    }
}

/// Refuses a key or an access token whose scope does not reach as far.
fn check_scope(effect: Effect, caller: &Caller) -> Result<(), Fault> {
    let needed = effect.scope();
    let scope = match caller {
        Caller::Key { terms, .. } if !terms.scope.includes(needed) => terms.scope,
        Caller::Token { scope, .. } if !scope.is_some_and(|scope| scope.includes(needed)) => {
            return Err(Fault::insufficient_scope(needed));
        }
        _ => return Ok(()),
    };
    let advice = match (scope, needed) {
        (KeyScope::Read, KeyScope::Polls) => "it only reads; use one of the scope polls or all",
        (KeyScope::Read, _) => "it only reads; use one of the scope all",
        _ => "it asks polls and reads; use one of the scope all",
    };
    let text = format!("the scope of this API key is {}: {advice}", scope.as_str());
    Err(Fault::new(Kind::Forbidden, text))
}

/// The refusal of a caller whose allowance is used up.
fn exhausted(allowance: Option<&Allowance>) -> Option<Fault> {
    let Allowance { limit, exhausted, .. } = allowance?;
    let wait = (*exhausted)?;
    let message =
        format!("too many requests ({limit} per minute); wait {} s, then try again", whole_seconds(wait));
    Some(Fault::new(Kind::RateLimited, message).retry_after(wait))
}

/// Failures that are expected under load or without a database; unexpected ones are all logged.
static FAILURES: LogLimit = LogLimit::new();

/// Logs how many failed calls no line has reported yet. To be called once a second.
pub fn log_suppressed_failures() {
    let suppressed = FAILURES.overdue();
    if suppressed > 0 {
        tracing::warn!(suppressed, "more calls failed");
    }
}

/// One log line and the metrics of a finished request.
fn log_request<T>(
    policy: &Policy,
    surface: &'static str,
    took: Duration,
    upstream: Duration,
    result: &Result<T, Fault>,
) {
    let tool = policy.name;
    let code = result.as_ref().map_or_else(|fault| fault.kind().row().code, |_| "ok");
    metrics::counter!("ep_requests_total", "tool" => tool, "surface" => surface, "code" => code).increment(1);
    metrics::histogram!("ep_request_duration_seconds", "tool" => tool, "surface" => surface).record(took);
    if !upstream.is_zero() {
        let added = took.saturating_sub(upstream);
        metrics::histogram!("ep_added_latency_seconds", "tool" => tool, "surface" => surface).record(added);
    }
    let took_ms = took.as_secs_f64() * 1e3;
    match result {
        Err(fault) if fault.kind() == Kind::Internal => {
            tracing::error!(code, took_ms, causes = fault.causes(), "call failed: {fault}");
        }
        Err(fault) if fault.kind().is_ours() => {
            if let Some(suppressed) = FAILURES.admit() {
                tracing::warn!(code, took_ms, suppressed, causes = fault.causes(), "call failed: {fault}");
            }
        }
        // Scanners and floods are counted by the metrics; a line for each would fill the log.
        Err(fault) if matches!(fault.kind().row().http, 404 | 405 | 429) => {
            tracing::debug!(code, took_ms, "call refused: {fault}");
        }
        Err(fault) => tracing::info!(code, took_ms, "call refused: {fault}"),
        Ok(_) if policy.protocol || surface == PROBE => tracing::debug!(code, took_ms, "call answered"),
        Ok(_) => tracing::info!(code, took_ms, "call answered"),
    }
}
