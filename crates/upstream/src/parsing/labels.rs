//! Reads the votes behind labels.

use super::choice_set::ChoiceSet;
use super::list_label::is_listed;
use super::matcher::ChoiceMatcher;
use super::normal::normal;
use super::sentence::is_undoubted;
use super::vocabulary::{Label, before_option_word, before_reason, is_plain, label, retracts};

/// The most labels that are read, and the longest line, in bytes.
const MAX_LABELS: usize = 16;
const MAX_LINE: usize = 1024;

/// Reads the values of labels: `Answer: Earth`, `**Final answer:** Earth`, `答案：地球`, or a label with the value in the next
/// line. The last line of a text that was cut off has no end, unless `is_ended`.
pub(super) fn from_labels(text: &str, matcher: &ChoiceMatcher<'_>, is_ended: bool) -> ChoiceSet {
    let lines: Vec<String> = text
        .lines()
        .filter(|line| line.len() <= MAX_LINE)
        .map(normal)
        .filter(|line| !line.is_empty())
        .collect();
    let complete = lines.len() - usize::from(!is_ended && !lines.is_empty());
    let mut found = [ChoiceSet::NONE; 2];
    let mut read = 0;
    for (place, line) in lines[..complete].iter().enumerate() {
        // A quotation, or an example under a heading.
        if line.starts_with('>')
            || place.checked_sub(1).is_some_and(|before| is_heading(&lines[before], matcher))
        {
            continue;
        }
        let Some(Labelled { label, name, value }) = labelled(line, matcher) else { continue };
        // A text that goes through the options, and was cut off.
        let name = name.trim_matches([' ', '*', '_', '#']);
        if !is_ended
            && before_option_word(name).is_empty()
            && !matches!(name, "answer" | "choice" | "antwort" | "choix")
        {
            continue;
        }
        read += 1;
        if read > MAX_LABELS {
            break;
        }
        let value = if value.is_empty() {
            below(&lines[..complete], place, matcher)
        } else {
            value_of(value, matcher)
        };
        // “Answer: Earth. Scratch that.”
        if !value.is_empty() && lines[place + 1..].iter().any(|line| retracts(line)) {
            return ChoiceSet::NONE;
        }
        found[usize::from(label == Label::Weak)].add(value);
    }
    if found[0].is_empty() { found[1] } else { found[0] }
}

/// True if a line ends with a colon, and labels no vote.
pub(super) fn is_heading(line: &str, matcher: &ChoiceMatcher<'_>) -> bool {
    line.trim_end_matches(['*', '_', ' ']).ends_with(':') && labelled(line, matcher).is_none()
}

/// Matches the line below a label, unless it is the first of a list.
fn below(lines: &[String], place: usize, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let is_item = |line: &String| is_listed(line) || !matcher.normal_value(line).is_empty();
    match &lines[place + 1..] {
        [] => ChoiceSet::NONE,
        [_, next, ..] if is_item(next) => ChoiceSet::NONE,
        [value, ..] => matcher.normal_value(value),
    }
}

/// Matches an option, or one with a reason: `Mars, because it is red`.
fn value_of(value: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let whole = matcher.normal_value(value);
    if !whole.is_empty() {
        return whole;
    }
    let Some(chosen) = before_reason(value) else { return ChoiceSet::NONE };
    let named = matcher.normal_value(chosen);
    let is_clear = named.only().is_some_and(|index| is_undoubted(&value[chosen.len()..], index, matcher));
    if is_clear { named } else { ChoiceSet::NONE }
}

/// A label and its value.
struct Labelled<'t> {
    label: Label,
    name: &'t str,
    value: &'t str,
}

/// Splits a line into its label and the value behind the colon or dash.
fn labelled<'t>(line: &'t str, matcher: &ChoiceMatcher<'_>) -> Option<Labelled<'t>> {
    let ends = line.match_indices([':', 'ঃ']).chain(line.match_indices(" - "));
    for (at, end) in ends.take(4) {
        let said = &line[..at];
        let start = said
            .rfind(['.', '!', '?', '。', '！', ';'])
            .map_or(0, |stop| stop + said[stop..].chars().next().map_or(0, char::len_utf8));
        let name = said[start..].trim();
        let Some(label) = label(name).filter(|_| is_plain(name, |word| matcher.is_asked(word))) else {
            continue;
        };
        let mut value = line[at + end.len()..].trim();
        // Emphasis around the label, or around all of it: `**Answer:** Earth`, `**Answer: Earth**`.
        let name = name.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '*' | '_'));
        let emphasis = &name[..name.len() - name.trim_start_matches(['*', '_']).len()];
        if !emphasis.is_empty() && !name[emphasis.len()..].ends_with(emphasis) {
            value =
                value.strip_prefix(emphasis).or_else(|| value.strip_suffix(emphasis)).unwrap_or(value).trim();
        }
        return Some(Labelled { label, name, value });
    }
    None
}
