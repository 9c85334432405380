//! The body of a vote request.

use ep_polling::ballot::{BallotView, Choice, ChoiceForm};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

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
    /// The response of the model that this request follows, if it is not the first one.
    pub(crate) follows: Option<Follows<'a>>,
}

/// An earlier response of the model, and the reason for another request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Follows<'a> {
    /// The response was unusable; the request repeats the question.
    Unusable(&'a str),
    /// The model voted for this option; the request asks for its reason, without a tool.
    Vote(&'a str),
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
        let mut user = match self.follows {
            Some(Follows::Vote(_)) => prompt::ballot(self.view, form),
            _ => prompt::user(self.view, form, self.level),
        };
        let mut messages = Vec::with_capacity(4);
        if self.sends(OptionalParameter::System) {
            messages.push(Message { role: "system", content: SYSTEM });
        } else {
            user = format!("{SYSTEM}\n\n{user}");
        }
        messages.push(Message { role: "user", content: &user });
        let exchange = self.follows.map(|follows| match follows {
            Follows::Unusable(bad) => (prompt::unusable_response(bad), prompt::repair(self.level, form)),
            Follows::Vote(option) => (option.to_owned(), prompt::EXPLAIN.to_owned()),
        });
        if let Some((response, request)) = &exchange {
            messages.push(Message { role: "assistant", content: response });
            messages.push(Message { role: "user", content: request });
        }
        let strict = self.sends(OptionalParameter::Strict).then_some(true);
        let schema = Schema::new(&self.view.choices, form);
        let max_tokens = Some(self.max_tokens);
        let has_max_tokens = self.sends(OptionalParameter::MaxTokens);
        let body = Body {
            model: self.model,
            messages,
            tools: self.level.has_tool().then_some([Tool {
                kind: "function",
                function: Function { name: TOOL, description: TOOL_DESCRIPTION, parameters: &schema, strict },
            }]),
            tool_choice: match self.level {
                FallbackLevel::Required => Some(ToolChoice::Word("required")),
                FallbackLevel::Object => {
                    Some(ToolChoice::Function { kind: "function", function: FunctionName { name: TOOL } })
                }
                FallbackLevel::Auto => Some(ToolChoice::Word("auto")),
                FallbackLevel::Schema | FallbackLevel::Prose => None,
            },
            parallel_tool_calls: self.sends(OptionalParameter::ParallelToolCalls).then_some(false),
            response_format: (self.level == FallbackLevel::Schema).then_some(ResponseFormat {
                kind: "json_schema",
                json_schema: NamedSchema { name: TOOL, strict, schema: &schema },
            }),
            max_tokens: max_tokens.filter(|_| has_max_tokens),
            max_completion_tokens: max_tokens.filter(|_| !has_max_tokens),
            reasoning: self
                .lowest_effort
                .filter(|_| self.sends(OptionalParameter::Reasoning))
                .map(|effort| Reasoning { effort, exclude: true }),
            reasoning_effort: self.turns_reasoning_off().then_some("none"),
            provider: self.sends(OptionalParameter::Provider).then_some(Provider { sort: "price" }),
            stream: self.streams().then_some(true),
            stream_options: self.sends_stream_options().then_some(StreamOptions { include_usage: true }),
        };
        let mut bytes = Vec::with_capacity(user.len() + SYSTEM.len() + 1024);
        // Serializing strings, numbers and booleans cannot fail.
        let _ = serde_json::to_writer(&mut bytes, &body);
        bytes
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tool<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    /// False, because a vote is one call and models may make several by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
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
#[serde(untagged)]
enum ToolChoice {
    Word(&'static str),
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        function: FunctionName,
    },
}

#[derive(Serialize)]
struct FunctionName {
    name: &'static str,
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

/// The lowest effort that the model supports. The reasoning is excluded from the response.
#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    exclude: bool,
}

/// OpenRouter's routing. By default, it sends requests with tools to the provider with the most reliable tool
/// calls, at that provider's price. Polls rely on the listed price, so they request the cheapest provider. A
/// list of fallback models is never sent, because another model would then vote in this one's name.
#[derive(Serialize)]
struct Provider {
    sort: &'static str,
}

/// `{"option": one of the options}`, in the subset of JSON Schema draft 7 that all servers support.
#[derive(Serialize)]
struct Schema<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    properties: Properties<'a>,
    required: [&'static str; 1],
    #[serde(rename = "additionalProperties")]
    additional_properties: bool,
}

#[derive(Serialize)]
struct Properties<'a> {
    option: OneOf<'a>,
}

#[derive(Serialize)]
struct OneOf<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    #[serde(rename = "enum")]
    values: Values<'a>,
}

struct Values<'a> {
    choices: &'a [Choice],
    form: ChoiceForm,
}

impl<'a> Schema<'a> {
    fn new(choices: &'a [Choice], form: ChoiceForm) -> Self {
        let values = Values { choices, form };
        let option = OneOf { kind: "string", description: prompt::option_description(form), values };
        let properties = Properties { option };
        Self { kind: "object", properties, required: ["option"], additional_properties: false }
    }
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.choices.len()))?;
        for (index, choice) in self.choices.iter().enumerate() {
            match self.form {
                ChoiceForm::Text => list.serialize_element(&choice.text)?,
                ChoiceForm::Letter => list.serialize_element(&letter(self.choices, index))?,
            }
        }
        list.end()
    }
}
