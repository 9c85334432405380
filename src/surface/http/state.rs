//! What HTTP handlers work with.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::RawPathParams;
use axum::extract::rejection::RawPathParamsRejection;
use axum::http::{Request, Response};
use ep_identity::{Oidc, Provider};
use ep_kernel::app::App;
use ep_kernel::fault::Fault;
use ep_kernel::guard::{Admission, Credential, Request as GuardRequest};
use ep_kernel::links::Links;
use ep_kernel::tool::{Entry, SessionChange};
use ep_payments::StripeWebhooks;
use futures::future::BoxFuture;
use ipnet::IpNet;
use secrecy::ExposeSecret;

use super::{RequestHead, WebAccess};
use crate::documents::Site;
use crate::pages::{Example, KeptPages, Pictures};
use crate::surface::web::Usdc;

/// What every handler can reach.
#[derive(Clone)]
pub struct AppState {
    /// The service.
    pub app: Arc<App>,
    /// Every operation.
    pub tools: &'static [Entry],
    /// What is served, and the documents about it.
    pub site: Arc<Site>,
    /// Proxies whose forwarded headers are trusted.
    pub proxies: Arc<[IpNet]>,
    /// Which hosts and origins requests may name.
    pub web: WebAccess,
    /// The identity provider, where one is configured.
    pub provider: Option<Provider>,
    /// Signs people in there, where the service is its client.
    pub oidc: Option<Arc<Oidc>>,
    /// Reads what Stripe reports, where cards are taken.
    pub stripe: Option<Arc<StripeWebhooks>>,
    /// Pages of polls that have ended.
    pub kept_pages: KeptPages,
    /// Pictures of polls.
    pub pictures: Pictures,
    /// The poll that the start page shows as an example.
    pub example: Arc<Example>,
    /// Deposits of USDC, where they are configured.
    pub usdc: Option<Usdc>,
    /// True if the operator allows the id of a user in place of a key, where a protocol accepts it.
    pub accepts_user_ids: bool,
}

impl AppState {
    /// Ends the session that a request came with, after another one has begun: whoever else has the earlier cookie
    /// is signed out.
    pub async fn end_earlier_session(&self, head: &RequestHead) {
        if let Credential::Session(earlier) = &head.credential
            && let Err(fault) = self.app.guard.sessions.end(earlier).await
        {
            tracing::warn!(error = %fault, "an earlier session could not be ended; it ends by itself");
        }
    }

    /// Begins the session of an answer in the browser that sent the request: ends its earlier session, for which
    /// someone else may have the cookie. For a request of another website the session ends at once and no cookie is set.
    pub async fn begin_session(&self, head: &RequestHead, session: &mut Option<SessionChange>) {
        if head.may_set_cookie {
            if session.is_some() {
                self.end_earlier_session(head).await;
            }
        } else if let Some(SessionChange::Start { token, .. }) = session.take()
            && let Err(fault) = self.app.guard.sessions.end(&token).await
        {
            tracing::warn!(error = %fault, "an unused session could not be ended; it expires");
        }
    }

    /// The credential of a request to an endpoint that accepts the id of a user.
    pub fn credential_or_user_id(&self, head: &RequestHead) -> Credential {
        match &head.credential {
            Credential::Bearer(token) if self.accepts_user_ids => {
                let user = token.expose_secret().parse();
                user.map_or_else(|_| head.credential.clone(), Credential::UserId)
            }
            credential => credential.clone(),
        }
    }

    /// Absolute links to what is served.
    pub fn links(&self) -> &Links {
        &self.app.ports.links
    }
}

/// Marks the requests of a service that is stopping, in their extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// The connection was open before: its requests are still answered.
    Finishing,
    /// The connection is new: only probes are answered.
    Refusing,
}

/// The placeholders of a path, unless their escapes are not UTF-8.
pub type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// The response of a handler.
pub type Answered = BoxFuture<'static, Result<Response<Body>, Fault>>;

/// Handles the requests of a route that the guard has admitted.
#[derive(Clone)]
pub struct Handler(Arc<dyn Fn(Exchange, Admission) -> Answered + Send + Sync>);

impl Handler {
    /// A handler that calls this function.
    pub fn new(handle: impl Fn(Exchange, Admission) -> Answered + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Handles one request.
    pub fn handle(&self, exchange: Exchange, admission: Admission) -> Answered {
        (self.0)(exchange, admission)
    }
}

/// One request on its way to a handler.
pub struct Exchange {
    /// What the handler can reach.
    pub state: AppState,
    /// The request's head, read once.
    pub head: RequestHead,
    /// The placeholders of the path.
    pub params: PathParams,
    /// The request itself.
    pub request: Request<Body>,
}

impl RequestHead {
    /// The request as the guard sees it, with this credential.
    pub fn guarded(&self, surface: &'static str, credential: Credential) -> GuardRequest {
        GuardRequest { surface, request_id: self.request_id, credential, address: self.address }
    }

    /// A further call of a request that the guard has admitted: it is not counted again.
    pub fn admitted(&self, surface: &'static str, admission: Admission) -> GuardRequest {
        self.guarded(surface, Credential::Admitted(admission))
    }
}
