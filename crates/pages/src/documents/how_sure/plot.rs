//! The frame of a chart: its axes, drawn to scale, with a label at every step.

/// The size of a chart and the positions of its axes.
pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 330.0;
pub(super) const LEFT: f64 = 76.0;
pub(super) const RIGHT: f64 = 624.0;
pub(super) const TOP: f64 = 40.0;
pub(super) const BOTTOM: f64 = 260.0;

/// A label on an axis, with its position.
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) label: String,
}

/// The range of an axis.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Range {
    /// Returns the position of a value on the horizontal axis.
    pub(super) fn x(self, value: f64) -> String {
        format!("{:.1}", LEFT + (RIGHT - LEFT) * self.share(value))
    }

    /// Returns the position of a value on the vertical axis.
    pub(super) fn y(self, value: f64) -> String {
        format!("{:.1}", BOTTOM - (BOTTOM - TOP) * self.share(value))
    }

    /// Returns the ticks of the horizontal axis, `step` apart.
    pub(super) fn across(self, step: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
        self.steps(step).map(|value| Tick { at: self.x(value), label: label(value) }).collect()
    }

    /// Returns the ticks of the vertical axis, `step` apart.
    pub(super) fn upwards(self, step: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
        self.steps(step).map(|value| Tick { at: self.y(value), label: label(value) }).collect()
    }

    fn steps(self, step: f64) -> impl Iterator<Item = f64> {
        let count = ((self.to - self.from) / step).floor() as u32;
        (0..=count).map(move |index| self.from + step * f64::from(index))
    }

    fn share(self, value: f64) -> f64 {
        (value - self.from) / (self.to - self.from)
    }
}

/// Labels a percentage.
pub(super) fn per_cent(value: f64) -> String {
    format!("{value:.0} %")
}
