//! A poll as a Mermaid flow chart.

use std::collections::BTreeMap;
use std::fmt::Write;

use ep_kernel::executor::PollState;
use ep_polling::tally::Outcome;

use crate::polls::summary::{family, outcome_text};

/// Families drawn on their own; smaller ones are drawn as one.
const MAX_FAMILIES: usize = 12;
/// Characters of a label; longer texts are cut. An option is never that long.
const MAX_LABEL: usize = 300;

/// The votes of a family.
#[derive(Debug, Default)]
struct Family {
    /// Per option.
    votes: BTreeMap<usize, u32>,
    /// Models that gave none.
    silent: u32,
}

impl Family {
    fn models(&self) -> u32 {
        self.votes.values().sum::<u32>() + self.silent
    }

    fn add(&mut self, other: &Self) {
        for (option, votes) in &other.votes {
            *self.votes.entry(*option).or_default() += votes;
        }
        self.silent += other.silent;
    }
}

/// The flow chart of a poll: its question, the families of the models that were asked, its options, its outcome.
pub fn diagram(state: &PollState) -> String {
    let plan = &state.record.plan;
    let tally = state.tally();
    let families = families(state);
    let silent: u32 = families.iter().map(|(_, family)| family.silent).sum();
    let mut text = format!("flowchart LR\n    question{}\n", node(&plan.question));
    for (place, option) in plan.options.iter().enumerate() {
        let votes = tally.counts().get(place).copied().unwrap_or_default();
        let _ =
            writeln!(text, "    option{place}{}", node(&format!("{option} ({})", counted(votes, "vote"))));
    }
    if silent > 0 {
        let _ = writeln!(text, "    silent{}", node(&format!("No vote ({})", counted(silent, "model"))));
    }
    for (place, (name, family)) in families.iter().enumerate() {
        let models = counted(family.models(), "model");
        let _ = writeln!(text, "    question --> family{place}{}", node(&format!("{name} ({models})")));
        for (option, votes) in &family.votes {
            let _ = writeln!(text, "    family{place} -->|\"{votes}\"| option{option}");
        }
        if family.silent > 0 {
            let _ = writeln!(text, "    family{place} -.->|\"{}\"| silent", family.silent);
        }
    }
    let asked = state.ballots.len();
    let end = if state.record.closing.is_some() {
        let outcome = outcome_text(tally.outcome(), &plan.options);
        format!(
            "Outcome: {outcome} ({asked} of {} models counted; agreement is not proof)",
            plan.roster.len()
        )
    } else {
        format!("Still running: {asked} of {} models have answered", plan.roster.len())
    };
    let _ = writeln!(text, "    outcome{}", node(&end));
    let most = tally.counts().iter().copied().max().unwrap_or_default();
    let leading = tally.counts().iter().enumerate().filter(|(_, votes)| most > 0 && **votes == most);
    let arrow = if matches!(tally.outcome(), Outcome::Winner(_)) { "==>" } else { "-.->" };
    for (place, _) in leading {
        let _ = writeln!(text, "    option{place} {arrow} outcome");
    }
    text
}

/// The families of the models that were asked, largest first; small ones as one.
fn families(state: &PollState) -> Vec<(String, Family)> {
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for ballot in &state.ballots {
        let family = families.entry(family(&state.record, ballot)).or_default();
        match &ballot.vote {
            Ok(option) => *family.votes.entry(*option).or_default() += 1,
            Err(_) => family.silent += 1,
        }
    }
    let mut families: Vec<(String, Family)> =
        families.into_iter().map(|(name, family)| (name.to_owned(), family)).collect();
    families.sort_by_key(|(_, family)| std::cmp::Reverse(family.models()));
    if families.len() > MAX_FAMILIES {
        let small = families.split_off(MAX_FAMILIES - 1);
        let mut others = Family::default();
        for (_, family) in &small {
            others.add(family);
        }
        families.push((format!("{} other families", small.len()), others));
    }
    families
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The label of a node.
fn node(text: &str) -> String {
    format!("[\"{}\"]", label(text))
}

/// A text inside the quotes of a label. What Mermaid could take for syntax (quotes, entities, directives, styles,
/// Markdown, HTML) becomes the number of the character, which Mermaid shows as the character.
fn label(text: &str) -> String {
    let mut label = String::new();
    let mut visible =
        text.split_whitespace().flat_map(|word| word.chars().chain([' '])).filter(|c| !is_hidden(*c));
    for c in visible.by_ref().take(MAX_LABEL) {
        match c {
            ' ' | ',' | '?' | '!' | '(' | ')' | '\'' => label.push(c),
            // Mermaid itself writes numbers of characters with these two, until it draws.
            c if c != 'ﬂ' && c != '¶' && (c.is_alphanumeric() || !c.is_ascii()) => label.push(c),
            c => {
                let _ = write!(label, "#{};", u32::from(c));
            }
        }
    }
    let label = label.trim_end();
    if visible.next().is_some() { format!("{label}…") } else { label.to_owned() }
}

/// Whether nobody sees a character, or it changes the direction of the text around it.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{61c}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_hold_no_syntax() {
        assert_eq!(label("Tea, or (green) coffee?"), "Tea, or (green) coffee?");
        assert_eq!(label("a\"b#c;d\n`e`"), "a#34;b#35;c#59;d #96;e#96;");
        assert_eq!(label("%%{init: {}}%% <b>end</b>").matches(['%', '{', '<', '>', '"', ':']).count(), 0);
        assert_eq!(label("x\u{202e}y\u{0}\u{200b}é"), "xyé");
        let long = label(&"x".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_LABEL + 1, true));
    }
}
