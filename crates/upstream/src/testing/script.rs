//! What a scripted upstream plays.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

/// The whole play. Change it while it runs with
/// [`ScriptedUpstream::change`](super::ScriptedUpstream::change).
#[derive(Debug, Clone)]
pub struct Script {
    /// The entries of `/v1/models`.
    pub models: Vec<Value>,
    /// Instead of the list: a status and a body.
    pub registry_fails: Option<(u16, String)>,
    /// Parts by model id. A model without one plays the part its id names after an `@`
    /// (`maker/line@prose`, see [`Part::named`]), else the default.
    pub parts: HashMap<String, Part>,
    /// The part of everybody else.
    pub default: Part,
    /// Which option the models choose.
    pub choose: Choose,
    /// The key that is asked for; `None`: none.
    pub key: Option<String>,
    /// Whether requests are kept for [`ScriptedUpstream::seen`](super::ScriptedUpstream::seen). Benches
    /// turn it off.
    pub keep_requests: bool,
}

/// Which option a model chooses.
#[derive(Debug, Clone)]
pub enum Choose {
    /// The first one shown: a model with nothing but a bias.
    First,
    /// The one with this text; the first where there is none.
    Text(String),
    /// By model id; models that are not named choose by [`Choose::Hash`].
    ByModel(HashMap<String, String>),
    /// By the texts of the options and the model's id: the same every time, whatever the order.
    Hash,
}

/// How one model behaves.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it does at its first request, its second, …; the last one is repeated.
    pub acts: Vec<Act>,
    /// What it says that it cost.
    pub billing: Billing,
    /// How long it takes, at least.
    pub latency: Duration,
    /// How much longer it may take, different for every request.
    pub jitter: Duration,
    /// The model it says has answered; its own id where `None`.
    pub answers_as: Option<String>,
}

impl Default for Part {
    fn default() -> Self {
        Self {
            acts: vec![Act::Obey(Forms::ALL)],
            billing: Billing::Tokens(120, 12),
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            answers_as: None,
        }
    }
}

/// What an answer says about its cost.
#[derive(Debug, Clone, PartialEq)]
pub enum Billing {
    /// Nothing.
    Silent,
    /// Prompt and completion tokens.
    Tokens(u64, u64),
    /// The same and `usage.cost`.
    Cost(u64, u64, f64),
    /// The same, with the cost in LiteLLM's header.
    Header(u64, u64, f64),
    /// This value as `usage`.
    Usage(Value),
}

/// One reaction to a request. In templates `{code}` and `{text}` stand for the chosen option and
/// `{other}` for the code of another one.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers in the form asked for, as far as the server supports it.
    Obey(Forms),
    /// Answers with this content, whatever was asked for.
    Says(String),
    /// The same, with this reason to have ended.
    Ends(String, &'static str),
    /// Answers with a call of this tool for each of these arguments.
    Calls(&'static str, Vec<String>),
    /// Answers with this `message`, and this reason to have ended.
    Message(Value, &'static str),
    /// Answers with this status and body.
    Status(u16, String),
    /// Answers with a status, a body and one header.
    Limited(u16, String, (&'static str, String)),
    /// Answers 200 with an error beside no choices.
    ErrorAbove(Value),
    /// Answers 200 with an error inside the first choice.
    ErrorInside(Value),
    /// Answers 200 with these bytes.
    Bytes(Vec<u8>),
    /// Answers 200 with so many bytes of JSON.
    Huge(usize),
    /// Never answers.
    Hang,
    /// Sends the head and nothing else.
    HalfOpen,
    /// Breaks off in the middle of the body.
    BreakOff,
    /// Sends the body in pieces with this pause between them.
    Slow(Duration),
}

/// How a server treats the forms of a vote.
#[derive(Debug, Clone, Copy)]
pub struct Forms {
    /// `tool_choice: "required"`.
    pub required: Form,
    /// `tool_choice` as an object.
    pub object: Form,
    /// `tool_choice: "auto"`.
    pub auto: Form,
    /// `response_format: json_schema`.
    pub schema: Form,
}

/// How a server treats one form.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// As asked.
    Obeyed,
    /// Answered, but with this text (a template).
    Ignored(&'static str),
    /// Refused with this status and message.
    Refused(u16, &'static str),
}

impl Forms {
    /// OpenAI and most of OpenRouter.
    pub const ALL: Self =
        Self { required: Form::Obeyed, object: Form::Obeyed, auto: Form::Obeyed, schema: Form::Obeyed };
    /// A server that ignores tool choice and honours a schema.
    pub const OLLAMA: Self = Self {
        required: Form::Ignored("I would pick {text}, because it fits best."),
        object: Form::Ignored("I would pick {text}, because it fits best."),
        auto: Form::Ignored("I would pick {text}, because it fits best."),
        schema: Form::Obeyed,
    };
    /// A server that takes words as tool choice and no objects, and leaves calls in the text.
    pub const LM_STUDIO: Self = Self {
        required: Form::Ignored(
            "<tool_call>\n{\"name\": \"vote\", \"arguments\": {\"option\": \"{code}\"}}\n</tool_call>",
        ),
        object: Form::Refused(
            400,
            "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
        ),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A server that enforces `required` and reads an object as `auto`.
    pub const LLAMA_CPP: Self = Self {
        required: Form::Obeyed,
        object: Form::Ignored("{\"name\":\"vote\",\"arguments\":{\"option\":\"{code}\"}}"),
        auto: Form::Ignored("{\"name\":\"vote\",\"arguments\":{\"option\":\"{code}\"}}"),
        schema: Form::Obeyed,
    };
    /// The same server without a template for tools.
    pub const LLAMA_CPP_BARE: Self = Self {
        required: Form::Refused(500, "tools param requires --jinja flag"),
        object: Form::Refused(500, "tools param requires --jinja flag"),
        auto: Form::Refused(500, "tools param requires --jinja flag"),
        schema: Form::Obeyed,
    };
    /// A model that thinks and then takes no forced choice.
    pub const THINKING: Self = Self {
        required: Form::Refused(400, "Thinking mode does not support this tool_choice"),
        object: Form::Refused(400, "Thinking mode does not support this tool_choice"),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A router none of whose providers takes a forced choice.
    pub const NO_FORCED_CHOICE: Self = Self {
        required: Form::Refused(404, "No endpoints found that support the provided 'tool_choice' value."),
        object: Form::Refused(404, "No endpoints found that support the provided 'tool_choice' value."),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A router none of whose providers takes tools.
    pub const NO_TOOLS: Self = Self {
        required: Form::Refused(404, "No endpoints found that support tool use."),
        object: Form::Refused(404, "No endpoints found that support tool use."),
        auto: Form::Refused(404, "No endpoints found that support tool use."),
        schema: Form::Obeyed,
    };
    /// vLLM started without a parser for tool calls.
    pub const VLLM_BARE: Self = Self {
        required: Form::Refused(400, "tool_choice=\"required\" requires --tool-call-parser to be set"),
        object: Form::Obeyed,
        auto: Form::Refused(
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        schema: Form::Obeyed,
    };
    /// A server that knows nothing but text.
    pub const TEXT_ONLY: Self = Self {
        required: Form::Refused(400, "this model does not support tools"),
        object: Form::Refused(400, "this model does not support tools"),
        auto: Form::Refused(400, "this model does not support tools"),
        schema: Form::Refused(400, "response_format of type json_schema is not supported"),
    };
}

impl Part {
    /// A part of these acts.
    pub fn of(acts: impl Into<Vec<Act>>) -> Self {
        Self { acts: acts.into(), ..Self::default() }
    }

    /// The same part with other billing.
    pub fn billed(self, billing: Billing) -> Self {
        Self { billing, ..self }
    }

    /// The parts that ids can name after an `@`.
    pub fn named(name: &str) -> Option<Self> {
        let calls = |arguments: &[&str]| {
            Act::Calls("vote", arguments.iter().map(|text| (*text).to_owned()).collect())
        };
        let says = |text: &str| Act::Says(text.to_owned());
        let failing =
            |status| Act::Status(status, json!({ "error": { "message": "overloaded" } }).to_string());
        let acts = match name {
            "prose" => vec![says("After weighing everything, my answer is {code}.")],
            "fenced" => vec![says("```json\n{\"option\": \"{code}\"}\n```")],
            "tool_call_text" => {
                vec![says("<tool_call>{\"name\":\"vote\",\"arguments\":{\"option\":\"{code}\"}}</tool_call>")]
            }
            "bad_json" => vec![calls(&["{'option': '{code}',"])],
            "truncated" => vec![Act::Ends("Let me think about".to_owned(), "length")],
            "altered" => vec![calls(&["{\"option\":\"A) {text}.\"}"])],
            "same_twice" => vec![calls(&["{\"option\":\"{code}\"}", "{\"option\":\"{code}\"}"])],
            "conflicting" => vec![calls(&["{\"option\":\"{code}\"}", "{\"option\":\"{other}\"}"])],
            "wrong_tool" => {
                vec![Act::Calls("answer", vec!["{\"option\":\"{code}\",\"why\":\"so\"}".to_owned()])]
            }
            "refusal" => {
                vec![Act::Message(
                    json!({ "role": "assistant", "content": null, "refusal": "I will not." }),
                    "stop",
                )]
            }
            "content_filter" => vec![Act::Ends(String::new(), "content_filter")],
            "nonsense" => vec![says("I cannot decide.")],
            "flaky" => vec![failing(500), Act::Obey(Forms::ALL)],
            "down" => vec![failing(503)],
            "hang" => vec![Act::Hang],
            "half_open" => vec![Act::HalfOpen],
            "break_off" => vec![Act::BreakOff],
            "garbage" => vec![Act::Bytes(b"<html>Bad gateway</html>".to_vec())],
            "huge" => vec![Act::Huge(4 * 1024 * 1024)],
            "ignores" => vec![Act::Obey(Forms::OLLAMA)],
            "no_tools" => vec![Act::Obey(Forms::NO_TOOLS)],
            _ => return None,
        };
        Some(Self::of(acts))
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            registry_fails: None,
            parts: HashMap::new(),
            default: Part::default(),
            choose: Choose::First,
            key: None,
            keep_requests: true,
        }
    }
}

impl Script {
    /// So many good models of ten families, at a fifth of a dollar per million tokens, who choose by
    /// [`Choose::Hash`].
    pub fn panel(size: usize) -> Self {
        let models =
            (0..size).map(|n| priced(&format!("maker{}/line-{n}", n % 10), "0.0000002", "0.0000002"));
        Self { models: models.collect(), choose: Choose::Hash, ..Self::default() }
    }

    /// Gives a model its part.
    #[must_use]
    pub fn with(mut self, model: &str, part: Part) -> Self {
        self.parts.insert(model.to_owned(), part);
        self
    }
}

/// An entry in OpenRouter's shape, with prices in USD per token.
pub fn priced(id: &str, prompt: &str, completion: &str) -> Value {
    json!({
        "id": id,
        "name": id,
        "created": 1_767_225_600,
        "context_length": 131_072,
        "architecture": { "input_modalities": ["text"], "output_modalities": ["text"] },
        "pricing": { "prompt": prompt, "completion": completion, "request": "0" },
        "supported_parameters": ["tools", "tool_choice", "max_tokens", "response_format", "structured_outputs"],
    })
}

/// An entry in OpenAI's bare shape.
pub fn bare(id: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "library" })
}
