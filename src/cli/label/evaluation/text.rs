//! An evaluation as text.

use std::fmt::Write;

use ep_polling::evaluation::effective_votes::formula;
use ep_polling::evaluation::report::{Candidate, Difference, Evaluation};

/// The most rows that are listed.
const SHOWN: usize = 10;
/// The most characters of a question that are shown.
const QUESTION: usize = 100;

/// Returns the table and the advice.
pub(super) fn text_of(evaluation: &Evaluation) -> String {
    let mut text = format!(
        "Estimates from {} labelled rows. Panels are judged on rows that did not choose their models.\n\n",
        evaluation.rows
    );
    let width = evaluation.candidates().map(|candidate| candidate.name.len()).max().unwrap_or(0).max(5);
    let _ = writeln!(
        text,
        "{:<width$}  {:>6}  {:>13}  {:>7}  {:>12}  {:>8}",
        "", "right", "95 % interval", "voted", "1,000 labels", "time"
    );
    for candidate in evaluation.panels.iter().chain(&evaluation.weighted) {
        line(&mut text, candidate, width);
    }
    text.push('\n');
    for candidate in &evaluation.models {
        line(&mut text, candidate, width);
    }
    if let Some((votes, correlation)) = evaluation.effective_votes.zip(evaluation.error_correlation) {
        let models = evaluation.models.len();
        let _ = writeln!(
            text,
            "\nThe {models} models are worth {votes:.1} independent votes: {}.",
            formula(correlation)
        );
    }
    text.push_str("\nA panel can be less often right here than its best model in the list: it is judged on rows that did not choose \
         it.\n");
    list_differences(evaluation, &mut text);
    if evaluation.simulated {
        text.push_str("\nThese voters are simulated: the figures mean nothing.\n");
    }
    let _ = write!(text, "\n{}", evaluation.advice());
    text
}

/// Appends the rows on which the panel to prove and the person differ.
fn list_differences(evaluation: &Evaluation, text: &mut String) {
    if evaluation.differences.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nRows that you and the panel to prove label differently ({} of {}). Use them to improve the question; they prove \
         nothing:",
        evaluation.differences.len(),
        evaluation.rows
    );
    for Difference { id, question, gold, label, .. } in evaluation.differences.iter().take(SHOWN) {
        let label = label.as_deref().unwrap_or("no label");
        let question: String = question.chars().take(QUESTION).collect();
        let _ = writeln!(text, "  {id}: you {gold}, the panel {label}: {}", question.replace('\n', " "));
    }
    if evaluation.differences.len() > SHOWN {
        let _ = writeln!(
            text,
            "  and {} more (--json and --page have all)",
            evaluation.differences.len() - SHOWN
        );
    }
}

/// Returns the arguments of `ep label` for the models to prove. A single one votes beside the next best, because a poll
/// has two models at least.
pub(super) fn arguments_to_prove(evaluation: &Evaluation) -> Vec<String> {
    let models = evaluation.models.iter().map(|model| &model.name).take(evaluation.to_prove.len().max(2));
    let mut arguments: Vec<String> = models.flat_map(|model| ["--model".to_owned(), model.clone()]).collect();
    arguments.extend(["--on-tie".to_owned(), "strongest".to_owned()]);
    if evaluation.to_prove.len() == 1 {
        arguments.extend(["--sizes".to_owned(), "1".to_owned()]);
    }
    arguments
}

fn line(text: &mut String, candidate: &Candidate, width: usize) {
    let [low, high] = candidate.interval.map(|share| format!("{:.0}", share * 100.0));
    let _ = writeln!(
        text,
        "{:<width$}  {:>4.0} %  {:>13}  {:>5.0} %  {:>12}  {:>5.1} s",
        candidate.name,
        candidate.accuracy * 100.0,
        format!("{low}-{high} %"),
        candidate.voted * 100.0,
        format!("${:.4}", candidate.usd_per_1000),
        candidate.mean_ms / 1000.0
    );
}
