//! Fixtures of the official conformance suite: tools, prompts and resources that exercise the protocol. Only in
//! builds with the feature `conformance-fixtures`.
//!
//! Source: the scenarios of `@modelcontextprotocol/conformance` 0.2.0-alpha.12, which name their fixtures.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult, InputResponses,
    JsonObject, ProgressNotificationParam, Prompt, RequestStateCodec, Resource, ResourceContents,
    ResourceTemplate, Tool,
};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// Empty audio.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
/// Delay between two messages of a slow tool.
const PAUSE: Duration = Duration::from_millis(50);

/// Signs the request state. The key is public, because the state protects nothing.
static STATE: LazyLock<RequestStateCodec> = LazyLock::new(|| RequestStateCodec::new_unchecked([7_u8; 32]));

/// Returns the tools' names and input schemas.
fn descriptions() -> Vec<(&'static str, Value)> {
    let nothing = || json!({ "type": "object" });
    let mut tools: Vec<(&'static str, Value)> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_tool_with_logging",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ]
    .map(|name| (name, nothing()))
    .into();
    tools.push((
        "test_custom_header",
        json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } }),
    ));
    tools.push(("json_schema_2020_12_tool", json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })));
    tools
}

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let described = descriptions().into_iter().map(|(name, schema)| {
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new_with_raw(name, Some(Cow::Borrowed("A tool of the conformance suite.")), Arc::new(schema))
    });
    described.collect()
});

/// Returns the tools.
pub(super) fn tools() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter()
}

/// Returns the tool with this name.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    tools().find(|tool| tool.name == name)
}

/// Calls a tool; `None` if it does not exist.
pub(super) async fn call(
    params: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let declared = context.client_capabilities().unwrap_or_default();
    let responses = params.input_responses.as_ref();
    let state = params.request_state.as_deref();
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let content = match &*params.name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image],
        "test_audio_content" => vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })],
        "test_embedded_resource" => vec![json!({ "type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."
        } })],
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image,
            json!({ "type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json", "text": r#"{"test":"data","value":123}"#
            } }),
        ],
        "test_error_handling" => {
            let error = json!({ "resultType": "complete", "isError": true, "content": [text("This tool intentionally returns an error for testing")] });
            return Some(typed::<CallToolResult>(error).map(Into::into));
        }
        "test_tool_with_progress" => {
            report_progress(context).await;
            vec![text("done")]
        }
        "test_missing_capability" if declared.sampling.is_none() => {
            let required = typed(json!({ "sampling": {} }));
            return Some(Err(match required {
                Ok(required) => ErrorData::missing_required_client_capability(required),
                Err(error) => error,
            }));
        }
        "test_missing_capability"
        | "test_logging_tool"
        | "test_tool_with_logging"
        | "test_custom_header"
        | "json_schema_2020_12_tool" => vec![text("done")],
        name if tool(name).is_some() => return Some(ask(name, responses, state, &declared)),
        _ => return None,
    };
    Some(typed::<CallToolResult>(json!({ "resultType": "complete", "content": content })).map(Into::into))
}

/// Calls a tool that needs input from the client (multi round-trip requests, SEP-2322).
fn ask(
    name: &str,
    responses: Option<&InputResponses>,
    state: Option<&str>,
    declared: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    let response = |key: &str, member: &str| responses?.get(key)?.pointer(member).cloned();
    let named = response("user_name", "/content/name").and_then(|name| name.as_str().map(str::to_owned));
    let done = |said: String| {
        typed::<CallToolResult>(json!({ "resultType": "complete", "content": [text(&said)] })).map(Into::into)
    };
    match name {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => match named {
            Some(name) => done(format!("Hello, {name}!")),
            None => required(json!({ "user_name": form("What is your name?", "name", "string") }), None),
        },
        "test_input_required_result_sampling" => match response("capital_question", "/content/text") {
            Some(said) => done(said.to_string()),
            None => required(json!({ "capital_question": sample("What is the capital of France?") }), None),
        },
        "test_input_required_result_list_roots" => match response("client_roots", "/roots") {
            Some(roots) => done(format!("roots: {roots}")),
            None => required(json!({ "client_roots": roots() }), None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match (state, response("confirm", "/content/ok")) {
                (Some(state), Some(_)) => opened(state).and_then(|_| done("state-ok".to_owned())),
                (Some(state), None) => opened(state).and_then(|_| confirm()),
                (None, _) => confirm(),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let all =
                ["/content/name", "/content", "/roots"].iter().zip(["user_name", "greeting", "client_roots"]);
            if state.is_some() && all.into_iter().all(|(member, key)| response(key, member).is_some()) {
                opened(state.unwrap_or_default())?;
                return done("all answered".to_owned());
            }
            let requests = json!({
                "user_name": form("What is your name?", "name", "string"),
                "greeting": sample("Generate a greeting"),
                "client_roots": roots(),
            });
            required(requests, Some("several"))
        }
        "test_input_required_result_multi_round" => match state.map(opened).transpose()?.as_deref() {
            Some("one") if response("step1", "/content").is_some() => required(
                json!({ "step2": form("Step 2: What is your favorite color?", "color", "string") }),
                Some("two"),
            ),
            Some("two") if response("step2", "/content").is_some() => done("both steps done".to_owned()),
            _ => required(
                json!({ "step1": form("Step 1: What is your name?", "name", "string") }),
                Some("one"),
            ),
        },
        _ => {
            let mut requests = JsonObject::new();
            if declared.elicitation.is_some() {
                requests.insert("name".into(), form("What is your name?", "name", "string"));
            }
            if declared.sampling.is_some() {
                requests.insert("greeting".into(), sample("Generate a greeting"));
            }
            if requests.is_empty() {
                done("nothing to ask".to_owned())
            } else {
                required(requests.into(), None)
            }
        }
    }
}

fn confirm() -> Result<CallToolResponse, ErrorData> {
    required(json!({ "confirm": form("Please confirm", "ok", "boolean") }), Some("to be confirmed"))
}

fn required(requests: Value, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    Ok(InputRequiredResult::new(Some(typed(requests)?), state.map(|state| STATE.seal(state.as_bytes())))
        .into())
}

/// Opens the state that a client sent back.
fn opened(sealed: &str) -> Result<String, ErrorData> {
    let refused = |_| ErrorData::invalid_params("requestState is not what was sent", None);
    STATE.open(sealed).map(|state| String::from_utf8_lossy(&state).into_owned()).map_err(refused)
}

fn form(message: &str, member: &str, kind: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { member: { "type": kind } }, "required": [member] });
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

fn sample(prompt: &str) -> Value {
    let messages = json!([{ "role": "user", "content": text(prompt) }]);
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn report_progress(context: &RequestContext<RoleServer>) {
    for done in [0, 50, 100] {
        if let Some(token) = context.meta.get_progress_token() {
            let note = ProgressNotificationParam::new(token, f64::from(done)).with_total(100.0);
            let _ = context.peer.notify_progress(note).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns the prompts.
pub(super) fn prompts() -> Vec<Prompt> {
    let arguments = |names: &[&str]| -> Vec<Value> {
        names
            .iter()
            .map(|name| json!({ "name": name, "description": "An argument.", "required": true }))
            .collect()
    };
    let prompts = [
        ("test_simple_prompt", arguments(&[])),
        ("test_prompt_with_arguments", arguments(&["arg1", "arg2"])),
        ("test_prompt_with_embedded_resource", arguments(&["resourceUri"])),
        ("test_prompt_with_image", arguments(&[])),
        ("test_input_required_result_prompt", arguments(&[])),
    ];
    let prompt = |(name, arguments)| {
        let prompt = json!({ "name": name, "description": "A prompt of the conformance suite.", "arguments": arguments });
        typed(prompt).ok()
    };
    prompts.into_iter().filter_map(prompt).collect()
}

/// Returns a prompt; `None` if it does not exist.
pub(super) fn prompt(params: &GetPromptRequestParams) -> Option<Result<GetPromptResponse, ErrorData>> {
    let argument = |name: &str| params.arguments.as_ref()?.get(name)?.as_str();
    let argument = |name: &str| argument(name).unwrap_or_default().to_owned();
    let contents = match params.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({ "type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."
            } }),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" if params.input_responses.is_none() => {
            let requests =
                json!({ "user_context": form("What context should the prompt use?", "context", "string") });
            return Some(
                typed(requests).map(|requests| InputRequiredResult::from_input_requests(requests).into()),
            );
        }
        "test_input_required_result_prompt" => vec![text("The prompt, with its context.")],
        _ => return None,
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content })).collect();
    Some(typed::<GetPromptResult>(json!({ "resultType": "complete", "messages": messages })).map(Into::into))
}

/// Returns the resources.
pub(super) fn resources() -> Vec<Resource> {
    let resource = |name: &str, kind: &str| {
        Resource::new(format!("test://{name}"), name)
            .with_description("A resource of the conformance suite.")
            .with_mime_type(kind)
    };
    vec![resource("static-text", "text/plain"), resource("static-binary", "image/png")]
}

/// Returns the resource templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("A template of the conformance suite.")
        .with_mime_type("application/json");
    vec![template]
}

/// Returns a resource; `None` if it does not exist.
pub(super) fn resource(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    match uri {
        "test://static-text" => Some(text("This is the content of the static text resource.", "text/plain")),
        "test://static-binary" => Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png")),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(text(&data.to_string(), "application/json"))
        }
    }
}
