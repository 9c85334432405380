//! State of HTTP handlers.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::FromRequestParts;
use axum::extract::RawPathParams;
use axum::extract::rejection::RawPathParamsRejection;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, Response};
use ep_kernel::app::App;
use ep_kernel::guard::{Admission, Credential, Request as GuardRequest};
use ep_kernel::tool::SessionChange;
use ep_kernel::{Caller, Entry, Fault, Links};
use ep_outside::identity::{Oidc, Provider};
use ep_store::{RequestId, UserId};
use futures::future::BoxFuture;
use ipnet::IpNet;
use secrecy::ExposeSecret;

use super::body_room::NOT_COUNTED;
use super::{BodyRoom, DocumentResponses, RequestHead, WebAccess};
use crate::Site;
use crate::route::MAX_BODY;

/// State shared by all handlers.
#[derive(Clone)]
pub struct AppState {
    /// The service.
    pub app: Arc<App>,
    /// All operations.
    pub tools: &'static [Entry],
    /// The routes, and the documents that describe them.
    pub site: Arc<Site>,
    /// Responses with documents.
    pub documents: Arc<DocumentResponses>,
    /// Proxies whose forwarded headers are trusted.
    pub proxies: Arc<[IpNet]>,
    /// The room for bodies that are being received.
    pub bodies: BodyRoom,
    /// Allowed hosts and origins.
    pub web: WebAccess,
    /// The identity provider, if configured.
    pub provider: Option<Provider>,
    /// Signs people in at the provider, if the service is its client.
    pub oidc: Option<Arc<Oidc>>,
    /// True if the operator allows the id of a user in place of a key, where a protocol accepts it.
    pub accepts_user_ids: bool,
}

impl AppState {
    /// Ends the session of the request after a new one has begun, which signs out every other holder of the earlier
    /// cookie.
    pub async fn end_earlier_session(&self, head: &RequestHead) {
        if let Credential::Session(earlier) = &head.credential
            && let Err(fault) = self.app.guard.sessions.end(earlier).await
        {
            tracing::warn!(error = %fault, "failed to end an earlier session; it stays valid until it expires");
        }
    }

    /// Begins a new session in the requesting browser and ends its earlier session, because others may have that
    /// cookie. For a request from another website, ends the new session at once and sets no cookie.
    pub async fn begin_session(&self, head: &RequestHead, session: &mut Option<SessionChange>) {
        if head.may_set_cookie {
            if session.is_some() {
                self.end_earlier_session(head).await;
            }
        } else if let Some(SessionChange::Start { token, .. }) = session.take()
            && let Err(fault) = self.app.guard.sessions.end(&token).await
        {
            tracing::warn!(error = %fault, "failed to end an unused session; it stays valid until it expires");
        }
    }

    /// Returns the credential of a request to an endpoint that accepts the id of a user.
    pub fn credential_or_user_id(&self, head: &RequestHead) -> Credential {
        match &head.credential {
            Credential::Bearer(token) if self.accepts_user_ids => {
                let user = token.expose_secret().parse();
                user.map_or_else(|_| head.credential.clone(), Credential::UserId)
            }
            credential => credential.clone(),
        }
    }

    /// Serves the document with this name, in the form that the request headers select.
    pub fn serve_document(&self, name: &str, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
        self.documents.serve_named(&self.site, name, headers)
    }

    /// Reads the head of a request.
    pub(super) fn head(&self, parts: &Parts) -> RequestHead {
        let request_id = RequestId::from_random(self.app.ports.entropy.bytes());
        RequestHead::read(request_id, &self.proxies, &self.web, parts)
    }

    /// Returns the absolute links of the site.
    pub fn links(&self) -> &Links {
        &self.app.ports.links
    }
}

impl FromRequestParts<AppState> for RequestHead {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let read = parts.extensions.get::<Self>().cloned();
        Ok(read.unwrap_or_else(|| state.head(parts)))
    }
}

/// Marks requests to a stopping service, in the request extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// The connection was already open: its requests are still served.
    Finishing,
    /// The connection is new: only probes are served.
    Refusing,
}

/// The path parameters, or a rejection if their escapes are not UTF-8.
pub type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// The response of a handler.
pub type HandlerFuture = BoxFuture<'static, Result<Response<Body>, Fault>>;

/// Handles the requests of a route that the guard has admitted.
#[derive(Clone)]
pub struct Handler(Arc<dyn Fn(Exchange, Admission) -> HandlerFuture + Send + Sync>);

impl Handler {
    /// A handler that calls this function.
    pub fn new(handle: impl Fn(Exchange, Admission) -> HandlerFuture + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Handles one request.
    pub fn handle(&self, exchange: Exchange, admission: Admission) -> HandlerFuture {
        (self.0)(exchange, admission)
    }
}

/// One request on its way to a handler.
pub struct Exchange {
    /// State shared by all handlers.
    pub state: AppState,
    /// The request head, parsed once.
    pub head: RequestHead,
    /// The path parameters.
    pub params: PathParams,
    /// The request.
    pub request: Request<Body>,
    /// Maximum size of the request body, in bytes.
    pub max_body: usize,
}

impl Exchange {
    /// True if the body is so short that receiving it needs no room.
    fn is_short(&self) -> bool {
        self.request.body().size_hint().upper().is_some_and(|most| most <= NOT_COUNTED as u64)
    }

    /// Limits a body of an operation, whose credential is checked only after the body was received. Without a
    /// valid one, the usual limit applies.
    pub async fn with_known_sender(self) -> Self {
        if self.is_short() {
            return self;
        }
        let user = self.state.app.guard.account_of(self.head.credential.clone(), self.head.address).await;
        let max_body = if user.is_none() { self.max_body.min(MAX_BODY) } else { self.max_body };
        Self { max_body, ..self }.in_room_of(user).await
    }

    /// Limits the memory of a body that is not short. Strangers and accounts without money share a room; accounts with money
    /// do not need it.
    pub async fn in_room_of(self, user: Option<UserId>) -> Self {
        if self.is_short() {
            return self;
        }
        let sender = match user {
            Some(user) if self.state.app.ports.batches.is_paid(user).await.unwrap_or_default() => {
                return self;
            }
            Some(user) => user.to_string(),
            None => Caller::Anonymous { address: self.head.address }.scope(),
        };
        let room = self.state.bodies.clone();
        Self { request: self.request.map(|body| room.limited(body, sender)), ..self }
    }
}

impl RequestHead {
    /// Returns the request for the guard, with this credential.
    pub fn guarded(&self, surface: &'static str, credential: Credential) -> GuardRequest {
        GuardRequest { surface, request_id: self.request_id, credential, address: self.address }
    }

    /// Returns a further call of an admitted request, which is not counted again.
    pub fn admitted(&self, surface: &'static str, admission: Admission) -> GuardRequest {
        self.guarded(surface, Credential::Admitted(admission))
    }
}
