//! Requests and responses of the endpoints, for the API description.

use ep_kernel::method::Method;
use serde_json::{Value, json};

use crate::site::protocol::{Description, EVENTS, ErrorResponse, JSON, Response, message_event};

/// Describes an endpoint.
pub(super) fn describe(method: Method, path: &str) -> Description {
    let is_chat = method == Method::Post;
    let content = if is_chat {
        vec![(JSON, object("A chat completion, with the evidence in `poll`.")), (EVENTS, message_event())]
    } else {
        vec![(JSON, object("Models: the panels of this service."))]
    };
    Description {
        about: "",
        bodies: if is_chat { vec![request()] } else { Vec::new() },
        body_required: is_chat,
        responses: vec![Response { status: 200, description: "The response.", content }],
        error: ErrorResponse { name: "OpenAi", schema: error(), media_types: &[] },
        placeholder: if path.contains('{') { json!({ "type": "string" }) } else { Value::Null },
    }
}

fn object(description: &str) -> Value {
    json!({ "type": "object", "description": description })
}

fn request() -> Value {
    json!({
        "title": "ChatCompletionRequest",
        "type": "object",
        "description": "A chat completion whose answer is a function call or follows a JSON Schema.",
        "required": ["messages"],
        "properties": {
            "model": { "type": "string", "description": "`poll`, or the name of a preset." },
            "messages": { "type": "array", "items": { "type": "object" } },
            "response_format": { "type": ["object", "null"] },
            "tools": { "type": ["array", "null"], "items": { "type": "object" } },
            "tool_choice": {},
            "stream": { "type": ["boolean", "null"] },
        },
    })
}

fn error() -> Value {
    json!({
        "title": "OpenAiError",
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": { "type": "string" },
                    "type": { "type": "string" },
                    "param": { "type": ["string", "null"] },
                    "code": { "type": "string" },
                },
            },
        },
    })
}
