//! Reads the vote in the fields of JSON.

use super::choice_set::ChoiceSet;
use super::declared::Declared;
use super::lenient_json::{self, Field};
use super::matcher::ChoiceMatcher;
use super::normal::normal;
use super::sentence::sentence;
use super::vocabulary::{Label, doubts, label};

/// Names whose values are no vote.
const OTHER_NAMES: [&str; 15] = [
    "index",
    "confidence",
    "probability",
    "name",
    "tool",
    "function",
    "type",
    "role",
    "id",
    "model",
    "reason",
    "reasoning",
    "explanation",
    "thought",
    "why",
];

/// Returns the choices in the fields of JSON, however malformed. A field that is named as the vote is preferred. `is_whole`
/// means that the text is nothing but JSON.
pub(super) fn from_fields(text: &str, matcher: &ChoiceMatcher<'_>, is_whole: bool) -> Declared {
    let text = text.trim_start();
    let mut found = [Declared::default(); 3];
    // The highest rank of a field, and a tool that does not vote.
    let (mut best, mut is_refused, mut is_other_tool) = (2, false, false);
    let is_open = lenient_json::fields(text, &mut |field| {
        let name = normal(&words_of_name(&field.name));
        if matches!(&*name, "name" | "tool" | "tool name" | "function") {
            let tool = normal(&words_of_name(&field.value));
            // Some models put the option in place of the tool.
            let is_option = !matcher.value(&field.value).is_empty();
            is_refused = is_refused || (doubts(&tool) && !is_option);
            is_other_tool = is_other_tool || label(&tool).is_none();
        }
        let last = name.rsplit(' ').next().unwrap_or_default();
        if OTHER_NAMES.contains(&last) {
            return;
        }
        let rank = match label(&name) {
            Some(Label::Strong) => 0,
            Some(Label::Weak) => 1,
            None if doubts(&name) => return,
            None => 2,
        };
        if !is_whole && !is_declared(text, &field, rank) {
            return;
        }
        best = best.min(rank);
        is_refused = is_refused || (rank == 0 && field.value == "false");
        let choices = match (field.complete, rank) {
            (false, _) => ChoiceSet::NONE,
            (true, 0) => value_or_sentence(&field.value, matcher),
            (true, _) => matcher.value(&field.value),
        };
        found[rank].add(Declared { choices, unfinished: !field.complete });
    });
    let unfinished = is_open && text.starts_with(['{', '[']) || found.iter().any(|found| found.unfinished);
    // A list of judged options that was cut off, or a call of a tool that does not vote.
    if is_refused || found[0].unfinished || (best == 2 && is_other_tool) {
        return Declared { choices: ChoiceSet::NONE, unfinished };
    }
    // In `{"vote":"abstain","alternatives":["DF"]}`, only the field named as the vote counts.
    Declared { choices: found[best].choices, unfinished }
}

/// True if a field in a text is the model's answer: it is named as the vote, the text begins with it, or it is in a box of LaTeX,
/// and no doubt stands before it in its line.
fn is_declared(text: &str, field: &Field<'_>, rank: usize) -> bool {
    let (before, inside) = text.split_at(field.opened_at);
    let line = before.rsplit('\n').next().unwrap_or(before);
    let inside = inside.trim_start_matches('[').trim_start();
    let is_object = !field.name.is_empty() && inside.starts_with('{');
    let begins = matches!(before.trim(), "" | "```" | "```json");
    let is_asked =
        inside.lines().next().is_some_and(|line| line.trim_end().ends_with('?') || line.contains("}?"));
    (is_object && (rank < 2 || begins) || line.ends_with("\\boxed")) && !is_asked && !doubts(&normal(line))
}

/// The words of a name in `snake_case` or `camelCase`.
pub(super) fn words_of_name(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if lower && c.is_uppercase() {
            words.push(' ');
        }
        lower = c.is_lowercase();
        words.push(if c == '_' || c == '-' { ' ' } else { c });
    }
    words
}

fn value_or_sentence(value: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let found = matcher.value(value);
    if found.is_empty() { sentence(value, matcher) } else { found }
}
