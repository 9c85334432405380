//! `POST /v1/systemone`: System One's map of questions.

use ep_kernel::{Fault, Kind};
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::{Shares, check_count, choice, description, kind_of, members, prose, score, yes_or_no};
use crate::openai::decide::{Decided, Dialect};
use crate::openai::field::{FieldKind, Question};
use crate::openai::models;
use crate::openai::outcome::FieldResult;
use crate::openai::refusal::{Refusal, unsupported};
use crate::openai::request::{model, object, present};

/// A request for decisions.
#[derive(Debug)]
pub(in crate::openai) struct SystemOneRequest {
    model: String,
    questions: Vec<Question>,
}

/// Types of questions.
const KINDS: &str = "noul, choice or score";

impl Dialect for SystemOneRequest {
    const TEXT: &'static str = "state";
    const REQUEST_ID: Option<&'static str> = Some("x-typesafe-request-id");
    /// Its clients give up after ten seconds.
    const PACE: Option<&'static str> = Some("fast");

    fn read(body: &Value, _: &[ModelAlias]) -> Result<Self, Refusal> {
        let body = object(body)?;
        if present(body, "assets").is_some_and(|assets| !ep_kernel::schema::is_empty(assets)) {
            return Err(unsupported("assets", "are not supported: only texts can be voted on"));
        }
        let state = prose(present(body, "state"));
        Ok(Self { model: model(body)?, questions: questions(body, &state)? })
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn questions(&self) -> &[Question] {
        &self.questions
    }

    fn whole(&self, decided: &Decided) -> Result<Value, Fault> {
        if let Some(result) = silent(decided, &self.questions) {
            // Its answers have no refusal.
            let message = format!("{}; ask again later", result.sentence().trim_end_matches('.'));
            return Err(Fault::new(Kind::NoVotes, message));
        }
        let several = self.questions.len() > 1;
        let answers = decided.results(&self.questions).map(|result| {
            let mut answer = answer(result, Shares::concentration);
            if several {
                answer["poll"] = result.evidence();
            }
            (result.field.name.clone(), answer)
        });
        let mut whole = json!({
            "model": models::shown(&self.model),
            "answers": answers.collect::<Map<String, Value>>(),
            "usage": {
                "input_tokens": decided.usage.prompt_tokens,
                "output_tokens": decided.usage.completion_tokens,
            },
            "latency_ms": decided.polls.iter().map(|poll| poll.timing.total_ms).max(),
        });
        if !several {
            whole["poll"] = decided.evidence(&self.questions);
        }
        Ok(whole)
    }
}

/// Returns the first question without an answer.
pub(super) fn silent<'a>(decided: &'a Decided, questions: &'a [Question]) -> Option<FieldResult<'a>> {
    decided.results(questions).find(|result| result.outcome().lacks_votes())
}

/// Answers a question. `confidence` is computed from the shares of choices and scores.
pub(super) fn answer(result: FieldResult<'_>, confidence: fn(&Shares) -> f64) -> Value {
    let field = result.field;
    let shares = Shares::of(result);
    let shown = |names: Vec<String>| -> Map<String, Value> {
        names.into_iter().zip(shares.0.iter().map(|share| Value::from(*share))).collect()
    };
    let levels = || (0..shares.0.len()).map(|level| level.to_string()).collect::<Vec<String>>();
    match field.kind {
        FieldKind::Predicate => json!({ "type": "noul", "noul": shares.0[0] }),
        FieldKind::Choice => json!({
            "type": "choice",
            "choice": field.values[shares.choice(result)],
            "confidence": confidence(&shares),
            "probabilities": shown(field.values.iter().map(super::text_of).collect()),
        }),
        FieldKind::Score => json!({
            "type": "score",
            "score": shares.mean(),
            "confidence": confidence(&shares),
            "probabilities": shown(levels()),
            "legend": std::iter::zip(levels(), field.texts().iter().map(|text| Value::from(text.as_str())))
                .collect::<Map<String, Value>>(),
        }),
    }
}

/// Reads the map of questions.
pub(super) fn questions(body: &Map<String, Value>, input: &str) -> Result<Vec<Question>, Refusal> {
    let questions = members(present(body, "questions"), "questions")?;
    check_count(questions.len())?;
    let read = |(name, question): (&String, &Value)| {
        let path = format!("questions.{name}");
        let question = question.as_object().ok_or_else(|| unsupported(&path, "must be an object"))?;
        let criteria = present(question, "criteria");
        let field = match kind_of(question, &path, KINDS)? {
            "noul" => {
                let of = |names: [&str; 2]| {
                    names.into_iter().find_map(|name| description(criteria.and_then(|all| all.get(name))))
                };
                let yes = of(["true", "true_description"]);
                // A text describes the positive answer.
                let yes = yes.or_else(|| description(criteria.filter(|criteria| criteria.is_string())));
                yes_or_no(&path, name, yes, of(["false", "false_description"]))?
            }
            "choice" => choice(criteria, &path, name)?,
            "score" => score(criteria, &path, name)?,
            _ => return Err(unsupported(&format!("{path}.type"), &format!("must be {KINDS}"))),
        };
        Ok(super::question(input, &instructions(present(question, "instructions")), field))
    };
    questions.iter().map(read).collect()
}

/// Returns instructions as a text: the texts of content blocks, or any other JSON.
fn instructions(value: Option<&Value>) -> String {
    match value {
        Some(Value::Array(blocks)) if blocks.iter().all(|block| block.get("text").is_some()) => {
            let texts: Vec<String> = blocks.iter().map(|block| prose(block.get("text"))).collect();
            texts.join("\n")
        }
        Some(Value::Object(block)) if block.get("type").is_some_and(|kind| kind == "text") => {
            prose(block.get("text"))
        }
        other => prose(other),
    }
}
