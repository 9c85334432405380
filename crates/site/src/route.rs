//! A route as data: method, path, access, limits and purpose.

use std::borrow::Cow;
use std::time::Duration;

use ep_kernel::fault::Kind;
use ep_kernel::guard::{PROBE, Policy};
use ep_kernel::key_terms::KeyScope;
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Effect, Entry, Rate, Rest};

use super::document::Document;
use super::protocol::{ErrorFormat, Protocol};
use super::resource::{Challenge, ProtectedResource};
pub use super::route_kind::{QueryParameter, RouteKind};

/// Default limit of a request body, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// Kinds of error of most pages.
const PAGE_FAULTS: &[Kind] = &[Kind::NotFound, Kind::InvalidInput, Kind::Busy, Kind::Unavailable];

/// One method at one path.
#[derive(Debug, Clone)]
pub struct Route {
    /// Name of the operation, the document, the page or the protocol.
    pub name: &'static str,
    /// The method; GET includes HEAD.
    pub method: Method,
    /// The path, with `{placeholders}`.
    pub path: Cow<'static, str>,
    /// The callers that may use the route.
    pub access: Access,
    /// The effect of a request of a protocol that runs no operation: it decides the scope that a key needs.
    pub effect: Effect,
    /// The rate limit that requests count against.
    pub rate: Rate,
    /// The kind of route.
    pub kind: RouteKind,
    /// Query parameters of a route that is not an operation.
    pub query: &'static [QueryParameter],
    /// Media types of a page.
    pub media_types: &'static [&'static str],
    /// Kinds of error of a page, besides those that shared code returns for every route.
    pub faults: &'static [Kind],
    /// True if people read the route in a browser. Search engines are asked not to list other routes below `/api`.
    pub for_people: bool,
    /// True for a page of one visitor. It redirects other visitors, and crawlers must not read it.
    pub personal: bool,
    /// Name of the page that shows the same content to people.
    pub page: Option<&'static str>,
    /// Maximum time until the response; `None` means the guard's default.
    pub deadline: Option<Duration>,
    /// Maximum size of the request body, in bytes.
    pub max_body: usize,
    /// Purpose in one sentence.
    pub summary: Cow<'static, str>,
}

impl Route {
    /// Creates a public GET route.
    pub const fn get(name: &'static str, path: &'static str, kind: RouteKind, summary: &'static str) -> Self {
        Self {
            name,
            method: Method::Get,
            path: Cow::Borrowed(path),
            access: Access::PUBLIC,
            effect: Effect::Read,
            rate: Rate::Public,
            kind,
            query: &[],
            media_types: &["text/html"],
            faults: if matches!(kind, RouteKind::Page) { PAGE_FAULTS } else { &[] },
            for_people: matches!(kind, RouteKind::Page | RouteKind::Form),
            personal: false,
            page: None,
            deadline: None,
            max_body: MAX_BODY,
            summary: Cow::Borrowed(summary),
        }
    }

    /// Creates a public POST route.
    pub const fn post(
        name: &'static str,
        path: &'static str,
        kind: RouteKind,
        summary: &'static str,
    ) -> Self {
        let mut route = Self::get(name, path, kind, summary);
        route.method = Method::Post;
        route
    }

    /// Sets the access.
    pub const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the effect.
    pub const fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Sets the rate limit.
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    /// Sets the query parameters.
    pub const fn query(mut self, query: &'static [QueryParameter]) -> Self {
        self.query = query;
        self
    }

    /// Sets the media types.
    pub const fn media_types(mut self, media_types: &'static [&'static str]) -> Self {
        self.media_types = media_types;
        self
    }

    /// Sets the kinds of error of a page.
    pub const fn faults(mut self, faults: &'static [Kind]) -> Self {
        self.faults = faults;
        self
    }

    /// Marks the route as a page of one visitor.
    pub const fn personal(mut self) -> Self {
        self.personal = true;
        self
    }

    /// Sets the deadline.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Creates the route of a document at a path, which may be a pattern with placeholders.
    pub fn document(document: &'static Document, path: String) -> Self {
        let for_people = document.forms[0].media_type.starts_with("text/html");
        let route = Self::get(document.name, "", RouteKind::Document(document), document.summary);
        Self { path: path.into(), for_people, ..route }
    }

    /// Sets the maximum size of the request body, in bytes.
    pub const fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Creates the route of an operation's binding. `keys_read_account` is the operator's setting.
    pub const fn operation(
        entry: &'static Entry,
        rest: Rest,
        streamed: bool,
        keys_read_account: bool,
    ) -> Self {
        let spec = &entry.spec;
        let access = spec.access.and(rest.only);
        let key = access.key && (keys_read_account || !rest.keys_by_setting);
        let kind = if streamed { RouteKind::Stream(entry, rest) } else { RouteKind::Operation(entry, rest) };
        let mut route = Self::get(spec.name, rest.path, kind, spec.summary);
        route.method = rest.method;
        route.access = Access { key, ..access };
        route.rate = spec.rate;
        if let Some(bytes) = rest.max_body {
            route.max_body = bytes;
        }
        route
    }

    /// Returns the first sentence of the summary.
    pub fn brief(&self) -> &str {
        self.summary.find(". ").map_or(&*self.summary, |end| &self.summary[..=end])
    }

    /// Returns the surface name for logs and metrics.
    pub const fn surface(&self) -> &'static str {
        match self.kind {
            RouteKind::Operation(..) => "rest",
            RouteKind::Stream(..) => "sse",
            RouteKind::Protocol(endpoint) => endpoint.protocol.surface,
            RouteKind::Document(_) | RouteKind::ProxiedDocument => "document",
            RouteKind::Redirect
            | RouteKind::Webhook(_)
            | RouteKind::Payment(_)
            | RouteKind::Page
            | RouteKind::Form => "web",
            RouteKind::Probe => PROBE,
        }
    }

    /// Returns the access token to request from callers without a sufficient credential.
    pub const fn challenge(&self) -> Challenge {
        let (resource, scope) = match self.kind {
            RouteKind::Operation(entry, _) | RouteKind::Stream(entry, _) => {
                (ProtectedResource::API, entry.spec.effect.scope())
            }
            RouteKind::Protocol(endpoint) => (endpoint.protocol.resource, KeyScope::Polls),
            _ => (ProtectedResource::API, KeyScope::Read),
        };
        Challenge { resource, scope }
    }

    /// Returns the format of errors from the guard.
    pub const fn errors(&self) -> ErrorFormat {
        match self.kind {
            RouteKind::Protocol(endpoint) => endpoint.errors,
            _ => ErrorFormat::Negotiated,
        }
    }

    /// True if the route ignores credentials: every caller gets the same response, even with an expired cookie.
    pub const fn ignores_credentials(&self) -> bool {
        matches!(
            self.kind,
            RouteKind::Document(_)
                | RouteKind::ProxiedDocument
                | RouteKind::Redirect
                | RouteKind::Webhook(_)
                | RouteKind::Page
                | RouteKind::Form
                | RouteKind::Probe
        )
    }

    /// True for endpoints and documents that search engines are asked not to list.
    pub fn is_unindexed(&self) -> bool {
        self.path.split('/').nth(1) == Some("api") && !self.for_people
    }

    /// Returns the guard's policy for requests that are not operations.
    pub fn policy(&self) -> Policy {
        let policy = Policy::instant(self.name, self.access, self.rate);
        let policy = Policy { deadline: self.deadline.unwrap_or(policy.deadline), ..policy };
        match self.kind {
            // The protocol's operations have their own deadlines, error format and logs.
            RouteKind::Protocol(endpoint) => {
                let Protocol { credential_hint, anonymous_key, .. } = *endpoint.protocol;
                // The hint names the key of callers without an account.
                let is_wrong = anonymous_key.is_some() && !self.access.anonymous;
                let credential_hint = if is_wrong { "" } else { credential_hint };
                Policy { credential_hint, protocol: true, effect: self.effect, ..policy }
            }
            _ => policy,
        }
    }
}
