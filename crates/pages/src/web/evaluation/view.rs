//! The data of the page of an evaluation.

use askama::Template;
use ep_polling::Timestamp;
use ep_polling::evaluation::report::Evaluation;
use ep_site::Site;
use ep_site::layout::{AccuracyPlot, HeaderVisitor, Layout, Renders, one_line, own};
use ep_site::names::{EVALUATION_FORMS, EVALUATION_PAGE, LABELS_GUIDE};
use ep_tools::evaluations::{ReadEvaluation, StoredEvaluation};

use crate::web::account::Moment;

/// The page of an evaluation.
#[derive(Template)]
#[template(path = "web/evaluation/evaluation.html")]
pub struct EvaluationPage<'a> {
    page: Layout<'a>,
    stored: StoredEvaluation,
    evaluation: Evaluation,
    headline: String,
    note: String,
    plot: AccuracyPlot,
    created: Moment,
    /// The forms, for the owner.
    forms: Option<Forms>,
    guide: Option<String>,
    /// The address of the page with its host, to copy and to print.
    link: String,
}

/// The page of an evaluation in Markdown.
#[derive(Template)]
#[template(path = "web/evaluation/evaluation.md")]
struct EvaluationText<'a> {
    stored: &'a StoredEvaluation,
    evaluation: &'a Evaluation,
    headline: &'a str,
    note: &'a str,
}

struct Forms {
    nonce: String,
    sharing: String,
    deletion: String,
}

impl<'a> EvaluationPage<'a> {
    /// Creates the page for a visitor.
    pub fn new(
        site: &'a Site,
        found: ReadEvaluation,
        visitor: Option<HeaderVisitor>,
        nonce: String,
        now: Timestamp,
    ) -> Self {
        let ReadEvaluation { stored, own: is_own, report } = found;
        let url = |name: &str| own(&site.links.url(name, &[]));
        let (sharing, deletion) = EVALUATION_FORMS;
        let about = format!("Models judged on {} labelled rows: accuracy against cost.", report.rows);
        let page = Layout::new(site, stored.title.clone(), about);
        Self {
            page: Layout { noindex: true, visitor, ..page },
            headline: headline(&report),
            note: note(&report),
            link: site.links.url(EVALUATION_PAGE, &[("evaluation_id", &stored.evaluation_id.to_string())]),
            plot: AccuracyPlot::of(&report),
            created: Moment::new(stored.created_at, now),
            forms: is_own.then(|| Forms { nonce, sharing: url(sharing), deletion: url(deletion) }),
            guide: site.url_of(LABELS_GUIDE).map(|url| own(&url)),
            evaluation: report,
            stored,
        }
    }
}

impl EvaluationText<'_> {
    fn name(&self) -> String {
        one_line(&self.stored.title)
    }
}

impl Renders for EvaluationPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        let Self { stored, evaluation, headline, note, .. } = self;
        EvaluationText { stored, evaluation, headline, note }.render()
    }
}

/// Returns the result of the panel to prove.
fn headline(report: &Evaluation) -> String {
    let Some(panel) = report.proposed().filter(|_| report.is_recommended()) else {
        return "No panel was clearly better than a guess".to_owned();
    };
    let (who, were) = match &report.to_prove[..] {
        [one] => (one.clone(), "was"),
        [_, _, _] => ("The best three models".to_owned(), "were"),
        best => (format!("The best {} models", best.len()), "were"),
    };
    format!("{who} {were} right on {:.0} % of rows", panel.accuracy * 100.0)
}

/// Returns the panel to prove, or the advice of the evaluation.
fn note(report: &Evaluation) -> String {
    if report.to_prove.len() < 2 || !report.is_recommended() {
        return report.advice();
    }
    format!(
        "The panel is {}; ties go to the strongest. {}",
        report.to_prove.join(", "),
        report.without_models()
    )
}
