//! REST: thin shims over the operation table. One handler serves every operation, guided by its binding.

mod bind;
mod sse;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, Response};
use ep_kernel::dispatch::dispatch;
use ep_kernel::fault::whole_seconds;
use ep_kernel::guard::Guarded;
use ep_kernel::idempotency::check_key;
use ep_kernel::output::{Body as OutputBody, Cache};
use ep_kernel::schema::is_empty;
use ep_kernel::{Call, CallOutput, Fault, Rest};
use serde_json::{Map, Value};

use bind::with_path;
use ep_site::Route;
use ep_site::http::{
    AppState, EntityTag, Exchange, PUBLIC_RESULT, bytes_of, counted, fault, read_json, replayed,
    session_cookie, set, status,
};

pub use bind::Binding;

/// Serves an operation at its route.
pub async fn serve(binding: &Binding, route: &Route, exchange: Exchange) -> Response<Body> {
    let Exchange { state, head, params, request, max_body } = exchange;
    let (parts, body) = request.into_parts();
    let mut input = match params {
        Err(_) => Err(Fault::invalid(
            "",
            "the path contains percent-encoding that is not valid UTF-8; check the id",
        )),
        Ok(params) if parts.method == Method::POST => {
            read_json(&parts.headers, body, max_body).await.and_then(|body| with_path(body, &params))
        }
        Ok(params) => Ok(binding.input_of(parts.uri.query().unwrap_or(""), &params)),
    };
    let key_in_body = match &mut input {
        Ok(Value::Object(members)) if parts.method == Method::POST => {
            take_key(members, head.idempotency_key.as_deref())
        }
        _ => Ok(None),
    };
    let (input, key_in_body) = match key_in_body {
        Ok(key) => (input, key),
        Err(fault) => (Err(fault), None),
    };
    let call = Call {
        only: route.access,
        idempotency_key: head.idempotency_key.clone().or_else(|| key_in_body.clone()),
        ..Call::new(head.guarded(route.surface, head.credential.clone()))
    };
    if binding.streamed {
        let input = input.and_then(|input| after_last_event(binding, &parts.headers, input));
        let response = sse::stream(&state, &parts.headers, binding, call, input).await;
        return with_key(response, key_in_body);
    }
    let mut done = dispatch(&state.app, binding.entry, call, input).await;
    if let Ok(done) = &mut done.result {
        state.begin_session(&head, &mut done.presentation.session).await;
    }
    with_key(respond(&state, &parts.headers, &binding.rest, done), key_in_body)
}

/// The name of the idempotency key in a body.
const KEY_IN_BODY: &str = "idempotency_key";
/// The header of the key.
const KEY_HEADER: &str = "idempotency-key";

/// Takes an idempotency key out of a body: MCP clients send it there, and without it a repeated request would run twice.
/// `header` is the key in the header, which must not differ.
fn take_key(members: &mut Map<String, Value>, header: Option<&str>) -> Result<Option<String>, Fault> {
    let key = match members.remove(KEY_IN_BODY).filter(|key| !is_empty(key)) {
        None => return Ok(None),
        Some(Value::String(key)) => key,
        Some(_) => return Err(Fault::invalid(KEY_IN_BODY, "must be text")),
    };
    let given = check_key(&key)?;
    match header.map(check_key).transpose()? {
        Some(header) if header != given => {
            let text = "differs from the Idempotency-Key header; send the key once, in the header";
            Err(Fault::invalid(KEY_IN_BODY, text))
        }
        Some(_) => Ok(None),
        None => Ok(Some(given.to_owned())),
    }
}

/// The response with the key that was sent in the body; the layer repeats one from the header.
fn with_key(mut response: Response<Body>, key: Option<String>) -> Response<Body> {
    if let Some(key) = key.and_then(|key| HeaderValue::try_from(key).ok()) {
        response.headers_mut().insert(KEY_HEADER, key);
    }
    response
}

/// Adds the number of the client's last event, which it sends on reconnecting (WHATWG HTML, section 9.2.4), if the
/// operation accepts it.
fn after_last_event(binding: &Binding, headers: &HeaderMap, mut input: Value) -> Result<Value, Fault> {
    let Some(last) = headers.get("last-event-id").filter(|_| binding.takes("after")) else {
        return Ok(input);
    };
    let number = last.to_str().ok().and_then(|last| last.parse::<u32>().ok());
    let number =
        number.ok_or_else(|| Fault::invalid("Last-Event-ID", "must be the id of an earlier event"))?;
    // An invalid query value is still rejected. If both are present, the higher number counts.
    if let Some(members) = input.as_object_mut() {
        let given = members.get("after").map(Value::as_u64);
        match given {
            Some(None) => {}
            Some(Some(after)) if after >= u64::from(number) => {}
            _ => drop(members.insert("after".to_owned(), number.into())),
        }
    }
    Ok(input)
}

/// Returns the response to a finished call.
fn respond(state: &AppState, request: &HeaderMap, rest: &Rest, done: Guarded<CallOutput>) -> Response<Body> {
    let response = match done.result {
        Ok(output) => {
            let mut response = operation_output(request, rest, &output, state.links().base_url());
            if output.presentation.replayed {
                replayed(&mut response);
            }
            response
        }
        Err(refusal) => fault(refusal),
    };
    counted(response, done.allowance)
}

/// Returns an output with the status and cache headers of its REST binding. `request` holds the request headers.
fn operation_output(request: &HeaderMap, rest: &Rest, output: &CallOutput, base_url: &str) -> Response<Body> {
    let presentation = &output.presentation;
    let bytes = match (&presentation.body, rest.field) {
        (OutputBody::Text(text), _) => text.clone().into(),
        (OutputBody::Json, Some(field)) => bytes_of(&output.value[field]),
        (OutputBody::Json, None) => bytes_of(&output.value),
    };
    let tag = match presentation.cache {
        Cache::NoStore => None,
        Cache::Shared(_) | Cache::Immutable => EntityTag::of(&bytes),
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status(if presentation.interim.is_some() { rest.interim } else { rest.status });
    let headers = response.headers_mut();
    set(headers, CONTENT_TYPE, rest.media_type);
    match presentation.cache {
        Cache::NoStore => set(headers, CACHE_CONTROL, "no-store"),
        Cache::Shared(time) => set(headers, CACHE_CONTROL, &format!("public, max-age={}", time.as_secs())),
        Cache::Immutable => set(headers, CACHE_CONTROL, PUBLIC_RESULT),
    }
    if let Some(wait) = presentation.interim {
        set(headers, RETRY_AFTER, &whole_seconds(wait).to_string());
    }
    if let Some(location) = &presentation.location {
        set(headers, LOCATION, location);
    }
    if let Some(cookie) = presentation.session.as_ref().and_then(|change| session_cookie(change, base_url)) {
        headers.append(SET_COOKIE, cookie);
    }
    if let Some(tag) = tag {
        tag.apply(request, &mut response);
    }
    response
}
