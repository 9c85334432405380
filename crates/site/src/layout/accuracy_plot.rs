//! The plot of an evaluation: accuracy against cost.

use std::fmt::Write;

use ep_polling::evaluation::report::{Candidate, Evaluation};

use super::plot_names::{BOTTOM, LEFT, Name, Point, RIGHT, place_names};

/// The upper edge of the plot.
const TOP: f64 = 30.0;
/// A model without a cost has this one, because the axis is logarithmic.
const LOWEST_COST: f64 = 0.001;

/// The plot of accuracy against cost.
pub struct AccuracyPlot {
    /// The models and panels.
    pub points: Vec<Point>,
    /// The steps of the frontier, as an SVG path.
    pub frontier: String,
    /// Lines of the accuracy axis.
    pub shares: Vec<Tick>,
    /// Marks of the cost axis.
    pub costs: Vec<Tick>,
}

/// A mark of an axis.
pub struct Tick {
    /// Its place.
    pub at: f64,
    /// Its figure.
    pub text: String,
}

impl AccuracyPlot {
    /// Plots an evaluation.
    pub fn of(evaluation: &Evaluation) -> Self {
        let panels = || evaluation.panels.iter().chain(&evaluation.weighted);
        let all = || evaluation.candidates();
        let lowest = all().map(|candidate| candidate.accuracy).fold(1.0, f64::min);
        let floor = ((lowest * 10.0 - 0.5).floor() / 10.0).max(0.0);
        let cost = |candidate: &Candidate| candidate.usd_per_1000.max(LOWEST_COST).log10();
        let cheapest = all().map(cost).fold(f64::INFINITY, f64::min).floor();
        let dearest = all().map(cost).fold(f64::NEG_INFINITY, f64::max).ceil().max(cheapest + 1.0);
        let x = |log: f64| LEFT + (log - cheapest) / (dearest - cheapest) * (RIGHT - LEFT);
        let y = |share: f64| BOTTOM - (share - floor) / (1.0 - floor) * (BOTTOM - TOP);

        let point = |candidate: &Candidate, is_panel: bool, is_named: bool| Point {
            x: x(cost(candidate)),
            y: y(candidate.accuracy),
            is_panel,
            title: format!(
                "{}: {:.0} %, ${:.4} for 1,000 labels",
                candidate.name,
                candidate.accuracy * 100.0,
                candidate.usd_per_1000
            ),
            name: is_named.then(|| Name::of(&candidate.name)),
        };
        let models = evaluation.models.iter().enumerate();
        let models = models.map(|(rank, model)| point(model, false, rank < 3));
        // The best model is among the models, too.
        let panels = panels().filter(|panel| panel.models.len() > 1).map(|panel| point(panel, true, true));
        let mut points: Vec<Point> = models.chain(panels).collect();
        let steps = evaluation.frontier();
        let steps: Vec<(f64, f64)> =
            steps.into_iter().map(|candidate| (x(cost(candidate)), y(candidate.accuracy))).collect();
        place_names(&mut points, &steps);

        let mut frontier = String::new();
        for (x, y) in steps {
            let _ = if frontier.is_empty() {
                write!(frontier, "M{x:.1} {y:.1}")
            } else {
                write!(frontier, "H{x:.1}V{y:.1}")
            };
        }
        let _ = write!(frontier, "H{RIGHT}");
        let tens = (floor * 10.0).round() as u32;
        let shares = (tens..=10)
            .map(|tenth| Tick { at: y(f64::from(tenth) / 10.0), text: format!("{} %", tenth * 10) });
        let costs = (cheapest as i32..=dearest as i32)
            .map(|power| Tick { at: x(f64::from(power)), text: format!("${}", 10_f64.powi(power)) });
        Self { points, frontier, shares: shares.collect(), costs: costs.collect() }
    }
}
