//! Reads a message: what it asks, and of which skill.

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Agents, Entry, Task};
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::errors::Refusal;

/// Every operation.
pub(super) type Tools = &'static [Entry];

/// What a message asks.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) entry: &'static Entry,
    pub(super) input: Value,
}

/// The parts of the message, checked for the dialect it is written in.
pub(super) fn parts(message: &Value, dialect: Dialect) -> Result<&[Value], Refusal> {
    let invalid = |field: &str, detail: &str| Refusal::Fault(Fault::invalid(field, detail));
    if !message.is_object() {
        return Err(invalid("message", "message is missing"));
    }
    let role = member(message, "role", "role").and_then(Value::as_str);
    let fits = match dialect {
        Dialect::V1 => matches!(role, Some("ROLE_USER" | "ROLE_AGENT")),
        Dialect::V03 => matches!(role, Some("user" | "agent")),
        Dialect::Legacy => matches!(role, None | Some("user" | "agent")),
    };
    if !fits {
        let expected = if dialect == Dialect::V1 { "ROLE_USER" } else { "user" };
        return Err(invalid("message.role", &format!("must be {expected}")));
    }
    if dialect != Dialect::Legacy
        && member(message, "messageId", "message_id").and_then(Value::as_str).is_none_or(str::is_empty)
    {
        return Err(invalid("message.messageId", "must be a non-empty string"));
    }
    match member(message, "parts", "content").and_then(Value::as_array) {
        Some(parts) if !parts.is_empty() => Ok(parts),
        _ => Err(invalid("message.parts", "must be a list with at least one part")),
    }
}

/// A member by its camelCase or its other name; the protocol's own parsers take both.
pub(super) fn member<'a>(object: &'a Value, name: &str, other: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| object.get(other)).filter(|value| !value.is_null())
}

/// What the message asks: the first part that holds a JSON object, as data or as text; without one, its words.
pub(super) fn ask(tools: Tools, params: &Value, message: &Value, dialect: Dialect) -> Result<Ask, Refusal> {
    let parts = parts(message, dialect)?;
    let named = [params, message].into_iter().find_map(skill_named);
    let named = named.map(|name| {
        skills(tools).find(|entry| entry.spec.name == name).ok_or_else(|| no_such_skill(tools, name))
    });
    let named = named.transpose()?;
    if let Some(data) = parts.iter().find_map(object) {
        let entry = named.map_or_else(|| default_skill(tools, &data), Ok)?;
        return Ok(Ask { entry, input: Value::Object(data) });
    }
    let entry = named.or_else(|| skill_for(tools, Task::Start));
    let asked = entry.zip(words(parts)).and_then(|(entry, words)| Some((entry, entry.read_words(words)?)));
    let advice = format!("send a data part, or a text part holding JSON, for example {}", example(tools));
    match asked {
        Some((entry, Ok(input))) => return Ok(Ask { entry, input }),
        Some((_, Err(fault))) => {
            return Err(
                Fault::invalid("message.parts", format!("message.parts: {fault}; or {advice}")).into()
            );
        }
        None => {}
    }
    let understood = parts
        .iter()
        .any(|part| !part.is_object() || part.get("text").is_some() || part.get("data").is_some());
    Err(if understood {
        Fault::invalid("message.parts", format!("message.parts hold no JSON object: {advice}")).into()
    } else {
        Refusal::ContentType(format!("only text and data parts are understood: {advice}"))
    })
}

/// The first text among the parts, unless it looks like JSON that is broken.
fn words(parts: &[Value]) -> Option<&str> {
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str()).map(str::trim);
    texts.into_iter().find(|text| !text.is_empty() && !text.starts_with(['{', '`']))
}

/// The default skill: get_poll_result if the data has `poll_id`, the skill without input (get_balance) if the
/// data is empty, poll_question otherwise.
fn default_skill(tools: Tools, data: &Map<String, Value>) -> Result<&'static Entry, Refusal> {
    let task = if data.contains_key("poll_id") { Task::Read } else { Task::Start };
    let without_input = |entry: &&'static Entry| entry.input().get("properties").is_none();
    let named = if data.is_empty() { skills(tools).find(without_input) } else { None };
    named.or_else(|| skill_for(tools, task)).ok_or_else(|| {
        let known = skill_names(tools);
        Refusal::Fault(Fault::invalid("metadata.skillId", format!("is missing: name one of {known}")))
    })
}

/// The skill that does this to a task.
pub(super) fn skill_for(tools: Tools, task: Task) -> Option<&'static Entry> {
    tools.iter().find(|entry| entry.spec.task == task)
}

/// The skills of this agent, in the card's order.
pub(super) fn skills(tools: Tools) -> impl Iterator<Item = &'static Entry> {
    tools.iter().filter(|entry| entry.spec.agents == Agents::Core)
}

fn example(tools: Tools) -> String {
    let example = skills(tools).next().map_or("{}", |entry| entry.spec.example);
    serde_json::from_str::<Value>(example).map(|value| value.to_string()).unwrap_or_default()
}

fn no_such_skill(tools: Tools, name: &str) -> Refusal {
    let known = skill_names(tools);
    let name: String = name.chars().take(64).collect();
    let text = format!("there is no skill {name}; the skills are {known}");
    Refusal::Fault(Fault::new(Kind::InvalidInput, text).with_field("metadata.skillId", "is unknown"))
}

fn skill_names(tools: Tools) -> String {
    skills(tools).map(|entry| entry.spec.name).collect::<Vec<_>>().join(", ")
}

fn skill_named(object: &Value) -> Option<&str> {
    let metadata = object.get("metadata")?;
    ["skillId", "skill_id", "skill"].iter().find_map(|name| metadata.get(name)?.as_str())
}

/// A part's JSON object, in any dialect.
fn object(part: &Value) -> Option<Map<String, Value>> {
    if let Some(Value::Object(data)) = part.get("data") {
        return Some(data.clone());
    }
    let text = part.get("text")?.as_str()?.trim();
    // Models often wrap JSON in a Markdown code block.
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    serde_json::from_str(text.trim_end_matches("```").trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(part: &Value) -> Result<Ask, Refusal> {
        ask(
            &ep_tools::TOOLS,
            &json!({}),
            &json!({ "role": "user", "messageId": "1", "parts": [part] }),
            Dialect::V03,
        )
    }

    #[test]
    fn the_same_question_in_every_form() {
        let data = json!({ "question": "Best of both?", "options": ["a", "b"] });
        for part in [
            json!({ "kind": "data", "data": data }),
            json!({ "type": "data", "data": data }),
            json!({ "data": data, "mediaType": "application/json" }),
            json!({ "kind": "text", "text": data.to_string() }),
            json!({ "text": format!("```json\n{data}\n```") }),
        ] {
            let ask = asked(&part).unwrap();
            assert_eq!((ask.entry.spec.name, ask.input), ("poll_question", data.clone()));
        }
        assert_eq!(
            asked(&json!({ "data": { "poll_id": "EP-1" } })).unwrap().entry.spec.name,
            "get_poll_result"
        );
    }

    #[test]
    fn plain_words_ask_a_question() {
        for (text, options) in [
            ("Which is better, Rust or Go?", json!(["Rust", "Go"])),
            ("Is a tomato a fruit?", json!(["Yes", "No"])),
            (" Best drink of all? [Tea, Coffee, Water] ", json!(["Tea", "Coffee", "Water"])),
        ] {
            let ask = asked(&json!({ "text": text })).unwrap();
            assert_eq!((ask.entry.spec.name, &ask.input["options"]), ("poll_question", &options));
        }
    }

    #[test]
    fn a_message_without_an_object_is_refused_with_an_example() {
        for text in ["hello", "{\"question\": ", ""] {
            assert!(
                asked(&json!({ "text": text })).unwrap_err().message().contains("\"question\""),
                "{text}"
            );
        }
        assert!(matches!(asked(&json!({ "url": "https://x.example" })), Err(Refusal::ContentType(_))));
    }
}
