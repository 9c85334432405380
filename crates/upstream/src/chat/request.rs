//! The body of a vote request.

use std::borrow::Cow;

use ep_polling::{BallotView, Choice, ChoiceForm};
use serde_json::{Value, json};

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
    /// What the request asks for.
    pub(crate) asks: Asks<'a>,
}

/// What a request asks the model for.
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
        let form = self.choice_form();
        let mut body = json!({ "model": self.model, "messages": self.messages(form) });
        // In the subset of JSON Schema draft 7 that all servers support.
        let (tool, description, argument, value) = match self.asks {
            Asks::Options => (
                prompt::PROPOSE_TOOL,
                prompt::PROPOSE_TOOL_DESCRIPTION,
                "options",
                json!({
                    "type": "array",
                    "description": prompt::PROPOSED_DESCRIPTION,
                    "items": { "type": "string" },
                }),
            ),
            Asks::Vote | Asks::VoteAfter(_) | Asks::Reason(_) => (
                TOOL,
                TOOL_DESCRIPTION,
                "option",
                json!({
                    "type": "string",
                    "description": prompt::option_description(form),
                    "enum": values(&self.view.choices, form),
                }),
            ),
        };
        let schema = json!({
            "type": "object",
            "properties": { argument: value },
            "required": [argument],
            "additionalProperties": false,
        });
        let is_strict = self.sends(OptionalParameter::Strict);
        if self.level.has_tool() {
            let mut function = json!({ "name": tool, "description": description, "parameters": schema });
            if is_strict {
                function["strict"] = json!(true);
            }
            body["tools"] = json!([{ "type": "function", "function": function }]);
        }
        match self.level {
            FallbackLevel::Required => body["tool_choice"] = json!("required"),
            FallbackLevel::Object => {
                body["tool_choice"] = json!({ "type": "function", "function": { "name": tool } });
            }
            FallbackLevel::Auto => body["tool_choice"] = json!("auto"),
            FallbackLevel::Schema | FallbackLevel::Prose => {}
        }
        if self.sends(OptionalParameter::ParallelToolCalls) {
            // A vote is one call, and models may make several by default.
            body["parallel_tool_calls"] = json!(false);
        }
        if self.level == FallbackLevel::Schema {
            let mut named = json!({ "name": tool });
            if is_strict {
                named["strict"] = json!(true);
            }
            named["schema"] = schema;
            body["response_format"] = json!({ "type": "json_schema", "json_schema": named });
        }
        let has_max_tokens = self.sends(OptionalParameter::MaxTokens);
        body[if has_max_tokens { "max_tokens" } else { "max_completion_tokens" }] = json!(self.max_tokens);
        if let Some(effort) = self.lowest_effort
            && self.sends(OptionalParameter::Reasoning)
        {
            // The reasoning is excluded from the response.
            body["reasoning"] = json!({ "effort": effort, "exclude": true });
        }
        if self.turns_reasoning_off() {
            body["reasoning_effort"] = json!("none");
        }
        if self.sends(OptionalParameter::Provider) {
            // By default, OpenRouter sends requests with tools to the provider with the most reliable tool calls, at that
            // provider's price. Polls rely on the listed price, so they request the cheapest provider. A list of fallback
            // models is never sent, because another model would then vote in this one's name.
            body["provider"] = json!({ "sort": "price" });
        }
        if self.streams() {
            body["stream"] = json!(true);
        }
        if self.sends_stream_options() {
            body["stream_options"] = json!({ "include_usage": true });
        }
        body.to_string().into_bytes()
    }

    fn messages(&self, form: ChoiceForm) -> Vec<Value> {
        let message = |role: &str, content: &str| json!({ "role": role, "content": content });
        let (system, user) = match self.asks {
            Asks::Options => (prompt::PROPOSE_SYSTEM, prompt::proposing(self.view, self.level)),
            Asks::Reason(_) => (SYSTEM, prompt::ballot(self.view, form)),
            Asks::Vote | Asks::VoteAfter(_) => (SYSTEM, prompt::user(self.view, form, self.level)),
        };
        let mut messages = if self.sends(OptionalParameter::System) {
            vec![message("system", system), message("user", &user)]
        } else {
            vec![message("user", &format!("{system}\n\n{user}"))]
        };
        match self.asks {
            Asks::Vote | Asks::Options => {}
            Asks::VoteAfter(bad) => messages.extend([
                message("assistant", &prompt::unusable_response(bad)),
                message("user", &prompt::repair(self.level, form)),
            ]),
            Asks::Reason(option) => {
                messages.extend([message("assistant", option), message("user", prompt::EXPLAIN)]);
            }
        }
        messages
    }
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
