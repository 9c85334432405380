//! Protocols other than REST, as data. Documents describe them and the router serves them without depending on any
//! of them.

use std::fmt;

use ep_kernel::guard::Credential;
use ep_kernel::method::Method;
use ep_kernel::{Fault, Problem};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::resource::ProtectedResource;

/// A protocol with its own endpoints.
pub struct Protocol {
    /// Surface name in logs and metrics.
    pub surface: &'static str,
    /// Group of its endpoints in the API description.
    pub group: &'static str,
    /// Description of that group, in one sentence.
    pub about: &'static str,
    /// The resource that access tokens are requested for.
    pub resource: ProtectedResource,
    /// Request headers that pages of other websites may send (CORS), besides those that all routes accept.
    pub headers: &'static [&'static str],
    /// Response headers that pages of other websites may read.
    pub response_headers: &'static [&'static str],
    /// Sentence appended to the message for a missing credential.
    pub credential_hint: &'static str,
    /// True if the operator can allow user ids instead of keys.
    pub accepts_user_ids: bool,
    /// The key that stands for no credential, for clients that insist on a key.
    pub anonymous_key: Option<&'static str>,
    /// The starts of paths that belong to the protocol: unknown ones get its errors.
    pub prefixes: &'static [&'static str],
    /// Returns the facts that clients learn when they connect.
    pub introduction: fn() -> Introduction,
}

impl Protocol {
    /// True if this credential stands for none.
    pub fn is_anonymous(&self, credential: &Credential) -> bool {
        match (credential, self.anonymous_key) {
            (Credential::Bearer(token), Some(key)) => token.expose_secret() == key,
            _ => false,
        }
    }
}

/// Facts that clients of a protocol learn when they connect.
pub struct Introduction {
    /// Supported versions of the protocol, in the order in which documents list them.
    pub versions: Vec<&'static str>,
    /// Server capabilities in the protocol's form; null if the protocol has none.
    pub capabilities: Value,
}

/// An endpoint of a protocol.
#[derive(Clone, Copy)]
pub struct ProtocolRoute {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The format of errors that occur before the protocol reads the request.
    pub errors: ErrorFormat,
    /// True if its requests can open polls.
    pub opens_polls: bool,
    /// True if the response to a repeated request has the header `Idempotent-Replayed`.
    pub marks_replays: bool,
    /// True if routes with other functions share the route's name.
    pub shares_name: bool,
    /// Describes its requests and responses.
    pub describe: fn(Method, &str) -> Description,
}

impl fmt::Debug for ProtocolRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtocolRoute").field("protocol", &self.protocol.surface).finish_non_exhaustive()
    }
}

/// Format of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// The format that the request asks for.
    Negotiated,
    /// The protocol's own format, whatever the request asks for.
    Own(ErrorRenderer),
}

/// Renders the JSON body of an error from the fault and its problem details (RFC 9457).
#[derive(Clone, Copy)]
pub struct ErrorRenderer(pub fn(&Fault, &Problem) -> Value);

impl fmt::Debug for ErrorRenderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorRenderer")
    }
}

impl PartialEq for ErrorRenderer {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for ErrorRenderer {}

/// A JSON-RPC 2.0 error. The id is null because the request was not read.
pub const RPC_ERROR: ErrorFormat = ErrorFormat::Own(ErrorRenderer(|fault, problem| {
    let error = json!({ "code": fault.kind().row().mcp, "message": fault.message(), "data": problem });
    json!({ "jsonrpc": "2.0", "id": null, "error": error })
}));

/// Requests and responses of an endpoint, for the API description.
pub struct Description {
    /// Sentence about this endpoint; empty if the route's summary suffices.
    pub about: &'static str,
    /// Alternative schemas of the request body; empty if the request has no body.
    pub bodies: Vec<Value>,
    /// True if the request body is required.
    pub body_required: bool,
    /// Media type of the request body.
    pub body_type: &'static str,
    /// Successful responses.
    pub responses: Vec<Response>,
    /// The protocol's error format.
    pub error: ErrorResponse,
    /// Schema of the path parameters.
    pub placeholder: Value,
}

/// A successful response.
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Description in one sentence.
    pub description: &'static str,
    /// Schemas by media type.
    pub content: Vec<(&'static str, Value)>,
}

/// An error in the protocol's format.
pub struct ErrorResponse {
    /// Prefix of its name in the shared responses.
    pub name: &'static str,
    /// Schema of its body.
    pub schema: Value,
    /// Media types in addition to `application/json`.
    pub media_types: &'static [&'static str],
}

/// Media type of JSON.
pub const JSON: &str = "application/json";
/// Media type of a form with files (RFC 7578).
pub const FORM: &str = "multipart/form-data";
/// Media type of server-sent events.
pub const EVENTS: &str = "text/event-stream";

/// Returns the schema of a JSON-RPC 2.0 request.
pub fn rpc_request() -> Value {
    json!({
        "title": "RpcRequest",
        "type": "object",
        "description": "A request or a notification of JSON-RPC 2.0.",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": { "type": "string", "const": "2.0" },
            "id": { "type": ["string", "integer"], "description": "Absent in notifications." },
            "method": { "type": "string" },
            "params": { "type": ["object", "null"] },
        },
    })
}

/// Returns the schema of a JSON-RPC 2.0 response.
pub fn rpc_response() -> Value {
    json!({
        "title": "RpcResponse",
        "type": "object",
        "description": "A response of JSON-RPC 2.0: result or error.",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": { "type": "string", "const": "2.0" },
            "id": { "type": ["string", "number", "null"] },
            "result": {},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": { "code": { "type": "integer" }, "message": { "type": "string" }, "data": {} },
            },
        },
    })
}

/// Returns the JSON-RPC error format.
pub fn rpc_error() -> ErrorResponse {
    ErrorResponse { name: "Rpc", schema: rpc_response(), media_types: &[] }
}

/// Returns the schema of an event without an event name.
pub fn message_event() -> Value {
    json!({
        "type": "object",
        "description": "One event of the stream (WHATWG HTML, section 9.2).",
        "required": ["data"],
        "properties": {
            "event": { "type": "string" },
            "id": { "type": "string" },
            "data": { "type": "string", "contentMediaType": "application/json" },
        },
    })
}
