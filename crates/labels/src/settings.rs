//! The settings of a run: the question, its options, the panel and the tie rule.

use ep_polling::TieRule;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::files::table::Row;
use crate::files::template::Template;

/// The settings that all rows share.
pub struct LabelSettings {
    /// The source of the questions.
    pub questions: Questions,
    /// The models.
    pub panel: Panel,
    /// The rule for ties.
    pub on_tie: TieRule,
    /// The round of votes: another one asks the models anew.
    pub round: u32,
    /// True if the models are asked about rows without a text, too.
    pub asks_empty: bool,
    /// The reader of rows that are requests.
    pub read_request: ReadRequest,
}

/// Reads the question of a row that is a request of an API, which another package knows. Fails unless the request decides
/// exactly one field.
pub type ReadRequest = fn(&Row) -> anyhow::Result<SourceQuestion>;

/// The source of the rows' questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Questions {
    /// A question about the columns of the rows.
    Columns {
        /// The question, with the names of columns.
        question: Template,
        /// The options.
        options: OptionsOf,
        /// The column with the row's id; without one, the content is the id.
        id: Option<String>,
    },
    /// The rows are requests, each with its question, options and id.
    Requests {
        /// Their form.
        requests: RequestForm,
    },
}

/// The form of rows that are requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestForm {
    /// Lines of a batch of OpenAI's API.
    BatchLines,
}

impl Questions {
    /// True if the rows have ids, so that equal rows are labelled each.
    pub const fn have_ids(&self) -> bool {
        match self {
            Self::Columns { id, .. } => id.is_some(),
            Self::Requests { .. } => true,
        }
    }
}

/// The question of a row, as its source has it.
pub struct SourceQuestion {
    /// The row's id, if it has one.
    pub id: Option<Value>,
    /// The question, filled in.
    pub question: String,
    /// Its options.
    pub options: Vec<String>,
}

/// The options of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionsOf {
    /// The same for all rows.
    All(Vec<String>),
    /// Those in a column: a JSON list, or texts separated by `|`.
    Column(String),
}

/// The models that vote on every row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Panel {
    /// A preset.
    Preset(String),
    /// These models, the strongest first.
    Models(Vec<String>),
}

impl Panel {
    /// True if the models are in the order of their strength.
    pub(crate) const fn has_order(&self) -> bool {
        matches!(self, Self::Models(_))
    }

    /// Returns the place of a model among those of --model; the same for all models of a preset.
    pub(crate) fn rank(&self, model: &str) -> usize {
        match self {
            Self::Preset(_) => 0,
            Self::Models(models) => {
                models.iter().position(|name| name.eq_ignore_ascii_case(model)).unwrap_or(models.len())
            }
        }
    }

    /// Adds the panel to a request for polls. If its models have an order, the polls know which model is the strongest, so that
    /// their results are contested like the labels; a tie is decided here.
    pub(crate) fn add_with_order(&self, request: &mut Map<String, Value>) {
        self.add_to(request);
        if self.has_order() {
            request.insert("on_tie".to_owned(), json!(TieRule::Review));
        }
    }

    /// Adds the panel to a request, or to a row of one.
    pub(crate) fn add_to(&self, request: &mut Map<String, Value>) {
        match self {
            Self::Preset(preset) => request.insert("preset".to_owned(), json!(preset)),
            Self::Models(models) => request.insert("models".to_owned(), json!(models)),
        };
    }
}
