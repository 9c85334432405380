//! Decision APIs: choices, predicates and scores about one input, answered with shares of votes. Three dialects of the same:
//! OpenAI's, System One's and Gemini's.

pub(super) mod gemini;
pub(super) mod open_ai;
pub(super) mod system_one;

use ep_tools::polls::MAX_QUESTIONS;
use serde_json::{Map, Value};

use super::field::{Field, FieldKind, Question, most_values, text_of, too_many};
use super::outcome::FieldResult;
use super::prompt::describe_values;
use super::refusal::{Code, Refusal, unsupported};
use super::request::present;

/// The shares of a field's votes, as the answers of these APIs use them.
struct Shares(Vec<f64>);

impl Shares {
    fn of(result: FieldResult<'_>) -> Self {
        Self(result.shares())
    }

    /// Returns the index of the chosen value: of the one that won or was decided by a tie rule, or on a tie, of the first
    /// of the tied ones in the caller's order.
    fn choice(&self, result: FieldResult<'_>) -> usize {
        let greatest = self.greatest();
        let first = || self.0.iter().position(|share| *share >= greatest);
        result.winner().filter(|winner| *winner < self.0.len()).or_else(first).unwrap_or(0)
    }

    fn greatest(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the concentration: 0 if all shares are equal, and 1 if one share were all.
    fn concentration(&self) -> f64 {
        let equal = 1.0 / self.0.len() as f64;
        ((self.greatest() - equal) / (1.0 - equal)).clamp(0.0, 1.0)
    }

    /// Returns the mean level, counted from 0.
    fn mean(&self) -> f64 {
        self.0.iter().enumerate().map(|(level, share)| level as f64 * share).sum()
    }
}

/// Builds a question about an input.
fn question(input: &str, instructions: &str, field: Field) -> Question {
    let mut text = String::with_capacity(input.len() + instructions.len() + 64);
    text.push_str(input.trim());
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    match (instructions.trim(), field.kind) {
        ("", FieldKind::Score) => text.extend(["Choose the level of \"", &field.name, "\"."]),
        ("", _) => text.extend(["Choose the value of \"", &field.name, "\"."]),
        (instructions, _) => text.push_str(instructions),
    }
    describe_values(&mut text, &field);
    Question { field, text }
}

/// Returns the names of members with their values: the questions of a map, or the options of a choice.
fn members<'a>(value: Option<&'a Value>, at: &str) -> Result<&'a Map<String, Value>, Refusal> {
    value.and_then(Value::as_object).ok_or_else(|| unsupported(at, "must be an object"))
}

/// Refuses an empty list of questions, and one that is too long.
fn check_count(questions: usize) -> Result<(), Refusal> {
    match questions {
        0 => Err(unsupported("questions", "is empty: send at least one question")),
        1..=MAX_QUESTIONS => Ok(()),
        _ => {
            let text = format!("has {questions} questions; send at most {MAX_QUESTIONS}");
            Err(Refusal::new(Code::TooManyDecisionFields, "questions", text))
        }
    }
}

/// Returns any JSON as a text: a string as it is.
fn prose(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(value) => text_of(value),
    }
}

/// Returns the description of a value, if it is not blank.
fn description(value: Option<&Value>) -> Option<String> {
    let text = prose(value);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads the options of a choice: an object of names with descriptions.
fn choice(criteria: Option<&Value>, path: &str, name: &str) -> Result<Field, Refusal> {
    let path = format!("{path}.criteria");
    let criteria = members(criteria, &path)?;
    let most = most_values(FieldKind::Choice);
    if criteria.len() > most {
        return Err(too_many(&path, criteria.len(), most));
    }
    let values = criteria.keys().map(|option| Value::from(option.as_str())).collect();
    let field = Field::new(&path, name, values, FieldKind::Choice)?;
    let described = criteria.values().enumerate();
    let descriptions =
        described.filter_map(|(index, text)| Some((index, description(Some(text))?))).collect();
    Ok(field.described(None, descriptions))
}

/// Reads the levels of a score, lowest first.
fn score(criteria: Option<&Value>, path: &str, name: &str) -> Result<Field, Refusal> {
    let path = format!("{path}.criteria");
    let levels =
        criteria.and_then(Value::as_array).ok_or_else(|| unsupported(&path, "must be a list of levels"))?;
    Field::score(&path, name, levels.iter().map(text_of).collect())
}

/// Creates the field of a question that is answered with yes or no. `yes` and `no` describe the two.
fn yes_or_no(path: &str, name: &str, yes: Option<String>, no: Option<String>) -> Result<Field, Refusal> {
    let field = Field::new(path, name, vec!["yes".into(), "no".into()], FieldKind::Predicate)?;
    let descriptions = [yes, no].into_iter().enumerate();
    let descriptions = descriptions.filter_map(|(index, text)| Some((index, text?))).collect();
    Ok(field.described(None, descriptions))
}

/// Returns the type of a question.
fn kind_of<'a>(question: &'a Map<String, Value>, path: &str, kinds: &str) -> Result<&'a str, Refusal> {
    let kind = present(question, "type").and_then(Value::as_str);
    kind.ok_or_else(|| unsupported(&format!("{path}.type"), &format!("must be {kinds}")))
}
