//! Data of the page about calibration.

use askama::Template;
use ep_kernel::Tool;
use ep_polling::AgreementLevel;
use ep_site::Site;
use ep_site::layout::{Layout, one_line};
use ep_site::names::{CALIBRATION_MARKDOWN, CALIBRATION_PAGE, OPERATION_PAGE};
use ep_tools::feedback::SubmitFeedback;
use ep_tools::reputation::{Calibration, GetCalibration, LevelCalibration};

use crate::web::models::preset_title;

/// Description of the page.
const DESCRIPTION: &str =
    "How often the outcomes of polls were right, by the agreement of the models, as people judged them.";
/// Length of the bar of a share of 100 %, in units of the picture.
const BAR: f64 = 140.0;

/// The page about calibration.
#[derive(Template)]
#[template(path = "web/calibration/calibration.html")]
pub(super) struct CalibrationPage<'a> {
    page: Layout<'a>,
    view: View,
}

/// Data of the templates.
#[derive(Template)]
#[template(path = "web/calibration/calibration.md")]
struct View {
    /// Panels with figures for any level.
    panels: Vec<Panel>,
    minimum: i64,
    caveat: String,
    simulated: bool,
    /// Absolute URLs of the manual of feedback and of the figures as JSON.
    judging: String,
    json: String,
}

struct Panel {
    /// An id that is unique on the page.
    id: String,
    name: String,
    rows: Vec<Row>,
}

struct Row {
    level: &'static str,
    judged: i64,
    figures: Option<Figures>,
}

/// The figures of a level with enough judged polls.
struct Figures {
    /// "24 of 30".
    right: String,
    /// "80.0 %".
    share: String,
    /// "61.4 to 92.3 %".
    interval: String,
    bar: Bar,
}

/// Horizontal positions in the picture of an interval.
struct Bar {
    low: String,
    share: String,
    high: String,
}

impl<'a> CalibrationPage<'a> {
    /// Creates the page from the output of [`GetCalibration`].
    pub(super) fn new(site: &'a Site, calibration: Calibration) -> Self {
        let view = View::new(site, calibration);
        let page = Layout::new(site, "How often is agreement right?".to_owned(), DESCRIPTION.to_owned());
        let url = |name| Some(site.links.url(name, &[]));
        let page = Layout { canonical: url(CALIBRATION_PAGE), markdown: url(CALIBRATION_MARKDOWN), ..page };
        Self { page, view }
    }

    /// Renders the page as Markdown.
    pub(super) fn markdown(&self) -> askama::Result<String> {
        self.view.render()
    }
}

impl View {
    fn new(site: &Site, calibration: Calibration) -> Self {
        let judging = site.links.url(OPERATION_PAGE, &[("operation", SubmitFeedback::SPEC.name)]);
        let json = site.links.url(GetCalibration::SPEC.name, &[]);
        let panels = calibration.panels.iter().enumerate().map(|(index, panel)| Panel {
            id: format!("panel-{index}"),
            name: preset_title(&panel.panel),
            rows: panel.levels.iter().map(Row::new).collect(),
        });
        Self {
            panels: panels.filter(|panel| panel.rows.iter().any(|row| row.figures.is_some())).collect(),
            minimum: calibration.minimum_judged,
            caveat: calibration.caveat,
            simulated: site.settings.offer.simulated(),
            judging,
            json,
        }
    }
}

impl Panel {
    /// Returns the name in one line of Markdown.
    fn name_in_line(&self) -> String {
        one_line(&self.name)
    }
}

impl Row {
    fn new(level: &LevelCalibration) -> Self {
        Self { level: in_words(level.level), judged: level.judged, figures: Figures::new(level) }
    }
}

impl Figures {
    fn new(level: &LevelCalibration) -> Option<Self> {
        let (right, share, interval) = (level.right?, level.share?, level.interval?);
        let place = |share: f64| format!("{:.1}", share * BAR);
        Some(Self {
            right: format!("{right} of {}", level.judged),
            share: format!("{:.1} %", share * 100.0),
            interval: format!("{:.1} to {:.1} %", interval.low * 100.0, interval.high * 100.0),
            bar: Bar { low: place(interval.low), share: place(share), high: place(interval.high) },
        })
    }
}

/// Returns the share of the models that voted for the winner in words.
const fn in_words(level: AgreementLevel) -> &'static str {
    match level {
        AgreementLevel::Unanimous => "All models",
        AgreementLevel::TwoThirds => "At least two thirds",
        AgreementLevel::BelowTwoThirds => "Less than two thirds",
    }
}
