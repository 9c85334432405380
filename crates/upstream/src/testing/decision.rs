//! Questions of decision APIs, from the point of view of a model.

use serde_json::{Map, Value, json};

use super::script::VoteFor;

/// The probability of the chosen option. The other options share the rest.
const CHOSEN: f64 = 0.7;

/// A request with one question.
pub(super) struct DecisionRequest {
    pub(super) model: String,
    dialect: Dialect,
    name: String,
    /// The value and the text of each option.
    options: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    SystemOne,
    Gemini,
}

impl DecisionRequest {
    /// Reads a request to this path; `None` if it has another form than the path's dialect.
    pub(super) fn read(path: &str, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (dialect, input) = match path {
            "/v1/systemone" => (Dialect::SystemOne, "state"),
            "/v1beta/decisions" => (Dialect::Gemini, "input"),
            _ => (Dialect::OpenAi, "input"),
        };
        body[input].as_str()?;
        let (name, question) = match dialect {
            Dialect::OpenAi => {
                let question = body["questions"].as_array()?.first()?;
                (text(&question["name"])?, question)
            }
            Dialect::SystemOne | Dialect::Gemini => {
                let (name, question) = body["questions"].as_object()?.iter().next()?;
                (name.clone(), question)
            }
        };
        let options = match dialect {
            Dialect::OpenAi => {
                let choices = question["choices"].as_array()?.iter();
                let choice = |choice: &Value| {
                    let value = text(&choice["value"])?;
                    Some((value.clone(), text(&choice["description"]).unwrap_or(value)))
                };
                choices.map(choice).collect::<Option<_>>()?
            }
            Dialect::SystemOne | Dialect::Gemini => {
                let criteria = question["criteria"].as_object()?.iter();
                criteria
                    .map(|(value, description)| Some((value.clone(), text(description)?)))
                    .collect::<Option<_>>()?
            }
        };
        (question["type"] == "choice").then_some(())?;
        Some(Self { model: text(&body["model"])?, dialect, name, options })
    }

    /// Answers with the greatest probability for one option, in two decimals.
    pub(super) fn answer(&self, votes_for: &VoteFor, model: &str, usage: &Value) -> Value {
        let texts: Vec<&str> = self.options.iter().map(|(_, text)| text.as_str()).collect();
        let chosen = votes_for.choose(&self.model, &texts);
        let other = (100.0 * (1.0 - CHOSEN) / (texts.len() as f64 - 1.0)).round() / 100.0;
        let probability = |index: usize| if index == chosen { CHOSEN } else { other };
        let values =
            || self.options.iter().enumerate().map(|(index, (value, _))| (value, probability(index)));
        let choice = self.options.get(chosen).map(|(value, _)| value);
        if self.dialect == Dialect::OpenAi {
            let weighted =
                values().map(|(value, probability)| json!({ "value": value, "probability": probability }));
            let answer = json!({
                "type": "choice",
                "name": self.name,
                "choice": choice,
                "confidence": CHOSEN,
                "probabilities": weighted.collect::<Vec<Value>>(),
            });
            return json!({ "model": model, "answers": [answer], "usage": usage });
        }
        let weighted = values().map(|(value, probability)| (value.clone(), probability.into()));
        let answer = json!({
            "type": "choice",
            "choice": choice,
            "confidence": CHOSEN,
            "probabilities": weighted.collect::<Map<String, Value>>(),
        });
        let answers = Map::from_iter([(self.name.clone(), answer)]);
        json!({ "model": model, "answers": answers, "usage": usage })
    }

    /// Returns the usage in the names of the dialect.
    pub(super) fn usage(&self, prompt: u64, completion: u64, cost: Option<f64>) -> Value {
        match self.dialect {
            Dialect::Gemini => json!({ "total_input_tokens": prompt, "total_output_tokens": completion }),
            Dialect::OpenAi | Dialect::SystemOne => {
                json!({ "input_tokens": prompt, "output_tokens": completion, "cost": cost })
            }
        }
    }
}
