//! `POST /v1/decisions` of OpenAI. Google's client sends Gemini's requests here, too, with a map of questions.

use ep_kernel::Fault;
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::gemini::GeminiRequest;
use super::{Shares, check_count, description, kind_of};
use crate::openai::decide::{Decided, Dialect};
use crate::openai::field::{Field, FieldKind, Question};
use crate::openai::models;
use crate::openai::outcome::FieldResult;
use crate::openai::prompt;
use crate::openai::refusal::{Refusal, unsupported};
use crate::openai::request::{model, object, present};

/// A request for decisions.
#[derive(Debug)]
pub(in crate::openai) enum DecisionRequest {
    /// A list of questions.
    OpenAi {
        /// The name of the model.
        model: String,
        /// The questions.
        questions: Vec<Question>,
    },
    /// A map of questions.
    Gemini(GeminiRequest),
}

/// Types of questions.
const KINDS: &str = "choice, predicate or score";

impl Dialect for DecisionRequest {
    const TEXT: &'static str = "input";

    fn read(parsed: &Value, aliases: &[ModelAlias]) -> Result<Self, Refusal> {
        let body = object(parsed)?;
        if present(body, "questions").is_some_and(Value::is_object) {
            return GeminiRequest::read(parsed, aliases).map(Self::Gemini);
        }
        let input =
            present(body, "input").ok_or_else(|| unsupported("input", "is missing: send the text"))?;
        let input = prompt::conversation(&prompt::items(input, "input")?, None);
        let questions = present(body, "questions").and_then(Value::as_array);
        let questions = questions.ok_or_else(|| unsupported("questions", "must be a list of questions"))?;
        check_count(questions.len())?;
        let read =
            |(index, question): (usize, &Value)| read(question, &format!("questions[{index}]"), &input);
        let questions = questions.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self::OpenAi { model: model(body)?, questions })
    }

    fn model(&self) -> &str {
        match self {
            Self::OpenAi { model, .. } => model,
            Self::Gemini(request) => request.model(),
        }
    }

    fn questions(&self) -> &[Question] {
        match self {
            Self::OpenAi { questions, .. } => questions,
            Self::Gemini(request) => request.questions(),
        }
    }

    fn whole(&self, decided: &Decided) -> Result<Value, Fault> {
        let (model, questions) = match self {
            Self::OpenAi { model, questions } => (model, questions),
            Self::Gemini(request) => return request.whole(decided),
        };
        let usage = decided.usage;
        let several = questions.len() > 1;
        let answers = decided.results(questions).map(|result| {
            let mut answer = answer(result);
            if several {
                answer["poll"] = result.evidence();
            }
            answer
        });
        let mut whole = json!({
            "id": format!("dec_{}", decided.id()),
            "object": "decision",
            "created": decided.created.millis() / 1000,
            "model": models::shown(model),
            "answers": answers.collect::<Vec<Value>>(),
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
                "output_tokens": usage.completion_tokens,
                "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            },
        });
        if !several {
            whole["poll"] = decided.evidence(questions);
        }
        Ok(whole)
    }
}

/// Answers a question.
fn answer(result: FieldResult<'_>) -> Value {
    let field = result.field;
    let name = (!field.name.is_empty()).then_some(field.name.as_str());
    if result.outcome().lacks_votes() {
        return json!({ "type": "refusal", "name": name });
    }
    let shares = Shares::of(result);
    let shown = |share: &f64, value: &Value| json!({ "value": value, "probability": share });
    match field.kind {
        FieldKind::Predicate => json!({ "type": "predicate", "name": name, "probability": shares.0[0] }),
        FieldKind::Choice => json!({
            "type": "choice",
            "name": name,
            "choice": field.values[shares.choice(result)],
            "confidence": shares.concentration(),
            "probabilities": std::iter::zip(&shares.0, &field.values)
                .map(|(share, value)| shown(share, value))
                .collect::<Vec<Value>>(),
        }),
        FieldKind::Score => json!({
            "type": "score",
            "name": name,
            "score": shares.mean(),
            "confidence": shares.concentration(),
            "probabilities": std::iter::zip(&shares.0, field.texts())
                .enumerate()
                .map(|(level, (share, label))| json!({ "value": level, "label": label, "probability": share }))
                .collect::<Vec<Value>>(),
        }),
    }
}

fn read(question: &Value, path: &str, input: &str) -> Result<Question, Refusal> {
    let question = question.as_object().ok_or_else(|| unsupported(path, "must be an object"))?;
    let name = present(question, "name").and_then(Value::as_str).unwrap_or_default();
    let instructions =
        prompt::content(present(question, "instructions"), &|| format!("{path}.instructions"))?;
    let field = match kind_of(question, path, KINDS)? {
        "choice" => choice(question, path, name)?,
        "predicate" => {
            let values = vec![Value::Bool(true), Value::Bool(false)];
            Field::new(path, name, values, FieldKind::Predicate)?
        }
        "score" => score(question, path, name)?,
        _ => return Err(unsupported(&format!("{path}.type"), &format!("must be {KINDS}"))),
    };
    Ok(super::question(input, &instructions, field))
}

/// Reads the choices, which are texts or booleans.
fn choice(question: &Map<String, Value>, path: &str, name: &str) -> Result<Field, Refusal> {
    let path = format!("{path}.choices");
    let choices = list(question, "choices", &path)?;
    let mut values = Vec::with_capacity(choices.len());
    let mut descriptions = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let value = choice.get("value").filter(|value| value.is_string() || value.is_boolean());
        let value = value
            .ok_or_else(|| unsupported(&format!("{path}[{index}].value"), "must be a text or a boolean"))?;
        descriptions.extend(description(choice.get("description")).map(|text| (index, text)));
        values.push(value.clone());
    }
    let field = Field::new(&path, name, values, FieldKind::Choice)?;
    Ok(field.described(None, descriptions))
}

/// Reads the levels of a score, lowest first.
fn score(question: &Map<String, Value>, path: &str, name: &str) -> Result<Field, Refusal> {
    let path = format!("{path}.levels");
    let levels = list(question, "levels", &path)?;
    let mut labels = Vec::with_capacity(levels.len());
    let mut descriptions = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let label = level.get("label").and_then(Value::as_str);
        let label = label.ok_or_else(|| unsupported(&format!("{path}[{index}].label"), "must be a text"))?;
        descriptions.extend(description(level.get("description")).map(|text| (index, text)));
        labels.push(label.to_owned());
    }
    let field = Field::score(&path, name, labels)?;
    Ok(field.described(None, descriptions))
}

fn list<'a>(question: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a [Value], Refusal> {
    let list = present(question, name).and_then(Value::as_array).map(Vec::as_slice);
    list.ok_or_else(|| unsupported(path, "must be a list"))
}
