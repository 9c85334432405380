//! The script of a scripted upstream.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

/// The behaviour of an upstream. [`ScriptedUpstream::change`](super::ScriptedUpstream::change) changes it
/// while the server runs.
#[derive(Debug, Clone)]
pub struct Script {
    /// The entries of `/v1/models`.
    pub models: Vec<Value>,
    /// Status and body of all responses to model list requests, if set.
    pub registry_fails: Option<(u16, String)>,
    /// Behaviours by model id. Other models use the behaviour named after an `@` in their id
    /// (`maker/line@prose`, see [`Behaviour::named`]), or the default one.
    pub behaviours: HashMap<String, Behaviour>,
    /// The behaviour of all other models.
    pub default: Behaviour,
    /// The option that the models vote for.
    pub votes_for: VoteFor,
    /// The action for a request for an explanation.
    pub explains: Action,
    /// The actions for requests for options by model id: for its first request, its second one, and so on, by all its requests.
    /// Other models propose Alpha, Beta and Gamma.
    pub proposes: HashMap<String, Vec<Action>>,
    /// The API key that requests need, if any.
    pub key: Option<String>,
    /// True to record requests for [`ScriptedUpstream::received`](super::ScriptedUpstream::received).
    /// Benchmarks turn this off.
    pub keep_requests: bool,
    /// True to hold every chat request until [`ScriptedUpstream::release`](super::ScriptedUpstream::release)
    /// lets it through.
    pub held: bool,
    /// The number of chat requests that are answered at the same time, if it is limited. Others get the status 503.
    pub places: Option<usize>,
}

impl Action {
    /// Proposes these options by a call.
    pub fn proposes(options: &[&str]) -> Self {
        Self::Calls("propose", vec![json!({ "options": options }).to_string()])
    }
}

/// The option that a model votes for.
#[derive(Debug, Clone)]
pub enum VoteFor {
    /// The first option shown, like a model with a position bias.
    First,
    /// The option with this text, or the first one if there is none.
    Text(String),
    /// The option with this text, by model id. Other models use [`VoteFor::Hash`].
    ByModel(HashMap<String, String>),
    /// An option that depends only on the option texts and the model id, not on their order.
    Hash,
}

/// The behaviour of one model.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// The actions for its first request, its second one, and so on. The last action is repeated.
    pub actions: Vec<Action>,
    /// The reported cost.
    pub billing: Billing,
    /// Minimum latency of a response.
    pub latency: Duration,
    /// Maximum additional latency, which varies by request.
    pub jitter: Duration,
    /// The model named in responses, if it is not its own id.
    pub reported_model: Option<String>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            actions: vec![Action::Obey(Forms::ALL)],
            billing: Billing::Tokens(120, 12),
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            reported_model: None,
        }
    }
}

/// The cost information in a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Billing {
    /// Nothing.
    Silent,
    /// Prompt and completion tokens.
    Tokens(u64, u64),
    /// Prompt and completion tokens, and `usage.cost` in USD.
    Cost(u64, u64, f64),
    /// Prompt and completion tokens, and the cost in USD in LiteLLM's header.
    Header(u64, u64, f64),
    /// This value as `usage`.
    Usage(Value),
}

/// The action of a model for one request. In templates, `{value}` and `{text}` stand for the chosen option,
/// and `{other}` for the code of another one.
#[derive(Debug, Clone)]
pub enum Action {
    /// Responds in the requested form, if the server supports it.
    Obey(Forms),
    /// Responds with this text, regardless of the requested form.
    Says(String),
    /// Responds with this text and `finish_reason`.
    Ends(String, &'static str),
    /// Responds with a call of this tool for each of these arguments.
    Calls(&'static str, Vec<String>),
    /// Responds with this `message` and `finish_reason`.
    Message(Value, &'static str),
    /// Responds with this status and body.
    Status(u16, String),
    /// Responds with a status, a body and one header.
    StatusWithHeader(u16, Vec<u8>, (&'static str, String)),
    /// Responds with 200, a top-level `error` and no choices.
    TopLevelError(Value),
    /// Responds with 200 and an `error` in the first choice.
    ChoiceError(Value),
    /// Responds with 200 and these bytes.
    Bytes(Vec<u8>),
    /// Responds with 200 and JSON of this many bytes.
    Huge(usize),
    /// Never responds.
    Hang,
    /// Sends the response head and nothing else.
    HalfOpen,
    /// Closes the connection in the middle of the body.
    BreakOff,
    /// Sends the body in pieces with this pause between them.
    Slow(Duration),
}

/// A server's treatment of each form of a vote request.
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

/// A server's treatment of one form.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Responds in the requested form.
    Obeyed,
    /// Responds with this text (a template) instead.
    Ignored(&'static str),
    /// Rejects the request with this status and message.
    Rejected(u16, &'static str),
}

impl Forms {
    /// OpenAI and most of OpenRouter.
    pub const ALL: Self =
        Self { required: Form::Obeyed, object: Form::Obeyed, auto: Form::Obeyed, schema: Form::Obeyed };
    /// A server that ignores `tool_choice` and follows a schema.
    pub const OLLAMA: Self = Self {
        required: Form::Ignored("I would pick {text}, because it fits best."),
        object: Form::Ignored("I would pick {text}, because it fits best."),
        auto: Form::Ignored("I would pick {text}, because it fits best."),
        schema: Form::Obeyed,
    };
    /// A server that accepts strings but not objects as `tool_choice`, and leaves tool calls in the text.
    pub const LM_STUDIO: Self = Self {
        required: Form::Ignored(
            "<tool_call>\n{\"name\": \"vote\", \"arguments\": {\"option\": \"{value}\"}}\n</tool_call>",
        ),
        object: Form::Rejected(
            400,
            "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
        ),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A server that enforces `required` and treats an object as `auto`.
    pub const LLAMA_CPP: Self = Self {
        required: Form::Obeyed,
        object: Form::Ignored("{\"name\":\"vote\",\"arguments\":{\"option\":\"{value}\"}}"),
        auto: Form::Ignored("{\"name\":\"vote\",\"arguments\":{\"option\":\"{value}\"}}"),
        schema: Form::Obeyed,
    };
    /// llama.cpp without a chat template for tools.
    pub const LLAMA_CPP_BARE: Self = Self {
        required: Form::Rejected(500, "tools param requires --jinja flag"),
        object: Form::Rejected(500, "tools param requires --jinja flag"),
        auto: Form::Rejected(500, "tools param requires --jinja flag"),
        schema: Form::Obeyed,
    };
    /// A reasoning model that supports no forced tool call.
    pub const THINKING: Self = Self {
        required: Form::Rejected(400, "Thinking mode does not support this tool_choice"),
        object: Form::Rejected(400, "Thinking mode does not support this tool_choice"),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A router whose providers support no forced tool call.
    pub const NO_FORCED_CHOICE: Self = Self {
        required: Form::Rejected(404, "No endpoints found that support the provided 'tool_choice' value."),
        object: Form::Rejected(404, "No endpoints found that support the provided 'tool_choice' value."),
        auto: Form::Obeyed,
        schema: Form::Obeyed,
    };
    /// A router whose providers support no tools.
    pub const NO_TOOLS: Self = Self {
        required: Form::Rejected(404, "No endpoints found that support tool use."),
        object: Form::Rejected(404, "No endpoints found that support tool use."),
        auto: Form::Rejected(404, "No endpoints found that support tool use."),
        schema: Form::Obeyed,
    };
    /// vLLM started without a parser for tool calls.
    pub const VLLM_BARE: Self = Self {
        required: Form::Rejected(400, "tool_choice=\"required\" requires --tool-call-parser to be set"),
        object: Form::Obeyed,
        auto: Form::Rejected(
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        schema: Form::Obeyed,
    };
    /// A server that supports only text.
    pub const TEXT_ONLY: Self = Self {
        required: Form::Rejected(400, "this model does not support tools"),
        object: Form::Rejected(400, "this model does not support tools"),
        auto: Form::Rejected(400, "this model does not support tools"),
        schema: Form::Rejected(400, "response_format of type json_schema is not supported"),
    };
}

impl Behaviour {
    /// Creates a behaviour with these actions.
    pub fn of(actions: impl Into<Vec<Action>>) -> Self {
        Self { actions: actions.into(), ..Self::default() }
    }

    /// Returns the behaviour with other billing.
    pub fn billed(self, billing: Billing) -> Self {
        Self { billing, ..self }
    }

    /// Returns the behaviour that an id names after an `@`.
    pub fn named(name: &str) -> Option<Self> {
        let calls = |arguments: &[&str]| {
            Action::Calls("vote", arguments.iter().map(|text| (*text).to_owned()).collect())
        };
        let says = |text: &str| Action::Says(text.to_owned());
        let failing =
            |status| Action::Status(status, json!({ "error": { "message": "overloaded" } }).to_string());
        let actions = match name {
            "prose" => vec![says("After weighing everything, my answer is {value}.")],
            "fenced" => vec![says("```json\n{\"option\": \"{value}\"}\n```")],
            "tool_call_text" => {
                vec![says(
                    "<tool_call>{\"name\":\"vote\",\"arguments\":{\"option\":\"{value}\"}}</tool_call>",
                )]
            }
            "bad_json" => vec![calls(&["{'option': '{value}',"])],
            "truncated" => vec![Action::Ends("Let me think about".to_owned(), "length")],
            "altered" => vec![calls(&["{\"option\":\"A) {text}.\"}"])],
            "same_twice" => vec![calls(&["{\"option\":\"{value}\"}", "{\"option\":\"{value}\"}"])],
            "conflicting" => vec![calls(&["{\"option\":\"{value}\"}", "{\"option\":\"{other}\"}"])],
            "wrong_tool" => {
                vec![Action::Calls("answer", vec!["{\"option\":\"{value}\",\"why\":\"so\"}".to_owned()])]
            }
            "refusal" => {
                vec![Action::Message(
                    json!({ "role": "assistant", "content": null, "refusal": "I will not." }),
                    "stop",
                )]
            }
            "content_filter" => vec![Action::Ends(String::new(), "content_filter")],
            "nonsense" => vec![says("I cannot decide.")],
            "flaky" => vec![failing(500), Action::Obey(Forms::ALL)],
            "down" => vec![failing(502)],
            "hang" => vec![Action::Hang],
            "half_open" => vec![Action::HalfOpen],
            "break_off" => vec![Action::BreakOff],
            "garbage" => vec![Action::Bytes(b"<html>Bad gateway</html>".to_vec())],
            "huge" => vec![Action::Huge(4 * 1024 * 1024)],
            "ignores" => vec![Action::Obey(Forms::OLLAMA)],
            "no_tools" => vec![Action::Obey(Forms::NO_TOOLS)],
            _ => return None,
        };
        Some(Self::of(actions))
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            registry_fails: None,
            behaviours: HashMap::new(),
            default: Behaviour::default(),
            votes_for: VoteFor::First,
            explains: Action::Says("Because it fits best.".to_owned()),
            proposes: HashMap::new(),
            key: None,
            keep_requests: true,
            held: false,
            places: None,
        }
    }
}

impl Script {
    /// Creates a script with this many models of ten families. They respond as requested, cost 0.20 USD per
    /// million tokens, and vote by [`VoteFor::Hash`].
    pub fn panel(size: usize) -> Self {
        let models =
            (0..size).map(|n| priced(&format!("maker{}/line-{n}", n % 10), "0.0000002", "0.0000002"));
        Self { models: models.collect(), votes_for: VoteFor::Hash, ..Self::default() }
    }

    /// Creates a panel in which models alternate between Alpha and Beta, so that no poll of all of them ends
    /// early.
    pub fn divided_panel(size: usize) -> Self {
        let choice = |n: usize| if n.is_multiple_of(2) { "Alpha" } else { "Beta" };
        let table = (0..size).map(|n| (format!("maker{}/line-{n}", n % 10), choice(n).to_owned()));
        Self { votes_for: VoteFor::ByModel(table.collect()), ..Self::panel(size) }
    }

    /// Sets the behaviour of a model.
    #[must_use]
    pub fn with(mut self, model: &str, behaviour: Behaviour) -> Self {
        self.behaviours.insert(model.to_owned(), behaviour);
        self
    }
}

/// Returns an entry in OpenRouter's detailed format, with prices in USD per token.
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

/// Returns an entry in OpenAI's minimal format.
pub fn bare(id: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "library" })
}
