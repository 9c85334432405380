//! Reads recorded votes from CSV. Shared by the example, the benchmark and the acceptance tests.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;

use serde::Deserialize;

/// The recorded votes of a panel on a set of questions.
#[derive(Debug)]
pub(crate) struct RecordedVotes {
    /// The number of distinct choices.
    pub(crate) options: usize,
    /// The number of models: the size of the roster.
    pub(crate) models: usize,
    /// The choices of all models by question id, as indices; `None` is a failure.
    pub(crate) questions: BTreeMap<String, Vec<Option<usize>>>,
}

#[derive(Deserialize)]
struct Row {
    question_id: String,
    model: String,
    choice: String,
}

impl RecordedVotes {
    /// Reads rows with the columns `question_id`, `model` and `choice`; other columns are ignored. A
    /// (question, model) pair without a row, or with an empty choice, is a failure: a call without a vote.
    pub(crate) fn read(csv: impl Read) -> Result<Self, Box<dyn Error>> {
        let (mut models, mut options) = (Indices::default(), Indices::default());
        let mut questions: BTreeMap<String, BTreeMap<usize, Option<usize>>> = BTreeMap::new();
        for row in csv::Reader::from_reader(csv).into_deserialize() {
            let Row { question_id, model, choice } = row?;
            let choice = (!choice.is_empty()).then(|| options.index_of(choice));
            let answers = questions.entry(question_id.clone()).or_default();
            if answers.insert(models.index_of(model.clone()), choice).is_some() {
                return Err(format!("two rows for question {question_id}, model {model}").into());
            }
        }
        let models = models.0.len();
        let complete = |answers: BTreeMap<usize, Option<usize>>| {
            (0..models).map(|model| answers.get(&model).copied().flatten()).collect()
        };
        Ok(Self {
            options: options.0.len(),
            models,
            questions: questions.into_iter().map(|(id, answers)| (id, complete(answers))).collect(),
        })
    }
}

/// A map from names to numbers, in order of first occurrence.
#[derive(Default)]
struct Indices(BTreeMap<String, usize>);

impl Indices {
    fn index_of(&mut self, name: String) -> usize {
        let next = self.0.len();
        *self.0.entry(name).or_insert(next)
    }
}
