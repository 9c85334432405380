//! The charts of the committed figures.

use super::chart::{Chart, Line, Places};
use super::figures::{AtThreshold, Figures, Set};

/// Returns the charts, in the order of the text.
pub(super) fn charts(figures: &Figures) -> Option<[Chart; 3]> {
    let [all, other, close] = figures.sets.as_slice() else { return None };
    Some([
        calls(&[all, other, close]),
        agreement("agreement", all, format!("Agreement with the whole panel, all questions of {}", all.set)),
        agreement("close", close, format!("Agreement with the whole panel, close questions of {}", all.set)),
    ])
}

/// Formats a threshold as a percentage.
pub(super) fn named(threshold: f64) -> String {
    format!("{} %", (threshold * 1000.0).round() / 10.0)
}

/// Draws the share of models that are asked.
fn calls(sets: &[&Set; 3]) -> Chart {
    let at: Vec<f64> = sets[0].thresholds.iter().map(|at| at.threshold).chain([1.0]).collect();
    let values = |set: &Set| -> Vec<f64> {
        let at = set.thresholds.iter().map(|at| &at.bridge).chain([&set.lock]);
        at.map(|found| found.calls_share(set.models)).collect()
    };
    let columns: Vec<Vec<f64>> = sets.iter().map(|set| values(set)).collect();
    let row = |(index, at): (usize, &f64)| {
        let cells = columns.iter().map(|values| format!("{:.1} %", values[index]));
        std::iter::once(named(*at)).chain(cells).collect()
    };
    let name = |set: &Set| format!("{}, {} models", set.set, set.models);
    Chart {
        id: "calls",
        title: "How much of the panel is asked, by how sure the poll must be".to_owned(),
        description: "The surer a poll must be, the more models it asks; easy questions need far fewer than close ones."
            .to_owned(),
        across: "how sure the poll must be",
        upwards: "models asked, of the panel",
        rows: at.iter().enumerate().map(row).collect(),
        places: Places::Certainty(at.iter().map(|at| 100.0 * at).collect()),
        from: 0.0,
        lines: sets.iter().zip(&columns).map(|(set, values)| Line { name: name(set), values: values.clone() }).collect(),
        columns: std::iter::once("must be sure").map(str::to_owned).chain(sets.iter().map(|set| name(set))).collect(),
    }
}

/// Draws the agreement with the whole panel, compared with another rule and with the promised level.
fn agreement(id: &'static str, set: &Set, title: String) -> Chart {
    let at = || set.thresholds.iter();
    let row = |at: &AtThreshold| {
        vec![
            named(at.threshold),
            at.bridge.agreement_in_words(),
            format!("{:.1} %", at.bridge.calls_share(set.models)),
            at.beta.agreement_in_words(),
            format!("{:.1} %", at.beta.calls_share(set.models)),
        ]
    };
    let lock = &set.lock;
    let certain = vec![
        named(1.0),
        lock.agreement_in_words(),
        format!("{:.1} %", lock.calls_share(set.models)),
        "–".to_owned(),
        "–".to_owned(),
    ];
    let line = |name: &str, values: Vec<f64>| Line { name: name.to_owned(), values };
    Chart {
        id,
        title,
        description: "This service's rule stays above what is promised at every level; the other rule asks fewer models and \
                      agrees less often."
            .to_owned(),
        across: "how sure the poll must be",
        upwards: "polls that agree with the whole panel",
        places: Places::Certainty(at().map(|at| 100.0 * at.threshold).collect()),
        from: if at().any(|at| at.beta.agreement() < 50.0) { 0.0 } else { 50.0 },
        lines: vec![
            line("this service's rule", at().map(|at| at.bridge.agreement()).collect()),
            line("Adaptive-Consistency's Beta rule", at().map(|at| at.beta.agreement()).collect()),
            line("what is promised", at().map(|at| 100.0 * at.threshold).collect()),
        ],
        columns: ["must be sure", "agrees", "asked", "Beta rule agrees", "Beta rule asked"].map(str::to_owned).to_vec(),
        rows: at().map(row).chain([certain]).collect(),
    }
}
