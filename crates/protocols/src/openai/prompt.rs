//! The conversation of a request as the text of a question.

use std::borrow::Cow;
use std::ops::Range;

use ep_kernel::reading::{Exhausted, Work};
use ep_polling::options::{MAX_OPTIONS, MIN_OPTIONS};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::field::{Field, Question};
use super::refusal::{Code, Refusal, unsupported};

/// A message of a conversation.
#[derive(Debug, Clone)]
pub struct Message {
    role: Role,
    text: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the developer.
    Instructions,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

impl Message {
    /// Creates a message; none if its text is blank.
    pub fn new(role: Role, text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self { role, text: text.to_owned() })
    }
}

/// Maximum number of places in a text at which a JSON object may begin.
const MAX_OBJECTS: usize = 64;

/// Reads the messages of a request.
pub fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, Refusal> {
    let Some(Value::Array(messages)) = body.get("messages") else {
        return Err(unsupported("messages", "is missing: send a list of messages"));
    };
    let mut read = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let at = |member: &str| format!("messages[{index}].{member}");
        let role = match message.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => Role::Instructions,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => Role::Tool,
            _ => {
                return Err(unsupported(&at("role"), "must be system, developer, user, assistant or tool"));
            }
        };
        let text = content(message.get("content"), &|| at("content"))?;
        read.extend(Message::new(role, &text));
    }
    if read.is_empty() {
        return Err(unsupported("messages", "has no text: say what to decide"));
    }
    Ok(read)
}

/// Reads a text, or a list of parts that are texts, refusals or JSON. Other media are refused. `at` returns the path.
pub fn content<'c>(content: Option<&'c Value>, at: &dyn Fn() -> String) -> Result<Cow<'c, str>, Refusal> {
    let parts = match content {
        None | Some(Value::Null) => return Ok(Cow::Borrowed("")),
        Some(Value::String(text)) => return Ok(Cow::Borrowed(text)),
        Some(Value::Array(parts)) => parts.as_slice(),
        Some(part @ Value::Object(_)) => std::slice::from_ref(part),
        Some(_) => return Err(unsupported(&at(), "must be a text or a list of parts")),
    };
    let mut texts = String::new();
    let mut is_first = true;
    let mut add = |text: &str| {
        if !std::mem::take(&mut is_first) {
            texts.push('\n');
        }
        texts.push_str(text);
    };
    for (index, part) in parts.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
        let text = match kind {
            "text" | "input_text" | "output_text" => part.get("text").and_then(Value::as_str),
            "refusal" => part.get("refusal").and_then(Value::as_str),
            "input_json" => {
                if let Some(data) = part.get("data") {
                    add(&data.to_string());
                }
                continue;
            }
            _ => None,
        };
        let text = text.or_else(|| part.as_str()).ok_or_else(|| {
            unsupported(&format!("{}[{index}]", at()), "is not a text: only texts can be voted on")
        })?;
        add(text);
    }
    Ok(Cow::Owned(texts))
}

/// Reads an input of OpenAI's newer APIs: a text, or a list of items.
pub fn items(input: &Value, at: &str) -> Result<Vec<Message>, Refusal> {
    let items = match input {
        Value::String(text) => return Ok(Message::new(Role::User, text).into_iter().collect()),
        Value::Array(items) => items,
        _ => return Err(unsupported(at, "must be a text or a list of items")),
    };
    let mut read = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let at = |member: &str| format!("{at}[{index}]{member}");
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "message" => {
                let role = match text("role") {
                    "system" | "developer" => Role::Instructions,
                    "user" => Role::User,
                    "assistant" => Role::Assistant,
                    _ => {
                        return Err(unsupported(
                            &at(".role"),
                            "must be system, developer, user or assistant",
                        ));
                    }
                };
                let text = content(item.get("content"), &|| at(".content"))?;
                read.extend(Message::new(role, &text));
            }
            "function_call" | "custom_tool_call" => {
                let arguments = if kind == "function_call" { text("arguments") } else { text("input") };
                let call = format!("called {} with {arguments}", text("name"));
                read.extend(Message::new(Role::Assistant, &call));
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = content(item.get("output"), &|| at(".output"))?;
                read.extend(Message::new(Role::Tool, &output));
            }
            // Another model's thoughts are not part of the question.
            "reasoning" => {}
            _ => {
                return Err(unsupported(
                    &at(""),
                    "has a type that cannot be voted on: send messages with texts",
                ));
            }
        }
    }
    Ok(read)
}

/// Returns the number of texts that a prompt of promptfoo's `select-best` compares: it asks for the index of the best one.
pub fn compared_texts(messages: &[Message]) -> Option<usize> {
    let [Message { text, .. }] = messages else { return None };
    if !text.ends_with("You must output a single integer.") {
        return None;
    }
    let mut marked = [false; MAX_OPTIONS + 1];
    for (at, mark) in text.match_indices("<Text index=\"") {
        // An index has at most two digits.
        let rest = &text.as_bytes()[at + mark.len()..];
        let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        let index = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse::<usize>().ok());
        if rest[digits..].starts_with(b"\">")
            && let Some(marked) = index.and_then(|index| marked.get_mut(index))
        {
            *marked = true;
        }
    }
    let texts = marked.iter().take_while(|marked| **marked).count();
    Some(texts).filter(|texts| *texts >= MIN_OPTIONS)
}

/// Finds the one JSON Schema with properties in the messages, and takes it out of them. `place` and `format` are the
/// parameters that hold messages and the format of the answer.
pub fn schema(messages: &mut [Message], place: &str, format: &str) -> Result<Value, Refusal> {
    let mut found: Option<(String, Value)> = None;
    let mut scans = Scans::of(messages.iter().map(|message| message.text.len()).sum());
    for message in messages.iter_mut().filter(|message| message.role != Role::Assistant) {
        let mut rest = String::new();
        let mut end = 0;
        let ranges = schemas(&message.text, &mut scans).map_err(|Exhausted| {
            let text =
                format!("has too many JSON objects that do not end: send the wanted schema in {format}");
            unsupported(place, &text)
        })?;
        for range in ranges {
            rest.push_str(&message.text[end..range.start]);
            end = range.end;
            let text = &message.text[range];
            if found.as_ref().is_some_and(|(known, _)| known == text) {
                continue;
            }
            let schema = parsed(text, &mut scans).map_err(|text| unsupported(place, &text))?;
            match &found {
                None => found = Some((text.to_owned(), schema)),
                Some((_, known)) if *known == schema => {}
                Some(_) => {
                    let text = format!("has several JSON Schemas: send the wanted one in {format}");
                    return Err(Refusal::new(Code::NoDecisionField, place, text));
                }
            }
        }
        if end > 0 {
            rest.push_str(&message.text[end..]);
            message.text = rest;
        }
    }
    found.map(|(_, schema)| schema).ok_or_else(|| {
        Refusal::new(
            Code::NoDecisionField,
            format,
            "is missing: a poll answers in a form with a few possible values. Send a JSON Schema that has an enum, or one \
             function",
        )
    })
}

/// Maximum length of a schema in a message, in bytes.
const MAX_SCHEMA: usize = 64 << 10;

/// The budgets of the readers of JSON in texts.
struct Scans {
    /// Bytes in which the end of an object is searched for, twice: a parser reads them more slowly than others compare them.
    ends: Work,
    /// Bytes that are parsed as schemas.
    schemas: Work,
}

impl Scans {
    /// Creates the budgets for texts of this length in all.
    fn of(bytes: usize) -> Self {
        Self { ends: Work::of(bytes), schemas: Work::of(MAX_SCHEMA) }
    }
}

/// Parses a schema in a message.
fn parsed(text: &str, scans: &mut Scans) -> Result<Value, String> {
    if text.len() > MAX_SCHEMA || scans.schemas.spend(text.len()).is_err() {
        return Err(format!(
            "has JSON Schemas of more than {MAX_SCHEMA} bytes: shorten them, or send one as the format of the answer"
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("has a JSON Schema that cannot be read: {error}"))
}

/// The part of a JSON object that marks it as a schema.
#[derive(Deserialize)]
struct Marked<'t> {
    #[serde(borrow, default)]
    properties: Option<&'t RawValue>,
}

/// Returns the places of the JSON Schemas with properties in a text. Bounded, because every brace could begin an object that
/// does not end.
fn schemas(text: &str, scans: &mut Scans) -> Result<Vec<Range<usize>>, Exhausted> {
    let mut schemas = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_OBJECTS {
        let Some(start) = text[at..].find('{').map(|found| at + found) else { break };
        let rest = &text[start..];
        scans.ends.spend(2 * rest.len())?;
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Marked<'_>>();
        let read = match objects.next() {
            Some(Ok(object)) => {
                at = start + objects.byte_offset();
                if object.properties.is_some_and(|properties| properties.get().starts_with('{')) {
                    schemas.push(start..at);
                }
                at - start
            }
            Some(Err(error)) => {
                at = start + 1;
                place(rest, &error)
            }
            None => break,
        };
        scans.ends.refund(2 * (rest.len() - read.min(rest.len())));
    }
    Ok(schemas)
}

/// Returns the number of bytes that were read before an error.
fn place(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// Returns the conversation as one text. `about` describes the wanted answer.
pub fn conversation(messages: &[Message], about: Option<&str>) -> String {
    let turns = messages.iter().filter(|message| message.role != Role::Instructions).count();
    let about = about.map(str::trim).filter(|about| !about.is_empty());
    let mut text = String::new();
    for (index, message) in messages.iter().enumerate() {
        let label = match message.role {
            Role::Assistant => "Assistant: ",
            Role::Tool => "Result of a tool: ",
            Role::User if turns > 1 => "User: ",
            Role::User | Role::Instructions => "",
        };
        text.push_str(if index == 0 { "" } else { "\n\n" });
        text.extend([label, &message.text]);
    }
    if let Some(about) = about {
        text.extend([if messages.is_empty() { "" } else { "\n\n" }, about]);
    }
    text
}

/// Returns the question about a field, after the conversation. It comes last, so that it overrules instructions about the
/// form of an answer.
pub fn question(conversation: &str, field: Field) -> Question {
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
    describe_values(&mut text, &field);
    Question { field, text }
}

/// Appends the descriptions of values.
pub fn describe_values(text: &mut String, field: &Field) {
    for (index, description) in &field.descriptions {
        if let Some(value) = field.texts().get(*index) {
            text.extend(["\n", value, ": ", description]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields that do not end are parsed to the end of the text, for each of their braces.
    #[test]
    fn work_on_begun_objects_is_linear() {
        for begun in ["{\"a\":", "{", "{\"a\":[", "{\n\"properties\": {"] {
            for length in [64 << 10, 128 << 10, 256 << 10, 1 << 20] {
                let text = format!("{}\"{}", begun.repeat(64), "x".repeat(length));
                let mut scans = Scans::of(text.len());
                let _ = schemas(&text, &mut scans);
                let used = scans.ends.used();
                assert!(used <= 4 * text.len(), "{begun}: {used} for {}", text.len());
            }
        }
        let mut scans = Scans::of(0);
        let text = "Use {name} and {\"properties\": {}}, not {this: one} or {\"properties\": []}.";
        let found = schemas(text, &mut scans).unwrap();
        assert!(matches!(&*found, [only] if *only == (15..33)), "{found:?}");
        assert!(scans.ends.used() < 2 * text.len(), "{}", scans.ends.used());
    }

    /// Equal schemas are parsed once, and different ones of any number within one budget.
    #[test]
    fn schemas_in_messages_are_parsed_within_a_budget() {
        let messages = |texts: Vec<String>| -> Vec<Message> {
            texts.into_iter().map(|text| Message { role: Role::User, text }).collect()
        };
        let of = |spaces: usize| format!("{{\"properties\":{{{}}}}}", " ".repeat(spaces));
        let read = |texts: Vec<String>| schema(&mut messages(texts), "messages", "response_format");
        assert_eq!(read(vec![of(3000); 300]).unwrap(), serde_json::json!({ "properties": {} }));
        assert!(read(vec![of(30_000), of(30_001), of(30_000)]).is_ok());
        for refused in [vec![of(MAX_SCHEMA)], (0..20).map(|n| of(30_000 + n)).collect()] {
            assert!(read(refused).unwrap_err().text.contains("more than 65536 bytes"));
        }
        let several = vec![of(1), "{\"properties\":{\"a\":{}}}".to_owned()];
        assert!(read(several).unwrap_err().text.contains("has several JSON Schemas"));
    }

    #[test]
    fn compared_texts_are_counted_up_to_the_first_gap() {
        let prompt = |marks: &[&str]| {
            let marks = marks.iter().map(|mark| format!("<Text index=\"{mark}\">a</Text>"));
            let marks = marks.collect::<Vec<String>>().concat();
            let text = format!("{marks} You must output a single integer.");
            compared_texts(&[Message { role: Role::User, text }])
        };
        assert_eq!(prompt(&["0", "1", "2"]), Some(3));
        assert_eq!(prompt(&["1", "0"]), Some(2));
        assert_eq!(prompt(&["0", "2"]), None);
        assert_eq!(prompt(&["0", "1x", "01", "999", ""]), Some(2));
    }
}
