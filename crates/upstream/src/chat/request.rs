//! The body of a request.

use ep_polling::ballot::{BallotView, Choice};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::prompt::{self, OPTION_DESCRIPTION, SYSTEM, TOOL, TOOL_DESCRIPTION};
use crate::ladder::{Habit, Parameter, Rung};

/// What one request asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) model: &'a str,
    pub(crate) view: &'a BallotView,
    pub(crate) rung: Rung,
    pub(crate) habit: Habit,
    pub(crate) tokens: u32,
    /// The lowest reasoning effort the model is known to support.
    pub(crate) effort: Option<&'static str>,
    /// Whether the upstream is OpenRouter, which takes routing preferences.
    pub(crate) routed: bool,
    /// An unusable answer that this request asks to repair.
    pub(crate) bad_answer: Option<&'a str>,
}

impl Ask<'_> {
    /// The parameters it sends that it could do without.
    pub(crate) fn sends(&self, parameter: Parameter) -> bool {
        self.habit.sends(parameter)
            && match parameter {
                Parameter::ParallelToolCalls => self.rung.has_tool(),
                Parameter::Strict => self.rung != Rung::Prose,
                Parameter::Reasoning => self.effort.is_some(),
                Parameter::MaxTokens | Parameter::System => true,
                Parameter::Provider => self.routed,
            }
    }

    /// The body as JSON.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut user = prompt::user(self.view, self.rung);
        let mut messages = Vec::with_capacity(4);
        if self.sends(Parameter::System) {
            messages.push(Message { role: "system", content: SYSTEM });
        } else {
            user = format!("{SYSTEM}\n\n{user}");
        }
        messages.push(Message { role: "user", content: &user });
        let repair;
        if let Some(bad) = self.bad_answer {
            repair = (prompt::bad_answer(bad), prompt::repair(self.view, self.rung));
            messages.push(Message { role: "assistant", content: &repair.0 });
            messages.push(Message { role: "user", content: &repair.1 });
        }
        let strict = self.sends(Parameter::Strict).then_some(true);
        let schema = Schema::new(&self.view.choices);
        let tokens = Some(self.tokens);
        let limited = self.sends(Parameter::MaxTokens);
        let body = Body {
            model: self.model,
            messages,
            tools: self.rung.has_tool().then_some([Tool {
                kind: "function",
                function: Function { name: TOOL, description: TOOL_DESCRIPTION, parameters: &schema, strict },
            }]),
            tool_choice: match self.rung {
                Rung::Required => Some(ToolChoice::Word("required")),
                Rung::Object => {
                    Some(ToolChoice::Function { kind: "function", function: FunctionName { name: TOOL } })
                }
                Rung::Auto => Some(ToolChoice::Word("auto")),
                Rung::Schema | Rung::Prose => None,
            },
            parallel_tool_calls: self.sends(Parameter::ParallelToolCalls).then_some(false),
            response_format: (self.rung == Rung::Schema).then_some(ResponseFormat {
                kind: "json_schema",
                json_schema: NamedSchema { name: TOOL, strict, schema: &schema },
            }),
            max_tokens: tokens.filter(|_| limited),
            max_completion_tokens: tokens.filter(|_| !limited),
            reasoning: self
                .effort
                .filter(|_| self.sends(Parameter::Reasoning))
                .map(|effort| Reasoning { effort, exclude: true }),
            provider: self.sends(Parameter::Provider).then_some(Provider { sort: "price" }),
        };
        let mut bytes = Vec::with_capacity(user.len() + SYSTEM.len() + 1024);
        // Nothing in there can fail to be JSON.
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
    /// The default is several calls; a vote is one.
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
    provider: Option<Provider>,
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

/// The lowest effort the model supports; what it thought is not sent back.
#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    exclude: bool,
}

/// OpenRouter's routing. Requests with tools are otherwise sent to the provider with the best tool-call
/// record, at that provider's price; a poll reckons with the listed price, so price comes first. A list
/// of fallback models is never sent: one model would vote under another's name.
#[derive(Serialize)]
struct Provider {
    sort: &'static str,
}

/// `{"option": one of the codes}`, inside the subset of JSON Schema draft 7 that all servers compile.
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
    option: Codes<'a>,
}

#[derive(Serialize)]
struct Codes<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    #[serde(rename = "enum", serialize_with = "codes")]
    one_of: &'a [Choice],
}

impl<'a> Schema<'a> {
    fn new(choices: &'a [Choice]) -> Self {
        let option = Codes { kind: "string", description: OPTION_DESCRIPTION, one_of: choices };
        let properties = Properties { option };
        Self { kind: "object", properties, required: ["option"], additional_properties: false }
    }
}

fn codes<S: Serializer>(choices: &&[Choice], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(choices.len()))?;
    for choice in *choices {
        list.serialize_element(&choice.code)?;
    }
    list.end()
}
