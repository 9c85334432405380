//! Reads a vote out of the text of an answer, from the most to the least explicit form.

use std::borrow::Cow;

use super::codebook::Codebook;
use super::lenient::members;
use super::marks::Marks;

/// Words that introduce the vote itself.
const LABELS: &[&str] = &["option", "vote", "answer", "choice", "code", "selection", "selected", "pick"];

/// What the members of something that means to be JSON say.
pub(super) fn from_members(text: &str, book: &Codebook<'_>) -> Marks {
    let mut named = Marks::NONE;
    let mut others = Marks::NONE;
    members(text, &mut |member| {
        if is_label(&member.name) {
            named.add(book.value(&member.value, member.complete));
        } else {
            others.add(book.equal(&member.value, member.complete));
        }
    });
    // `{"vote":"QX","alternatives":["DF"]}`: members that say they are the vote are heard alone.
    if named.is_empty() { others } else { named }
}

fn is_label(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or("");
    LABELS.iter().any(|label| last.eq_ignore_ascii_case(label))
}

/// What the text of an answer says. Several votes in a machine's form are all reported; in prose, where
/// options are also discussed, only a single one counts.
pub(super) fn from_text(text: &str, book: &Codebook<'_>) -> Marks {
    let text = thoughtless(text);
    let text = text.trim();
    if text.is_empty() {
        return Marks::NONE;
    }
    let whole = book.equal(text, true);
    if !whole.is_empty() {
        return whole;
    }
    let structured = from_members(text, book);
    if !structured.is_empty() {
        return structured;
    }
    let last = text.lines().rev().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or("");
    let coded = !book.codes_in(text).is_empty();
    let readings: [&dyn Fn() -> Marks; 6] = [
        &|| book.equal(last, true),
        &|| labelled(text, book),
        &|| book.codes_in(last),
        &|| book.codes_in(text),
        // Where codes are named but none is singled out, texts do not decide either.
        &|| if coded { Marks::NONE } else { book.texts_in(last) },
        &|| if coded { Marks::NONE } else { book.texts_in(text) },
    ];
    readings.iter().map(|read| read().if_unique()).find(|marks| !marks.is_empty()).unwrap_or(Marks::NONE)
}

/// Values after a label and a separator: `Answer: QX`, `vote(option="QX")`, `<parameter=option>QX</…>`.
fn labelled(text: &str, book: &Codebook<'_>) -> Marks {
    let mut marks = Marks::NONE;
    let mut rest = text;
    while let Some(at) = rest.find([':', '=', '>']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if is_label(before.trim_end_matches(['*', '_', '"', '\'', '`', ' '])) {
            let value = after.trim_start_matches([' ', '\n', '\t', '*', '_', '"', '\'', '`', ':', '=', '>']);
            let end = value.find(['<', '>', ')', '}', '"', '\n']).unwrap_or(value.len());
            marks.add(book.value(&value[..end], true));
        }
        rest = after;
    }
    marks
}

/// The text without what was thought aloud. An opening mark that is missing was eaten by the chat
/// template; a closing mark that is missing was never reached.
pub(crate) fn thoughtless(text: &str) -> Cow<'_, str> {
    const MARKS: [(&str, &str); 3] =
        [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];
    let mut text = Cow::Borrowed(text);
    for (open, close) in MARKS {
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
        from_text(text, &Codebook::new(&view(&["Earth", "Mars", "Venus"]))).only()
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
    fn talk_is_no_vote() {
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
