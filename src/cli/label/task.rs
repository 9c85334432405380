//! The questions to ask: one for each row, with its options, its key and the bound of its cost.

use anyhow::{Context, bail};
use ep_polling::money::MicroUsd;
use ep_polling::options::Options;
use ep_polling::question::Question as QuestionText;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::journal::Key;
use super::table::Row;
use super::template::Template;

/// The settings that all rows share.
pub(super) struct Task {
    pub(super) question: Template,
    pub(super) options: OptionsOf,
    /// The column with the row's id; without one, the content is the id.
    pub(super) id: Option<String>,
    pub(super) panel: Panel,
    pub(super) on_tie: OnTie,
}

/// The options of a row.
pub(super) enum OptionsOf {
    /// The same for all rows.
    Task(Vec<String>),
    /// Those in a column: a JSON list, or texts separated by `|`.
    Column(String),
}

/// The models that vote on every row.
pub(super) enum Panel {
    /// A preset; none for the default one.
    Preset(Option<String>),
    /// These models, the strongest first.
    Models(Vec<String>),
}

/// The label of a tied row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnTie {
    /// None.
    Report,
    /// The option of the first model, in the order of --model, that voted for one of the tied options.
    Strongest,
}

/// A row to label.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) row: Row,
    pub(super) id: Value,
    /// The digest of what decides the label.
    pub(super) key: Key,
    /// The digest of what the models are asked, so that another tie rule asks nobody again.
    pub(super) poll: Key,
    pub(super) question: String,
    pub(super) options: Vec<String>,
}

impl Task {
    /// Reads the question of a row. `panel` names the models and their version.
    pub(super) fn question(&self, row: Row, panel: &str) -> anyhow::Result<Question> {
        let question = self.question.fill(&row)?;
        let options = match &self.options {
            OptionsOf::Task(options) => options.clone(),
            OptionsOf::Column(column) => listed(&row, column)?,
        };
        let id = match &self.id {
            Some(column) => row.fields.get(column).cloned().ok_or_else(|| row.no_column(column))?,
            None => Value::Null,
        };
        let rule = match self.on_tie {
            OnTie::Report => "report",
            OnTie::Strongest => "strongest",
        };
        let number = row.number;
        QuestionText::new(&question).with_context(|| format!("row {number}: the question"))?;
        Options::new(&options).with_context(|| format!("row {number}: the options"))?;
        let poll = digest(&json!([1, id, question, options, panel]));
        let key = digest(&json!([1, id, question, options, panel, rule]));
        let id = if self.id.is_some() { id } else { String::from(key).into() };
        Ok(Question { row, id, key, poll, question, options })
    }
}

/// Returns the digest of a value.
pub(super) fn digest(content: &Value) -> Key {
    let digest: [u8; 32] = Sha256::digest(content.to_string()).into();
    let mut key = Key([0; 16]);
    key.0.copy_from_slice(&digest[..16]);
    key
}

/// Reads the options of a row.
fn listed(row: &Row, column: &str) -> anyhow::Result<Vec<String>> {
    let text = row.text(column).ok_or_else(|| row.no_column(column))?;
    if text.trim_start().starts_with('[') {
        return match serde_json::from_str(&text) {
            Ok(options) => Ok(options),
            Err(_) => bail!("row {}: {column} must be a JSON list of texts", row.number),
        };
    }
    Ok(text.split('|').map(|option| option.trim().to_owned()).collect())
}

impl Panel {
    /// Adds the panel to a request.
    pub(super) fn add_to(&self, request: &mut Map<String, Value>) {
        match self {
            Self::Preset(None) => None,
            Self::Preset(Some(preset)) => request.insert("preset".to_owned(), json!(preset)),
            Self::Models(models) => request.insert("models".to_owned(), json!(models)),
        };
    }
}

impl Question {
    /// Returns the poll of the row: complete, private, and at most this expensive.
    pub(super) fn request(&self, panel: &Panel, at_most: MicroUsd) -> Value {
        let mut request = Map::new();
        request.insert("question".to_owned(), json!(self.question));
        request.insert("options".to_owned(), json!(self.options));
        request.insert("complete".to_owned(), true.into());
        request.insert("private".to_owned(), true.into());
        // A free poll has a positive limit, too.
        request.insert("max_cost_usd".to_owned(), json!(at_most.micro().max(1) as f64 / 1e6));
        panel.add_to(&mut request);
        Value::Object(request)
    }

    /// Returns the bytes of the prompt that depend on the row, as [`Plan`](ep_polling::plan::Plan) counts them.
    pub(super) fn bytes(&self) -> usize {
        self.question.len() + 3 * self.options.iter().map(|option| option.len() + 16).sum::<usize>()
    }
}

/// After a kill, each lost call is charged by estimate, at most half of its highest cost, and made again.
const LOST_CALLS: f64 = 1.5;

/// The maximum cost of a row: a line over the bytes of its prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostBound {
    /// The maximum cost at `bytes`, in micro-USD.
    pub(super) base: f64,
    pub(super) bytes: usize,
    /// Micro-USD for each further byte.
    pub(super) slope: f64,
    /// The number of models: the cost of each is rounded up.
    pub(super) models: u32,
}

impl CostBound {
    /// Returns the maximum cost of a row.
    pub(super) fn of(&self, question: &Question) -> MicroUsd {
        let further = question.bytes() as f64 - self.bytes as f64;
        let micro = self.slope.mul_add(further, self.base);
        let rounding = if self.base + self.slope > 0.0 { f64::from(self.models) } else { 0.0 };
        MicroUsd::new(((micro + rounding) * LOST_CALLS).max(0.0).ceil() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(options: OptionsOf, id: Option<&str>) -> Task {
        Task {
            question: Template::parse("Is {text} good?").unwrap(),
            options,
            id: id.map(str::to_owned),
            panel: Panel::Preset(None),
            on_tie: OnTie::Report,
        }
    }

    fn row(fields: Value) -> Row {
        Row { number: 1, fields: fields.as_object().unwrap().clone() }
    }

    #[test]
    fn keys_change_with_everything_that_is_asked() {
        let options = || OptionsOf::Task(vec!["a".to_owned(), "b".to_owned()]);
        let one = row(json!({ "text": "x", "n": 1, "other": 1 }));
        let key = |task: &Task, row: &Row, panel: &str| task.question(row.clone(), panel).unwrap().key;
        let first = key(&task(options(), Some("n")), &one, "p");
        assert_eq!(first, key(&task(options(), Some("n")), &row(json!({ "text": "x", "n": 1 })), "p"));
        let swapped = OptionsOf::Task(vec!["b".to_owned(), "a".to_owned()]);
        for other in [
            key(&task(options(), Some("n")), &one, "q"),
            key(&task(options(), None), &one, "p"),
            key(&task(swapped, Some("n")), &one, "p"),
            key(&task(options(), Some("n")), &row(json!({ "text": "x", "n": "1" })), "p"),
            key(&task(options(), Some("n")), &row(json!({ "text": "y", "n": 1 })), "p"),
            key(&Task { on_tie: OnTie::Strongest, ..task(options(), Some("n")) }, &one, "p"),
        ] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn options_come_from_a_column() {
        let listed = |choices: Value| {
            let task = task(OptionsOf::Column("choices".to_owned()), None);
            task.question(row(json!({ "text": "x", "choices": choices })), "p").map(|asked| asked.options)
        };
        assert_eq!(listed(json!("a | b|c")).unwrap(), ["a", "b", "c"]);
        assert_eq!(listed(json!(["a|b", "c"])).unwrap(), ["a|b", "c"]);
        assert!(listed(json!("[1, 2]")).is_err());
    }
}
