//! Refusals of requests that are no polls, and the error object of the API.

use std::borrow::Cow;
use std::sync::LazyLock;

use ep_kernel::{Fault, Kind, Problem};
use serde_json::{Value, json};

/// A machine-readable reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Nothing in the request can be voted on.
    NoDecisionField,
    /// More fields than a request may have.
    TooManyDecisionFields,
    /// A field with more values than a poll may have.
    TooManyChoices,
    /// A parameter or a schema that is not supported.
    UnsupportedValue,
    /// A name that is no preset.
    ModelNotFound,
}

impl Code {
    const ALL: [Self; 5] = [
        Self::NoDecisionField,
        Self::TooManyDecisionFields,
        Self::TooManyChoices,
        Self::UnsupportedValue,
        Self::ModelNotFound,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::NoDecisionField => "no_decision_field",
            Self::TooManyDecisionFields => "too_many_decision_fields",
            Self::TooManyChoices => "too_many_choices",
            Self::UnsupportedValue => "unsupported_value",
            Self::ModelNotFound => "model_not_found",
        }
    }
}

/// The refusal of a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub code: Code,
    /// The path of the part.
    pub param: String,
    /// The problem, as the rest of a sentence after the path.
    pub text: String,
}

impl Refusal {
    /// Refuses the part at this path.
    pub fn new(code: Code, param: &str, text: impl Into<String>) -> Self {
        Self { code, param: param.to_owned(), text: text.into() }
    }
}

/// Refuses a parameter, or a part of it, that is not supported.
pub fn unsupported(param: &str, text: &str) -> Refusal {
    Refusal::new(Code::UnsupportedValue, param, text)
}

impl From<Refusal> for Fault {
    fn from(Refusal { code, param, text }: Refusal) -> Self {
        let message = format!("{param} {text}");
        let kind = if code == Code::ModelNotFound { Kind::NotFound } else { Kind::InvalidInput };
        // The field's detail carries the code, which the error object shows.
        Self::new(kind, message).with_field(param, code.as_str())
    }
}

/// The endpoints, as the advice of errors about unknown ones.
static ENDPOINTS: LazyLock<String> = LazyLock::new(|| {
    let routes: Vec<String> =
        super::routes().map(|route| format!("{} {}", route.method.as_str(), route.path)).collect();
    routes.join(", ")
});

/// Returns the message of a fault. Errors about unknown endpoints list those that there are, and advice names presets by
/// the word of these clients.
fn message(fault: &Fault) -> Cow<'_, str> {
    match fault.kind() {
        Kind::UnknownRoute | Kind::MethodNotAllowed => {
            format!("{}; the endpoints here are {}", fault.message().trim_end_matches('.'), *ENDPOINTS).into()
        }
        Kind::InsufficientBalance | Kind::SpendingCapReached | Kind::AccountFrozen => {
            fault.message().replace("preset", "model").into()
        }
        _ => fault.message().into(),
    }
}

/// Renders a fault as OpenAI's error object, with the message in `detail`, too, which System One's clients show.
pub(super) fn error_with_detail(fault: &Fault, problem: &Problem) -> Value {
    let mut error = error(fault, problem);
    error["detail"] = message(fault).into();
    error
}

/// Renders a fault as Google's error object (google.rpc.Status, AIP-193).
pub(super) fn google_error(fault: &Fault, _: &Problem) -> Value {
    let http = fault.kind().row().http;
    let status = match http {
        401 => "UNAUTHENTICATED",
        402 => "FAILED_PRECONDITION",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": http, "message": message(fault), "status": status } })
}

/// Renders a fault as OpenAI's error object.
pub(super) fn error(fault: &Fault, _: &Problem) -> Value {
    let kind = fault.kind();
    let row = kind.row();
    let field = fault.fields().first();
    let refused = field.and_then(|field| Code::ALL.into_iter().find(|code| code.as_str() == field.detail));
    let code = match kind {
        _ if refused.is_some() => refused.map_or("", Code::as_str),
        Kind::Unauthenticated => "invalid_api_key",
        Kind::InvalidPreset => "model_not_found",
        Kind::InsufficientBalance => "insufficient_credit",
        Kind::UnknownRoute => "unknown_url",
        _ => row.code,
    };
    let kind = match row.http {
        401 | 403 => "authentication_error",
        402 => "insufficient_quota",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({
        "error": {
            "message": message(fault),
            "type": kind,
            "param": field.map(|field| &field.field).filter(|name| !name.is_empty()),
            "code": code,
        },
    })
}
