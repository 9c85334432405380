//! Parsing of the vote in a response's text, from the most explicit forms to the least.

use std::borrow::Cow;

use super::choice_set::ChoiceSet;
use super::lenient_json::fields;
use super::matcher::ChoiceMatcher;

/// Words that label the vote.
const LABELS: &[&str] = &["option", "vote", "answer", "choice", "letter", "selection", "selected", "pick"];

/// Returns the choices in the fields of malformed JSON.
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
    // In `{"vote":"QX","alternatives":["DF"]}`, only the field labelled as the vote counts.
    if labelled.is_empty() { others } else { labelled }
}

fn is_label(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or("");
    LABELS.iter().any(|label| last.eq_ignore_ascii_case(label))
}

/// Maximum lengths of a label and of the value after it, in bytes. The longest option has 200 characters.
const MAX_LABEL: usize = 32;
const MAX_VALUE: usize = 1024;
/// Maximum number of labels with parsed values.
const MAX_LABELS: usize = 16;

/// Returns the choices in the text of a response. Structured text may name several, which are all returned.
/// Prose may also discuss other options, so it counts only if it names exactly one.
pub(super) fn from_text(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let text = without_reasoning(text);
    let text = super::tail(text.trim());
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
    let attempts: [&dyn Fn() -> ChoiceSet; 4] = [
        &|| matcher.whole_value(last, true),
        &|| labelled(text, matcher),
        &|| matcher.texts_in(last),
        &|| matcher.texts_in(text),
    ];
    let mut found = attempts.iter().map(|attempt| attempt().if_unique());
    found.find(|choices| !choices.is_empty()).unwrap_or(ChoiceSet::NONE)
}

/// Parses the values after a label and a separator: `Answer: Earth`, `vote(option="Earth")`,
/// `<parameter=option>Earth</…>`. Only the last labels count.
fn labelled(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let marks = text.match_indices([':', '=', '>']).map(|(at, _)| at);
    let is_labelled = |&at: &usize| {
        let start = text.ceil_char_boundary(at.saturating_sub(MAX_LABEL));
        is_label(text[start..at].trim_end_matches(['*', '_', '"', '\'', '`', ' ']))
    };
    let mut found = ChoiceSet::NONE;
    for at in marks.rev().filter(is_labelled).take(MAX_LABELS) {
        let value = &text[at + 1..text.floor_char_boundary(at + 1 + MAX_VALUE)];
        let value = value.trim_start_matches([' ', '\n', '\t', '*', '_', '"', '\'', '`', ':', '=', '>']);
        let end = value.find(['<', '>', ')', '}', '"', '\n']).unwrap_or(value.len());
        found.add(matcher.any_value(&value[..end], true));
    }
    found
}

/// The marks around reasoning, in any case: of most models, Gemma (`thought`), Seed, MiniMax, Mistral and Kimi.
const REASONING_TAGS: [(&str, &str); 8] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];

/// True if a text begins with this tag, in any case.
fn begins_with(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

/// Removes the model's reasoning from a text. The opening tag may be missing because of the chat template.
/// The closing tag is missing if the response was cut off.
pub(crate) fn without_reasoning(text: &str) -> Cow<'_, str> {
    let mut visible = String::new();
    // The expected closing tag, and the start of the text after the last tag.
    let (mut reasoning, mut from, mut seen): (Option<&str>, usize, bool) = (None, 0, false);
    // Most of these signs begin no tag.
    let begins_tag = |&(_, pair): &(usize, &[u8])| match pair {
        [b'<', next] => matches!(next.to_ascii_lowercase(), b'/' | b't' | b'r' | b's' | b'm'),
        [b'[', next] => matches!(next.to_ascii_lowercase(), b'/' | b't'),
        // The first bytes of `◁`.
        [0xE2, 0x97] => true,
        _ => false,
    };
    for (at, _) in text.as_bytes().windows(2).enumerate().filter(begins_tag) {
        let rest = &text[at..];
        let tag =
            REASONING_TAGS.iter().find(|(open, close)| begins_with(rest, open) || begins_with(rest, close));
        let Some((open, close)) = tag else { continue };
        match reasoning {
            // Reasoning ends only at its own closing tag.
            Some(expected) if begins_with(rest, expected) => (reasoning, from) = (None, at + close.len()),
            Some(_) => {}
            None if begins_with(rest, open) => {
                visible.push_str(&text[from..at]);
                reasoning = Some(close);
            }
            None => {
                visible.clear();
                from = at + close.len();
            }
        }
        seen = true;
    }
    if !seen {
        return Cow::Borrowed(text);
    }
    if reasoning.is_none() {
        visible.push_str(&text[from..]);
    }
    Cow::Owned(visible)
}

#[cfg(test)]
mod tests {
    use ep_polling::ballot::ChoiceForm;

    use super::super::testing::view;
    use super::*;

    fn vote(text: &str) -> Option<usize> {
        from_text(text, &ChoiceMatcher::new(&view(&["Earth", "Mars", "Venus"]), ChoiceForm::Text)).only()
    }

    #[test]
    fn every_common_form_is_parsed() {
        for text in [
            "Mars",
            "Mars.",
            "**Mars**",
            "I compared Earth, Mars and Venus.\n\nMars",
            "Earth is small, Venus is hot.\nAnswer: Mars",
            "Earth is small, Venus is hot.\n**Final answer:** Mars",
            "My vote is Mars.",
            "I would go for Mars, because of its canals.",
            "```json\n{\"option\": \"Mars\"}\n```",
            "{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}",
            "<tool_call>\n{\"name\": \"vote\", \"arguments\": {\"option\": \"Mars\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"vote\", \"arguments\": {\"option\": \"Mars\"",
            "<function=vote>\n<parameter=option>\nMars\n</parameter>\n</function>",
            "<function=vote>{\"option\":\"Mars\"}</function>",
            "[TOOL_REQUEST]{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}[END_TOOL_REQUEST]",
            "[TOOL_CALLS][{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}]",
            "vote(option=\"Mars\")",
            "<think>Earth? Venus? Earth it is.</think>Mars",
            "Earth it is, so I think</think>\nMars",
            "Mars <think>or Earth?</think>",
            "<think>one <reasoning>Earth</reasoning> two</think>Mars",
            "Earth seems wrong and Venus too hot.\nSo Mars is my choice.",
        ] {
            assert_eq!(vote(text), Some(1), "{text}");
        }
        let long = format!("{}\nAnswer: Mars", "Earth is blue. ".repeat(1000));
        assert_eq!(vote(&long), Some(1), "the end of a long response decides");
    }

    #[test]
    fn reasoning_of_every_family_is_no_vote() {
        for (open, close) in REASONING_TAGS {
            for (open, close) in
                [(open.to_owned(), close.to_owned()), (open.to_uppercase(), close.to_lowercase())]
            {
                assert_eq!(vote(&format!("{open}Earth? Venus? Earth it is.{close} Mars")), Some(1), "{open}");
                assert_eq!(vote(&format!("Earth it is.{close}\nMars")), Some(1), "{close}");
                assert_eq!(vote(&format!("{open}Earth is blue, and so")), None, "{open}");
            }
        }
        assert_eq!(vote("[Mars] ◁"), Some(1), "other brackets are none");
    }

    #[test]
    fn text_without_a_single_choice_is_not_a_vote() {
        for text in [
            "",
            "I cannot decide.",
            "Earth or Mars, both are fine",
            "Earth and Mars are planets.",
            "<think>Mars",
            "B",
            "{\"option\": \"<text>\"}",
            "The options are Earth, Mars, Venus.",
            "I would never choose Mars",
        ] {
            assert_eq!(vote(text), None, "{text}");
        }
    }

    #[test]
    fn letters_in_prose_count_only_if_they_stand_alone() {
        let view = view(&["Earth", "Mars", "Venus"]);
        let vote = |text: &str| from_text(text, &ChoiceMatcher::new(&view, ChoiceForm::Letter)).only();
        for text in ["B", "(B)", "Answer: B", "B: Mars", "I compared A, B and C.\n\nB", "**Answer:** B) Mars"]
        {
            assert_eq!(vote(text), Some(1), "{text}");
        }
        for text in ["A good question.", "I like plan B", "A or B", "D"] {
            assert_eq!(vote(text), None, "{text}");
        }
    }
}
