//! The body of a vote request.

use std::borrow::Cow;

use ep_polling::proposals::MAX_EACH;
use ep_polling::{BallotView, Choice, ChoiceForm};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::prompt::{self, SYSTEM, TOOL, TOOL_DESCRIPTION};
use crate::fallback_level::FallbackLevel;
use crate::parsing::letter;
use crate::request_profile::{Need, OptionalParameter, RequestProfile};

/// A request for a vote.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VoteRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) view: &'a BallotView,
    pub(crate) level: FallbackLevel,
    pub(crate) profile: RequestProfile,
    /// Maximum number of completion tokens.
    pub(crate) max_tokens: u32,
    /// The lowest reasoning effort that the model is known to support.
    pub(crate) lowest_effort: Option<&'static str>,
    /// True if the upstream is OpenRouter, which accepts routing preferences.
    pub(crate) is_openrouter: bool,
    /// The kind of answer that it asks for.
    pub(crate) asks: Asks<'a>,
}

/// The kind of answer that a request asks the model for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asks<'a> {
    /// A vote.
    Vote,
    /// A vote, after this response that was unusable.
    VoteAfter(&'a str),
    /// The reason for a vote for this option, without a tool.
    Reason(&'a str),
    /// Options for the question, which has none.
    Options,
}

impl VoteRequest<'_> {
    /// Returns the form of options that the model should respond with.
    pub(crate) fn choice_form(&self) -> ChoiceForm {
        if self.profile.sends(OptionalParameter::TextValues) { self.view.answer } else { ChoiceForm::Letter }
    }

    /// Returns true if the request sends this parameter.
    pub(crate) fn sends(&self, parameter: OptionalParameter) -> bool {
        self.profile.sends(parameter)
            && match parameter {
                OptionalParameter::ParallelToolCalls | OptionalParameter::DefaultEffort => {
                    self.level.has_tool()
                }
                OptionalParameter::Strict => self.level != FallbackLevel::Prose,
                OptionalParameter::Reasoning => self.lowest_effort.is_some() && !self.turns_reasoning_off(),
                OptionalParameter::TextValues => {
                    self.level != FallbackLevel::Prose && self.view.answer == ChoiceForm::Text
                }
                OptionalParameter::MaxTokens | OptionalParameter::System => true,
                OptionalParameter::Provider => self.is_openrouter,
            }
    }

    /// Returns true if the request asks for a stream.
    pub(crate) fn streams(&self) -> bool {
        self.profile.needs(Need::Stream)
    }

    /// Returns true if the request asks for the usage at the end of a stream.
    pub(crate) fn sends_stream_options(&self) -> bool {
        self.streams() && !self.profile.needs(Need::NoStreamOptions)
    }

    /// Returns true if the request sends `reasoning_effort: "none"`, which replaces `reasoning`.
    pub(crate) fn turns_reasoning_off(&self) -> bool {
        self.level.has_tool() && !self.profile.sends(OptionalParameter::DefaultEffort)
    }

    /// Serializes the body as JSON.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.view.question.len() + 2048);
        // Serializing texts, numbers and booleans cannot fail.
        let _ = serde_json::to_writer(&mut bytes, self);
        bytes
    }

    /// Returns the tool and the schema of its arguments.
    fn tool(&self, form: ChoiceForm) -> (&'static str, &'static str, Schema<'_>) {
        match self.asks {
            Asks::Options => {
                let options = ListOf {
                    kind: "array",
                    description: prompt::PROPOSED_DESCRIPTION,
                    items: Items { kind: "string" },
                    max_items: MAX_EACH,
                };
                let schema = Schema::new("options", Properties::Options { options });
                (prompt::PROPOSE_TOOL, prompt::PROPOSE_TOOL_DESCRIPTION, schema)
            }
            Asks::Vote | Asks::VoteAfter(_) | Asks::Reason(_) => {
                let option = OneOf {
                    kind: "string",
                    description: prompt::option_description(form),
                    values: values(&self.view.choices, form),
                };
                (TOOL, TOOL_DESCRIPTION, Schema::new("option", Properties::Option { option }))
            }
        }
    }

    fn messages<'r>(&'r self, form: ChoiceForm) -> Vec<Message<'r>> {
        let (system, mut user) = match self.asks {
            Asks::Options => (prompt::PROPOSE_SYSTEM, prompt::proposing(self.view, self.level)),
            Asks::Reason(_) => (SYSTEM, prompt::ballot(self.view, form)),
            Asks::Vote | Asks::VoteAfter(_) => (SYSTEM, prompt::user(self.view, form, self.level)),
        };
        let mut messages = Vec::with_capacity(4);
        let mut add = |role, content: Cow<'r, str>| messages.push(Message { role, content });
        if self.sends(OptionalParameter::System) {
            add("system", system.into());
        } else {
            user = format!("{system}\n\n{user}");
        }
        add("user", user.into());
        match self.asks {
            Asks::Vote | Asks::Options => {}
            Asks::VoteAfter(bad) => {
                add("assistant", prompt::unusable_response(bad).into());
                add("user", prompt::repair(self.level, form).into());
            }
            Asks::Reason(option) => {
                add("assistant", option.to_owned().into());
                add("user", prompt::EXPLAIN.into());
            }
        }
        messages
    }
}

// Each poll has a request for each model, so that no tree of values is built for it.
impl Serialize for VoteRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = self.choice_form();
        let (name, description, schema) = self.tool(form);
        let strict = self.sends(OptionalParameter::Strict).then_some(true);
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", self.model)?;
        body.serialize_entry("messages", &self.messages(form))?;
        if self.level.has_tool() {
            let function = Function { name, description, parameters: &schema, strict };
            body.serialize_entry("tools", &[Tool { kind: "function", function }])?;
        }
        match self.level {
            FallbackLevel::Required => body.serialize_entry("tool_choice", "required")?,
            FallbackLevel::Object => {
                let choice = json!({ "type": "function", "function": { "name": name } });
                body.serialize_entry("tool_choice", &choice)?;
            }
            FallbackLevel::Auto => body.serialize_entry("tool_choice", "auto")?,
            FallbackLevel::Schema | FallbackLevel::Prose => {}
        }
        if self.sends(OptionalParameter::ParallelToolCalls) {
            // A vote is one call, and models may make several by default.
            body.serialize_entry("parallel_tool_calls", &false)?;
        }
        if self.level == FallbackLevel::Schema {
            let json_schema = NamedSchema { name, strict, schema: &schema };
            body.serialize_entry("response_format", &ResponseFormat { kind: "json_schema", json_schema })?;
        }
        let has_max_tokens = self.sends(OptionalParameter::MaxTokens);
        let most = if has_max_tokens { "max_tokens" } else { "max_completion_tokens" };
        body.serialize_entry(most, &self.max_tokens)?;
        if let Some(effort) = self.lowest_effort
            && self.sends(OptionalParameter::Reasoning)
        {
            // The reasoning is excluded from the response.
            body.serialize_entry("reasoning", &json!({ "effort": effort, "exclude": true }))?;
        }
        if self.turns_reasoning_off() {
            body.serialize_entry("reasoning_effort", "none")?;
        }
        if self.sends(OptionalParameter::Provider) {
            // By default, OpenRouter sends requests with tools to the provider with the most reliable tool calls, at that
            // provider's price. Polls rely on the listed price, so they request the cheapest provider. A list of fallback
            // models is never sent, because another model would then vote in this one's name.
            body.serialize_entry("provider", &json!({ "sort": "price" }))?;
        }
        if self.streams() {
            body.serialize_entry("stream", &true)?;
        }
        if self.sends_stream_options() {
            body.serialize_entry("stream_options", &json!({ "include_usage": true }))?;
        }
        body.end()
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'static str,
    description: &'static str,
    parameters: &'a Schema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    schema: &'a Schema<'a>,
}

/// An object with one argument, in the subset of JSON Schema draft 7 that all servers support.
#[derive(Serialize)]
struct Schema<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    properties: Properties<'a>,
    required: [&'static str; 1],
    #[serde(rename = "additionalProperties")]
    additional_properties: bool,
}

impl<'a> Schema<'a> {
    const fn new(argument: &'static str, properties: Properties<'a>) -> Self {
        Self { kind: "object", properties, required: [argument], additional_properties: false }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Properties<'a> {
    Option { option: OneOf<'a> },
    Options { options: ListOf },
}

#[derive(Serialize)]
struct OneOf<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    #[serde(rename = "enum")]
    values: Vec<Cow<'a, str>>,
}

#[derive(Serialize)]
struct ListOf {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    items: Items,
    /// Small models would write a list without an end.
    #[serde(rename = "maxItems")]
    max_items: usize,
}

#[derive(Serialize)]
struct Items {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Returns the value of each choice, in the order shown: the option's text, or a letter.
pub(crate) fn values(choices: &[Choice], form: ChoiceForm) -> Vec<Cow<'_, str>> {
    match form {
        ChoiceForm::Text => choices.iter().map(|choice| choice.text.as_str().into()).collect(),
        ChoiceForm::Letter => {
            (0..choices.len()).map(|index| letter(choices, index).to_string().into()).collect()
        }
    }
}
