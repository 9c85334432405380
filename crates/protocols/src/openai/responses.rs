//! `POST /v1/responses`: the same decisions in the form of OpenAI's newer API.

use axum::response::sse::Event;
use ep_kernel::Fault;
use ep_polling::TokenUsage;
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::decide::{Decided, Dialect};
use super::field::Question;
use super::models;
use super::prompt::{self, Message, Role};
use super::refusal::{Refusal, unsupported};
use super::request::{Api, ChatRequest, Form, object, present};

/// A request for a response.
#[derive(Debug)]
pub(super) struct ResponseRequest {
    chat: ChatRequest,
    /// Members of the request that the response repeats.
    repeated: Map<String, Value>,
}

/// Returns the usual value of a member.
type Usual = fn() -> Value;

/// Members of a request that its response repeats, with their values where the request has none.
const REPEATED: [(&str, Usual); 9] = [
    ("instructions", || Value::Null),
    ("max_output_tokens", || Value::Null),
    ("metadata", || json!({})),
    ("temperature", || Value::Null),
    ("text", || json!({ "format": { "type": "text" } })),
    ("tool_choice", || json!("auto")),
    ("tools", || json!([])),
    ("top_p", || Value::Null),
    ("user", || Value::Null),
];

/// Parameters that would change the meaning of the answer, with the reason of their refusal.
const REFUSED: [(&str, &str); 5] = [
    (
        "previous_response_id",
        "is not supported: responses are not stored; send the whole conversation in input",
    ),
    ("conversation", "is not supported: conversations are not stored; send the whole conversation in input"),
    ("background", "is not supported: send the request without it, and wait"),
    ("prompt", "is not supported: send the text in input"),
    ("top_logprobs", "is not available: a poll has votes, in the member poll of the response"),
];

impl Dialect for ResponseRequest {
    const TEXT: &'static str = "input";

    fn read(body: &Value, _: &[ModelAlias]) -> Result<Self, Refusal> {
        let body = object(body)?;
        for (name, text) in REFUSED {
            if present(body, name).is_some_and(|value| value != &Value::Bool(false) && value != 0) {
                return Err(unsupported(name, text));
            }
        }
        let texts = messages(body)?;
        let chat = ChatRequest::new(body, texts, Api::Responses, None)?;
        let repeated = REPEATED
            .into_iter()
            .map(|(name, usual)| (name.to_owned(), present(body, name).cloned().unwrap_or_else(usual)));
        Ok(Self { chat, repeated: repeated.collect() })
    }

    fn model(&self) -> &str {
        &self.chat.model
    }

    fn questions(&self) -> &[Question] {
        &self.chat.questions
    }

    fn is_stream(&self) -> bool {
        self.chat.stream
    }

    fn whole(&self, decided: &Decided) -> Result<Value, Fault> {
        Ok(self.response(decided, "completed", json!([self.item(decided)])))
    }

    fn events(&self, decided: &Decided) -> Vec<Event> {
        let mut events = Vec::new();
        let item = self.item(decided);
        for (number, (kind, mut event)) in self.steps(decided, &item).into_iter().enumerate() {
            event["type"] = kind.into();
            event["sequence_number"] = number.into();
            events.push(Event::default().event(kind).data(event.to_string()));
        }
        events
    }

    fn error_events(&self, error: &Value) -> Vec<Event> {
        let mut event = error["error"].clone();
        event["type"] = "error".into();
        event["sequence_number"] = 0.into();
        vec![Event::default().event("error").data(event.to_string())]
    }
}

impl ResponseRequest {
    /// Returns the one item of the output: a message, or a call.
    fn item(&self, decided: &Decided) -> Value {
        let id = decided.id();
        let answer = self.chat.answer(decided);
        let content = match (answer, &self.chat.form) {
            (Ok(arguments), Form::Call(name) | Form::FunctionCall(name)) => {
                return json!({
                    "type": "function_call",
                    "id": format!("fc_{id}"),
                    "call_id": format!("call_{id}"),
                    "name": name,
                    "arguments": arguments,
                    "status": "completed",
                });
            }
            (Ok(answer), form) => {
                let text = form.text(answer);
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            }
            (Err(refusal), _) => json!({ "type": "refusal", "refusal": refusal }),
        };
        json!({
            "type": "message",
            "id": format!("msg_{id}"),
            "status": "completed",
            "role": "assistant",
            "content": [content],
        })
    }

    fn response(&self, decided: &Decided, status: &str, output: Value) -> Value {
        let is_complete = status == "completed";
        let created = decided.created.millis() / 1000;
        let mut response = json!({
            "id": format!("resp_{}", decided.id()),
            "object": "response",
            "created_at": created,
            "completed_at": is_complete.then_some(created),
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": null,
            "model": models::shown(&self.chat.model),
            "output": output,
            "parallel_tool_calls": false,
            "previous_response_id": null,
            "reasoning": { "effort": null, "summary": null },
            "store": false,
            "truncation": "disabled",
            "usage": is_complete.then(|| usage_object(decided.usage)),
            "poll": is_complete.then(|| decided.evidence(&self.chat.questions)),
        });
        if let Some(members) = response.as_object_mut() {
            members.extend(self.repeated.clone());
        }
        response
    }

    /// Returns the events with their types, in order.
    fn steps(&self, decided: &Decided, item: &Value) -> Vec<(&'static str, Value)> {
        let begun = self.response(decided, "in_progress", json!([]));
        let id = item["id"].clone();
        let part = item["content"].get(0).cloned();
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        let mut steps = vec![
            ("response.created", json!({ "response": begun })),
            ("response.in_progress", json!({ "response": begun })),
        ];
        match &part {
            None => {
                empty["arguments"] = "".into();
                let arguments = &item["arguments"];
                steps.push(("response.output_item.added", json!({ "output_index": 0, "item": empty })));
                steps.push((
                    "response.function_call_arguments.delta",
                    json!({ "item_id": id, "output_index": 0, "delta": arguments }),
                ));
                steps.push((
                    "response.function_call_arguments.done",
                    json!({ "item_id": id, "output_index": 0, "name": item["name"], "arguments": arguments }),
                ));
            }
            Some(part) => {
                empty["content"] = json!([]);
                let (name, delta, done) = if part["type"] == "refusal" {
                    ("refusal", "response.refusal.delta", "response.refusal.done")
                } else {
                    ("text", "response.output_text.delta", "response.output_text.done")
                };
                let text = &part[name];
                let mut begun = part.clone();
                begun[name] = "".into();
                let at = |mut event: Value| {
                    event["item_id"] = id.clone();
                    event["output_index"] = 0.into();
                    event["content_index"] = 0.into();
                    event
                };
                steps.push(("response.output_item.added", json!({ "output_index": 0, "item": empty })));
                steps.push(("response.content_part.added", at(json!({ "part": begun }))));
                steps.push((delta, at(json!({ "delta": text, "logprobs": [] }))));
                let mut ended = at(json!({ "logprobs": [] }));
                ended[name] = text.clone();
                steps.push((done, ended));
                steps.push(("response.content_part.done", at(json!({ "part": part }))));
            }
        }
        steps.push(("response.output_item.done", json!({ "output_index": 0, "item": item })));
        let completed = self.response(decided, "completed", json!([item]));
        steps.push(("response.completed", json!({ "response": completed })));
        steps
    }
}

/// Reads the instructions and the input: a text, or a list of items.
fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, Refusal> {
    let instructions = prompt::content(present(body, "instructions"), &|| "instructions".to_owned())?;
    let mut read: Vec<Message> = Message::new(Role::Instructions, &instructions).into_iter().collect();
    let input = present(body, "input").ok_or_else(|| unsupported("input", "is missing: send the text"))?;
    read.extend(prompt::items(input, "input")?);
    if read.is_empty() {
        return Err(unsupported("input", "has no text: say what to decide"));
    }
    Ok(read)
}

/// Returns tokens as the Responses API and batches show them.
pub(super) fn usage_object(usage: TokenUsage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    })
}
