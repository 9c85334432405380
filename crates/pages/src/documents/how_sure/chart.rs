//! Line charts as SVG, each with a table of its data.

use askama::Template;

use super::plot::{BOTTOM, HEIGHT, LEFT, RIGHT, Range, TOP, Tick, WIDTH, per_cent};

/// A chart with its table.
pub(super) struct Chart {
    /// An id that is unique on the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// A text alternative for the picture, in one sentence.
    pub(super) description: String,
    /// The labels of the axes.
    pub(super) across: &'static str,
    pub(super) upwards: &'static str,
    /// The places at which the lines have points.
    pub(super) places: Places,
    /// The lowest value of the vertical axis, in per cent.
    pub(super) from: f64,
    pub(super) lines: Vec<Line>,
    pub(super) columns: Vec<String>,
    /// The table's rows; the first cell is the row's label.
    pub(super) rows: Vec<Vec<String>>,
}

/// Places on the horizontal axis.
pub(super) enum Places {
    /// Degrees of certainty, in per cent.
    Certainty(Vec<f64>),
    /// Names, at equal distances.
    Named(Vec<String>),
}

impl Places {
    /// Returns the positions of the points.
    fn positions(&self) -> Vec<String> {
        match self {
            Self::Certainty(values) => values.iter().map(|value| CERTAINTY.x(*value)).collect(),
            Self::Named(names) => (0..names.len()).map(|place| named(names).x(place as f64)).collect(),
        }
    }

    /// Returns the labels of the axis.
    fn marks(&self) -> Vec<Tick> {
        match self {
            Self::Certainty(_) => CERTAINTY.across(10.0, per_cent),
            Self::Named(names) => {
                let at = self.positions().into_iter();
                at.zip(names).map(|(at, name)| Tick { at, label: name.clone() }).collect()
            }
        }
    }
}

/// Returns the range of names at equal distances.
fn named(names: &[String]) -> Range {
    Range { from: 0.0, to: names.len().saturating_sub(1).max(1) as f64 }
}

/// A line: its name and a percentage for each point, from left to right.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// The range of certainty.
const CERTAINTY: Range = Range { from: 50.0, to: 100.0 };

/// The template of a chart.
#[derive(Template)]
#[template(path = "documents/how_sure/chart.html")]
pub(super) struct ChartTemplate<'a> {
    chart: &'a Chart,
    marks: Vec<Tick>,
    steps: Vec<Tick>,
    lines: Vec<LineTemplate<'a>>,
}

struct LineTemplate<'a> {
    index: usize,
    name: &'a str,
    points: String,
    dots: Vec<(String, String)>,
}

impl Chart {
    pub(super) fn drawn<'s>(&'s self) -> ChartTemplate<'s> {
        let upwards = Range { from: self.from, to: 100.0 };
        let line = |(index, line): (usize, &'s Line)| {
            let values = std::iter::zip(self.places.positions(), &line.values);
            let dots: Vec<(String, String)> = values.map(|(x, value)| (x, upwards.y(*value))).collect();
            let points: Vec<String> = dots.iter().map(|(x, y)| format!("{x},{y}")).collect();
            LineTemplate { index, name: &line.name, points: points.join(" "), dots }
        };
        ChartTemplate {
            chart: self,
            marks: self.places.marks(),
            steps: upwards.upwards(if self.from > 0.0 { 10.0 } else { 20.0 }, per_cent),
            lines: self.lines.iter().enumerate().map(line).collect(),
        }
    }

    /// Returns the table in Markdown.
    pub(super) fn table(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = vec!["---".to_owned(); self.columns.len()];
        let rows: String = self.rows.iter().map(|cells| row(cells)).collect();
        format!("**{}**\n\n{}{}{rows}", self.title, row(&self.columns), row(&rule))
    }
}
