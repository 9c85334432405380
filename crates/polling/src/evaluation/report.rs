//! The report of an evaluation: models and panels judged on gold labels, as figures for people and programs.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::evaluation::constant::{Constant, Verdict};

/// Models and panels judged on rows that a person labelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Rows with a label by hand.
    pub rows: u32,
    /// The models, the most accurate first.
    pub models: Vec<Candidate>,
    /// Panels of the strongest models, and all models.
    pub panels: Vec<Candidate>,
    /// The most probable option by weights of all models; null if there are too few rows to fit weights.
    pub weighted: Option<Candidate>,
    /// The number of independent votes that all models are worth; null if it is not defined.
    pub effective_votes: Option<f64>,
    /// The mean correlation of the errors of two models, from which it is computed.
    pub error_correlation: Option<f64>,
    /// The accuracy without a model: of a random option, or of the most frequent label.
    pub guess: f64,
    /// The panel to prove, compared with the most frequent label alone; null if no two rows have the same label. Reports of
    /// earlier releases lack it.
    #[serde(default)]
    pub constant: Option<Constant>,
    /// The models to prove, the most accurate first.
    pub to_prove: Vec<String>,
    /// The rows on which these models and the person differ, in the order of the gold file.
    pub differences: Vec<Difference>,
    /// True if the voters are simulated.
    pub simulated: bool,
}

/// The figures of a model or a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its models, the most accurate first.
    pub models: Vec<String>,
    /// Rows with the right label. For a panel that was chosen by accuracy: on rows that did not choose it.
    pub right: u64,
    /// The share of the rows with the right label.
    pub accuracy: f64,
    /// The 95 % interval of the accuracy.
    pub interval: [f64; 2],
    /// The share of the rows on which it voted.
    pub voted: f64,
    /// The known cost of 1,000 labels, in USD.
    pub usd_per_1000: f64,
    /// The mean time of its slowest model, in milliseconds.
    pub mean_ms: f64,
}

/// A row on which the panel to prove and the person differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The row's number in the gold file.
    pub row: u64,
    /// The row's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The label of the person.
    pub gold: String,
    /// The label of the panel; null without one.
    pub label: Option<String>,
}

/// Maximum numbers of models, panels and differences of a report.
const MOST: (usize, usize, usize) = (200, 10, 1_000);
/// Maximum length of a name or label, and of a question, in characters.
const LONGEST: (usize, usize) = (512, 20_000);

/// The error of a report that cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct NotAReport {
    /// The field.
    pub field: &'static str,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl Evaluation {
    /// Checks a report of somebody else: its sizes and ranges, not its figures.
    pub fn check(&self) -> Result<(), NotAReport> {
        let (models, panels, differences) = MOST;
        let wrong = |field, rule| Err(NotAReport { field, rule });
        if self.rows == 0 || self.models.is_empty() || self.models.len() > models {
            return wrong("models", "must be 1 to 200, judged on at least one row");
        }
        if self.panels.is_empty() || self.panels.len() > panels {
            return wrong("panels", "must be 1 to 10");
        }
        if self.differences.len() > differences {
            return wrong("differences", "must be at most 1,000");
        }
        let known: HashSet<&str> = self.models.iter().map(|model| model.name.as_str()).collect();
        let is_model = |name: &String| known.contains(name.as_str());
        if !self.candidates().all(|candidate| candidate.models.len() <= models)
            || self.to_prove.len() > models
        {
            return wrong("models", "must list at most 200 models each");
        }
        if self.candidates().any(|candidate| candidate.right > u64::from(self.rows)) {
            return wrong("models", "must have at most as many right rows as there are rows");
        }
        if self.to_prove.is_empty() || !self.to_prove.iter().all(is_model) {
            return wrong("to_prove", "must name models of the report");
        }
        if !self.candidates().all(Candidate::is_in_range) || !is_share(self.guess) {
            return wrong(
                "models",
                "must have shares from 0 to 1, and costs and times that are not negative",
            );
        }
        if !self.constant.as_ref().is_none_or(|constant| constant.is_consistent(self.rows.into())) {
            return wrong(
                "constant",
                "must have a p-value and a verdict that follow from its wins and losses",
            );
        }
        let (name, question) = LONGEST;
        let fits = |text: &str, most: usize| text.chars().count() <= most;
        let names = self.candidates().flat_map(|candidate| candidate.models.iter().chain([&candidate.name]));
        let labels = self.differences.iter().flat_map(|row| row.label.iter().chain([&row.id, &row.gold]));
        let constant = self.constant.iter().map(|constant| &constant.label);
        if !names
            .chain(labels)
            .chain(constant)
            .all(|text| fits(text, name) && !text.contains(char::is_control))
        {
            return wrong("models", "must have names and labels of at most 512 characters in one line");
        }
        if !self.differences.iter().all(|row| fits(&row.question, question)) {
            return wrong("differences", "must have questions of at most 20,000 characters");
        }
        Ok(())
    }

    /// Returns the panels, the weighted one, and the models, in this order.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.panels.iter().chain(&self.weighted).chain(&self.models)
    }

    /// Returns the candidate that estimates the panel to prove.
    pub fn proposed(&self) -> Option<&Candidate> {
        let size = self.to_prove.len();
        self.candidates().find(|candidate| candidate.models.len() == size)
    }

    /// True if the panel to prove is more often right than a guess and than the most frequent label alone, with 95 %
    /// confidence, or if too few rows tell it from that label.
    pub fn is_recommended(&self) -> bool {
        let is_above_guess = || self.proposed().is_some_and(|panel| panel.interval[0] > self.guess);
        match &self.constant {
            Some(constant) if constant.verdict == Verdict::Better || constant.lacks_rows() => true,
            Some(constant) if constant.verdict == Verdict::Worse => false,
            _ => is_above_guess(),
        }
    }

    /// Returns the panels and the models that no other one beats in both accuracy and cost, the cheapest first.
    pub fn frontier(&self) -> Vec<&Candidate> {
        let mut all: Vec<&Candidate> = self.candidates().collect();
        all.sort_by(|one, two| {
            one.usd_per_1000.total_cmp(&two.usd_per_1000).then(two.accuracy.total_cmp(&one.accuracy))
        });
        let mut best = f64::NEG_INFINITY;
        all.retain(|candidate| {
            let is_better = candidate.accuracy > best;
            best = best.max(candidate.accuracy);
            is_better
        });
        all
    }

    /// Returns the comparison with labels that need no model, in words.
    pub fn without_models(&self) -> String {
        if let Some(constant) = &self.constant {
            return constant.sentence();
        }
        format!("A guess, or the most frequent label alone, is right on {:.0} % of rows.", self.guess * 100.0)
    }

    /// Returns the panel to prove, in one sentence, and the comparison with labels that need no model.
    pub fn advice(&self) -> String {
        let names = self.to_prove.join(", ");
        if !self.is_recommended() {
            let tested = self
                .constant
                .as_ref()
                .map_or_else(String::new, |constant| " ".to_owned() + &constant.sentence());
            return format!(
                "No panel here is clearly better than a guess or the most frequent label ({:.0} %): use other models, or a \
                 clearer question.{tested}",
                self.guess * 100.0
            );
        }
        let panel = match self.to_prove.len() {
            1 if self.models.len() > 2 => format!("One model is better than every panel here: use {names}."),
            1 => format!(
                "Fewer than three models make no panel: the better one is {names}. Evaluate more models."
            ),
            3 => format!("Prove the best three models, ties to the strongest: {names}."),
            size => format!("Prove the best {size} models, ties to the strongest: {names}."),
        };
        format!("{panel} {}", self.without_models())
    }
}

impl Candidate {
    fn is_in_range(&self) -> bool {
        let [low, high] = self.interval;
        let shares = [self.accuracy, low, high, self.voted];
        let amounts = [self.usd_per_1000, self.mean_ms];
        shares.into_iter().all(is_share)
            && low <= high
            && amounts.into_iter().all(|amount| (0.0..1e12).contains(&amount))
    }
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of a report.
    type Change = fn(&mut Evaluation);

    fn candidate(name: &str, models: &[&str], accuracy: f64, usd_per_1000: f64) -> Candidate {
        Candidate {
            name: name.to_owned(),
            models: models.iter().map(|&model| model.to_owned()).collect(),
            right: 1,
            accuracy,
            interval: [accuracy - 0.1, accuracy],
            voted: 1.0,
            usd_per_1000,
            mean_ms: 1.0,
        }
    }

    fn report() -> Evaluation {
        Evaluation {
            rows: 50,
            models: vec![candidate("a", &["a"], 0.9, 2.0), candidate("b", &["b"], 0.7, 1.0)],
            panels: vec![candidate("both", &["a", "b"], 0.8, 3.0)],
            weighted: None,
            effective_votes: None,
            error_correlation: None,
            guess: 0.5,
            constant: None,
            to_prove: vec!["a".to_owned()],
            differences: Vec::new(),
            simulated: false,
        }
    }

    #[test]
    fn the_frontier_has_what_nothing_beats() {
        let report = report();
        let frontier = report.frontier().iter().map(|candidate| &*candidate.name).collect::<Vec<_>>();
        assert_eq!(frontier, ["b", "a"]);
        assert!(report.is_recommended());
        assert!(report.advice().starts_with("Fewer than three models"));
        assert!(report.advice().ends_with("the most frequent label alone, is right on 50 % of rows."));
        assert!(Evaluation { guess: 0.8, ..report }.advice().starts_with("No panel here"));
    }

    #[test]
    fn the_most_frequent_label_decides_whether_a_panel_is_recommended() {
        // 50 rows, of which one in ten is rare. The panel finds some of them, and errs on some others.
        let advice = |found: usize, errors: usize| {
            let gold = [vec!["ok"; 45], vec!["spam"; 5]].concat();
            let is_right: Vec<bool> = (0..50).map(|row| (errors..45 + found).contains(&row)).collect();
            let constant = Constant::of(&gold, &is_right);
            Evaluation { guess: 0.9, constant, ..report() }.advice()
        };
        let perfect = advice(5, 0);
        assert!(perfect.contains("are more often right than always saying “ok” (90 % right)"), "{perfect}");
        let undecided = advice(1, 0);
        assert!(undecided.starts_with("Fewer than three models"), "{undecided}");
        assert!(undecided.contains("are not shown to be more often right"), "{undecided}");
        let worse = advice(0, 6);
        assert!(worse.starts_with("No panel here is clearly better"), "{worse}");
        assert!(worse.contains("are less often right than always saying “ok”"), "{worse}");
    }

    #[test]
    fn reports_of_others_are_checked() {
        assert_eq!(report().check(), Ok(()));
        let wrong: [(&str, Change); 8] = [
            ("constant", |report| {
                report.constant = Constant::of(&["a"; 3], &[true; 3]);
                report.constant.iter_mut().for_each(|constant| constant.p_value = 0.0);
            }),
            ("models", |report| report.rows = 0),
            ("models", |report| report.models.clear()),
            ("panels", |report| report.panels.clear()),
            ("to_prove", |report| report.to_prove = vec!["c".to_owned()]),
            ("models", |report| report.models[0].accuracy = 1.1),
            ("models", |report| report.models[0].usd_per_1000 = f64::NAN),
            ("models", |report| report.panels[0].name = "x".repeat(513)),
        ];
        for (field, change) in wrong {
            let mut report = report();
            change(&mut report);
            assert_eq!(report.check().unwrap_err().field, field, "{report:?}");
        }
    }
}
