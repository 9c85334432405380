//! `POST /v1/chat/completions`.

use axum::response::sse::Event;
use ep_kernel::Fault;
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::decide::{Decided, Dialect};
use super::field::Question;
use super::models;
use super::outcome::Outcome;
use super::refusal::Refusal;
use super::request::{ChatRequest, Form};

impl Dialect for ChatRequest {
    const TEXT: &'static str = "messages";

    fn read(body: &Value, aliases: &[ModelAlias]) -> Result<Self, Refusal> {
        Self::read_chat(body, aliases)
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn questions(&self) -> &[Question] {
        &self.questions
    }

    fn is_stream(&self) -> bool {
        self.stream
    }

    fn whole(&self, decided: &Decided) -> Result<Value, Fault> {
        Ok(Completion::new(self, decided).whole())
    }

    fn events(&self, decided: &Decided) -> Vec<Event> {
        let chunks = Completion::new(self, decided).chunks();
        let events = chunks.into_iter().map(|chunk| Event::default().data(chunk.to_string()));
        events.chain([Event::default().data("[DONE]")]).collect()
    }

    fn error_events(&self, error: &Value) -> Vec<Event> {
        vec![Event::default().data(error.to_string()), Event::default().data("[DONE]")]
    }
}

impl ChatRequest {
    /// Returns the answer as JSON, or the sentence of a refusal.
    pub(super) fn answer(&self, decided: &Decided) -> Result<String, String> {
        let mut winners = Vec::with_capacity(self.questions.len());
        let mut undecided = Vec::new();
        let mut sentences = Vec::new();
        for result in decided.results(&self.questions) {
            let sentence = result.sentence();
            match result.outcome() {
                Outcome::Decided(value) => winners.push(value),
                Outcome::Tie | Outcome::NoVotes | Outcome::Unsupported => undecided.push(sentence.clone()),
            }
            sentences.push(sentence);
        }
        if undecided.is_empty() {
            Ok(self.shape.fill(&winners, &sentences.join(" ")).to_string())
        } else {
            Err(undecided.join(" "))
        }
    }
}

/// A chat completion.
struct Completion<'a> {
    request: &'a ChatRequest,
    decided: &'a Decided,
    /// The answer as JSON, or the sentence of a refusal.
    answer: Result<String, String>,
}

impl<'a> Completion<'a> {
    fn new(request: &'a ChatRequest, decided: &'a Decided) -> Self {
        Self { request, decided, answer: request.answer(decided) }
    }

    /// Returns the content of the message: the answer, fenced if it is part of a text.
    fn content(&self) -> Option<String> {
        let answer = self.answer.clone().ok()?;
        match &self.request.form {
            Form::Call(_) | Form::FunctionCall(_) => None,
            form => Some(form.text(answer)),
        }
    }

    fn finish_reason(&self) -> &'static str {
        match (&self.answer, &self.request.form) {
            (Ok(_), Form::Call(_)) => "tool_calls",
            (Ok(_), Form::FunctionCall(_)) => "function_call",
            _ => "stop",
        }
    }

    /// Adds the call, if the answer is one. `index` is set in events.
    fn add_call(&self, message: &mut Map<String, Value>, index: Option<u32>) {
        let Ok(arguments) = &self.answer else { return };
        let function = |name: &str| json!({ "name": name, "arguments": arguments });
        match &self.request.form {
            Form::Call(name) => {
                let id = format!("call_{}", self.decided.id());
                let mut call = json!({ "id": id, "type": "function", "function": function(name) });
                if let Some(index) = index {
                    call["index"] = index.into();
                }
                message.insert("tool_calls".to_owned(), json!([call]));
            }
            Form::FunctionCall(name) => drop(message.insert("function_call".to_owned(), function(name))),
            Form::Json | Form::Fenced | Form::Bare => {}
        }
    }

    fn envelope(&self, object: &str, choices: Value) -> Map<String, Value> {
        let envelope = json!({
            "id": format!("chatcmpl-{}", self.decided.id()),
            "object": object,
            "created": self.decided.created.millis() / 1000,
            "model": models::shown(&self.request.model),
            "choices": choices,
        });
        match envelope {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    fn evidence(&self) -> Value {
        self.decided.evidence(&self.request.questions)
    }

    /// Returns the tokens of all voters.
    fn usage(&self) -> Value {
        let usage = self.decided.usage;
        json!({
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        })
    }

    /// Returns the shares of the votes for the levels of a score as log-probabilities of the token of the level, so that
    /// clients compute the mean of the panel (G-Eval, arXiv:2303.16634). Levels without votes are left out.
    fn logprobs(&self) -> Option<Value> {
        let result =
            self.decided.results(&self.request.questions).next().filter(|_| self.request.logprobs)?;
        let Outcome::Decided(level) = result.outcome() else { return None };
        let all = f64::from(result.poll.tally.votes());
        let token = |text: &str, logprob: f64, others: Vec<Value>| json!({ "token": text, "logprob": logprob, "bytes": text.as_bytes(), "top_logprobs": others });
        let levels = std::iter::zip(&result.field.values, result.counts()).filter(|(_, votes)| *votes > 0);
        let levels: Vec<(String, f64)> =
            levels.map(|(level, votes)| (level.to_string(), (f64::from(votes) / all).ln())).collect();
        let level = level.to_string();
        let (_, logprob) = levels.iter().find(|(known, _)| *known == level)?;
        let others = levels.iter().map(|(level, logprob)| token(level, *logprob, Vec::new())).collect();
        let content = self.content()?;
        // The level is the last number of the content.
        let at = content.rfind(&level)?;
        let (before, after) = (&content[..at], &content[at + level.len()..]);
        let tokens =
            [token(before, 0.0, Vec::new()), token(&level, *logprob, others), token(after, 0.0, Vec::new())];
        Some(json!({ "content": tokens, "refusal": null }))
    }

    /// Returns the completion as one object.
    fn whole(&self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.content().into());
        message.insert("refusal".to_owned(), self.answer.as_ref().err().cloned().into());
        self.add_call(&mut message, None);
        let choice = json!({
            "index": 0,
            "message": message,
            "logprobs": self.logprobs(),
            "finish_reason": self.finish_reason(),
        });
        let mut whole = self.envelope("chat.completion", json!([choice]));
        whole.insert("usage".to_owned(), self.usage());
        whole.insert("poll".to_owned(), self.evidence());
        Value::Object(whole)
    }

    /// Returns the completion as chunks.
    fn chunks(&self) -> Vec<Value> {
        let chunk = |delta: Value, finish: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
            Value::Object(self.envelope("chat.completion.chunk", json!([choice])))
        };
        let mut delta = Map::new();
        delta.extend(self.content().map(|content| ("content".to_owned(), content.into())));
        delta.extend(
            self.answer.as_ref().err().map(|refusal| ("refusal".to_owned(), refusal.as_str().into())),
        );
        self.add_call(&mut delta, Some(0));
        let mut last = chunk(json!({}), Some(self.finish_reason()));
        last["poll"] = self.evidence();
        let mut chunks =
            vec![chunk(json!({ "role": "assistant" }), None), chunk(Value::Object(delta), None), last];
        if self.request.include_usage {
            let mut usage_chunk = self.envelope("chat.completion.chunk", json!([]));
            usage_chunk.insert("usage".to_owned(), self.usage());
            chunks.push(Value::Object(usage_chunk));
        }
        chunks
    }
}
