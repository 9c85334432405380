//! What one served path is: its method, who may call it, what it is counted against, and what answers.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::{Admission, PROBE, Policy};
use ep_kernel::key_terms::KeyScope;
use ep_kernel::method::Method;
use ep_kernel::tool::{Access, Entry, Rate, Rest};
use futures::future::BoxFuture;

use super::a2a::HttpOperation;
use super::http::{Challenge, Exchange};
use crate::documents::{DOCUMENTS, ProtectedResource};

/// One method at one path.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name: of the operation, the document or the protocol.
    pub name: &'static str,
    /// The method; GET answers HEAD too.
    pub method: Method,
    /// The path, with `{placeholders}`.
    pub path: Cow<'static, str>,
    /// Who may call it.
    pub access: Access,
    /// Which allowance requests are counted against.
    pub rate: Rate,
    /// What it is, and what answers it.
    pub kind: RouteKind,
    /// What it does, in one sentence.
    pub summary: Cow<'static, str>,
}

/// What a route is, and what answers it.
#[derive(Debug, Clone, Copy)]
pub enum RouteKind {
    /// An operation as a plain request and response.
    Operation(&'static Entry, Rest),
    /// An operation whose progress is sent as server-sent events.
    Stream(&'static Entry, Rest),
    /// A protocol of its own: MCP, A2A.
    Protocol(Protocol),
    /// A document, by its place in [`DOCUMENTS`].
    Document(usize),
    /// A document of another server, passed on.
    Mirror(Handler),
    /// Sends a browser elsewhere.
    Redirect(Handler),
    /// Called by another service, which signs its requests.
    Webhook(Handler),
    /// Takes a payment that travels in headers.
    Payment(Handler),
    /// A page for people.
    Page(Handler),
    /// What the form of a page is sent to. Programs are not told of it: they have the operations.
    Form(Handler),
    /// A health check of an orchestrator or load balancer.
    Probe(Handler),
}

/// The protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Model Context Protocol, Streamable HTTP.
    Mcp,
    /// Agent2Agent, JSON-RPC.
    A2a,
    /// Agent2Agent, HTTP+JSON.
    A2aHttp {
        /// What the path and the method mean.
        operation: HttpOperation,
        /// Whether it is the binding of 0.3.
        older: bool,
    },
    /// The older `tasks/send` of A2A, a plain POST.
    A2aTasksSend,
}

/// Answers a request that the guard has admitted.
pub type Handler = fn(Exchange, Admission) -> BoxFuture<'static, Result<Response<Body>, Fault>>;

impl Route {
    /// A binding of an operation; `keys_read_account` is the operator's setting.
    pub const fn of(entry: &'static Entry, rest: Rest, streamed: bool, keys_read_account: bool) -> Self {
        let spec = &entry.spec;
        let access = spec.access.and(rest.only);
        let key = access.key && (keys_read_account || !rest.keys_by_setting);
        let kind = if streamed { RouteKind::Stream(entry, rest) } else { RouteKind::Operation(entry, rest) };
        Self {
            name: spec.name,
            method: rest.method,
            path: Cow::Borrowed(rest.path),
            access: Access { key, ..access },
            rate: spec.rate,
            kind,
            summary: Cow::Borrowed(spec.summary),
        }
    }

    /// The first sentence of the summary.
    pub fn brief(&self) -> &str {
        self.summary.find(". ").map_or(&*self.summary, |end| &self.summary[..=end])
    }

    /// The surface, for logs and metrics.
    pub const fn surface(&self) -> &'static str {
        match self.kind {
            RouteKind::Operation(..) => "rest",
            RouteKind::Stream(..) => "sse",
            RouteKind::Protocol(Protocol::Mcp) => "mcp",
            RouteKind::Protocol(Protocol::A2a | Protocol::A2aHttp { .. } | Protocol::A2aTasksSend) => "a2a",
            RouteKind::Document(_) | RouteKind::Mirror(_) => "document",
            RouteKind::Redirect(_)
            | RouteKind::Webhook(_)
            | RouteKind::Payment(_)
            | RouteKind::Page(_)
            | RouteKind::Form(_) => "web",
            RouteKind::Probe(_) => PROBE,
        }
    }

    /// What its callers are told who lack the right credential.
    pub const fn challenge(&self) -> Challenge {
        let (resource, scope) = match self.kind {
            RouteKind::Operation(entry, _) | RouteKind::Stream(entry, _) => {
                (ProtectedResource::Api, entry.spec.effect.scope())
            }
            RouteKind::Protocol(Protocol::Mcp) => (ProtectedResource::Mcp, KeyScope::Polls),
            RouteKind::Protocol(Protocol::A2a | Protocol::A2aHttp { .. } | Protocol::A2aTasksSend) => {
                (ProtectedResource::A2a, KeyScope::Polls)
            }
            _ => (ProtectedResource::Api, KeyScope::Read),
        };
        Challenge { resource, scope }
    }

    /// Whether search engines are asked not to list it: what programs call, and documents for programs beside it.
    pub fn is_unindexed(&self) -> bool {
        let for_people = match self.kind {
            RouteKind::Page(_) | RouteKind::Form(_) => true,
            RouteKind::Document(place) => DOCUMENTS[place].forms[0].media_type.starts_with("text/html"),
            _ => false,
        };
        self.path.split('/').nth(1) == Some("api") && !for_people
    }

    /// The policy by which the guard judges requests to what is no operation.
    pub fn policy(&self) -> Policy {
        let policy = Policy::instant(self.name, self.access, self.rate);
        if matches!(self.kind, RouteKind::Payment(_)) {
            return Policy { deadline: PAYMENT, ..policy };
        }
        let RouteKind::Protocol(protocol) = self.kind else { return policy };
        // The operations inside keep deadlines of their own, refuse in the protocol's form, and are logged.
        let credential_hint = match protocol {
            Protocol::Mcp => "; in an MCP client's settings this is a header",
            Protocol::A2a | Protocol::A2aHttp { .. } | Protocol::A2aTasksSend => {
                "; A2A clients find it in the agent card, as the security scheme bearer"
            }
        };
        Policy { deadline: LONGEST, credential_hint, protocol: true, ..policy }
    }
}

/// Longer than a payment takes to be verified and carried out on a chain.
const PAYMENT: Duration = Duration::from_secs(90);
/// Longer than any operation: bounds protocol requests that hang.
const LONGEST: Duration = Duration::from_hours(1);
