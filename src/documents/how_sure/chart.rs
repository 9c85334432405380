//! Line charts as SVG, each with a table of its data.

use askama::Template;

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
    /// The labels of the ticks on the horizontal axis.
    pub(super) places: Vec<String>,
    pub(super) lines: Vec<Line>,
    pub(super) columns: Vec<String>,
    /// The table's rows; the first cell is the row's label.
    pub(super) rows: Vec<Vec<String>>,
}

/// A line: its name and a percentage for each tick, from left to right.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// The size of the picture and the position of its axes.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 344.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 216.0;
/// The horizontal position of the line names and their vertical distance.
const NAMES: f64 = 272.0;
const NAME_STEP: f64 = 19.0;

/// The template of a chart.
#[derive(Template)]
#[template(path = "documents/how_sure/chart.html")]
pub(super) struct ChartTemplate<'a> {
    chart: &'a Chart,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    bottom: f64,
    marks: Vec<TickLabel<'a>>,
    steps: Vec<GridLine>,
    lines: Vec<LineTemplate<'a>>,
}

struct TickLabel<'a> {
    x: String,
    text: &'a str,
}

struct GridLine {
    y: String,
    per_cent: u32,
}

struct LineTemplate<'a> {
    index: usize,
    name: &'a str,
    name_y: f64,
    points: String,
    dots: Vec<(String, String)>,
}

impl Chart {
    pub(super) fn drawn(&self) -> ChartTemplate<'_> {
        let line = |(index, line): (usize, &'_ Line)| -> (usize, String, Vec<(String, String)>) {
            let dots = line.values.iter().enumerate();
            let dots: Vec<(String, String)> = dots.map(|(index, value)| (self.x(index), y(*value))).collect();
            let points: Vec<String> = dots.iter().map(|(x, y)| format!("{x},{y}")).collect();
            (index, points.join(" "), dots)
        };
        let lines = self.lines.iter().enumerate().map(line).zip(&self.lines);
        let lines = lines.map(|((index, points, dots), line)| LineTemplate {
            index,
            name: &line.name,
            name_y: NAMES + NAME_STEP * index as f64,
            points,
            dots,
        });
        let marks = self.places.iter().enumerate();
        ChartTemplate {
            chart: self,
            width: WIDTH,
            height: NAMES + NAME_STEP * self.lines.len() as f64 - 8.0,
            left: LEFT,
            right: RIGHT,
            bottom: BOTTOM,
            marks: marks.map(|(index, text)| TickLabel { x: self.x(index), text }).collect(),
            steps: (0..=5)
                .map(|step| GridLine { y: y(f64::from(step) * 20.0), per_cent: step * 20 })
                .collect(),
            lines: lines.collect(),
        }
    }

    /// Returns the position of a tick on the horizontal axis. Ticks have equal distances.
    fn x(&self, index: usize) -> String {
        let step = (RIGHT - LEFT) / self.places.len().max(1) as f64;
        format!("{:.1}", LEFT + step * (index as f64 + 0.5))
    }

    /// Returns the table in Markdown.
    pub(super) fn table(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = vec!["---".to_owned(); self.columns.len()];
        let rows: String = self.rows.iter().map(|cells| row(cells)).collect();
        format!("**{}**\n\n{}{}{rows}", self.title, row(&self.columns), row(&rule))
    }
}

/// Returns the vertical position of a percentage.
fn y(per_cent: f64) -> String {
    format!("{:.1}", BOTTOM - (BOTTOM - TOP) * per_cent / 100.0)
}
