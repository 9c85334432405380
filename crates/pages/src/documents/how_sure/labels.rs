//! The share of the rows that panels label with a proven error bound: the committed figures, and their chart.

use serde::Deserialize;

use super::chart::{Chart, Line, Places};
use super::plot::per_cent;

/// The output of the bench.
const MEASURED: &str = include_str!("../../../../../docs/labels-figures.json");
/// Rows that prove, of the cells that are shown.
pub(super) const GOLD: u32 = 200;
/// The panels that are shown: their names in the figures, and on the axis.
const PANELS: [(&str, &str); 5] =
    [("best single", "1"), ("best 3", "3"), ("best 5", "5"), ("best 9", "9"), ("all", "all")];

/// The figures of every set of votes.
#[derive(Deserialize)]
pub(super) struct LabelFigures {
    /// The command that reproduces the figures.
    pub(super) command: String,
    /// Labelled rows that rank the models.
    pub(super) choose: u32,
    /// Repetitions of each cell.
    pub(super) runs: u32,
    /// The risk of each proof.
    risk: f64,
    pub(super) sources: Vec<String>,
    cells: Vec<Cell>,
}

/// A measurement: a set, a bound, a number of labelled rows and a panel.
#[derive(Deserialize)]
struct Cell {
    set: String,
    max_error: f64,
    gold: u32,
    panel: String,
    order: Order,
    /// The mean share of the rows that the proof accepts.
    accepted: f64,
}

/// The order in which the labels of a panel are believed.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// By the votes of the strongest three, then by all votes: the order of `ep label`.
    StrongestFirst,
    AllVotes,
}

/// A set of votes with the first bound that was measured on it.
pub(super) struct LabelSet<'f> {
    pub(super) name: &'f str,
    max_error: f64,
    /// The share of the rows, by panel, in per cent.
    shares: Vec<f64>,
}

impl LabelFigures {
    /// Parses the committed file.
    pub(super) fn read() -> Option<Self> {
        serde_json::from_str(MEASURED).ok()
    }

    /// Returns the confidence of each proof.
    pub(super) fn confidence(&self) -> String {
        per_cent(100.0 * (1.0 - self.risk))
    }

    /// Returns the sets, in the order of the file. `None` if a panel was not measured.
    pub(super) fn sets(&self) -> Option<Vec<LabelSet<'_>>> {
        let mut sets: Vec<LabelSet<'_>> = Vec::new();
        for Cell { set, max_error, .. } in &self.cells {
            if sets.iter().any(|known| known.name == set) {
                continue;
            }
            let share = |(panel, _): &(&str, &str)| self.share(set, *max_error, panel, Order::StrongestFirst);
            let shares = PANELS.iter().map(share).collect::<Option<Vec<f64>>>()?;
            sets.push(LabelSet { name: set, max_error: *max_error, shares });
        }
        Some(sets)
    }

    fn share(&self, set: &str, max_error: f64, panel: &str, order: Order) -> Option<f64> {
        let is_it = |cell: &&Cell| {
            cell.set == set
                && cell.panel == panel
                && cell.order == order
                && cell.gold == GOLD
                && (cell.max_error - max_error).abs() < 1e-9
        };
        self.cells.iter().find(is_it).map(|cell| 100.0 * cell.accepted)
    }

    /// Draws the shares by the size of the panel.
    pub(super) fn chart(&self) -> Option<Chart> {
        let sets = self.sets()?;
        let row = |(place, (name, _)): (usize, &(&str, &str))| {
            let shares =
                sets.iter().map(|set| set.shares.get(place).copied().map(per_cent).unwrap_or_default());
            std::iter::once((*name).to_owned()).chain(shares).collect()
        };
        let lines = sets.iter().map(|set| Line { name: set.title(), values: set.shares.clone() });
        Some(Chart {
            id: "labels",
            title: "How many rows get a label with a proof, by the size of the panel".to_owned(),
            description:
                "Three strong models label more rows with a proof than one model, and than all models."
                    .to_owned(),
            across: "models in the panel, the strongest first",
            upwards: "rows labelled with a proof",
            places: Places::Named(PANELS.iter().map(|(_, name)| (*name).to_owned()).collect()),
            from: 0.0,
            lines: lines.collect(),
            columns: std::iter::once("panel".to_owned()).chain(sets.iter().map(LabelSet::title)).collect(),
            rows: PANELS.iter().enumerate().map(row).collect(),
        })
    }
}

impl LabelSet<'_> {
    /// Returns the name and the bound.
    fn title(&self) -> String {
        format!("{}, at most {} wrong", self.name, per_cent(100.0 * self.max_error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_figures_support_the_page_and_the_guide() {
        let figures = LabelFigures::read().unwrap();
        let sets = figures.sets().unwrap();
        assert_eq!(sets.len(), 4);
        let guide = include_str!("../../../../../docs/labels.md");
        for set in &sets {
            let [single, three, five, nine, all] = set.shares[..] else { panic!("there are five panels") };
            assert!([three, five, nine].iter().all(|share| *share > 2.0 * single) && three > all);
            let cells: Vec<String> = set.shares.iter().map(|share| per_cent(*share)).collect();
            let row = format!("| {} | {} |", set.name, cells.join(" | "));
            assert!(guide.contains(&row), "docs/labels.md must have the row {row}");
        }
        let by_all_votes = |panel| per_cent(figures.share("CRUX", 0.05, panel, Order::AllVotes).unwrap());
        let sentence = format!(
            "By all votes alone, five models get {} of CRUX, and all models {}.",
            by_all_votes("best 5"),
            by_all_votes("all")
        );
        assert!(guide.contains(&sentence), "docs/labels.md must say: {sentence}");
        // A proof may be wrong in as many runs as its risk allows.
        assert!(figures.cells.iter().all(|cell| cell.accepted <= 1.0));
    }
}
