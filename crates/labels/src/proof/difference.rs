//! The comparison of the gold rows with the rows of the file, by the votes alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use ep_polling::counted::counted;
use ep_polling::evaluation::Fraction;
use ep_polling::evaluation::draw::{Group, unlikely};
use ep_polling::evaluation::proof::Score;
use serde::{Deserialize, Serialize};

use super::declaration::{Declaration, DeclaredGold};
use super::scored::{Scored, ScoredGold};
use crate::decision::describe;
use crate::entry::Key;

/// The highest probability that a random draw of gold rows is found to differ.
const RISK: f64 = 0.01;

/// The most labels that are compared. With more, rows have options of their own.
const MOST_LABELS: usize = 25;

/// The most differences that are listed.
const SHOWN: usize = 6;

/// Rows that gold has far more often or far less often than a random draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// The number of models that give the labels, the strongest first.
    pub(crate) models: usize,
    pub(crate) rows: Common,
    /// Gold rows.
    pub(crate) gold: u64,
    /// Gold rows that a random draw has on average, rounded.
    pub(crate) expected: u64,
}

/// The property that compared rows have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Common {
    /// The votes for the label.
    Agreement(String),
    /// The label of the models.
    Label(String),
    /// No label.
    NoLabel,
}

/// Returns the differences between the gold rows that prove and the rows that they are drawn from: those of the file and of
/// the gold file, without gold rows that prove nothing. All comparisons share the risk.
pub(crate) fn differences(
    declaration: &Declaration,
    panels: &BTreeMap<usize, Scored>,
    proving: &[&DeclaredGold],
) -> Vec<Difference> {
    let proving: HashSet<Key> = proving.iter().map(|row| row.key).collect();
    let comparisons = 2 * u32::try_from(panels.len()).unwrap_or(u32::MAX);
    let Ok(risk) = Fraction::new(RISK / f64::from(comparisons)) else { return Vec::new() };
    let mut all = Vec::new();
    for (&models, scored) in panels {
        let gold = |row: &DeclaredGold| scored.gold.get(&row.key);
        let level =
            |score: Score| agreement(score, scored, |score| describe(score, &declaration.panel, models));
        let file = scored.scores.iter().map(|(score, rows)| (level(score), rows));
        let of_gold = |row: &DeclaredGold| level(gold(row).map_or(Score::NO_LABEL, |gold| gold.row.score));
        let mut groups = vec![grouped(declaration, &proving, file, of_gold)];
        if scored.labels.different() <= MOST_LABELS {
            let label =
                |label: Option<&str>| label.map_or(Common::NoLabel, |label| Common::Label(label.to_owned()));
            let labelled: u64 = scored.labels.counts().map(|(_, rows)| rows).sum();
            let unlabelled = declaration.file.rows.saturating_sub(labelled);
            let file = scored.labels.counts().map(|(text, rows)| (label(Some(text)), rows));
            let of_gold = |row: &DeclaredGold| label(gold(row).and_then(ScoredGold::label));
            groups.push(grouped(declaration, &proving, file.chain([(Common::NoLabel, unlabelled)]), of_gold));
        }
        all.extend(groups.into_iter().flat_map(|groups| found(models, groups, risk)));
    }
    all
}

/// Returns the level of a score. The scores of a level are tested together.
fn agreement(score: Score, scored: &Scored, describe: impl Fn(Score) -> String) -> Common {
    let level = scored.levels.iter().find(|(lowest, _)| score >= *lowest);
    match score {
        Score::NO_LABEL => Common::NoLabel,
        _ => Common::Agreement(describe(level.map_or(score, |(lowest, _)| *lowest))),
    }
}

/// Counts the rows of each group. `file` has all rows of the file.
fn grouped(
    declaration: &Declaration,
    proving: &HashSet<Key>,
    file: impl Iterator<Item = (Common, u64)>,
    of_gold: impl Fn(&DeclaredGold) -> Common,
) -> BTreeMap<Common, Group> {
    let mut groups: BTreeMap<Common, Group> = BTreeMap::new();
    for (common, rows) in file {
        groups.entry(common).or_default().rows += rows;
    }
    for row in &declaration.gold.rows {
        let group = groups.entry(of_gold(row)).or_default();
        match (proving.contains(&row.key), row.is_in_file) {
            (true, true) => group.drawn += 1,
            (true, false) => (group.drawn, group.rows) = (group.drawn + 1, group.rows + 1),
            (false, true) => group.rows = group.rows.saturating_sub(1),
            (false, false) => {}
        }
    }
    groups
}

/// Returns the groups that differ, the largest difference first.
fn found(models: usize, groups: BTreeMap<Common, Group>, risk: Fraction) -> Vec<Difference> {
    let (names, groups): (Vec<Common>, Vec<Group>) = groups.into_iter().unzip();
    let drawn: u64 = groups.iter().map(|group| group.drawn).sum();
    let rows: u64 = groups.iter().map(|group| group.rows).sum();
    let unlikely: HashSet<usize> = unlikely(&groups, risk).into_iter().collect();
    let all = names.into_iter().zip(groups).enumerate();
    let different =
        all.filter(|(place, _)| unlikely.contains(place)).map(|(_, (common, group))| Difference {
            models,
            rows: common,
            gold: group.drawn,
            expected: (drawn as f64 * group.rows as f64 / rows.max(1) as f64).round() as u64,
        });
    let mut different: Vec<Difference> = different.collect();
    different.sort_by_key(|difference| Reverse(difference.gold.abs_diff(difference.expected)));
    different
}

/// Lists differences, one a line.
pub(crate) fn listed(differences: &[Difference]) -> String {
    let line = |difference: &Difference| {
        let Difference { models, rows, gold, expected } = difference;
        let rows = match rows {
            Common::Agreement(agreement) => format!("an agreement of {agreement}"),
            Common::Label(label) => format!("the label “{label}”"),
            Common::NoLabel => "no label".to_owned(),
        };
        format!(
            "\n  {} with {rows} ({}); about {expected} expected",
            counted(*gold, "gold row"),
            counted(*models, "model")
        )
    };
    let mut lines: String = differences.iter().take(SHOWN).map(line).collect();
    if let Some(more) = differences.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(lines, "\n  and {}", counted(more, "more difference"));
    }
    lines
}
