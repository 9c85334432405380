//! Parses a message into a skill and its input.

use ep_kernel::dispatch::for_task;
use ep_kernel::schema::is_empty;
use ep_kernel::{Agents, Entry, Fault, Kind, MessageContent, ParsedInput, Task};
use ep_tools::reader::is_harmless_field;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::invalid;
use super::fixtures;
use super::sent::Sent;

/// All operations.
pub(super) type Tools = &'static [Entry];

/// A skill and its input.
#[derive(Debug)]
pub(super) struct SkillCall {
    pub(super) entry: &'static Entry,
    pub(super) understood: ParsedInput,
    /// An input with unknown or misplaced arguments, and the fault that names them.
    pub(super) mistakes: Option<(Map<String, Value>, Fault)>,
}

impl Sent<'_> {
    /// Returns the skill and its input, merged with input from earlier messages. The input is the first part with a
    /// JSON object, as data or as text, or else the plain text.
    pub(super) fn skill_call(&self, tools: Tools, known: &Map<String, Value>) -> Answer<SkillCall> {
        let named = [self.params, self.message].into_iter().find_map(skill_named);
        let named = named.map(|name| {
            skills(tools).find(|entry| entry.spec.name == name).ok_or_else(|| no_such_skill(tools, name))
        });
        let named = named.transpose()?;
        let advice = format!("send a data part, or a text part holding JSON, for example {}", example(tools));
        let prescribed = fixtures::question(self.message).filter(|_| self.understandable().is_ok());
        let objects = self.parts.iter().map(|part| object(part, self.dialect));
        let found = objects.enumerate().find_map(|(place, object)| Some((place, object?)));
        let (place, sent) = found.unzip();
        let data = prescribed.or(sent);
        let mut mistakes = None;
        let words = words(self.parts);
        let (entry, content) = match (data, &words) {
            (Some(mut data), _) => {
                let begun = if known.is_empty() { None } else { for_task(tools, Task::Start) };
                let entry = named.or(begun).map_or_else(|| default_skill(tools, &data), Ok)?;
                entry.read_texts(&mut data);
                let unknown = entry.refuse_unknown(&others(&data), &[]);
                let beside = place.and_then(|place| limits_beside(self.parts, place));
                let found =
                    [misplaced(&data), unknown.err(), beside].into_iter().flatten().reduce(Fault::and);
                // JSON of another service in a text is read as a text.
                if found.is_some()
                    && is_foreign(&data)
                    && named.is_none()
                    && known.is_empty()
                    && let [one] = self.parts
                    && let Some(words) = one.get("text").and_then(Value::as_str)
                    && let Some(read) = poll_of(words, entry).or_else(|| operation_of(words, tools))
                {
                    return Ok(read);
                }
                mistakes = found.map(|fault| (merged(known, &data), fault));
                (Some(entry), MessageContent::Fields(data))
            }
            (None, Some(words))
                if named.is_none()
                    && known.is_empty()
                    && let Some(read) = operation_of(words, tools) =>
            {
                return Ok(read);
            }
            (None, Some(words)) => {
                (named.or_else(|| for_task(tools, Task::Start)), MessageContent::Text(words.as_str()))
            }
            (None, None) => {
                self.understandable()?;
                let text = format!("message.parts hold no JSON object: {advice}");
                return Err(invalid("message.parts", &text));
            }
        };
        let skill_call = entry.and_then(|entry| {
            let understood = entry.parse_input(known, content)?;
            Some(SkillCall { entry, understood, mistakes })
        });
        skill_call
            .ok_or_else(|| invalid("message.parts", &format!("message.parts hold no JSON object: {advice}")))
    }
}

/// True if no field of the data is lost when it is read as a text.
fn is_foreign(data: &Map<String, Value>) -> bool {
    let is_read =
        |name: &str, value: &Value| value.is_string() || value.is_object() || is_harmless_field(name);
    data.iter().all(|(name, value)| name != "options" && is_read(name, value))
}

/// Returns the poll of a text that names a question and its choices.
fn poll_of(words: &str, entry: &'static Entry) -> Option<SkillCall> {
    let understood = entry.parse_input(&Map::new(), MessageContent::Text(words))?;
    matches!(understood, ParsedInput::Input(_)).then_some(SkillCall { entry, understood, mistakes: None })
}

/// Returns the operation that plain words ask for, if it is no poll.
fn operation_of(words: &str, tools: Tools) -> Option<SkillCall> {
    let (name, input) = ep_tools::operation_of(words)?;
    let entry = tools.iter().find(|entry| entry.spec.name == name)?;
    Some(SkillCall { entry, understood: ParsedInput::Input(input), mistakes: None })
}

/// Arguments of the MCP tools that A2A expresses in another way, with the advice.
const MISPLACED: [(&str, &str); 2] = [
    (
        "idempotency_key",
        "is not part of an A2A message: send it as messageId, or in the Idempotency-Key header",
    ),
    ("include", "is not part of an A2A message: leave it out, results hold all votes"),
];

/// Returns the arguments of earlier messages and these.
fn merged(known: &Map<String, Value>, data: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = known.clone();
    merged.extend(data.clone());
    merged
}

/// Returns the arguments that A2A does not express in another way.
fn others(data: &Map<String, Value>) -> Map<String, Value> {
    let mut others = data.clone();
    others.retain(|name, _| MISPLACED.iter().all(|(misplaced, _)| misplaced != name));
    others
}

/// Returns the fault of arguments that A2A expresses in another way. Empty ones are ignored.
fn misplaced(data: &Map<String, Value>) -> Option<Fault> {
    let given = |name: &str| data.get(name).is_some_and(|value| !is_empty(value));
    let misplaced = MISPLACED.iter().filter(|(name, _)| given(name));
    misplaced.map(|(name, advice)| Fault::invalid(*name, *advice)).reduce(Fault::and)
}

/// Returns the text parts.
fn words(parts: &[Value]) -> Option<String> {
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str()).map(str::trim);
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

/// Returns the fault of a text beside the part with the input, if the text limits or declines the poll: it would be lost.
fn limits_beside(parts: &[Value], place: usize) -> Option<Fault> {
    let others = parts.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, part)| part);
    let limits = |text: &str| ep_tools::reader::limits_poll(text);
    let is_lost = others.filter_map(|part| part.get("text")?.as_str()).any(limits);
    is_lost.then(|| {
        Fault::invalid(
            "message.parts",
            "has a text with a limit beside the input; send the limit in the same part (max_cost_usd, private, models)",
        )
    })
}

/// Returns the default skill: by a field that only one skill has, the skill without input (get_balance) if the data is
/// empty, poll_question otherwise.
fn default_skill(tools: Tools, data: &Map<String, Value>) -> Answer<&'static Entry> {
    /// Each field that only one of the skills has, with its task.
    const FIELDS: [(&str, Task); 4] = [
        ("poll_id", Task::Read),
        ("batch_id", Task::ReadBatch),
        ("rows", Task::StartBatch),
        ("input_file_id", Task::StartBatch),
    ];
    let task = FIELDS
        .iter()
        .find(|(field, _)| data.get(*field).is_some_and(|value| !is_empty(value)))
        .map_or(Task::Start, |(_, task)| *task);
    let without_input = |entry: &&'static Entry| entry.input().get("properties").is_none();
    let named = if data.is_empty() { skills(tools).find(without_input) } else { None };
    named.or_else(|| for_task(tools, task)).ok_or_else(|| {
        let known = skill_names(tools);
        Refusal::Fault(Fault::invalid("metadata.skillId", format!("is missing: name one of {known}")))
    })
}

/// Returns the skills of this agent, in the order of the extended card. The card lists the first of them.
pub(super) fn skills(tools: Tools) -> impl Iterator<Item = &'static Entry> {
    let of = move |listed: fn(Agents) -> bool| tools.iter().filter(move |entry| listed(entry.spec.agents));
    of(|agents| agents == Agents::Core).chain(of(|agents| matches!(agents, Agents::Set(_))))
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

/// Returns a part's JSON object, in any dialect. An array of objects is a list of rows.
fn object(part: &Value, dialect: Dialect) -> Option<Map<String, Value>> {
    match part.get("data") {
        Some(Value::Object(data)) => {
            let inner = data.get("data").filter(|_| dialect == Dialect::V03Rest).and_then(Value::as_object);
            return Some(inner.unwrap_or(data).clone());
        }
        Some(data @ Value::Array(_)) => return fields(data.clone()),
        _ => {}
    }
    let text = part.get("text")?.as_str()?.trim();
    // Models often wrap JSON in a Markdown code block.
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    fields(serde_json::from_str(text.trim_end_matches("```").trim()).ok()?)
}

/// Returns an object, or an object with these rows.
fn fields(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        Value::Array(rows) if !rows.is_empty() && rows.iter().all(Value::is_object) => {
            Some(Map::from_iter([("rows".to_owned(), Value::Array(rows))]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn skill_call(part: &Value) -> Answer<(&'static str, ParsedInput)> {
        let params = json!({ "message": { "role": "user", "messageId": "1", "parts": [part] } });
        let sent = Sent::read(&params, Dialect::V03)?;
        sent.skill_call(&ep_tools::TOOLS, &Map::new())
            .map(|skill_call| (skill_call.entry.spec.name, skill_call.understood))
    }

    fn input(value: &Value) -> ParsedInput {
        ParsedInput::Input(value.as_object().unwrap().clone())
    }

    #[test]
    fn every_form_of_a_question_is_parsed() {
        let data = json!({ "question": "Best of both?", "options": ["a", "b"] });
        for part in [
            json!({ "kind": "data", "data": data }),
            json!({ "type": "data", "data": data }),
            json!({ "data": data, "mediaType": "application/json" }),
            json!({ "kind": "text", "text": data.to_string() }),
            json!({ "text": format!("```json\n{data}\n```") }),
        ] {
            assert_eq!(skill_call(&part).unwrap(), ("poll_question", input(&data)));
        }
        for (data, skill) in [
            (json!({ "poll_id": "EP-1" }), "get_poll_result"),
            (json!({ "batch_id": "batch_1" }), "get_batch"),
            (json!({ "rows": [data] }), "create_batch"),
            (json!({ "input_file_id": "file-1", "panel": "trio" }), "create_batch"),
            (json!({ "rows": null, "input_file_id": "file-1", "batch_id": "" }), "create_batch"),
            (json!({ "question": "Which one is it?", "options": ["a", "b"], "rows": null }), "poll_question"),
        ] {
            assert_eq!(skill_call(&json!({ "data": data })).unwrap().0, skill);
        }
        for part in [json!({ "data": [data] }), json!({ "text": format!(" [{data}]") })] {
            assert_eq!(skill_call(&part).unwrap(), ("create_batch", input(&json!({ "rows": [data] }))));
        }
        let incomplete = skill_call(&json!({ "text": format!("[{data}") })).unwrap();
        assert!(matches!(incomplete, ("poll_question", ParsedInput::Missing { .. })), "{incomplete:?}");
    }

    #[test]
    fn plain_words_ask_a_question() {
        for (text, options) in [
            ("Which is better, Rust or Go?", json!(["Rust", "Go"])),
            ("Is a hot dog a sandwich?", json!(["Yes", "No"])),
            (" Best drink of all? [Tea, Coffee, Water] ", json!(["Tea", "Coffee", "Water"])),
        ] {
            let (name, ParsedInput::Input(input)) = skill_call(&json!({ "text": text })).unwrap() else {
                panic!("{text}")
            };
            assert_eq!((name, &input["options"]), ("poll_question", &options));
        }
    }

    #[test]
    fn missing_input_is_requested() {
        for part in [
            json!({ "text": "What is the best pizza topping?" }),
            json!({ "data": { "question": "What is the best pizza topping?" } }),
        ] {
            assert!(matches!(skill_call(&part).unwrap().1, ParsedInput::Missing { .. }), "{part}");
        }
    }

    #[test]
    fn greetings_are_answered() {
        assert_eq!(skill_call(&json!({ "text": "hello" })).unwrap().0, "match_intent");
    }

    #[test]
    fn a_message_without_text_is_rejected_with_an_example() {
        assert!(skill_call(&json!({ "text": "" })).unwrap_err().message().contains("\"question\""));
        assert!(matches!(skill_call(&json!({ "url": "https://x.example" })), Err(Refusal::ContentType(_))));
    }
}
