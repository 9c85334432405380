//! Requests and responses of the endpoints, for the API description.

use ep_kernel::method::Method;
use ep_site::protocol::{Description, EVENTS, ErrorResponse, FORM, JSON, Response, message_event};
use serde_json::{Value, json};

/// Describes an endpoint.
pub(super) fn describe(method: Method, path: &str) -> Description {
    let posted = match path {
        "/v1/chat/completions" => Some((chat(), "A chat completion, with the evidence in `poll`.", true)),
        "/v1/responses" => Some((response(), "A response, with the evidence in `poll`.", true)),
        "/v1/decisions" => {
            Some((decisions(), "Answers with probabilities, which are shares of votes.", false))
        }
        "/v1/systemone" => {
            Some((system_one(), "Answers with probabilities, which are shares of votes.", false))
        }
        "/v1beta/decisions" => {
            Some((gemini(), "Answers with probabilities, which are shares of votes.", false))
        }
        "/v1/files" => Some((upload(), "The file.", false)),
        "/v1/batches" => Some((batch(), "The batch.", false)),
        _ => None,
    };
    let (body, about, has_events) = match posted.filter(|_| method == Method::Post) {
        Some((body, about, has_events)) => (Some(body), about, has_events),
        None if path.starts_with("/v1/files") => (None, "A file, or a list of files.", false),
        None if path.starts_with("/v1/batches") => (None, "A batch, or a list of batches.", false),
        None => (None, "Models: the panels of this service.", false),
    };
    let mut content = vec![if path.ends_with("/content") {
        ("application/octet-stream", json!({ "type": "string", "format": "binary" }))
    } else {
        (JSON, object(about))
    }];
    if has_events {
        content.push((EVENTS, message_event()));
    }
    Description {
        about: "",
        body_required: body.is_some(),
        body_type: if path == "/v1/files" { FORM } else { JSON },
        bodies: body.into_iter().collect(),
        responses: vec![Response { status: 200, description: "The response.", content }],
        error: if path == "/v1beta/decisions" {
            ErrorResponse { name: "Google", schema: google_error(), media_types: &[] }
        } else {
            ErrorResponse { name: "OpenAi", schema: error(), media_types: &[] }
        },
        placeholder: if path.contains('{') { json!({ "type": "string" }) } else { Value::Null },
    }
}

fn object(description: &str) -> Value {
    json!({ "type": "object", "description": description })
}

fn model() -> Value {
    json!({ "type": "string", "description": "`poll`, the name of a preset, or a panel of your account: `name`, or `name@3` for a version." })
}

/// Describes a body.
fn body(title: &str, description: &str, required: &[&str], properties: &Value) -> Value {
    json!({
        "title": title,
        "type": "object",
        "description": description,
        "required": required,
        "properties": properties,
    })
}

fn chat() -> Value {
    body(
        "ChatCompletionRequest",
        "A chat completion whose answer is a function call or follows a JSON Schema.",
        &["messages"],
        &json!({
            "model": model(),
            "messages": { "type": "array", "items": { "type": "object" } },
            "response_format": { "type": ["object", "null"] },
            "tools": { "type": ["array", "null"], "items": { "type": "object" } },
            "tool_choice": {},
            "stream": { "type": ["boolean", "null"] },
        }),
    )
}

fn response() -> Value {
    body(
        "ResponseRequest",
        "A response whose answer is a function call or follows a JSON Schema.",
        &["input"],
        &json!({
            "model": model(),
            "instructions": { "type": ["string", "null"] },
            "input": text_or_list("A text, or messages."),
            "text": { "type": ["object", "null"], "description": "`format` has the JSON Schema." },
            "tools": { "type": ["array", "null"], "items": { "type": "object" } },
            "tool_choice": {},
            "stream": { "type": ["boolean", "null"] },
        }),
    )
}

fn decisions() -> Value {
    body(
        "DecisionRequest",
        "Questions about an input: choice, predicate or score.",
        &["input", "questions"],
        &json!({
            "model": model(),
            "input": text_or_list("A text, or messages."),
            "questions": { "type": "array", "minItems": 1, "maxItems": 8, "items": question("choice, predicate or score") },
        }),
    )
}

fn system_one() -> Value {
    body(
        "SystemOneRequest",
        "Questions about a state: noul (yes or no), choice or score.",
        &["questions"],
        &json!({
            "model": model(),
            "state": { "description": "Any JSON." },
            "questions": question_map(),
        }),
    )
}

fn gemini() -> Value {
    body(
        "GeminiDecisionRequest",
        "Questions about an input: noul (yes or no), choice or score.",
        &["input", "questions"],
        &json!({
            "model": model(),
            "input": text_or_list("A text, or content blocks with texts."),
            "questions": question_map(),
        }),
    )
}

fn upload() -> Value {
    body(
        "FileUpload",
        "A form with a file of requests, one on each line.",
        &["purpose", "file"],
        &json!({
            "purpose": { "type": "string", "enum": ["batch"] },
            "file": { "type": "string", "format": "binary" },
        }),
    )
}

fn batch() -> Value {
    body(
        "BatchRequest",
        "A batch of the requests in a file.",
        &["input_file_id", "endpoint"],
        &json!({
            "input_file_id": { "type": "string" },
            "endpoint": { "type": "string", "description": "The url of the requests." },
            "completion_window": { "type": "string", "enum": ["24h"] },
            "metadata": { "type": ["object", "null"] },
            "output_expires_after": { "type": ["object", "null"] },
        }),
    )
}

/// The titles name the variants in generated clients, some of which do not compile without them.
fn text_or_list(description: &str) -> Value {
    json!({
        "description": description,
        "oneOf": [
            { "title": "Text", "type": "string" },
            { "title": "Items", "type": "array", "items": { "type": "object" } },
        ],
    })
}

fn question(kinds: &str) -> Value {
    let kind = json!({ "type": "string", "description": kinds });
    json!({ "type": "object", "required": ["type"], "properties": { "type": kind } })
}

fn question_map() -> Value {
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 8,
        "additionalProperties": question("noul, choice or score"),
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
            "detail": { "type": "string", "description": "The message again, for System One's clients." },
        },
    })
}

fn google_error() -> Value {
    json!({
        "title": "GoogleError",
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "status"],
                "properties": {
                    "code": { "type": "integer" },
                    "message": { "type": "string" },
                    "status": { "type": "string" },
                },
            },
        },
    })
}
