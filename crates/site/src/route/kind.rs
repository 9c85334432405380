//! The kind of a route, and parts of its record.

use ep_kernel::{Entry, Rest};
use serde::Serialize;

use crate::document::Document;
use crate::protocol::ProtocolRoute;
use crate::rail::Rail;

/// The kind of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// An operation with a plain request and response.
    Operation,
    /// An operation that reports progress as server-sent events.
    EventStream,
    /// An endpoint of a protocol such as MCP or A2A.
    Protocol,
    /// A document.
    Document,
    /// A redirect for browsers.
    Redirect,
    /// The webhook of a payment rail. Its processor signs the requests.
    Webhook,
    /// A payment by a rail, with a proof in the request.
    Payment,
    /// A page for people.
    Page,
    /// The target of a page's form. Descriptions for programs omit it because programs use the operations.
    Form,
    /// A health check for orchestrators and load balancers.
    Probe,
}

/// The data that a route serves.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A binding of an operation.
    Operation(&'static Entry, Rest),
    /// An endpoint of a protocol.
    Protocol(ProtocolRoute),
    /// A document.
    Document(&'static Document),
    /// A payment rail.
    Rail(&'static Rail),
    /// Nothing that shared code knows: the route has its own code.
    Nothing,
}

/// A redirect of browsers.
#[derive(Debug, Clone, Copy)]
pub struct Redirect {
    /// The HTTP status.
    pub status: u16,
    /// The destination, in a sentence.
    pub description: &'static str,
    /// True if the response can set a cookie.
    pub sets_cookie: bool,
}

/// A setting without which a route has no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// An identity provider with an issuer URL.
    Issuer,
    /// An identity provider at which people sign in with a browser.
    SignIn,
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
