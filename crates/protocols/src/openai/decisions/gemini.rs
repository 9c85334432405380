//! `POST /v1beta/decisions` of Gemini: System One's questions in Google's form.

use ep_kernel::Fault;
use ep_site::ModelAlias;
use serde_json::{Map, Value, json};

use super::Shares;
use super::system_one::{answer, questions, silent};
use crate::openai::decide::{Decided, Dialect};
use crate::openai::field::Question;
use crate::openai::prompt;
use crate::openai::refusal::{Refusal, unsupported};
use crate::openai::request::{model, object, present};

/// A request for decisions.
#[derive(Debug)]
pub(in crate::openai) struct GeminiRequest {
    model: String,
    questions: Vec<Question>,
}

impl Dialect for GeminiRequest {
    const TEXT: &'static str = "input";

    fn read(body: &Value, _: &[ModelAlias]) -> Result<Self, Refusal> {
        let body = object(body)?;
        let input =
            present(body, "input").ok_or_else(|| unsupported("input", "is missing: send the text"))?;
        let input = prompt::content(Some(input), &|| "input".to_owned())?;
        let name = model(body)?;
        let model = name.strip_prefix("models/").unwrap_or(&name).to_owned();
        Ok(Self { model, questions: questions(body, &input)? })
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn questions(&self) -> &[Question] {
        &self.questions
    }

    fn whole(&self, decided: &Decided) -> Result<Value, Fault> {
        let usage = decided.usage;
        let usage = json!({
            "total_input_tokens": usage.prompt_tokens,
            "total_output_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        });
        if let Some(result) = silent(decided, &self.questions) {
            let feedback = json!({ "block_reason": "other", "block_reason_message": result.sentence() });
            return Ok(json!({ "prompt_feedback": feedback, "usage": usage }));
        }
        let answers = decided.results(&self.questions).map(|result| {
            let mut answer = answer(result, Shares::greatest);
            if answer["type"] == "noul" {
                // This dialect has a confidence for each answer, and shares from 0.01 to 0.99.
                let share = Shares::of(result).0[0].clamp(0.01, 0.99);
                answer["noul"] = share.into();
                answer["confidence"] = share.max(1.0 - share).into();
            }
            answer["poll"] = result.evidence();
            (result.field.name.clone(), answer)
        });
        Ok(json!({ "answers": answers.collect::<Map<String, Value>>(), "usage": usage }))
    }
}
