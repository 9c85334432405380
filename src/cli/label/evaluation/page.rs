//! An evaluation as a page of its own, which needs no server and no script.

use askama::Template;
use ep_polling::evaluation::report::Evaluation;
use ep_site::layout::AccuracyPlot;

use crate::cli::printable::printable;

/// The page.
#[derive(Template)]
#[template(path = "cli/label/evaluation/page.html")]
struct Page<'e> {
    evaluation: &'e Evaluation,
    advice: String,
    command: &'e str,
    gold: &'e str,
    plot: AccuracyPlot,
}

/// Returns the page of an evaluation. `gold` is the name of the file of gold rows, and `command` proves the panel.
pub(super) fn page_of(evaluation: &Evaluation, gold: &str, command: &str) -> Result<String, askama::Error> {
    let (gold, command) = (&*printable(gold), &*printable(command));
    Page { evaluation, advice: evaluation.advice(), command, gold, plot: AccuracyPlot::of(evaluation) }
        .render()
}
