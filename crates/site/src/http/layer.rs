//! The outermost layer: parses the request head once and finishes every response.

use askama::Template;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, SET_COOKIE,
    STRICT_TRANSPORT_SECURITY, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::PathAndQuery;
use axum::http::{Response, Uri};
use axum::middleware::Next;
use ep_kernel::guard::{Credential, Policy};
use ep_kernel::tool::SessionChange;
use ep_kernel::{Access, Fault, Rate};

use super::compression::Confidential;
use super::protection::{protect, protect_embedded};
use super::response::{Counted, FaultReply, bytes_of, counted, fault, replayed, set};
use super::{AppState, Embedded, ErrorStyle, RequestHead, challenge, cookies, rate_limit};
use crate::layout::FaultPage;
use crate::names::SIGN_IN_PREFIX;
use crate::protocol::ErrorRenderer;
use crate::{Challenge, HTML, MARKDOWN};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const CONTENT_USAGE: HeaderName = HeaderName::from_static("content-usage");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Policy for requests with a foreign host or origin.
const FOREIGN: Policy = Policy::instant("foreign", Access::PUBLIC, Rate::Public);

/// Rejects foreign hosts and origins, attaches the request head, writes faults in the caller's format, and adds the
/// headers common to all responses.
pub async fn finish_response(State(state): State<AppState>, request: Request, next: Next) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let head = state.head(&parts);
    parts.extensions.insert(head.clone());
    let by_cookie = matches!(head.credential, Credential::Session(_));
    let open = state.site.is_open(parts.uri.path());
    let is_form = state.site.is_form(&parts);
    let anonymous = matches!(head.credential, Credential::None);
    let checked = state.web.check(&parts, open, anonymous).and_then(|()| match (is_form, by_cookie) {
        (true, _) => state.web.check_form(&parts, by_cookie),
        (false, true) => state.web.check_cookie(&parts, !body.is_end_stream()),
        (false, false) => Ok(()),
    });
    let requested =
        (parts.method.is_safe() && !parts.uri.path().starts_with(SIGN_IN_PREFIX)).then(|| parts.uri.clone());
    let mut response = match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => {
            let request = head.guarded("rest", Credential::None);
            let refuse = |_| std::future::ready(Err(refusal));
            let guarded = state.app.guard.run(FOREIGN, request, refuse).await;
            counted(guarded.result.unwrap_or_else(fault), guarded.allowance)
        }
    };
    if let Some(FaultReply(fault)) = response.extensions_mut().remove() {
        let requested = requested.as_ref().and_then(Uri::path_and_query).map(PathAndQuery::as_str);
        write_fault(&state, &head, &fault, requested, &mut response);
    }
    let allowance = match response.extensions_mut().remove() {
        Some(Counted(allowance)) => allowance,
        // No guard result: a preflight request, or a panic in a surface.
        None => state.app.guard.count(head.address).await,
    };
    let headers = response.headers_mut();
    set(headers, REQUEST_ID, &head.request_id.to_string());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(key) = &head.idempotency_key {
        set(headers, IDEMPOTENCY_KEY, key);
    }
    if let Some(allowance) = allowance {
        rate_limit::write(headers, &allowance);
    }
    if state.links().base_url().starts_with("https://") {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    if let Some(usage) = &state.site.content_usage {
        headers.insert(CONTENT_USAGE, usage.clone());
    }
    if by_cookie {
        response.extensions_mut().insert(Confidential);
    }
    response
}

fn write_fault(
    state: &AppState,
    head: &RequestHead,
    fault: &Fault,
    requested: Option<&str>,
    response: &mut Response<Body>,
) {
    let links = state.links();
    let problem = || fault.problem(links, &head.request_id.to_string());
    let style = response.extensions_mut().remove().unwrap_or(head.error_style);
    let wanted_token: Challenge = response.extensions_mut().remove().unwrap_or_default();
    let is_embedded = response.extensions_mut().remove::<Embedded>().is_some();
    let page = || FaultPage::new(&state.site, fault, head.request_id.to_string(), requested);
    let plain = || (bytes_of(&fault.body()), "application/json");
    let (body, media_type) = match style {
        ErrorStyle::Plain => plain(),
        // Rendering fails only if a document named by the template is missing.
        ErrorStyle::Page if is_embedded => {
            page().embedded(fault).map_or_else(|_| plain(), |html| (html.into(), HTML))
        }
        ErrorStyle::Page => page().render().map_or_else(|_| plain(), |html| (html.into(), HTML)),
        ErrorStyle::Markdown => page().markdown().map_or_else(|_| plain(), |text| (text.into(), MARKDOWN)),
        ErrorStyle::Problem => (bytes_of(&problem()), "application/problem+json"),
        ErrorStyle::Own(ErrorRenderer(body)) => (bytes_of(&body(fault, &problem())), "application/json"),
    };
    *response.body_mut() = Body::from(body);
    if fault.is_replayed() {
        replayed(response);
    }
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match style {
        ErrorStyle::Page if is_embedded => protect_embedded(headers),
        ErrorStyle::Page => protect(headers),
        _ => {}
    }
    let others: Vec<HeaderValue> = headers.get_all(VARY).iter().cloned().collect();
    headers.insert(VARY, HeaderValue::from_static("Accept, X-Machine-Client"));
    for other in others {
        headers.append(VARY, other);
    }
    if let Some(seconds) = fault.retry_after_seconds() {
        set(headers, RETRY_AFTER, &seconds.to_string());
    }
    if matches!(style, ErrorStyle::Own(_)) && fault.kind().is_ours() && !fault.kind().row().retryable {
        // OpenAI's clients would repeat the request.
        set(headers, SHOULD_RETRY, "false");
    }
    if let Some(challenge) = challenge::header(wanted_token, state, &head.credential, fault) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    if matches!(head.credential, Credential::Session(_))
        && fault.rejects_credential()
        && let Some(cleared) = cookies::session_cookie(&SessionChange::End, links.base_url())
    {
        headers.append(SET_COOKIE, cleared);
    }
}

/// Returns the response to a panic in a surface. The guard catches panics of operations.
pub fn panicked(_: Box<dyn std::any::Any + Send>) -> Response<Body> {
    tracing::error!("a surface panicked");
    super::fault(Fault::internal("panic in a surface"))
}
