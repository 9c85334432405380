//! Requests and responses of the A2A endpoints, for the API description.

use ep_site::protocol::{
    Description, EVENTS, ErrorResponse, JSON, Response, message_event, rpc_error, rpc_request, rpc_response,
};
use serde_json::{Value, json};

use super::fields::MAX_ID;
use super::http_json::HttpOperation;

/// Media type of the HTTP+JSON binding.
const A2A_JSON: &str = "application/a2a+json";

/// The JSON-RPC endpoint.
pub(super) fn json_rpc() -> Description {
    Description {
        about: "",
        bodies: vec![rpc_request()],
        body_required: true,
        body_type: JSON,
        responses: vec![success(vec![(JSON, rpc_response()), (EVENTS, message_event())])],
        error: rpc_error(),
        placeholder: id(),
    }
}

/// The older `tasks/send`.
pub(super) fn tasks_send() -> Description {
    let responses = vec![success(vec![(JSON, json!({ "type": "object" }))])];
    Description { bodies: vec![agent_message(), rpc_request()], responses, ..json_rpc() }
}

/// An endpoint of the HTTP+JSON binding.
pub(super) fn http(operation: HttpOperation) -> Description {
    let media = |kind| (kind, json!({ "type": "object" }));
    let events = (EVENTS, message_event());
    let content = match operation {
        HttpOperation::Stream => vec![events],
        HttpOperation::Read | HttpOperation::Act => vec![media(JSON), media(A2A_JSON), events],
        _ => vec![media(JSON), media(A2A_JSON)],
    };
    let (body, body_required) = match operation {
        HttpOperation::Send | HttpOperation::Stream => (Some(agent_message()), true),
        HttpOperation::CreatePush => (Some(push_config()), true),
        HttpOperation::Act => (Some(json!({ "type": "object" })), false),
        _ => (None, false),
    };
    Description {
        about: about(operation),
        bodies: body.into_iter().collect(),
        body_required,
        body_type: JSON,
        responses: vec![success(content)],
        error: ErrorResponse { name: "Agent", schema: agent_error(), media_types: &[A2A_JSON] },
        placeholder: id(),
    }
}

const fn about(operation: HttpOperation) -> &'static str {
    match operation {
        HttpOperation::Send => "Sends a message.",
        HttpOperation::Stream => "Sends a message, and streams the events of its task.",
        HttpOperation::List => "Lists the caller's tasks.",
        HttpOperation::Read => "Returns a task. With `:subscribe` after the id, streams its events.",
        HttpOperation::Act => {
            "Cancels a task with `:cancel` after its id; streams its events with `:subscribe`."
        }
        HttpOperation::CreatePush => "Creates a push notification config of a task.",
        HttpOperation::ListPushes => "Lists the push notification configs of a task.",
        HttpOperation::GetPush => "Returns a push notification config.",
        HttpOperation::DeletePush => "Deletes a push notification config.",
        HttpOperation::ExtendedCard => "Returns the extended agent card for authenticated callers.",
    }
}

const fn success(content: Vec<(&'static str, Value)>) -> Response {
    Response { status: 200, description: "The response.", content }
}

/// The id of a task or of a push notification config.
fn id() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F]+$" })
}

fn push_config() -> Value {
    json!({
        "type": "object",
        "required": ["url"],
        "properties": { "url": { "type": "string", "format": "uri" } },
    })
}

/// A message to the agent, as far as both versions of A2A agree.
fn agent_message() -> Value {
    json!({
        "title": "AgentMessage",
        "type": "object",
        "description": "An A2A message. Its parts have a question and options, as data or as text.",
        "required": ["message"],
        "properties": {
            "message": {
                "type": "object",
                "required": ["role", "parts", "messageId"],
                "properties": {
                    "role": { "type": "string", "enum": ["ROLE_USER", "user"] },
                    "messageId": { "type": "string", "minLength": 1 },
                    "parts": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "anyOf": [
                                { "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } },
                                { "type": "object", "required": ["data"], "properties": { "data": {} } },
                            ],
                        },
                    },
                },
            },
        },
    })
}

/// An error of the HTTP+JSON binding (specification 1.0, section 11.6).
fn agent_error() -> Value {
    json!({
        "title": "AgentError",
        "type": "object",
        "description": "An error of A2A over HTTP+JSON.",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "status", "message"],
                "properties": {
                    "code": { "type": "integer" },
                    "status": { "type": "string" },
                    "message": { "type": "string" },
                    "details": { "type": "array", "items": { "type": "object" } },
                },
            },
        },
    })
}
