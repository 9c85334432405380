//! The decision of a panel about a row, from its votes.

use ep_polling::agreement::STRONGEST;
use ep_polling::contested::is_contested;
use ep_polling::evaluation::Vote;
use ep_polling::evaluation::panel;
use ep_polling::evaluation::proof::Score;
use ep_polling::tie_rule;
use ep_polling::{Tally, TieRule};

use crate::entry::{DecidedBy, Entry, EntryVote};
use crate::settings::{LabelSettings, Panel};

/// The rule that makes labels of votes.
#[derive(Debug, Clone, Copy)]
pub struct LabelRule<'r> {
    /// The whole panel.
    pub panel: &'r Panel,
    /// The rule for ties.
    pub on_tie: TieRule,
}

impl LabelSettings {
    /// Returns the rule that makes labels of votes.
    pub const fn rule(&self) -> LabelRule<'_> {
        LabelRule { panel: &self.panel, on_tie: self.on_tie }
    }
}

impl LabelRule<'_> {
    /// True if it decides this label otherwise. The label of a person stays.
    pub(crate) fn decides_otherwise(&self, entry: &Entry) -> bool {
        let Decision { label, by, share, .. } = self.decision(entry);
        entry.by != DecidedBy::Gold && (label, by, share) != (entry.label.as_deref(), entry.by, entry.score)
    }

    /// Returns this label as the rule decides it.
    pub(crate) fn decided(&self, entry: Entry) -> Entry {
        let Decision { label, by, share: score, .. } = self.decision(&entry);
        let label = label.map(str::to_owned);
        Entry { label, by, score, ..entry }
    }

    fn decision<'e>(&self, entry: &'e Entry) -> Decision<'e> {
        decide(&entry.votes, self.panel, entry.votes.len(), self.on_tie)
    }
}

/// The label of a row.
#[derive(Debug, PartialEq)]
pub(crate) struct Decision<'v> {
    /// The label; `None` on a tie without a tie rule, or without votes.
    pub(crate) label: Option<&'v str>,
    /// The rule that decided.
    pub(crate) by: DecidedBy,
    /// The share of the models that voted for the label; 0 without a label.
    pub(crate) share: f64,
    /// True if the votes contest the label, as in the result of a poll.
    pub(crate) contested: bool,
    /// The order in which labels are believed; 0 without a label.
    pub(crate) score: Score,
}

/// Decides by the votes of the strongest `size` models of a panel.
pub(crate) fn decide<'v>(
    votes: &'v [EntryVote],
    panel: &Panel,
    size: usize,
    on_tie: TieRule,
) -> Decision<'v> {
    let mut ranked: Vec<&EntryVote> = votes.iter().collect();
    ranked.sort_by_key(|vote| panel.rank(&vote.model));
    ranked.truncate(size);
    let mut options: Vec<&str> = Vec::new();
    let mut number = |vote: &&'v EntryVote| -> Vote {
        let option = vote.vote.as_deref()?;
        let known = options.iter().position(|known| *known == option).unwrap_or_else(|| {
            options.push(option);
            options.len() - 1
        });
        u16::try_from(known).ok()
    };
    let row: Vec<Vote> = ranked.iter().map(&mut number).collect();
    let members: Vec<usize> = (0..row.len()).collect();
    let choices = || row.iter().map(|vote| vote.map(usize::from));
    let tally = Tally::of(options.len(), choices());
    let is_final = !ranked.iter().any(|vote| vote.has_failed());
    let (option, by) = tie_rule::decide(&tally, on_tie, choices(), is_final);
    let of_strongest = choices().flatten().next().filter(|_| panel.has_order());
    let share =
        |option: usize| f64::from(tally.counts().get(option).copied().unwrap_or_default()) / row.len() as f64;
    Decision {
        label: option.and_then(|option| options.get(option).copied()),
        by: by.into(),
        share: option.map_or(0.0, share),
        contested: is_contested(&tally, row.len() as u32, of_strongest),
        score: panel::score(
            &row,
            option.and_then(|option| u16::try_from(option).ok()),
            &members,
            strongest(panel, row.len()),
        ),
    }
}

/// Returns the number of models whose votes are the first part of a score. The models of a preset have no order.
fn strongest(panel: &Panel, size: usize) -> usize {
    if panel.has_order() { size.min(STRONGEST) } else { size }
}

/// Describes the score of a panel of this size.
pub(crate) fn describe(score: Score, panel: &Panel, size: usize) -> String {
    let (first, all) = (score.0 / (size as u64 + 1), score.0 % (size as u64 + 1));
    match strongest(panel, size) {
        few if few == size => format!("{all} of {size}"),
        few => format!("{first} of the strongest {few}, then {all} of {size}"),
    }
}

#[cfg(test)]
mod tests {
    use ep_polling::Reason;

    use super::*;

    fn votes(choices: &[Option<&str>]) -> Vec<EntryVote> {
        let vote = |(number, choice): (usize, Option<&str>)| EntryVote {
            model: format!("m{number}"),
            vote: choice.map(str::to_owned),
            probabilities: None,
            error: choice.is_none().then_some(Reason::Unparsable),
            ms: 1,
            usd: None,
            answered_by: None,
        };
        choices.iter().copied().enumerate().map(vote).collect()
    }

    #[test]
    fn the_strongest_models_decide() {
        // The last model is the strongest one.
        let panel = Panel::Models((0..5).rev().map(|number| format!("m{number}")).collect());
        let row = votes(&[Some("a"), Some("a"), Some("b"), None, Some("b")]);
        let tied = decide(&row, &panel, 5, TieRule::Report);
        assert_eq!((tied.label, tied.by, tied.share, tied.score), (None, DecidedBy::None, 0.0, Score(0)));
        let broken = decide(&row, &panel, 5, TieRule::Strongest);
        assert_eq!((broken.label, broken.by, broken.share), (Some("b"), DecidedBy::TieBreak, 0.4));
        assert!(tied.contested && broken.contested);
        assert_eq!(describe(broken.score, &panel, 5), "2 of the strongest 3, then 2 of 5");
        let three = decide(&row, &panel, 3, TieRule::Report);
        assert_eq!((three.label, three.by, three.contested), (Some("b"), DecidedBy::Plurality, false));
        let divided = votes(&[Some("b"), Some("b"), Some("a")]);
        let dissent = decide(&divided, &panel, 3, TieRule::Report);
        assert_eq!((dissent.label, dissent.contested), (Some("b"), true), "the strongest model dissents");
        let late = EntryVote { error: Some(Reason::Timeout), ..row[3].clone() };
        let missing = [&row[..3], &[late], &row[4..]].concat();
        let undecided = decide(&missing, &panel, 5, TieRule::Strongest);
        assert_eq!(
            (undecided.label, undecided.by),
            (None, DecidedBy::None),
            "a missing vote could break the tie"
        );
        assert_eq!(describe(three.score, &panel, 3), "2 of 3");
        assert_eq!(decide(&row, &panel, 1, TieRule::Report).label, Some("b"));
        let single = votes(&[None, None, Some("a")]);
        let alone = decide(&single, &panel, 3, TieRule::Report);
        assert_eq!((alone.label, alone.contested), (Some("a"), true), "one vote of three models");
        let preset = Panel::Preset("budget".to_owned());
        let all = decide(&row[..3], &preset, 3, TieRule::Report);
        assert!(!all.contested, "two of three, without an order");
        assert_eq!((all.label, describe(all.score, &preset, 3).as_str()), (Some("a"), "2 of 3"));
    }
}
