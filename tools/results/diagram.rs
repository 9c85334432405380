//! Mermaid flow charts of polls.

use std::collections::BTreeMap;
use std::fmt::Write;

use ep_kernel::PollState;
use ep_polling::{NoAnswer, Outcome, PassResult, ScaleResult, Tally};

use crate::polls::summary::{family, no_answer, outcome_text};

/// Maximum number of families drawn separately; smaller ones are merged.
const MAX_FAMILIES: usize = 12;
/// Maximum length of a label, in characters. Options are always shorter.
const MAX_LABEL: usize = 300;

/// The votes of a model family.
#[derive(Debug, Default)]
struct Family {
    /// Votes per option.
    votes: BTreeMap<usize, u32>,
    /// Number of models without a vote.
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

/// Returns the flow chart of a poll: question, families of the models asked, options and outcome.
pub fn diagram(state: &PollState) -> String {
    let plan = &state.record.plan;
    let tally = state.tally();
    let families = families(state);
    let silent: u32 = families.iter().map(|(_, family)| family.silent).sum();
    let mut text = format!("flowchart LR\n    question{}\n", node(&plan.question));
    for (index, option) in plan.options.iter().enumerate() {
        let votes = tally.counts().get(index).copied().unwrap_or_default();
        let _ =
            writeln!(text, "    option{index}{}", node(&format!("{option} ({})", counted(votes, "vote"))));
    }
    if silent > 0 {
        let _ = writeln!(text, "    silent{}", node(&format!("No vote ({})", counted(silent, "model"))));
    }
    for (index, (name, family)) in families.iter().enumerate() {
        let models = counted(family.models(), "model");
        let _ = writeln!(text, "    question --> family{index}{}", node(&format!("{name} ({models})")));
        for (option, votes) in &family.votes {
            let _ = writeln!(text, "    family{index} -->|\"{votes}\"| option{option}");
        }
        if family.silent > 0 {
            let _ = writeln!(text, "    family{index} -.->|\"{}\"| silent", family.silent);
        }
    }
    let models = state.models();
    let (counted, roster) = (models.counted(), models.roster());
    let is_unsupported = |closing| no_answer(state, closing) == Some(NoAnswer::Unsupported);
    let too_few = state.record.closing.as_ref().is_some_and(is_unsupported);
    let end = if state.record.closing.is_some() {
        let outcome = outcome(state, &tally);
        let too_few = if too_few { "Too few votes for an answer. " } else { "" };
        format!("{too_few}{outcome} ({counted} of {roster} models counted; agreement is not proof)")
    } else {
        format!("Still running: {counted} of {roster} models have responded")
    };
    let _ = writeln!(text, "    outcome{}", node(&end));
    let median = tally.lower_median().filter(|_| plan.kind.is_scale());
    let most = tally.counts().iter().copied().max().unwrap_or_default();
    let leads = |index: usize, votes: u32| median.map_or(most > 0 && votes == most, |median| index == median);
    let is_decided = !too_few && (median.is_some() || matches!(tally.outcome(), Outcome::Winner(_)));
    let arrow = if is_decided { "==>" } else { "-.->" };
    for (index, _) in tally.counts().iter().enumerate().filter(|(index, votes)| leads(*index, **votes)) {
        let _ = writeln!(text, "    option{index} {arrow} outcome");
    }
    text
}

/// Returns the outcome of a poll that has ended: the winner, or the median of a scale and its pass.
fn outcome(state: &PollState, tally: &Tally) -> String {
    let plan = &state.record.plan;
    let scale = ScaleResult::of(plan.kind, &plan.options, tally, 0.0);
    let Some(ScaleResult { median: Some(median), pass, .. }) = scale else {
        return format!("Outcome: {}", outcome_text(tally.outcome(), &plan.options));
    };
    match pass {
        None => format!("Median: {median}"),
        Some(PassResult { mark, passed, .. }) => {
            let verdict = if passed == Some(true) { "Passed" } else { "Not passed" };
            format!("{verdict}: median {median}, pass mark {mark}")
        }
    }
}

/// Returns the families of the models asked, largest first, with small ones merged.
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

/// Returns the label of a node.
fn node(text: &str) -> String {
    format!("[\"{}\"]", label(text))
}

/// Escapes a text for a quoted label. Possible Mermaid syntax (quotes, entities, directives, styles,
/// Markdown, HTML) becomes character codes, which Mermaid displays as characters.
fn label(text: &str) -> String {
    let mut label = String::new();
    let mut visible =
        text.split_whitespace().flat_map(|word| word.chars().chain([' '])).filter(|c| !is_hidden(*c));
    for c in visible.by_ref().take(MAX_LABEL) {
        match c {
            ' ' | ',' | '?' | '!' | '(' | ')' | '\'' => label.push(c),
            // Mermaid uses these two characters internally to mark character codes.
            c if c != 'ﬂ' && c != '¶' && (c.is_alphanumeric() || !c.is_ascii()) => label.push(c),
            c => {
                let _ = write!(label, "#{};", u32::from(c));
            }
        }
    }
    let label = label.trim_end();
    if visible.next().is_some() { format!("{label}…") } else { label.to_owned() }
}

/// Returns true for invisible characters, and for those that change the text direction.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{61c}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_contain_no_syntax() {
        assert_eq!(label("Tea, or (green) coffee?"), "Tea, or (green) coffee?");
        assert_eq!(label("a\"b#c;d\n`e`"), "a#34;b#35;c#59;d #96;e#96;");
        assert_eq!(label("%%{init: {}}%% <b>end</b>").matches(['%', '{', '<', '>', '"', ':']).count(), 0);
        assert_eq!(label("x\u{202e}y\u{0}\u{200b}é"), "xyé");
        let long = label(&"x".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_LABEL + 1, true));
    }
}
