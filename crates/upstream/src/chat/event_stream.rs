//! Puts the pieces of an event stream together.

use serde_json::{Map, Value, json};

use super::bare_words::without_bare_words;

/// The most calls in one message.
const MAX_CALLS: usize = 64;

/// A message that is put together from its pieces. A field of an unexpected type counts as missing.
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
    fn add(&mut self, delta: &Value) {
        for (text, name) in self.texts.iter_mut().zip(TEXTS) {
            push_text(text, &delta[name]);
        }
        for (place, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            // Servers that send whole calls leave out the index: an id begins a call.
            let index =
                call["index"].as_u64().unwrap_or_else(|| match (call["id"].as_str(), self.calls.last()) {
                    (None, Some((last, _))) => *last,
                    _ => self.calls.len() as u64 + place as u64,
                });
            self.add_call(index, &call["function"]);
        }
        if delta["function_call"].is_object() {
            self.add_call(u64::MAX, &delta["function_call"]);
        }
    }

    fn add_call(&mut self, index: u64, piece: &Value) {
        let known = self.calls.iter().position(|(known, _)| *known == index);
        if known.is_none() {
            if self.calls.len() == MAX_CALLS {
                return;
            }
            self.calls.push((index, Function::default()));
        }
        let place = known.unwrap_or(self.calls.len() - 1);
        let function = &mut self.calls[place].1;
        function.name.push_str(piece["name"].as_str().unwrap_or_default());
        match &piece["arguments"] {
            Value::String(part) => function.arguments.push_str(part),
            Value::Null => {}
            whole => function.arguments.push_str(&whole.to_string()),
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

/// Adds a piece of text: a string, or a list of parts.
fn push_text(text: &mut String, piece: &Value) {
    match piece {
        Value::String(piece) => text.push_str(piece),
        Value::Array(parts) => text.extend(parts.iter().filter_map(|part| part["text"].as_str())),
        _ => {}
    }
}

/// Puts the pieces of an event stream together (<https://platform.openai.com/docs/api-reference/chat-streaming>). A stream without
/// its end was cut off, and so was one with a piece that is not JSON, because the missing words could be a denial.
pub(super) fn from_events(text: &str) -> Option<Vec<u8>> {
    let mut message = Message::default();
    let mut completion = json!({});
    let mut finish = None;
    let (mut is_ended, mut is_damaged, mut seen) = (false, false, false);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    for data in data.filter(|data| !data.is_empty()) {
        if data == "[DONE]" {
            is_ended = true;
            break;
        }
        let Ok(mut chunk @ Value::Object(_)) = serde_json::from_str::<Value>(&without_bare_words(data))
        else {
            is_damaged = true;
            continue;
        };
        seen = true;
        // A vote request asks for one choice.
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            // Some servers send whole messages as events.
            message.add(&choice["delta"]);
            message.add(&choice["message"]);
            finish = choice["finish_reason"].as_str().map(str::to_owned).or(finish);
            if completion["error"].is_null() {
                completion["error"] = choice["error"].clone();
            }
        }
        for name in ["model", "usage", "error"] {
            // The last usage counts, the first model and the first error.
            if !chunk[name].is_null() && (name == "usage" || completion[name].is_null()) {
                completion[name] = chunk[name].take();
            }
        }
    }
    if !seen {
        return None;
    }
    let natural = if is_ended { "stop" } else { "length" }.to_owned();
    let finish = if is_damaged { "length".to_owned() } else { finish.unwrap_or(natural) };
    completion["choices"] = json!([{"message": message.into_json(), "finish_reason": finish}]);
    if let Value::Object(members) = &mut completion {
        members.retain(|_, value| !value.is_null());
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
        assert_eq!(read(&format!("\u{FEFF}: ping\n\nevent: x\ndata:\n\n{body}")), Some(expected));
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
        let damaged = events(&[
            r#"{"choices":[{"index":"x","delta":{"content":"I vote","reasoning":{}}}]}"#,
            r#"{"choices":[{"delta":{"content":" against"#,
            r#"{"choices":[{"delta":{"content":" Mars"},"finish_reason":"stop"}],"usage":null}"#,
            "[DONE]",
        ]);
        let choice = read(&damaged).unwrap()["choices"][0].clone();
        assert_eq!(
            (&choice["message"]["content"], &choice["finish_reason"]),
            (&json!("I vote Mars"), &json!("length"))
        );
        assert_eq!(read("data: [DONE]"), None);
        assert_eq!(read("event: x\ndata: {"), None);
    }
}
