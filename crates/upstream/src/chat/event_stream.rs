//! Puts the pieces of an event stream together.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bare_words::without_bare_words;

/// A piece of a completion in a stream.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Chunk {
    model: Option<Value>,
    choices: Vec<ChunkChoice>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChunkChoice {
    index: Option<u64>,
    delta: Option<Delta>,
    /// Some servers send whole messages as events.
    message: Option<Delta>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Delta {
    content: Option<Value>,
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
    function_call: Option<FunctionPiece>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

/// The most calls in one message.
const MAX_CALLS: usize = 64;

/// A message that is put together from its pieces.
#[derive(Default)]
struct Message {
    texts: [String; 4],
    calls: Vec<(u64, Function)>,
}

#[derive(Default)]
struct Function {
    name: String,
    arguments: String,
}

const TEXTS: [&str; 4] = ["content", "reasoning", "reasoning_content", "refusal"];

impl Message {
    fn add(&mut self, delta: Delta) {
        let content = delta.content.as_ref().map(text_of).unwrap_or_default();
        let pieces = [Some(content), delta.reasoning, delta.reasoning_content, delta.refusal];
        for (text, piece) in self.texts.iter_mut().zip(pieces) {
            text.push_str(&piece.unwrap_or_default());
        }
        for (place, call) in delta.tool_calls.unwrap_or_default().into_iter().enumerate() {
            // Servers that send whole calls leave out the index: an id begins a call.
            let index = call.index.unwrap_or_else(|| match (&call.id, self.calls.last()) {
                (None, Some((last, _))) => *last,
                _ => self.calls.len() as u64 + place as u64,
            });
            self.add_call(index, call.function.unwrap_or_default());
        }
        if let Some(function) = delta.function_call {
            self.add_call(u64::MAX, function);
        }
    }

    fn add_call(&mut self, index: u64, piece: FunctionPiece) {
        let known = self.calls.iter().position(|(known, _)| *known == index);
        let place = known.unwrap_or_else(|| {
            self.calls.push((index, Function::default()));
            self.calls.len() - 1
        });
        if place >= MAX_CALLS {
            self.calls.truncate(MAX_CALLS);
            return;
        }
        let function = &mut self.calls[place].1;
        function.name.push_str(&piece.name.unwrap_or_default());
        match piece.arguments {
            Some(Value::String(part)) => function.arguments.push_str(&part),
            Some(Value::Null) | None => {}
            Some(whole) => function.arguments.push_str(&whole.to_string()),
        }
    }

    fn into_json(self) -> Value {
        let texts = TEXTS.iter().zip(self.texts).filter(|(_, text)| !text.is_empty());
        let mut message: Map<String, Value> =
            texts.map(|(name, text)| ((*name).to_owned(), Value::String(text))).collect();
        if !self.calls.is_empty() {
            let call = |(_, function): (u64, Function)| json!({"function": {"name": function.name, "arguments": function.arguments}});
            message.insert("tool_calls".to_owned(), self.calls.into_iter().map(call).collect());
        }
        Value::Object(message)
    }
}

/// The text of a content: a string, or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

/// Puts the pieces of an event stream together (<https://platform.openai.com/docs/api-reference/chat-streaming>). A stream
/// without its end was cut off.
pub(super) fn from_events(text: &str) -> Option<Vec<u8>> {
    let mut message = Message::default();
    let (mut model, mut usage, mut error, mut finish) = (None, None, None, None);
    let (mut ended, mut seen) = (false, false);
    for data in text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim) {
        if data == "[DONE]" {
            ended = true;
            break;
        }
        let Ok(chunk) = serde_json::from_str::<Chunk>(&without_bare_words(data)) else { continue };
        seen = true;
        model = model.or(chunk.model);
        usage = chunk.usage.filter(Value::is_object).or(usage);
        error = error.or(chunk.error.filter(|error| !error.is_null()));
        // A vote request asks for one choice.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            for delta in [choice.delta, choice.message].into_iter().flatten() {
                message.add(delta);
            }
            finish = choice.finish_reason.or(finish);
            error = error.or(choice.error.filter(|error| !error.is_null()));
        }
    }
    if !seen {
        return None;
    }
    let finish = finish.unwrap_or_else(|| if ended { "stop" } else { "length" }.to_owned());
    let mut completion = json!({"choices": [{"message": message.into_json(), "finish_reason": finish}]});
    for (name, value) in [("model", model), ("usage", usage), ("error", error)] {
        if let Some(value) = value {
            completion[name] = value;
        }
    }
    Some(completion.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<Value> {
        from_events(body).map(|json| serde_json::from_slice(&json).unwrap())
    }

    fn events(chunks: &[&str]) -> String {
        chunks.iter().flat_map(|chunk| ["data: ", chunk, "\r\n\r\n"]).collect()
    }

    #[test]
    fn pieces_of_a_stream_are_one_completion() {
        let body = events(&[
            r#"{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Ma"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"Earth"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"rs","reasoning_content":"red"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"completion_tokens":2}}"#,
            "[DONE]",
        ]);
        let message = json!({"content": "Mars", "reasoning_content": "red"});
        let expected = json!({"model": "m", "usage": {"completion_tokens": 2}, "choices": [{"message": message, "finish_reason": "stop"}]});
        assert_eq!(read(&body), Some(expected.clone()));
        assert_eq!(read(&format!("\u{FEFF}: ping\n\nevent: x\n{body}")), Some(expected));
    }

    #[test]
    fn pieces_of_calls_are_put_together() {
        let pieces = events(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"vote","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"option\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Mars\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        ]);
        let calls = json!([{"function": {"name": "vote", "arguments": "{\"option\":\"Mars\"}"}}]);
        assert_eq!(read(&pieces).unwrap()["choices"][0]["message"]["tool_calls"], calls);
        let whole = events(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"vote","arguments":{"option":"Mars"}}},{"id":"b","function":{"name":"vote","arguments":"{}"}}]}}]}"#,
            "[DONE]",
        ]);
        let calls = read(&whole).unwrap()["choices"][0]["message"]["tool_calls"].clone();
        assert_eq!(calls.as_array().unwrap().len(), 2);
        assert_eq!(calls[0]["function"]["arguments"], json!("{\"option\":\"Mars\"}"));
    }

    #[test]
    fn a_stream_without_its_end_was_cut_off() {
        let body = events(&[r#"{"choices":[{"delta":{"content":"Mars"}}]}"#]);
        assert_eq!(read(&body).unwrap()["choices"][0]["finish_reason"], "length");
        assert_eq!(
            read(&events(&[r#"{"error":{"message":"busy","code":503}}"#])).unwrap()["error"]["code"],
            503
        );
        assert_eq!(read("data: [DONE]"), None);
        assert_eq!(read("event: x\ndata: {"), None);
    }
}
