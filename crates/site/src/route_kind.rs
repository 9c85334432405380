//! The kinds of routes, and their query parameters.

use ep_kernel::tool::{Entry, Rest};

use super::document::Document;
use super::protocol::ProtocolRoute;
use super::rails::Rail;

/// The kind of a route.
#[derive(Debug, Clone, Copy)]
pub enum RouteKind {
    /// An operation with a plain request and response.
    Operation(&'static Entry, Rest),
    /// An operation that reports progress as server-sent events.
    Stream(&'static Entry, Rest),
    /// An endpoint of a protocol such as MCP or A2A.
    Protocol(ProtocolRoute),
    /// A document.
    Document(&'static Document),
    /// A document proxied from another server.
    ProxiedDocument,
    /// A redirect for browsers.
    Redirect,
    /// The webhook of a payment rail. Its processor signs the requests.
    Webhook(&'static Rail),
    /// A payment by this rail, with a proof in the request.
    Payment(&'static Rail),
    /// A page for people.
    Page,
    /// The target of a page's form. The API description omits it because programs use the operations.
    Form,
    /// A health check for orchestrators and load balancers.
    Probe,
}

/// A query parameter of a route that is not an operation.
#[derive(Debug)]
pub struct QueryParameter {
    /// The name.
    pub name: &'static str,
    /// The meaning.
    pub description: &'static str,
    /// True if the parameter is required.
    pub required: bool,
    /// The JSON Schema.
    pub schema: &'static str,
}

impl QueryParameter {
    /// Creates an optional text parameter.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self { name, description, required: false, schema: r#"{ "type": "string" }"# }
    }
}
