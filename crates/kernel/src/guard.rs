//! The guard of all requests. Only preflight requests and panics of a surface bypass it; these are only
//! counted. The service's own calls use its checks alone ([`dispatch_internal`](crate::dispatch::dispatch_internal)).
//!
//! Identify → access → rate → deadline → panic → log and metrics, over any future.
//! [`dispatch`](crate::dispatch::dispatch) is the guard plus decoding, idempotency and the tool. Protocol
//! endpoints, documents, redirects, webhooks, pages, 404 and 405 pass it too.

use std::fmt;
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
use crate::caller::Caller;
use crate::fault::{Fault, Kind, Result, whole_seconds};
use crate::key_uses::KeyUses;
use crate::keys::Keys;
use crate::ports::Clock;
use crate::sign_in::{AccessTokens, Sessions};
use crate::tool::{Access, Effect, Rate};
use ep_store::{Allowance, KeyOwner, KeyScope, Limiter, LogLimit, RequestId, Store, UserId};

/// Identifies callers, checks access and counts requests.
pub struct Guard {
    /// Requests per minute.
    pub limits: Limits,
    /// Counts requests.
    pub limiter: Arc<dyn Limiter>,
    /// Finds the owners of API keys.
    pub keys: Arc<Keys>,
    /// Verifies browser sessions.
    pub sessions: Arc<Sessions>,
    /// Reads the balances of accounts.
    pub balances: Store,
    /// Verifies access tokens, if an issuer is configured.
    pub tokens: Option<AccessTokens>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Times of the last uses of keys, written every few seconds.
    pub key_uses: KeyUses,
}

/// Requests per minute; zero means no limit.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Per account.
    pub account: u32,
    /// Per address without credentials.
    pub anonymous: u32,
    /// Sign-in attempts per address.
    pub sign_in: u32,
    /// Free polls per address.
    pub free: u32,
    /// Public results per address without credentials.
    pub results: u32,
    /// Documents and unknown paths per address.
    pub public: u32,
}

/// Name, access, rate limit and deadline of one route.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Name in logs and metrics.
    pub name: &'static str,
    /// Callers admitted.
    pub access: Access,
    /// Side effects, which the scope of a key must allow.
    pub effect: Effect,
    /// The allowance that requests count against.
    pub rate: Rate,
    /// Time limit.
    pub deadline: Duration,
    /// Appended to the 401 message; names the setting for the credential.
    pub credential_hint: &'static str,
    /// True for a protocol endpoint (MCP, A2A). Its operations pass the guard again, so rate limiting and the
    /// log entry are left to them.
    pub protocol: bool,
}

/// The surface of health checks, which are logged at debug level.
pub const PROBE: &str = "probe";

/// Time limit of a request that does not wait for models.
pub const INSTANT: Duration = Duration::from_secs(15);

/// Time limit for identifying the caller of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

impl Policy {
    /// Creates the policy of a fast, read-only route.
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

/// A request from a surface.
#[derive(Debug, Clone)]
pub struct Request {
    /// The surface, for logs and metrics.
    pub surface: &'static str,
    /// The request's id in logs and error bodies.
    pub request_id: RequestId,
    /// The credential.
    pub credential: Credential,
    /// The client's address.
    pub address: IpAddr,
}

/// The credential of a request.
#[derive(Debug, Clone)]
pub enum Credential {
    /// No credential.
    None,
    /// `Authorization: Bearer …` with any value.
    Bearer(SecretString),
    /// A key in a header that this service does not read.
    Misplaced {
        /// Name of the header.
        header: &'static str,
    },
    /// The session cookie.
    Session(SecretString),
    /// A user id instead of a key, if the operator allows it. Deprecated: valid only for an account without
    /// money.
    UserId(UserId),
    /// The guard has already admitted and counted this request.
    Admitted(Admission),
}

/// A caller admitted by the guard.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The caller.
    pub caller: Caller,
    /// The caller's remaining allowance, if it is limited.
    pub allowance: Option<Allowance>,
}

impl Admission {
    /// The operator in this process: no account, no limits.
    pub const LOCAL: Self = Self { caller: Caller::Local, allowance: None };

    /// Rejects a key or token whose scope does not include this effect.
    pub fn check_scope(&self, effect: Effect) -> Result<()> {
        check_scope(effect, &self.caller)
    }

    /// Does the same as [`Self::check_scope`], but only for access tokens. Their clients can request a wider scope if the
    /// response's status is 403 (RFC 6750 §3.1).
    pub fn check_token(&self, effect: Effect) -> Result<()> {
        if matches!(self.caller, Caller::Token { .. }) { self.check_scope(effect) } else { Ok(()) }
    }

    /// Rejects a caller whose allowance is used up.
    pub fn check_allowance(&self) -> Result<()> {
        exhausted(self.allowance.as_ref()).map_or(Ok(()), Err)
    }
}

/// An admitted request that has not run yet.
pub struct Admitted {
    policy: Policy,
    surface: &'static str,
    request_id: RequestId,
    admission: Admission,
    started: Instant,
    upstream_us: Arc<AtomicU64>,
    span: Span,
}

/// The outcome of a guarded request.
#[derive(Debug)]
pub struct Guarded<T> {
    /// The request's id.
    pub request_id: RequestId,
    /// The output or the fault.
    pub result: Result<T>,
    /// The caller's remaining allowance, if it is limited.
    pub allowance: Option<Allowance>,
}

/// A rejected request, with the allowance that it counted against.
#[derive(Debug)]
struct RejectedRequest {
    fault: Fault,
    allowance: Option<Allowance>,
}

impl<T> Guarded<T> {
    /// Returns the fault of a rejected request.
    pub fn fault(self) -> Fault {
        self.result.err().unwrap_or_else(|| Fault::internal("nothing was rejected"))
    }
}

impl Guard {
    /// Identifies the caller, checks access and counts the request. A rejection is logged and final.
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
            Err(RejectedRequest { fault, allowance }) => {
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

    /// Admits a request and runs `work` for its caller.
    pub async fn run<T, F: Future<Output = Result<T>>>(
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
            Err(rejected) => rejected,
        }
    }

    /// Counts a request answered outside the guard, for its response headers.
    pub async fn count(&self, address: IpAddr) -> Option<Allowance> {
        self.take(Rate::Exempt, &Caller::Anonymous { address }).await
    }

    /// Counts a request with an invalid signature against its address. Returns the fault for the response:
    /// [`Kind::RateLimited`] once the address has sent too many.
    pub async fn invalid_signature(&self, address: IpAddr, fault: Fault) -> Fault {
        self.reject(address, fault).await.fault
    }

    /// Counts a wrong credential against the client's address, which limits guessing.
    async fn reject(&self, address: IpAddr, fault: Fault) -> RejectedRequest {
        let allowance = self.take(Rate::Default, &Caller::Anonymous { address }).await;
        RejectedRequest { fault: exhausted(allowance.as_ref()).unwrap_or(fault), allowance }
    }

    async fn enter(
        &self,
        policy: &Policy,
        credential: Credential,
        address: IpAddr,
    ) -> Result<Admission, RejectedRequest> {
        let admission = match credential {
            Credential::Admitted(admission) => admission,
            credential => {
                let caller = match self.identify_for(policy.rate, credential, address).await {
                    Ok(caller) => caller.unwrap_or(Caller::Anonymous { address }),
                    Err(fault) if fault.kind() == Kind::Unauthenticated => {
                        let words = format!("{fault}{}", policy.credential_hint);
                        return Err(self.reject(address, Fault::wrong_credential(words)).await);
                    }
                    Err(fault) => return Err(RejectedRequest { fault, allowance: None }),
                };
                Admission { allowance: self.take(policy.rate, &caller).await, caller }
            }
        };
        // A rejected request counts too. A caller over its limit gets the rate limit error first.
        let rejection = self.check_access(policy, &admission.caller).err();
        let deferred = policy.rate == Rate::Exempt || (policy.protocol && rejection.is_none());
        let too_many = if deferred { None } else { exhausted(admission.allowance.as_ref()) };
        match too_many.or(rejection) {
            Some(fault) => Err(RejectedRequest { fault, allowance: admission.allowance }),
            None => Ok(admission),
        }
    }

    /// Identifies the caller of a request with this rate. If this takes too long, a probe continues without
    /// it, because a probe checks whether the database is available.
    async fn identify_for(
        &self,
        rate: Rate,
        credential: Credential,
        address: IpAddr,
    ) -> Result<Option<Caller>> {
        if rate == Rate::SignIn {
            // Signing in creates a new proof, so an old cookie must not prevent it.
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

    /// Returns the account of a credential, before the request is admitted. `None` without a valid one.
    pub async fn account_of(&self, credential: Credential, address: IpAddr) -> Option<UserId> {
        self.identify(credential, address).await.ok().flatten()?.user()
    }

    /// Identifies the caller; `None` if the request has no credential. A wrong credential is an error, never
    /// an anonymous caller.
    async fn identify(&self, credential: Credential, address: IpAddr) -> Result<Option<Caller>> {
        let (caller, message) = match credential {
            Credential::None => return Ok(None),
            Credential::Admitted(admission) => return Ok(Some(admission.caller)),
            Credential::Bearer(token) => (
                self.bearer(&token, address).await?,
                "this API key is not valid: it is misspelt, expired or revoked; \
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
        caller.map(Some).ok_or_else(|| Fault::wrong_credential(message))
    }

    /// Returns the caller of a bare user id; `None` for an unknown user. A user id is not secret, so an
    /// account with money is rejected, and the caller can neither manage keys nor change settings.
    async fn account_without_money(&self, user: UserId) -> Result<Option<Caller>> {
        let balance = self.balances.balance(user).await?;
        let empty = balance.filter(|balance| balance.posted.is_zero() && balance.held.is_zero());
        Ok(empty.map(|_| Caller::Token { user, scope: Some(KeyScope::Polls) }))
    }

    async fn bearer(&self, token: &SecretString, address: IpAddr) -> Result<Option<Caller>> {
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

    /// Rejects callers that the policy does not admit.
    fn check_access(&self, policy: &Policy, caller: &Caller) -> Result<()> {
        let token = if policy.access.key && self.tokens.is_some() { " or an access token" } else { "" };
        check(policy.access, policy.effect, caller, format_args!("{token}{}", policy.credential_hint))
    }

    /// Counts one request against the caller's allowance; `None` if it is not limited.
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
    /// Returns the caller and its remaining allowance.
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Returns the request's id.
    pub const fn request_id(&self) -> RequestId {
        self.request_id
    }

    /// Returns the counter of microseconds spent on waiting for models.
    pub(crate) fn upstream_us(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.upstream_us)
    }

    /// Returns the time limit of the request.
    pub(crate) const fn deadline(&self) -> Duration {
        self.policy.deadline
    }

    /// Runs the request within its deadline; a panic becomes a fault.
    pub fn run<T>(self, work: impl Future<Output = Result<T>>) -> impl Future<Output = Guarded<T>> {
        let deadline = self.policy.deadline;
        self.finish(bounded(deadline, work))
    }

    /// Runs work that enforces the deadline itself.
    pub(crate) fn finish<T>(self, work: impl Future<Output = Result<T>>) -> impl Future<Output = Guarded<T>> {
        // Boxed, because an async block stores a captured future twice.
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

/// Runs `work`; a panic becomes a fault.
pub(crate) async fn caught<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
        Err(Fault::internal(format!("panic: {text}")))
    })
}

/// Runs `work`; a panic or a timeout becomes a fault.
pub(crate) async fn bounded<T>(deadline: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(deadline, caught(work)).await {
        Ok(result) => result,
        Err(_) => Err(Fault::new(
            Kind::DeadlineExceeded,
            format!("no response within {} s; try again later", deadline.as_secs()),
        )),
    }
}

/// Rejects callers that an operation does not admit, and those whose scope does not include its effect.
/// `hint` ends the advice to a caller without access.
pub(crate) fn check(access: Access, effect: Effect, caller: &Caller, hint: fmt::Arguments<'_>) -> Result<()> {
    if access.admits(caller) {
        return check_scope(effect, caller);
    }
    Err(Fault::needs_credential(format!("authentication required: {}{hint}", advice(access))))
}

/// Returns the remedy for a caller without access.
const fn advice(access: Access) -> &'static str {
    match (access.cookie, access.key) {
        (true, true) => "sign in, or send Authorization: Bearer ep_k_… with an API key",
        (true, false) => "sign in with a browser: this takes its session cookie, and no API key",
        (false, true) => "send Authorization: Bearer ep_k_… with an API key",
        (false, false) => "send the request without credentials",
    }
}

/// Rejects a key or an access token with insufficient scope.
fn check_scope(effect: Effect, caller: &Caller) -> Result<()> {
    let needed = effect.scope();
    let scope = match caller {
        Caller::Key { terms, .. } if !terms.scope.includes(needed) => terms.scope,
        Caller::Token { scope, .. } if !scope.is_some_and(|scope| scope.includes(needed)) => {
            return Err(Fault::insufficient_scope(needed));
        }
        _ => return Ok(()),
    };
    let advice = match (scope, needed) {
        (KeyScope::Read, KeyScope::Polls) => "it can only read; use a key with scope polls or all",
        (KeyScope::Read, _) => "it can only read; use a key with scope all",
        _ => "it can only ask polls and read; use a key with scope all",
    };
    let text = format!("the scope of this API key is {}: {advice}", scope.as_str());
    Err(Fault::new(Kind::Forbidden, text))
}

/// Returns the fault for a caller whose allowance is used up.
fn exhausted(allowance: Option<&Allowance>) -> Option<Fault> {
    let Allowance { limit, exhausted, .. } = allowance?;
    let wait = (*exhausted)?;
    let message =
        format!("too many requests ({limit} per minute); wait {} s, then try again", whole_seconds(wait));
    Some(Fault::new(Kind::RateLimited, message).retry_after(wait))
}

/// Limits the log lines of failures expected under load or without a database. Unexpected failures are always
/// logged.
static FAILURES: LogLimit = LogLimit::new();

/// Logs the number of failed calls not logged yet. Must be called once a second.
pub fn log_suppressed_failures() {
    FAILURES.log_suppressed("more calls failed");
}

/// Records the metrics of a finished call, and returns its code. `upstream` is the time that it waited for models; zero leaves out
/// the added latency.
pub(crate) fn record<T>(
    tool: &'static str,
    surface: &'static str,
    took: Duration,
    upstream: Duration,
    result: &Result<T>,
) -> &'static str {
    let code = result.as_ref().map_or_else(|fault| fault.kind().row().code, |_| "ok");
    metrics::counter!("ep_requests_total", "tool" => tool, "surface" => surface, "code" => code).increment(1);
    metrics::histogram!("ep_request_duration_seconds", "tool" => tool, "surface" => surface).record(took);
    if !upstream.is_zero() {
        let added = took.saturating_sub(upstream);
        metrics::histogram!("ep_added_latency_seconds", "tool" => tool, "surface" => surface).record(added);
    }
    code
}

/// Writes the log line and the metrics of a finished request.
fn log_request<T>(
    policy: &Policy,
    surface: &'static str,
    took: Duration,
    upstream: Duration,
    result: &Result<T>,
) {
    let code = record(policy.name, surface, took, upstream, result);
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
        // Scanners and floods are counted in the metrics; a line for each would fill the log.
        Err(fault) if matches!(fault.kind().row().http, 404 | 405 | 429) => {
            tracing::debug!(code, took_ms, "call rejected: {fault}");
        }
        Err(fault) => tracing::info!(code, took_ms, "call rejected: {fault}"),
        Ok(_) if policy.protocol || surface == PROBE => tracing::debug!(code, took_ms, "call completed"),
        Ok(_) => tracing::info!(code, took_ms, "call completed"),
    }
}
