//! Reads the vote in the text of an answer, trying the most explicit forms first.

use std::borrow::Cow;

use super::choice_set::ChoiceSet;
use super::lenient_json::fields;
use super::matcher::ChoiceMatcher;

/// Words that label the vote.
const LABELS: &[&str] = &["option", "vote", "answer", "choice", "code", "selection", "selected", "pick"];

/// The choices in the fields of almost-JSON.
pub(super) fn from_fields(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let mut labelled = ChoiceSet::NONE;
    let mut others = ChoiceSet::NONE;
    fields(text, &mut |field| {
        if is_label(&field.name) {
            labelled.add(matcher.any_value(&field.value, field.complete));
        } else {
            others.add(matcher.whole_value(&field.value, field.complete));
        }
    });
    // `{"vote":"QX","alternatives":["DF"]}`: if fields are labelled as the vote, only they count.
    if labelled.is_empty() { others } else { labelled }
}

fn is_label(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or("");
    LABELS.iter().any(|label| last.eq_ignore_ascii_case(label))
}

/// The choices in the text of an answer. Structured text may name several, which are all returned. Prose
/// may also discuss other options, so it counts only if it singles out one.
pub(super) fn from_text(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let text = without_reasoning(text);
    let text = text.trim();
    if text.is_empty() {
        return ChoiceSet::NONE;
    }
    let whole = matcher.whole_value(text, true);
    if !whole.is_empty() {
        return whole;
    }
    let structured = from_fields(text, matcher);
    if !structured.is_empty() {
        return structured;
    }
    let last = text.lines().rev().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or("");
    let has_codes = !matcher.codes_in(text).is_empty();
    let attempts: [&dyn Fn() -> ChoiceSet; 6] = [
        &|| matcher.whole_value(last, true),
        &|| labelled(text, matcher),
        &|| matcher.codes_in(last),
        &|| matcher.codes_in(text),
        // If several codes are named, the option texts beside them do not decide.
        &|| if has_codes { ChoiceSet::NONE } else { matcher.texts_in(last) },
        &|| if has_codes { ChoiceSet::NONE } else { matcher.texts_in(text) },
    ];
    let mut found = attempts.iter().map(|attempt| attempt().if_unique());
    found.find(|choices| !choices.is_empty()).unwrap_or(ChoiceSet::NONE)
}

/// Values after a label and a separator: `Answer: QX`, `vote(option="QX")`, `<parameter=option>QX</…>`.
fn labelled(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let mut found = ChoiceSet::NONE;
    let mut rest = text;
    while let Some(at) = rest.find([':', '=', '>']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if is_label(before.trim_end_matches(['*', '_', '"', '\'', '`', ' '])) {
            let value = after.trim_start_matches([' ', '\n', '\t', '*', '_', '"', '\'', '`', ':', '=', '>']);
            let end = value.find(['<', '>', ')', '}', '"', '\n']).unwrap_or(value.len());
            found.add(matcher.any_value(&value[..end], true));
        }
        rest = after;
    }
    found
}

/// The text without the model's reasoning. Chat templates may swallow the opening tag; the closing tag is
/// missing if the answer was cut off.
pub(crate) fn without_reasoning(text: &str) -> Cow<'_, str> {
    const TAGS: [(&str, &str); 3] =
        [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];
    let mut text = Cow::Borrowed(text);
    for (open, close) in TAGS {
        if !text.contains(open) && !text.contains(close) {
            continue;
        }
        let mut kept = String::with_capacity(text.len());
        let mut rest: &str = &text;
        loop {
            match (rest.find(open), rest.find(close)) {
                (Some(start), Some(end)) if start < end => {
                    kept.push_str(&rest[..start]);
                    rest = &rest[end + close.len()..];
                }
                (_, Some(end)) => {
                    kept.clear();
                    rest = &rest[end + close.len()..];
                }
                (Some(start), None) => {
                    kept.push_str(&rest[..start]);
                    break;
                }
                (None, None) => {
                    kept.push_str(rest);
                    break;
                }
            }
        }
        text = Cow::Owned(kept);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::view;
    use super::*;

    fn vote(text: &str) -> Option<usize> {
        from_text(text, &ChoiceMatcher::new(&view(&["Earth", "Mars", "Venus"]))).only()
    }

    #[test]
    fn every_common_form_is_read() {
        for text in [
            "DF",
            "Mars.",
            "**DF**",
            "I compared BC, DF and GH.\n\nDF",
            "BC is small, GH is hot.\nAnswer: DF",
            "BC is small, GH is hot.\n**Final answer:** Mars",
            "My vote is DF.",
            "I would go for Mars, because of its canals.",
            "```json\n{\"option\": \"DF\"}\n```",
            "{\"name\":\"vote\",\"arguments\":{\"option\":\"DF\"}}",
            "<tool_call>\n{\"name\": \"vote\", \"arguments\": {\"option\": \"DF\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"vote\", \"arguments\": {\"option\": \"DF\"",
            "<function=vote>\n<parameter=option>\nDF\n</parameter>\n</function>",
            "<function=vote>{\"option\":\"DF\"}</function>",
            "[TOOL_REQUEST]{\"name\":\"vote\",\"arguments\":{\"option\":\"DF\"}}[END_TOOL_REQUEST]",
            "[TOOL_CALLS][{\"name\":\"vote\",\"arguments\":{\"option\":\"DF\"}}]",
            "vote(option=\"DF\")",
            "<think>BC? GH? BC it is.</think>DF",
            "BC it is, so I think</think>\nDF",
            "BC seems wrong and GH too hot.\nSo DF is my choice.",
        ] {
            assert_eq!(vote(text), Some(1), "{text}");
        }
    }

    #[test]
    fn text_without_a_single_choice_is_not_a_vote() {
        for text in [
            "",
            "I cannot decide.",
            "BC or DF, both are fine",
            "Earth and Mars are planets.",
            "<think>DF",
            "{\"option\": \"<code>\"}",
            "The options are BC: Earth, DF: Mars, GH: Venus.",
            "I would never choose Mars",
        ] {
            assert_eq!(vote(text), None, "{text}");
        }
    }
}
