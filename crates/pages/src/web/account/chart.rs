//! The chart of spending: a bar for each day with polls.

use ep_tools::account::SpendingOfDay;

use super::amounts::figure;
use super::moments::date;
use super::spending::DayRow;

/// The chart. Horizontal positions are percentages of its width, and vertical ones multiples of its type size. So it
/// fits every width, and its labels always have the same size.
pub(crate) struct Chart {
    /// Description of the chart in one sentence.
    pub(super) summary: String,
    pub(super) ticks: [Tick; 3],
    pub(super) bar_width: f64,
    pub(super) bars: Vec<Bar>,
    /// The amount of the highest bar.
    pub(super) peak: Label,
    /// Days below the bars.
    pub(super) days: Vec<Label>,
}

/// A horizontal line with its amount.
pub(crate) struct Tick {
    pub(super) y: f64,
    pub(super) text: String,
}

/// A bar.
pub(crate) struct Bar {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) height: f64,
    pub(super) title: String,
}

/// A text in the chart.
pub(crate) struct Label {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The point of the text that is at this place: `start`, `middle` or `end`.
    pub(super) anchor: &'static str,
    /// True if a narrow chart omits it.
    pub(super) minor: bool,
    pub(super) text: String,
}

/// Upper and lower end of the bars.
const TOP: f64 = 1.75;
const BOTTOM: f64 = 11.0;
/// Base line of the days.
const DAYS: f64 = 12.6;
/// Minimum height of a bar, so that a small amount stays visible.
const LEAST: f64 = 0.15;
/// Space between a bar and its amount.
const SPACE: f64 = 0.4;
/// Part of a day's width that its bar covers.
const BAR_SHARE: f64 = 0.68;
/// Days between two labels.
const WEEK: usize = 7;

impl Chart {
    /// Draws these days, or returns `None` if nothing was spent.
    pub(super) fn of(days: &[SpendingOfDay]) -> Option<Self> {
        let costs = || days.iter().map(cost).enumerate();
        let (highest, most) = costs().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        if most <= 0.0 {
            return None;
        }
        let end = scale_end(most);
        let step = 100.0 / days.len() as f64;
        let with_polls = days.iter().enumerate().filter(|(_, day)| day.polls + day.batch_rows > 0);
        let bars = with_polls.map(|(index, day)| Bar::of(index, day, step, end));
        Some(Self {
            summary: format!(
                "Spent each day, at most {} on {}",
                figure(most),
                date(&days[highest].day, true)
            ),
            ticks: ticks(end),
            bar_width: rounded(step * BAR_SHARE),
            bars: bars.collect(),
            peak: peak(highest, days.len(), step, BOTTOM - height(most, end), figure(most)),
            days: day_labels(days, step),
        })
    }
}

impl Bar {
    fn of(index: usize, day: &SpendingOfDay, step: f64, end: f64) -> Self {
        let height = height(cost(day), end);
        let DayRow { day, polls, batch_rows, cost } = day.into();
        let polls = if polls == 1 { "1 poll".to_owned() } else { format!("{polls} polls") };
        let rows = match batch_rows {
            0 => String::new(),
            1 => " and 1 row of a batch".to_owned(),
            _ => format!(" and {batch_rows} rows of batches"),
        };
        Self {
            x: rounded((index as f64 + (1.0 - BAR_SHARE) / 2.0) * step),
            y: rounded(BOTTOM - height),
            height,
            title: format!("{day}: {cost}, {polls}{rows}"),
        }
    }
}

fn cost(day: &SpendingOfDay) -> f64 {
    day.cost_usd.0.as_usd()
}

fn height(cost: f64, end: f64) -> f64 {
    rounded((cost / end * (BOTTOM - TOP)).max(LEAST))
}

/// Labels the highest bar. Near an edge, the text ends there.
fn peak(index: usize, days: usize, step: f64, top: f64, text: String) -> Label {
    let (anchor, x) = match index {
        0 | 1 => ("start", index as f64),
        _ if index + 2 >= days => ("end", index as f64 + 1.0),
        _ => ("middle", index as f64 + 0.5),
    };
    Label { x: rounded(x * step), y: rounded(top - SPACE), anchor, minor: false, text }
}

/// Labels the first day of each week, and today.
fn day_labels(days: &[SpendingOfDay], step: f64) -> Vec<Label> {
    let weeks = days.iter().enumerate().step_by(WEEK).filter(|(index, _)| index + WEEK / 2 + 1 < days.len());
    let week = |(index, day): (usize, &SpendingOfDay)| Label {
        x: rounded((index as f64 + 0.5) * step),
        y: DAYS,
        anchor: "middle",
        minor: !index.is_multiple_of(2 * WEEK),
        text: date(&day.day, false),
    };
    let today = Label { x: 100.0, y: DAYS, anchor: "end", minor: false, text: "Today".to_owned() };
    weeks.map(week).chain([today]).collect()
}

fn ticks(end: f64) -> [Tick; 3] {
    let decimals = decimals_of(end / 2.0);
    [0.0, 0.5, 1.0].map(|share| Tick {
        y: rounded(BOTTOM - (BOTTOM - TOP) * share),
        text: format!("${:.decimals$}", end * share),
    })
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least this amount.
fn scale_end(most: f64) -> f64 {
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|end| *end >= most).unwrap_or(most)
}

/// Returns the number of decimals that an amount needs: none for whole dollars, otherwise at least two.
fn decimals_of(amount: f64) -> usize {
    let is_exact = |decimals: &i32| {
        let scaled = amount * 10_f64.powi(*decimals);
        (scaled - scaled.round()).abs() < 1e-6
    };
    [0, 2, 3, 4, 5].into_iter().find(is_exact).unwrap_or(6).unsigned_abs() as usize
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Draws thirty days. On each of these, counted from the first, this much was spent.
    fn chart(spent: &[(usize, f64)]) -> Option<Chart> {
        let day = |index: usize| -> Value {
            let cost = spent.iter().find(|(day, _)| *day == index).map(|(_, cost)| *cost);
            let day = format!("2026-11-{:02}", index + 1);
            json!({ "day": day, "polls": u32::from(cost.is_some()), "batch_rows": 0, "cost_usd": cost.unwrap_or(0.0) })
        };
        let days: Vec<SpendingOfDay> =
            (0..30).map(|index| serde_json::from_value(day(index)).unwrap()).collect();
        Chart::of(&days)
    }

    #[test]
    fn the_axis_ends_at_a_round_amount() {
        for (cost, ticks) in [
            (0.94, ["$0.00", "$0.50", "$1.00"]),
            (0.0004, ["$0.00000", "$0.00025", "$0.00050"]),
            (14.0, ["$0", "$10", "$20"]),
            (0.01, ["$0.000", "$0.005", "$0.010"]),
            (4.19, ["$0.00", "$2.50", "$5.00"]),
        ] {
            let chart = chart(&[(4, cost)]).unwrap();
            assert_eq!(chart.ticks.map(|tick| tick.text), ticks, "{cost}");
        }
    }

    #[test]
    fn bars_stay_inside_the_chart() {
        let chart = chart(&[(0, 0.0001), (14, 0.94), (29, 0.5)]).unwrap();
        assert_eq!(chart.bars.len(), 3);
        for bar in &chart.bars {
            assert!(bar.x >= 0.0 && bar.x + chart.bar_width <= 100.0, "{}", bar.title);
            assert!(bar.y >= TOP && (bar.y + bar.height - BOTTOM).abs() < 0.02, "{}", bar.title);
        }
        assert_eq!(chart.bars[1].title, "15 November: $0.94, 1 poll");
        assert_eq!(chart.summary, "Spent each day, at most $0.94 on 15 November");
        let labels: Vec<_> = chart.days.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(labels, ["1 Nov", "8 Nov", "15 Nov", "22 Nov", "Today"]);
    }

    #[test]
    fn nothing_spent_has_no_chart() {
        assert!(chart(&[]).is_none() && chart(&[(3, 0.0)]).is_none());
    }
}
