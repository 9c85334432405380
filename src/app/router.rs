//! The router: all routes of the table, and 404 and 405 responses, through the guard.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, HeaderName, HeaderValue, LOCATION, VARY};
use axum::http::{Method, Response, StatusCode};
use axum::routing::any;
use ep_kernel::guard::{Admission, Credential, PROBE, Policy};
use ep_kernel::{Access, Caller, Fault, Kind, Rate, RecoveryAction};
use ep_pages::web;
use ep_protocols::rest;
use ep_protocols::rest::Binding;
use ep_site::http::{
    AppState, Embedded, ErrorStyle, Exchange, Handler, PathParams, RequestHead, Stopping, counted, fault,
    formatted_fault,
};
use ep_site::names::{AGENT_CARD, EMBED};
use ep_site::protocol::ErrorFormat;
use ep_site::route::MAX_BODY;
use ep_site::{Route, Site};

use super::routes::Handlers;
use super::unknown_path::{Nearest, nearest, without_trailing_slash};
use crate::payments::Rails;

/// The routes of one path.
struct PathRoutes {
    candidates: Vec<Candidate>,
    /// The methods in the format of `Allow`.
    allow: HeaderValue,
}

impl PathRoutes {
    /// Returns the fault for a method that the path does not support. It names the supported methods and their
    /// routes.
    fn wrong_method(&self, exchange: &Exchange) -> Fault {
        let allow = self.allow.to_str().unwrap_or_default();
        let described = |candidate: &Candidate| {
            format!("{}: {}", candidate.route.method.as_str(), candidate.route.brief())
        };
        let routes: Vec<String> = self.candidates.iter().map(described).collect();
        let method = exchange.request.method();
        let message = format!("{method} is not allowed here; use {allow}. {}", routes.join(" "));
        let url = format!("{}{}", exchange.state.links().base_url(), exchange.request.uri().path());
        let refusal = Fault::new(Kind::MethodNotAllowed, message);
        self.candidates.iter().fold(refusal, |refusal, Candidate { route, .. }| {
            let request = Some((route.method, url.clone()));
            refusal.with_action(RecoveryAction::new("use_allowed_method", route.brief(), request))
        })
    }
}

struct Candidate {
    route: Route,
    responder: Responder,
}

/// The code that responds for a route.
enum Responder {
    /// The operation's dispatch, which runs the guard itself.
    Operation(Binding),
    /// A handler for requests that the guard has admitted.
    Admitted(Handler),
}

/// Builds a router for these routes. Routes without a handler are omitted; a test reports them.
pub fn router(state: &AppState, site: &Arc<Site>, payments: &Rails) -> Router<AppState> {
    let handlers = Handlers::new(state, payments);
    let mut paths: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for route in site.routes.iter().chain(&site.aliases) {
        let responder = match route.as_operation() {
            Some((entry, rest)) => Some(Responder::Operation(Binding::new(entry, rest, route.is_stream()))),
            None => handlers.of(route).map(Responder::Admitted),
        };
        if let Some(responder) = responder {
            let candidate = Candidate { route: route.clone(), responder };
            paths.entry(route.path.to_string()).or_default().push(candidate);
        }
    }
    let router = paths.into_iter().fold(Router::new(), |router, (path, candidates)| {
        let allow = allowed(&candidates);
        let routes = Arc::new(PathRoutes { candidates, allow });
        let handler =
            move |State(state): State<AppState>, head: RequestHead, params: PathParams, request: Request| {
                let routes = Arc::clone(&routes);
                let exchange = Exchange { state, head, params, request, max_body: MAX_BODY };
                async move { serve(&routes, exchange).await }
            };
        router.route(&path, any(handler))
    });
    router.fallback(unknown_route)
}

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Policy for unknown paths.
const UNKNOWN: Policy = Policy::instant("unknown_route", Access::PUBLIC, Rate::Public);
/// Policy for paths with a trailing slash.
const MOVED: Policy = Policy::instant("trailing_slash", Access::PUBLIC, Rate::Public);
/// Policy for unsupported methods.
const WRONG_METHOD: Policy = Policy::instant("wrong_method", Access::PUBLIC, Rate::Public);
/// Policy for new requests while the service is stopping.
const STOPPING: Policy = Policy::instant("stopping", Access::PUBLIC, Rate::Public);

/// Redirects a path with a trailing slash to the route without it (308 preserves the method and the body). Rejects
/// every other unknown path and names the nearest one.
async fn unknown_route(State(state): State<AppState>, head: RequestHead, request: Request) -> Response<Body> {
    let uri = request.uri();
    let paths = state.site.routes.iter().chain(&state.site.aliases).map(|route| Cow::Borrowed(&*route.path));
    if let Some(shorter) = without_trailing_slash(paths, uri.path()) {
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        return redirect(&state, &head, &format!("{shorter}{query}")).await;
    }
    let path: String = uri.path().chars().take(100).collect();
    let links = state.links();
    let card = links.url(AGENT_CARD, &[]);
    let card = card.strip_prefix(links.base_url()).unwrap_or(&card);
    // Browsers are redirected only to pages.
    let only_pages = head.error_style == ErrorStyle::Page;
    let routes = state.site.routes.iter().filter(|route| !only_pages || route.for_people);
    let refusal = match nearest(routes, request.method().as_str(), uri.path()) {
        Some(Nearest { route, path: near }) => {
            let text =
                format!("there is nothing at {path}; did you mean {near}? {card} lists the interfaces");
            let request = Some((route.method, format!("{}{near}", links.base_url())));
            let action = RecoveryAction::new("use_nearest_path", route.brief(), request);
            Fault::new(Kind::UnknownRoute, text).with_action(action)
        }
        None => Fault::new(Kind::UnknownRoute, format!("there is nothing at {path}; see {card}")),
    };
    let response = refuse(&state, &head, UNKNOWN, refusal).await;
    in_format_of(&state.site, request.uri().path(), response)
}

/// Sets the format of an error at a path that belongs to a protocol.
fn in_format_of(site: &Site, path: &str, mut response: Response<Body>) -> Response<Body> {
    if let Some(ErrorFormat::Own(renderer)) = site.errors_below(path) {
        response.extensions_mut().insert(ErrorStyle::Own(renderer));
    }
    response
}

/// Returns a permanent redirect through the guard.
async fn redirect(state: &AppState, head: &RequestHead, to: &str) -> Response<Body> {
    let request = head.guarded("rest", Credential::None);
    let admitted = |_| std::future::ready(HeaderValue::try_from(to).map_err(Fault::internal));
    let guarded = state.app.guard.run(MOVED, request, admitted).await;
    let response = guarded.result.map_or_else(fault, |to| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        response.headers_mut().insert(LOCATION, to);
        response
    });
    counted(response, guarded.allowance)
}

/// Returns a fault through the guard.
async fn refuse(state: &AppState, head: &RequestHead, policy: Policy, refusal: Fault) -> Response<Body> {
    // The path does not exist, so the credential is irrelevant.
    let request = head.guarded("rest", Credential::None);
    let guarded = state.app.guard.run(policy, request, |_| std::future::ready(Err::<(), _>(refusal))).await;
    let response = guarded.result.map_or_else(fault, |()| Response::new(Body::empty()));
    counted(response, guarded.allowance)
}

async fn serve(routes: &PathRoutes, exchange: Exchange) -> Response<Body> {
    let method = match exchange.request.method() {
        &Method::HEAD => &Method::GET,
        method => method,
    };
    let Some(candidate) = choose(&routes.candidates, method.as_str(), &exchange.head) else {
        let refusal = routes.wrong_method(&exchange);
        let mut response = Box::pin(refuse(&exchange.state, &exchange.head, WRONG_METHOD, refusal)).await;
        response.headers_mut().insert(ALLOW, routes.allow.clone());
        return in_format_of(&exchange.state.site, exchange.request.uri().path(), response);
    };
    let mut response = answer(candidate, exchange).await;
    response.extensions_mut().insert(candidate.route.challenge());
    if candidate.route.name == EMBED {
        response.extensions_mut().insert(Embedded);
    }
    if candidate.route.is_unindexed() {
        response.headers_mut().insert(X_ROBOTS_TAG, HeaderValue::from_static("noindex"));
    }
    response
}

/// Responds for a route. The larger futures are boxed, because the layers above move this one several times.
async fn answer(candidate: &Candidate, exchange: Exchange) -> Response<Body> {
    let route = &candidate.route;
    let exchange = Exchange { max_body: route.max_body, ..exchange };
    let stopping = exchange.request.extensions().get::<Stopping>() == Some(&Stopping::Refusing);
    if stopping && route.surface != PROBE {
        return Box::pin(refuse(&exchange.state, &exchange.head, STOPPING, web::stopping())).await;
    }
    let handler = match &candidate.responder {
        Responder::Operation(binding) => {
            if let Some(response) = web::to_page(route, &exchange) {
                return response;
            }
            let exchange = Box::pin(exchange.with_known_sender()).await;
            let mut response = Box::pin(rest::serve(binding, route, exchange)).await;
            if route.page.is_some() {
                response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
            }
            return response;
        }
        Responder::Admitted(handler) => handler,
    };
    let app = Arc::clone(&exchange.state.app);
    let protocol = route.as_protocol().map(|endpoint| endpoint.protocol);
    let credential = match protocol {
        _ if route.ignores_credentials => Credential::None,
        Some(protocol) if protocol.is_anonymous(&exchange.head.credential) => Credential::None,
        Some(protocol) if protocol.accepts_user_ids => exchange.state.credential_or_user_id(&exchange.head),
        _ => exchange.head.credential.clone(),
    };
    let request = exchange.head.guarded(route.surface, credential);
    let handle = |admission: Admission| async move {
        let exchange = exchange.in_room_of(admission.caller.user()).await;
        handler.handle(exchange, admission).await
    };
    let guarded = Box::pin(app.guard.run(route.policy(), request, handle)).await;
    let refuse = |refusal| formatted_fault(refusal, route.errors());
    counted(guarded.result.unwrap_or_else(refuse), guarded.allowance)
}

/// Selects the route for this method. If two routes share it, the presence of a credential decides. The credential
/// is verified later: an invalid one must not lead to the route for callers without a credential.
fn choose<'a>(candidates: &'a [Candidate], method: &str, head: &RequestHead) -> Option<&'a Candidate> {
    let mut fitting =
        candidates.iter().filter(|candidate| candidate.route.method.as_str() == method).peekable();
    let first = fitting.peek().copied()?;
    let anonymous = matches!(head.credential, Credential::None);
    let anonymous_caller = Caller::Anonymous { address: head.address };
    let for_caller = fitting.find(|candidate| {
        let access = candidate.route.access;
        if anonymous { access.admits(&anonymous_caller) } else { access.cookie || access.key }
    });
    for_caller.or(Some(first))
}

/// Returns the methods of a path in the format of `Allow`.
fn allowed(candidates: &[Candidate]) -> HeaderValue {
    let mut methods: Vec<&str> = candidates.iter().map(|candidate| candidate.route.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.sort_unstable();
    methods.dedup();
    HeaderValue::try_from(methods.join(", ")).unwrap_or(HeaderValue::from_static("OPTIONS"))
}
