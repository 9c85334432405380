//! The data of the page of an evaluation.

use askama::Template;
use ep_evaluation::report::Evaluation;
use ep_polling::time::Timestamp;
use ep_tools::evaluations::{ReadEvaluation, StoredEvaluation};

use crate::layout::{AccuracyPlot, HeaderVisitor, Layout, Renders, one_line, own};
use crate::site::Site;
use crate::site::names::{EVALUATION_FORMS, LABELS_GUIDE};
use crate::web::account::Moment;

/// The page of an evaluation.
#[derive(Template)]
#[template(path = "web/evaluation/evaluation.html")]
pub struct EvaluationPage<'a> {
    page: Layout<'a>,
    stored: StoredEvaluation,
    evaluation: Evaluation,
    advice: String,
    plot: AccuracyPlot,
    created: Moment,
    /// The forms, for the owner.
    forms: Option<Forms>,
    guide: Option<String>,
}

/// The page of an evaluation in Markdown.
#[derive(Template)]
#[template(path = "web/evaluation/evaluation.md")]
struct EvaluationText<'a> {
    stored: &'a StoredEvaluation,
    evaluation: &'a Evaluation,
    advice: &'a str,
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
            advice: report.advice(),
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
    fn html(&self) -> askama::Result<String> {
        self.render()
    }

    fn markdown(&self) -> askama::Result<String> {
        EvaluationText { stored: &self.stored, evaluation: &self.evaluation, advice: &self.advice }.render()
    }
}
