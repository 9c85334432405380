//! REST: thin shims over the table. One handler serves every path; what differs stands in the bindings.

mod bind;
mod sse;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, Response};
use axum::routing::any;
use ep_kernel::caller::{Caller, Credential};
use ep_kernel::dispatch::dispatch;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Entry;
use serde_json::Value;

use self::bind::{Binding, with_path};
use super::http::{Gate, Incoming, fault, outcome, read_json, wrong_method};

/// The routes of every operation with a REST binding or an event stream.
pub fn routes(tools: &'static [Entry]) -> Router<Gate> {
    let mut paths: BTreeMap<&'static str, Vec<Binding>> = BTreeMap::new();
    for entry in tools {
        let bindings =
            [entry.spec.rest.map(|rest| (rest, false)), entry.spec.stream.map(|rest| (rest, true))];
        for (rest, streamed) in bindings.into_iter().flatten() {
            paths.entry(rest.path).or_default().push(Binding::new(entry, rest, streamed));
        }
    }
    paths.into_iter().fold(Router::new(), |router, (path, bindings)| {
        let bindings: Arc<[Binding]> = bindings.into();
        let handler = move |gate: State<Gate>, params: PathParams, request: Request| {
            serve(gate, Arc::clone(&bindings), params, request)
        };
        router.route(path, any(handler))
    })
}

/// The path's placeholders, unless their escapes are no text.
type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// The answer to a path nobody serves.
pub async fn unknown_route(State(gate): State<Gate>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let path: String = parts.uri.path().chars().take(100).collect();
    let lost = Fault::new(
        Kind::UnknownRoute,
        format!("there is nothing at {path}; see /.well-known/agent-card.json"),
    );
    fault(&gate, &Incoming::read(&gate, &parts).shown, &lost, None)
}

async fn serve(
    State(gate): State<Gate>,
    bindings: Arc<[Binding]>,
    params: PathParams,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let incoming = Incoming::read(&gate, &parts);
    let method = if parts.method == Method::HEAD { Method::GET } else { parts.method.clone() };
    let Some(binding) = choose(&bindings, &method, &incoming) else {
        return wrong_method(&gate, &parts, &allowed(&bindings));
    };
    let Ok(params) = params else {
        let garbled = Fault::invalid("", "the path holds an escape that is no UTF-8 text; check the id");
        return fault(&gate, &incoming.shown, &garbled, None);
    };
    let input = if method == Method::POST {
        read_json(&parts.headers, body).await.and_then(|body| with_path(body, &params))
    } else {
        Ok(binding.input_of(parts.uri.query().unwrap_or(""), &params))
    };
    respond(&gate, binding, incoming, input).await
}

async fn respond(
    gate: &Gate,
    binding: &Binding,
    incoming: Incoming,
    input: Result<Value, Fault>,
) -> Response<Body> {
    let shown = incoming.shown.clone();
    if binding.streamed {
        return sse::stream(gate, binding, incoming, input).await;
    }
    let call = incoming.call(gate, "rest", binding.rest.only, None, None);
    let done = dispatch(binding.entry, call, input).await;
    outcome(gate, &shown, binding.rest.status, &done)
}

/// The binding for this method; where two share it, the one for this kind of caller. A credential is
/// judged later: a wrong one must not lead to the door for those without any.
fn choose<'a>(bindings: &'a [Binding], method: &Method, incoming: &Incoming) -> Option<&'a Binding> {
    let mut fitting =
        bindings.iter().filter(|binding| binding.rest.method.as_str() == method.as_str()).peekable();
    let first = fitting.peek().copied()?;
    let anonymous = matches!(incoming.credential, Credential::None);
    let stranger = Caller::Anonymous { address: incoming.address };
    let for_caller = fitting.find(|binding| {
        let access = binding.entry.spec.access.and(binding.rest.only);
        if anonymous { access.admits(&stranger) } else { access.cookie || access.key }
    });
    for_caller.or(Some(first))
}

/// The methods of a path, as `Allow` lists them.
fn allowed(bindings: &[Binding]) -> String {
    let mut allowed: Vec<&str> = bindings.iter().map(|binding| binding.rest.method.as_str()).collect();
    if allowed.contains(&"GET") {
        allowed.push("HEAD");
    }
    allowed.push("OPTIONS");
    allowed.sort_unstable();
    allowed.dedup();
    allowed.join(", ")
}
