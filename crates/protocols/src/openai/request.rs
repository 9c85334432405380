//! Reads a request for a chat completion or a response, and finds what it asks to decide.

use ep_kernel::schema::is_empty;
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::field::{FieldKind, Question};
use super::prompt::{self, Message};
use super::refusal::{Refusal, unsupported};
use super::schema::{self, Answer};
use super::shape::AnswerPart;

/// A request for an answer with fields that are voted on.
#[derive(Debug)]
pub struct ChatRequest {
    /// The name of the model, which stands for a panel.
    pub model: String,
    /// The questions, one for each field of the answer.
    pub questions: Vec<Question>,
    /// The answer around the winning values.
    pub shape: AnswerPart,
    /// The form in which the answer is sent.
    pub form: Form,
    /// True if the answer is sent as events.
    pub stream: bool,
    /// True if the events end with the usage.
    pub include_usage: bool,
    /// True if the shares of votes are sent as log-probabilities, for clients that compute a mean of levels.
    pub logprobs: bool,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// JSON as the content of the message.
    Json,
    /// JSON in a fenced block: the schema was in the prompt, and no format was requested.
    Fenced,
    /// The value alone: the prompt asks for the index of a text.
    Bare,
    /// The arguments of a call of this function.
    Call(String),
    /// The same in the older form, without a list of calls.
    FunctionCall(String),
}

impl Form {
    /// Returns the text of an answer.
    pub fn text(&self, answer: String) -> String {
        if *self == Self::Fenced { format!("```json\n{answer}\n```") } else { answer }
    }
}

/// The API of a request, which decides where functions and formats stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
}

impl ChatRequest {
    /// Reads the body of a request for a chat completion.
    pub fn read_chat(body: &Value, aliases: &[ModelAlias]) -> Result<Self, Refusal> {
        let body = object(body)?;
        let name = model(body)?;
        let scale = aliases.iter().find(|alias| alias.model == name).and_then(|alias| alias.scale);
        refuse_unsupported(body, scale.is_some())?;
        let texts = prompt::messages(body)?;
        let request = Self::new(body, texts, Api::Chat, scale)?;
        let is_score = request.questions.iter().all(|question| question.field.kind == FieldKind::Score);
        if request.logprobs && !(is_score && request.questions.len() == 1) {
            return Err(no_logprobs());
        }
        Ok(request)
    }

    /// Finds the decision in a body with these messages. `scale` are the lowest and the highest level of a score that
    /// a request without a schema asks for.
    pub fn new(
        body: &Map<String, Value>,
        mut texts: Vec<Message>,
        api: Api,
        scale: Option<(u32, u32)>,
    ) -> Result<Self, Refusal> {
        let found = Decision::find(body, &mut texts, api, scale)?;
        let conversation = prompt::conversation(&texts, found.about.as_deref());
        let Answer { shape, fields } = found.answer;
        let questions = fields.into_iter().map(|field| prompt::question(&conversation, field)).collect();
        let options = present(body, "stream_options");
        let include_usage =
            options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true));
        Ok(Self {
            model: model(body)?,
            questions,
            shape,
            form: found.form,
            stream: present(body, "stream") == Some(&Value::Bool(true)),
            include_usage,
            logprobs: present(body, "logprobs") == Some(&Value::Bool(true)),
        })
    }
}

/// Returns the body as an object.
pub fn object(body: &Value) -> Result<&Map<String, Value>, Refusal> {
    body.as_object().ok_or_else(|| unsupported("body", "must be a JSON object"))
}

/// Returns the name of the model; empty if there is none.
pub fn model(body: &Map<String, Value>) -> Result<String, Refusal> {
    match present(body, "model") {
        None => Ok(String::new()),
        Some(Value::String(name)) => Ok(name.clone()),
        Some(_) => Err(unsupported("model", "must be a text")),
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
    fn find(
        body: &Map<String, Value>,
        texts: &mut [Message],
        api: Api,
        scale: Option<(u32, u32)>,
    ) -> Result<Self, Refusal> {
        let (format, at) = match api {
            Api::Chat => (present(body, "response_format"), "response_format"),
            Api::Responses => (present(body, "text").and_then(|text| text.get("format")), "text.format"),
        };
        let kind = format.and_then(|format| format.get("type")).and_then(Value::as_str);
        if let Some(found) = Self::function(body, api, kind.is_some_and(|kind| kind != "text"))? {
            return Ok(found);
        }
        match (format, kind) {
            (Some(format), Some("json_schema")) => {
                let (wanted, at) = match api {
                    Api::Chat => (
                        format.get("json_schema").unwrap_or(&Value::Null),
                        format!("{at}.json_schema.schema"),
                    ),
                    Api::Responses => (format, format!("{at}.schema")),
                };
                let schema = wanted.get("schema").ok_or_else(|| unsupported(&at, "is missing"))?;
                let about = wanted.get("description").and_then(Value::as_str).map(str::to_owned);
                Ok(Self { answer: schema::read(schema, &at)?, form: Form::Json, about })
            }
            (None, _) | (Some(_), Some("json_object" | "text")) => {
                let form = if kind == Some("json_object") { Form::Json } else { Form::Fenced };
                let place = if api == Api::Chat { "messages" } else { "input" };
                if let Some(texts) = prompt::compared_texts(texts) {
                    let schema = json!({ "enum": (0..texts).collect::<Vec<usize>>() });
                    return Ok(Self { answer: schema::read(&schema, place)?, form: Form::Bare, about: None });
                }
                match (prompt::schema(texts, place, at), scale) {
                    (Ok(schema), _) => Ok(Self { answer: schema::read(&schema, place)?, form, about: None }),
                    (Err(_), Some(levels)) => {
                        Ok(Self { answer: score(levels, place)?, form: Form::Json, about: None })
                    }
                    (Err(refusal), None) => Err(refusal),
                }
            }
            _ => Err(unsupported(&format!("{at}.type"), "must be json_schema, json_object or text")),
        }
    }

    /// Finds the function that the answer must call, if there is one.
    fn function(body: &Map<String, Value>, api: Api, has_format: bool) -> Result<Option<Self>, Refusal> {
        let list = |name: &str| present(body, name).and_then(Value::as_array).filter(|list| !list.is_empty());
        if let Some(functions) = list("functions").filter(|_| api == Api::Chat) {
            let call = present(body, "function_call");
            if call.and_then(Value::as_str) == Some("none") {
                return Ok(None);
            }
            let wanted = call.and_then(|call| call.get("name")).and_then(Value::as_str);
            let functions: Vec<&Value> = functions.iter().collect();
            let at = |index| format!("functions[{index}]");
            return Self::of_functions(&functions, wanted, "function_call", at, Form::FunctionCall).map(Some);
        }
        let Some(tools) = list("tools") else { return Ok(None) };
        let choice = present(body, "tool_choice");
        let wanted = match choice {
            Some(Value::String(mode)) if mode == "none" => return Ok(None),
            Some(Value::Object(choice)) => {
                let named = choice.get("function").and_then(|function| function.get("name"));
                let name = named.or_else(|| choice.get("name"));
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
        let mut functions = Vec::with_capacity(tools.len());
        for (index, tool) in tools.iter().enumerate() {
            let function = match api {
                Api::Chat => tool.get("function"),
                Api::Responses => Some(tool),
            };
            let function = function.filter(|_| tool["type"] == "function");
            functions
                .push(function.ok_or_else(|| unsupported(&format!("tools[{index}]"), "must be a function"))?);
        }
        let at = |index| match api {
            Api::Chat => format!("tools[{index}].function"),
            Api::Responses => format!("tools[{index}]"),
        };
        Self::of_functions(&functions, wanted, "tool_choice", at, Form::Call).map(Some)
    }

    /// Reads the parameters of the wanted one of these functions. `at` returns the path of a function.
    fn of_functions(
        functions: &[&Value],
        wanted: Option<&str>,
        param: &str,
        at: impl Fn(usize) -> String,
        form: fn(String) -> Form,
    ) -> Result<Self, Refusal> {
        let found = match (wanted, functions) {
            (Some(wanted), _) => functions.iter().position(|function| name_of(function) == wanted),
            (None, [_]) => Some(0),
            (None, _) => {
                let text = "must name one of the functions: a poll fills in one function, and does not choose among several";
                return Err(unsupported(param, text));
            }
        };
        let found = found.and_then(|index| Some((index, *functions.get(index)?)));
        let (index, function) =
            found.ok_or_else(|| unsupported(param, "names a function that is not in the list"))?;
        let at = format!("{}.parameters", at(index));
        let schema = function.get("parameters").ok_or_else(|| unsupported(&at, "is missing"))?;
        let about = function.get("description").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { answer: schema::read(schema, &at)?, form: form(name_of(function).to_owned()), about })
    }
}

/// Returns the name of a function; empty without one.
fn name_of(function: &Value) -> &str {
    function.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the answer to a request for a score in words: a sentence, and a level from the lowest to the highest.
fn score((lowest, highest): (u32, u32), place: &str) -> Result<Answer, Refusal> {
    let score = json!({ "type": "integer", "minimum": lowest, "maximum": highest });
    let properties = json!({ "reason": { "type": "string" }, "score": score });
    schema::read(&json!({ "properties": properties, "required": ["reason", "score"] }), place)
}

fn no_logprobs() -> Refusal {
    unsupported("logprobs", "are not available: a poll has votes, in the member poll of the response")
}

/// Refuses parameters that would change the meaning of the answer. Others, such as `temperature`, are ignored.
/// Log-probabilities are known for scores of an alias.
fn refuse_unsupported(body: &Map<String, Value>, is_score: bool) -> Result<(), Refusal> {
    let given = |name: &str| present(body, name);
    if given("n").is_some_and(|n| n.as_u64() != Some(1)) {
        return Err(unsupported("n", "must be 1: a poll gives one answer"));
    }
    let streams = given("stream") == Some(&Value::Bool(true));
    if given("logprobs").is_some_and(|value| value != &Value::Bool(false)) && (streams || !is_score) {
        return Err(no_logprobs());
    }
    for name in ["audio", "web_search_options", "prediction", "logit_bias"] {
        if given(name).is_some_and(|value| !is_empty(value) && value != &Value::Object(Map::new())) {
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
pub fn present<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}
