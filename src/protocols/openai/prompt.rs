//! The conversation of a request as the text of a question.

use serde_json::{Map, Value};

use super::refusal::{Code, Refusal};
use super::shape::{Field, text_of};

/// A message of a conversation.
#[derive(Debug)]
pub struct Message {
    role: Role,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Instructions,
    User,
    Assistant,
    Tool,
}

/// Maximum number of places in a text at which a JSON object may begin.
const MAX_OBJECTS: usize = 64;

/// Reads the messages of a request.
pub fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, Refusal> {
    let refuse = |param: &str, text: &str| Refusal::new(Code::UnsupportedValue, param, text);
    let Some(Value::Array(messages)) = body.get("messages") else {
        return Err(refuse("messages", "is missing: send a list of messages"));
    };
    let mut read = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let role = match message.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => Role::Instructions,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => Role::Tool,
            _ => {
                return Err(refuse(
                    &format!("{at}.role"),
                    "must be system, developer, user, assistant or tool",
                ));
            }
        };
        let text = match message.get("content") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let mut texts = Vec::with_capacity(parts.len());
                for (part, value) in parts.iter().enumerate() {
                    let text =
                        value.get("text").and_then(Value::as_str).filter(|_| value["type"] != "image_url");
                    let text = text.ok_or_else(|| {
                        refuse(&format!("{at}.content[{part}]"), "is not a text: only texts can be voted on")
                    })?;
                    texts.push(text);
                }
                texts.join("\n")
            }
            Some(_) => return Err(refuse(&format!("{at}.content"), "must be a text or a list of parts")),
        };
        let text = text.trim();
        if !text.is_empty() {
            read.push(Message { role, text: text.to_owned() });
        }
    }
    if read.is_empty() {
        return Err(refuse("messages", "has no text: say what to decide"));
    }
    Ok(read)
}

/// Finds the one JSON Schema with properties in the messages.
pub fn schema(messages: &[Message]) -> Result<Value, Refusal> {
    let mut found: Vec<Value> = Vec::new();
    for message in messages.iter().filter(|message| message.role != Role::Assistant) {
        for schema in objects(&message.text) {
            if schema.get("properties").is_some_and(Value::is_object) && !found.contains(&schema) {
                found.push(schema);
            }
        }
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err(Refusal::new(
            Code::NoDecisionField,
            "response_format",
            "is missing: a poll answers in a form with a few possible values. Send response_format with a JSON Schema \
             that has an enum, or one function",
        )),
        _ => Err(Refusal::new(
            Code::NoDecisionField,
            "messages",
            "contain several JSON Schemas: send the wanted one in response_format",
        )),
    }
}

/// Returns the JSON objects in a text. Bounded, because every brace could begin one.
fn objects(text: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut rest = text;
    for _ in 0..MAX_OBJECTS {
        let Some(start) = rest.find('{') else { break };
        rest = &rest[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let end = values.byte_offset();
                objects.push(value);
                rest = &rest[end..];
            }
            _ => rest = &rest[1..],
        }
    }
    objects
}

/// Returns the conversation as one text. `about` describes the wanted answer.
pub fn conversation(messages: &[Message], about: Option<&str>) -> String {
    let turns = messages.iter().filter(|message| message.role != Role::Instructions).count();
    let mut parts: Vec<String> = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let label = match message.role {
            Role::Assistant => "Assistant: ",
            Role::Tool => "Result of a tool: ",
            Role::User if turns > 1 => "User: ",
            Role::User | Role::Instructions => "",
        };
        parts.push(format!("{label}{}", message.text));
    }
    parts.extend(about.map(str::trim).filter(|about| !about.is_empty()).map(str::to_owned));
    parts.join("\n\n")
}

/// Returns the question about a field, after the conversation. It comes last, so that it overrules instructions about the
/// form of an answer.
pub fn question(conversation: &str, field: &Field) -> String {
    let mut text = format!("{conversation}\n\nChoose ");
    match field.name.as_str() {
        "" => text.push_str("the answer"),
        name => text.extend(["the value of \"", name, "\""]),
    }
    if let Some(description) = &field.description {
        text.extend([": ", description]);
    }
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    for (index, description) in &field.descriptions {
        if let Some(value) = field.values.get(*index) {
            text.extend(["\n", &text_of(value), ": ", description]);
        }
    }
    text
}
