//! The only door: every call of every tool through every surface passes here.
//!
//! Span → identify → access → rate limit → idempotent replay → decode → call → catch panic → deadline →
//! log and metrics. No operation can forget any of it, and no surface can skip it.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument;

use crate::admission;
use crate::app::{App, Ctx};
use crate::caller::{Caller, Credential, RequestId};
use crate::event::ProgressSink;
use crate::fault::{Fault, Kind};
use crate::idempotency::{Claim, Claimed, check_key};
use crate::ports::Allowance;
use crate::tool::{Access, Answered, Effect, Entry, Latency};

/// A call as a surface hands it in.
pub struct Call {
    /// The service.
    pub app: Arc<App>,
    /// The surface, for logs and metrics.
    pub surface: &'static str,
    /// The request's name in logs and error bodies.
    pub request_id: RequestId,
    /// What it shows to say who is calling.
    pub credential: Credential,
    /// Where it came from.
    pub address: IpAddr,
    /// Whom this door lets in.
    pub door: Access,
    /// `Idempotency-Key`, as it came.
    pub idempotency_key: Option<String>,
    /// How long the caller waits for models before it would rather have an interim answer.
    pub wait_limit: Option<Duration>,
    /// Who watches the progress.
    pub progress: Option<ProgressSink>,
    /// Told what is left of the caller's allowance as soon as the call is let in, for answers that begin
    /// before the call ends.
    pub told: Option<Arc<OnceLock<Option<Allowance>>>>,
}

/// What became of a call.
#[derive(Debug)]
pub struct Dispatched {
    /// The request's name.
    pub request_id: RequestId,
    /// The answer.
    pub result: Result<Answered, Fault>,
    /// What is left of the caller's allowance, where it has one.
    pub allowance: Option<Allowance>,
    /// Whether the answer is that of an earlier, identical request.
    pub replayed: bool,
}

/// How long an instant tool may take.
const INSTANT: Duration = Duration::from_secs(15);
/// What a tool that waits for models may take beyond the poll's own deadline.
const MARGIN: Duration = Duration::from_secs(30);

/// Carries out one call. A surface that could not read the input hands its fault in: access and limits
/// are judged first, whatever was sent.
pub async fn dispatch(entry: &'static Entry, call: Call, input: Result<Value, Fault>) -> Dispatched {
    let span = tracing::info_span!(
        "call",
        tool = entry.spec.name,
        surface = call.surface,
        request_id = %call.request_id,
        caller = tracing::field::Empty,
        user = tracing::field::Empty,
    );
    admit(entry, call, input).instrument(span).await
}

async fn admit(entry: &'static Entry, call: Call, input: Result<Value, Fault>) -> Dispatched {
    let started = Instant::now();
    let (surface, request_id) = (call.surface, call.request_id);
    let upstream_time = Arc::new(AtomicU64::new(0));
    let mut allowance = None;
    let entered = enter(entry, &call, &mut allowance).await.and_then(|caller| Ok((caller, input?)));
    let (result, replayed) = match entered {
        Ok((caller, input)) => {
            let span = tracing::Span::current();
            span.record("caller", caller.kind());
            if let Some(user) = caller.user() {
                span.record("user", tracing::field::display(user));
            }
            let key = call.idempotency_key.filter(|_| entry.spec.effect != Effect::Read);
            let cx = Ctx {
                app: call.app,
                caller,
                request_id,
                wait_limit: call.wait_limit,
                request_ref: None,
                progress: call.progress,
                upstream_time: Arc::clone(&upstream_time),
            };
            if entry.spec.effect == Effect::Read {
                (guarded(entry, cx, input).await, false)
            } else {
                // What changes something is carried through even when its caller goes away.
                let tasks = cx.app.tasks.clone();
                let work = once(entry, cx, key, input).in_current_span();
                tasks.spawn(work).await.unwrap_or_else(|error| (Err(Fault::internal(error)), false))
            }
        }
        Err(fault) => (Err(fault), false),
    };
    close(entry, surface, started.elapsed(), &upstream_time, &result);
    Dispatched { request_id, result, allowance, replayed }
}

async fn enter(entry: &Entry, call: &Call, allowance: &mut Option<Allowance>) -> Result<Caller, Fault> {
    let identified = admission::identify(&call.app, call.credential.clone(), call.address).await;
    let caller = match identified {
        Ok(caller) => caller,
        Err(refused) => {
            *allowance = refused.allowance;
            return Err(refused.fault);
        }
    };
    *allowance = admission::take(&call.app, entry.spec.rate, &caller).await;
    if let Some(told) = &call.told {
        // Nobody else sets it.
        let _ = told.set(*allowance);
    }
    match allowance {
        Some(left) if left.exhausted.is_some() => Err(admission::too_many(Some(left))),
        _ => admission::check_access(&entry.spec, call.door, &caller).map(|()| caller),
    }
}

/// Carries out what changes something: once per idempotency key, if there is one.
async fn once(
    entry: &'static Entry,
    mut cx: Ctx,
    key: Option<String>,
    input: Value,
) -> (Result<Answered, Fault>, bool) {
    let Some(key) = key else { return (guarded(entry, cx, input).await, false) };
    let app = Arc::clone(&cx.app);
    let claimed = match check_key(&key) {
        Ok(key) => Claim::make(&app, entry, &cx.caller, key, &input, deadline(entry, &app)).await,
        Err(fault) => Err(fault),
    };
    match claimed {
        Ok(Claimed::Mine(claim)) => {
            cx.request_ref = Some(claim.request_ref().to_owned());
            let result = guarded(entry, cx, input).await;
            claim.finish(&app, &result).await;
            (result, false)
        }
        Ok(Claimed::Before(reply)) => (reply, true),
        Err(fault) => (Err(fault), false),
    }
}

/// Runs the tool; a panic or an overrun becomes a fault.
async fn guarded(entry: &'static Entry, cx: Ctx, input: Value) -> Result<Answered, Fault> {
    let limit = deadline(entry, &cx.app);
    let run = AssertUnwindSafe(async move { entry.run(cx, input).await }).catch_unwind();
    match tokio::time::timeout(limit, run).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
            Err(Fault::internal(format!("panic: {text}")))
        }
        Err(_) => Err(Fault::new(
            Kind::DeadlineExceeded,
            format!("no answer within {} s; try again later", limit.as_secs()),
        )),
    }
}

fn deadline(entry: &Entry, app: &App) -> Duration {
    match entry.spec.latency {
        Latency::Instant => INSTANT,
        Latency::Models => app.settings.poll_deadline + MARGIN,
    }
}

/// The closing line of every call: one log line and its metrics.
fn close(
    entry: &Entry,
    surface: &'static str,
    took: Duration,
    upstream_time: &AtomicU64,
    result: &Result<Answered, Fault>,
) {
    let tool = entry.spec.name;
    let code = result.as_ref().map_or_else(|fault| fault.kind().row().code, |_| "ok");
    metrics::counter!("ep_requests_total", "tool" => tool, "surface" => surface, "code" => code).increment(1);
    metrics::histogram!("ep_request_duration_seconds", "tool" => tool, "surface" => surface).record(took);
    let upstream = Duration::from_micros(upstream_time.load(Ordering::Relaxed));
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
            tracing::warn!(code, took_ms, causes = fault.causes(), "call failed: {fault}");
        }
        Err(fault) => tracing::info!(code, took_ms, "call refused: {fault}"),
        Ok(_) => tracing::info!(code, took_ms, "call answered"),
    }
}
