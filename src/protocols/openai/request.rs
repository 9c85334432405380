//! Reads a request for a chat completion, and finds what it asks to decide.

use serde_json::{Map, Value};

use super::prompt;
use super::refusal::{Code, Refusal};
use super::schema::{self, Answer};

/// A request for a chat completion.
#[derive(Debug)]
pub struct ChatRequest {
    /// The name of the model, which is a preset.
    pub model: String,
    /// The conversation and what it asks to decide, as a text.
    pub question: String,
    /// The answer with its fields.
    pub answer: Answer,
    /// The form in which the answer is sent.
    pub form: Form,
    /// True if the answer is sent as events.
    pub stream: bool,
    /// True if the events end with the usage.
    pub include_usage: bool,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// JSON as the content of the message.
    Json,
    /// JSON in a fenced block: the schema was in the prompt, and no format was requested.
    Fenced,
    /// The arguments of a call of this function.
    Call(String),
    /// The same in the older form, without a list of calls.
    FunctionCall(String),
}

impl ChatRequest {
    /// Reads the body of a request.
    pub fn read(body: &Value) -> Result<Self, Refusal> {
        let Some(body) = body.as_object() else {
            return Err(unsupported("body", "must be a JSON object"));
        };
        refuse_unsupported(body)?;
        let model = match present(body, "model") {
            None => String::new(),
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(unsupported("model", "must be a text")),
        };
        let texts = prompt::messages(body)?;
        let found = Decision::find(body, &texts)?;
        let question = prompt::conversation(&texts, found.about.as_deref());
        let options = present(body, "stream_options");
        let include_usage =
            options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true));
        Ok(Self {
            model,
            question,
            answer: found.answer,
            form: found.form,
            stream: present(body, "stream") == Some(&Value::Bool(true)),
            include_usage,
        })
    }
}

/// The decision that a request asks for.
struct Decision {
    answer: Answer,
    form: Form,
    /// The description of the function or of the schema.
    about: Option<String>,
}

impl Decision {
    fn find(body: &Map<String, Value>, texts: &[prompt::Message]) -> Result<Self, Refusal> {
        if let Some(found) = Self::function(body)? {
            return Ok(found);
        }
        let format = present(body, "response_format");
        let kind = format.and_then(|format| format.get("type")).and_then(Value::as_str);
        match (format, kind) {
            (Some(format), Some("json_schema")) => {
                let at = "response_format.json_schema.schema";
                let wanted = format.get("json_schema").unwrap_or(&Value::Null);
                let schema = wanted.get("schema").ok_or_else(|| unsupported(at, "is missing"))?;
                let about = wanted.get("description").and_then(Value::as_str).map(str::to_owned);
                Ok(Self { answer: schema::read(schema, at)?, form: Form::Json, about })
            }
            (None, _) | (Some(_), Some("json_object" | "text")) => {
                let form = if kind == Some("json_object") { Form::Json } else { Form::Fenced };
                let schema = prompt::schema(texts)?;
                Ok(Self { answer: schema::read(&schema, "messages")?, form, about: None })
            }
            _ => Err(unsupported("response_format.type", "must be json_schema, json_object or text")),
        }
    }

    /// Finds the function that the answer must call, if there is one.
    fn function(body: &Map<String, Value>) -> Result<Option<Self>, Refusal> {
        let list = |name: &str| present(body, name).and_then(Value::as_array).filter(|list| !list.is_empty());
        if let Some(functions) = list("functions") {
            let wanted =
                present(body, "function_call").and_then(|call| call.get("name")).and_then(Value::as_str);
            let indexed: Vec<(String, &Value)> = functions
                .iter()
                .enumerate()
                .map(|(index, function)| (format!("functions[{index}]"), function))
                .collect();
            return Self::of_functions(&indexed, wanted, "function_call", Form::FunctionCall).map(Some);
        }
        let Some(tools) = list("tools") else { return Ok(None) };
        let choice = present(body, "tool_choice");
        let has_format = present(body, "response_format").is_some_and(|format| format["type"] != "text");
        let wanted = match choice {
            Some(Value::String(mode)) if mode == "none" => return Ok(None),
            Some(Value::Object(choice)) => {
                let name = choice
                    .get("function")
                    .and_then(|function| function.get("name"))
                    .or_else(|| choice.get("name"));
                Some(
                    name.and_then(Value::as_str)
                        .ok_or_else(|| unsupported("tool_choice", "must name a function"))?,
                )
            }
            // A free choice among several functions is no decision that a poll makes.
            _ if choice != Some(&Value::from("required")) && tools.len() > 1 && has_format => {
                return Ok(None);
            }
            _ => None,
        };
        let mut indexed = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            let function = tool.get("function").filter(|_| tool["type"] == "function");
            let at = format!("tools[{index}].function");
            indexed.push((
                at,
                function.ok_or_else(|| unsupported(&format!("tools[{index}]"), "must be a function"))?,
            ));
        }
        Self::of_functions(&indexed, wanted, "tool_choice", Form::Call).map(Some)
    }

    fn of_functions(
        functions: &[(String, &Value)],
        wanted: Option<&str>,
        param: &str,
        form: fn(String) -> Form,
    ) -> Result<Self, Refusal> {
        let name_of =
            |function: &Value| function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let found = match (wanted, functions) {
            (Some(wanted), _) => functions.iter().find(|(_, function)| name_of(function) == wanted),
            (None, [only]) => Some(only),
            (None, _) => {
                let text = "must name one of the functions: a poll fills in one function, and does not choose among several";
                return Err(unsupported(param, text));
            }
        };
        let (at, function) =
            found.ok_or_else(|| unsupported(param, "names a function that is not in the list"))?;
        let at = format!("{at}.parameters");
        let schema = function.get("parameters").ok_or_else(|| unsupported(&at, "is missing"))?;
        let about = function.get("description").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { answer: schema::read(schema, &at)?, form: form(name_of(function)), about })
    }
}

/// Refuses parameters that would change the meaning of the answer. Others, such as `temperature`, are ignored.
fn refuse_unsupported(body: &Map<String, Value>) -> Result<(), Refusal> {
    let given = |name: &str| present(body, name);
    if given("n").is_some_and(|n| n.as_u64() != Some(1)) {
        return Err(unsupported("n", "must be 1: a poll gives one answer"));
    }
    if given("logprobs").is_some_and(|value| value != &Value::Bool(false)) {
        return Err(unsupported(
            "logprobs",
            "are not available: a poll has votes, in the member poll of the response",
        ));
    }
    for name in ["audio", "web_search_options", "prediction", "logit_bias"] {
        if given(name)
            .is_some_and(|value| !ep_kernel::schema::is_empty(value) && value != &Value::Object(Map::new()))
        {
            return Err(unsupported(name, "is not supported: leave it out"));
        }
    }
    if let Some(Value::Array(modalities)) = given("modalities")
        && modalities.iter().any(|modality| modality != "text")
    {
        return Err(unsupported("modalities", "must be [\"text\"]"));
    }
    Ok(())
}

/// Returns a parameter; none if it is null.
fn present<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}

fn unsupported(param: &str, text: &str) -> Refusal {
    Refusal::new(Code::UnsupportedValue, param, text)
}
