//! The question about a row, with its options and its keys.

use anyhow::{Context, anyhow, bail};
use ep_polling::{MicroUsd, Options, Question, Usd};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::entry::Key;
use crate::files::table::{Row, text_of};
use crate::files::template::Template;
use crate::options_message::options_as_typed;
use crate::settings::{LabelSettings, OptionsOf, Panel, Questions, RequestForm, SourceQuestion};

/// A row to label.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowQuestion {
    /// The row, as the file has it.
    pub row: Row,
    /// Its id; without one, its key.
    pub id: Value,
    /// The digest of what the models are asked.
    pub key: Key,
    /// The question, filled in.
    pub question: String,
    /// Its options.
    pub options: Vec<String>,
    /// True if the row has no text, so that the models are not asked about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_empty: bool,
}

impl LabelSettings {
    /// Reads the question of a row. `panel` names the models and their version.
    pub(crate) fn question(&self, row: Row, panel: &str) -> anyhow::Result<RowQuestion> {
        let number = row.number;
        let SourceQuestion { id, question, options } = match &self.questions {
            Questions::Columns { question, options, id } => {
                of_columns(&row, question, options, id.as_deref())?
            }
            Questions::Requests { requests: RequestForm::BatchLines } => {
                (self.read_request)(&row).with_context(|| format!("row {number}"))?
            }
        };
        let is_empty = !self.asks_empty
            && matches!(&self.questions, Questions::Columns { question, .. } if question.is_empty_for(&row));
        if !is_empty {
            Question::new(&question).with_context(|| format!("row {number}: the question"))?;
        }
        if let Err(error) = Options::new(&options) {
            return Err(self.wrong_options(&error.to_string(), number));
        }
        let text = id.as_ref().map(text_of);
        let mut key = digest(&json!([2, text, question, options, panel, self.round]));
        if is_empty {
            // Once the models are asked about it, the row gets another key, and so another label.
            key = digest(&json!([key, "empty"]));
        }
        let id = id.unwrap_or_else(|| String::from(key).into());
        Ok(RowQuestion { row, id, key, question, options, is_empty })
    }
}

impl LabelSettings {
    /// Returns the error of the options of a row, under the name of the flag or the column that they come from.
    fn wrong_options(&self, error: &str, row: u64) -> anyhow::Error {
        let source = match &self.questions {
            Questions::Columns { options: OptionsOf::All(_), .. } => "--options".to_owned(),
            Questions::Columns { options: OptionsOf::Column(column), .. } => {
                format!("row {row}: column {column}")
            }
            Questions::Requests { .. } => return anyhow!("row {row}: {error}"),
        };
        anyhow!(options_as_typed(error, &source))
    }
}

impl RowQuestion {
    /// Returns the id as text, which is the same for a number and its text.
    pub(crate) fn id_text(&self) -> String {
        text_of(&self.id)
    }

    /// Refuses the label of a person that is none of the options.
    pub(crate) fn check_label(&self, label: &str) -> anyhow::Result<()> {
        if self.options.iter().any(|option| option == label) {
            return Ok(());
        }
        bail!(
            "row {}: the label {label:?} is none of the options {}",
            self.row.number,
            self.options.join(", ")
        );
    }

    /// Returns the poll of the row: complete, private, and at most this expensive.
    pub(crate) fn request(&self, panel: &Panel, at_most: MicroUsd) -> Value {
        let mut request = Map::new();
        request.insert("question".to_owned(), json!(self.question));
        request.insert("options".to_owned(), json!(self.options));
        request.insert("complete".to_owned(), true.into());
        request.insert("private".to_owned(), true.into());
        // A free poll has a positive limit, too.
        request.insert("max_cost_usd".to_owned(), json!(Usd(at_most.max(MicroUsd::new(1)))));
        panel.add_with_order(&mut request);
        Value::Object(request)
    }

    /// Returns the bytes of the prompt that depend on the row, as [`Plan`](ep_polling::plan::Plan) counts them.
    pub(crate) fn bytes(&self) -> usize {
        self.question.len() + 3 * self.options.iter().map(|option| option.len() + 16).sum::<usize>()
    }
}

/// Fills in the question about a row.
fn of_columns(
    row: &Row,
    question: &Template,
    options: &OptionsOf,
    id: Option<&str>,
) -> anyhow::Result<SourceQuestion> {
    if row.is_batch_line() {
        bail!(
            "row {}: this is a request of a batch, with a question of its own; leave --question, --options and --id out",
            row.number
        );
    }
    let question = question.fill(row)?;
    let options = match options {
        OptionsOf::All(options) => options.clone(),
        OptionsOf::Column(column) => listed(row, column)?,
    };
    let id = id.map(|column| row.field(column).cloned().ok_or_else(|| row.no_column(column)));
    Ok(SourceQuestion { id: id.transpose()?, question, options })
}

/// Returns the digest of a value.
pub(crate) fn digest(content: &Value) -> Key {
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

#[cfg(test)]
mod tests {
    use ep_polling::TieRule;

    use super::*;

    fn settings(options: OptionsOf, id: Option<&str>) -> LabelSettings {
        LabelSettings {
            questions: Questions::Columns {
                question: Template::parse("Is {text} good?").unwrap(),
                options,
                id: id.map(str::to_owned),
            },
            panel: Panel::Preset("budget".to_owned()),
            on_tie: TieRule::Report,
            round: 1,
            asks_empty: false,
            read_request: |_| unreachable!("the rows are no requests"),
        }
    }

    fn row(fields: Value) -> Row {
        Row { number: 1, fields: fields.as_object().unwrap().clone() }
    }

    #[test]
    fn keys_change_with_everything_that_is_asked() {
        let options = || OptionsOf::All(vec!["a".to_owned(), "b".to_owned()]);
        let one = row(json!({ "text": "x", "n": 1, "other": 1 }));
        let key = |settings: &LabelSettings, row: &Row, panel: &str| {
            settings.question(row.clone(), panel).unwrap().key
        };
        let first = key(&settings(options(), Some("n")), &one, "p");
        // Other columns do not matter, nor whether an id is a number or a text.
        assert_eq!(first, key(&settings(options(), Some("n")), &row(json!({ "text": "x", "n": "1" })), "p"));
        let strongest = LabelSettings { on_tie: TieRule::Strongest, ..settings(options(), Some("n")) };
        assert_eq!(first, key(&strongest, &one, "p"), "another rule for ties asks nobody");
        let swapped = OptionsOf::All(vec!["b".to_owned(), "a".to_owned()]);
        for other in [
            key(&settings(options(), Some("n")), &one, "q"),
            key(&settings(options(), None), &one, "p"),
            key(&settings(swapped, Some("n")), &one, "p"),
            key(&settings(options(), Some("n")), &row(json!({ "text": "x", "n": 2 })), "p"),
            key(&settings(options(), Some("n")), &row(json!({ "text": "y", "n": 1 })), "p"),
            key(&LabelSettings { round: 2, ..settings(options(), Some("n")) }, &one, "p"),
        ] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn a_row_without_a_text_is_asked_only_if_wanted() {
        let asked = |asks_empty: bool, text: &str| {
            let settings =
                LabelSettings { asks_empty, ..settings(OptionsOf::All(vec!["a".into(), "b".into()]), None) };
            settings.question(row(json!({ "text": text })), "p").unwrap()
        };
        assert!(
            asked(false, " \t").is_empty && !asked(true, " \t\n").is_empty && !asked(false, "x").is_empty
        );
        assert_ne!(asked(false, "  ").key, asked(true, "  ").key);
        assert_eq!(asked(false, "x").key, asked(true, "x").key);
    }

    #[test]
    fn options_come_from_a_column() {
        let listed = |choices: Value| {
            let settings = settings(OptionsOf::Column("choices".to_owned()), None);
            settings.question(row(json!({ "text": "x", "choices": choices })), "p").map(|asked| asked.options)
        };
        assert_eq!(listed(json!("a | b|c")).unwrap(), ["a", "b", "c"]);
        assert_eq!(listed(json!(["a|b", "c"])).unwrap(), ["a|b", "c"]);
        assert!(listed(json!("[1, 2]")).is_err());
    }

    #[test]
    fn wrong_options_name_the_flag_or_the_column() {
        let error = |options: OptionsOf| {
            let row = row(json!({ "text": "x", "choices": "yes|yes" }));
            settings(options, None).question(row, "p").unwrap_err().to_string()
        };
        let same = "option 2 is the same as option 1; change or remove one of them";
        let typed = || OptionsOf::All(vec!["yes".to_owned(), "yes".to_owned()]);
        assert_eq!(error(typed()), format!("--options: {same}"));
        assert_eq!(error(OptionsOf::Column("choices".to_owned())), format!("row 1: column choices: {same}"));
        let one = error(OptionsOf::All(vec!["yes".to_owned()]));
        assert!(one.starts_with("--options: add at least one more option"), "{one}");
    }
}
