//! A route as a record: method, path, access, limits, purpose, and what descriptions say of it.

mod constructors;
mod faults;
mod kind;

use std::borrow::Cow;
use std::time::Duration;

use ep_kernel::guard::Policy;
use ep_kernel::method::Method;
use ep_kernel::{Access, Cost, Effect, Entry, Kind, Latency, Rate, Rest};
use ep_store::KeyScope;

use super::document::Document;
use super::protocol::{ErrorFormat, Protocol, ProtocolRoute};
use super::rail::Rail;
use super::resource::{Challenge, ProtectedResource};

pub use kind::{Needs, QueryParameter, Redirect, RouteKind, Target};

/// Default limit of a request body, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// One method at one path.
#[derive(Debug, Clone)]
pub struct Route {
    /// Name of the operation, the document, the page or the protocol.
    pub name: &'static str,
    /// The method; GET includes HEAD.
    pub method: Method,
    /// The path, with `{placeholders}`.
    pub path: Cow<'static, str>,
    /// Purpose in one sentence.
    pub summary: Cow<'static, str>,
    /// The kind of the route, for descriptions.
    pub kind: RouteKind,
    /// The data that the route serves.
    pub target: Target,
    /// The name of its surface in logs and metrics.
    pub surface: &'static str,
    /// The callers that may use the route.
    pub access: Access,
    /// True if the route ignores credentials: every caller gets the same response, even with an expired cookie.
    pub ignores_credentials: bool,
    /// The effect of a request that runs no operation: it decides the scope that a key needs.
    pub effect: Effect,
    /// The rate limit that requests count against.
    pub rate: Rate,
    /// Maximum time until the response; `None` means the guard's default.
    pub deadline: Option<Duration>,
    /// Maximum size of the request body, in bytes.
    pub max_body: usize,
    /// True if the body of a POST request is JSON that shared code parses.
    pub reads_json: bool,
    /// Kinds of error, besides those that shared code returns for every route.
    pub faults: &'static [Kind],
    /// Query parameters of a route that is not an operation.
    pub query: &'static [QueryParameter],
    /// Media types of the response, unless the target defines them.
    pub media_types: &'static [&'static str],
    /// JSON Schema of that response; empty if its media type says enough.
    pub schema: &'static str,
    /// The redirect that can take the place of the response.
    pub redirect: Option<Redirect>,
    /// True if a client may ask if its copy of the response is current.
    pub cacheable: bool,
    /// The price of a request.
    pub cost: Cost,
    /// The usual time until the response.
    pub latency: Latency,
    /// The setting without which the route has no use.
    pub needs: Needs,
    /// The group in the API description, with a sentence about it; `None` follows from the path.
    pub group: Option<(&'static str, &'static str)>,
    /// True if people read the route in a browser. Search engines are asked not to list other routes below `/api`.
    pub for_people: bool,
    /// True if everyone may read the route at no cost.
    pub is_public: bool,
    /// True for a page of one visitor. It redirects other visitors, and crawlers must not read it.
    pub personal: bool,
    /// Name of the page that shows the same content to people.
    pub page: Option<&'static str>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {$(
        $(#[$doc])*
        pub const fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}

/// Modifiers, each for one field.
impl Route {
    setters! {
        /// Sets the access.
        access: Access,
        /// Sets the effect.
        effect: Effect,
        /// Sets the rate limit.
        rate: Rate,
        /// Sets the query parameters.
        query: &'static [QueryParameter],
        /// Sets the media types.
        media_types: &'static [&'static str],
        /// Sets the kinds of error.
        faults: &'static [Kind],
        /// Sets the setting that the route needs.
        needs: Needs,
        /// Sets the maximum size of the request body, in bytes.
        max_body: usize,
    }

    /// Marks the route as a page of one visitor.
    pub const fn personal(mut self) -> Self {
        self.personal = true;
        self.cacheable = false;
        self.redirect = Some(Redirect {
            status: 303,
            description: "Redirects the browser. Without a session, to the sign-in page.",
            sets_cookie: false,
        });
        self
    }

    /// Sets the deadline.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

impl Route {
    /// Returns the binding of an operation, if the route is one.
    pub const fn as_operation(&self) -> Option<(&'static Entry, Rest)> {
        match self.target {
            Target::Operation(entry, rest) => Some((entry, rest)),
            _ => None,
        }
    }

    /// Returns the endpoint of a protocol, if the route is one.
    pub const fn as_protocol(&self) -> Option<ProtocolRoute> {
        match self.target {
            Target::Protocol(endpoint) => Some(endpoint),
            _ => None,
        }
    }

    /// Returns the document that the route serves, if it serves one.
    pub const fn as_document(&self) -> Option<&'static Document> {
        match self.target {
            Target::Document(document) => Some(document),
            _ => None,
        }
    }

    /// Returns the payment rail of the route, if it has one.
    pub const fn as_rail(&self) -> Option<&'static Rail> {
        match self.target {
            Target::Rail(rail) => Some(rail),
            _ => None,
        }
    }

    /// True if the route reports the progress of an operation as events.
    pub const fn is_stream(&self) -> bool {
        matches!(self.kind, RouteKind::EventStream)
    }

    /// True for the target of a page's form, which descriptions omit.
    pub const fn is_form(&self) -> bool {
        matches!(self.kind, RouteKind::Form)
    }

    /// Returns the first sentence of the summary.
    pub fn brief(&self) -> &str {
        self.summary.find(". ").map_or(&*self.summary, |end| &self.summary[..=end])
    }

    /// Returns the access token to request from callers without a sufficient credential.
    pub const fn challenge(&self) -> Challenge {
        let (resource, scope) = match self.target {
            Target::Operation(entry, _) => (ProtectedResource::API, entry.spec.effect.scope()),
            Target::Protocol(endpoint) => (endpoint.protocol.resource, KeyScope::Polls),
            _ => (ProtectedResource::API, KeyScope::Read),
        };
        Challenge { resource, scope }
    }

    /// Returns the format of errors from the guard.
    pub fn errors(&self) -> ErrorFormat {
        self.as_protocol().map_or(ErrorFormat::Negotiated, |endpoint| endpoint.errors)
    }

    /// True for endpoints and documents that search engines are asked not to list.
    pub fn is_unindexed(&self) -> bool {
        self.path.split('/').nth(1) == Some("api") && !self.for_people
    }

    /// Returns the guard's policy for requests that are not operations.
    pub fn policy(&self) -> Policy {
        let policy = Policy::instant(self.name, self.access, self.rate);
        let policy = Policy { deadline: self.deadline.unwrap_or(policy.deadline), ..policy };
        // The protocol's operations have their own deadlines, error format and logs.
        let Some(endpoint) = self.as_protocol() else { return policy };
        let Protocol { credential_hint, anonymous_key, .. } = *endpoint.protocol;
        // The hint names the key of callers without an account.
        let is_wrong = anonymous_key.is_some() && !self.access.anonymous;
        let credential_hint = if is_wrong { "" } else { credential_hint };
        Policy { credential_hint, protocol: true, effect: self.effect, ..policy }
    }
}
