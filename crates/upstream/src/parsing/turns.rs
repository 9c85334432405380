//! Removes what a model adds to its answer: a repeated ballot, and turns and questions that it invents.

use std::borrow::Cow;

/// Tokens of chat templates that end an answer or begin another turn.
const ENDS: [&str; 11] = [
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<end_of_turn>",
    "<start_of_turn>",
    "</s>",
    "[INST]",
    "<eos>",
];
/// The starts of lines of another turn, in lower case.
const TURNS: [&str; 5] = ["question:", "q:", "user:", "human:", "### question"];
/// The tags around the parts of a ballot, without their marks.
const PARTS: [&str; 2] = ["question-", "options-"];

/// Returns the answer itself.
pub(super) fn answer(text: &str) -> Cow<'_, str> {
    let text = text.trim_start();
    let text = text.strip_prefix("<|im_start|>assistant").unwrap_or(text).trim_start();
    let end = ENDS.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let text = text[..end].trim_end_matches([' ', '\t']);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_turn =
            |turn: &&str| line.get(..turn.len()).is_some_and(|start| start.eq_ignore_ascii_case(turn));
        if at > 0 && TURNS.iter().any(is_turn) {
            break;
        }
        at += line.len();
    }
    without_ballot(&text[..at])
}

/// Removes the parts of a ballot that the model repeats, each up to its end.
fn without_ballot(text: &str) -> Cow<'_, str> {
    if !PARTS.iter().any(|part| text.contains(&format!("<{part}"))) {
        return Cow::Borrowed(text);
    }
    let mut own = String::new();
    let mut rest = text;
    while let Some((at, part)) =
        PARTS.iter().filter_map(|part| Some((rest.find(&format!("<{part}"))?, part))).min()
    {
        own.push_str(&rest[..at]);
        let close = format!("</{part}");
        let Some(end) = rest[at..].find(&close) else { return Cow::Owned(own) };
        let after = &rest[at + end..];
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    own.push_str(rest);
    Cow::Owned(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_stays() {
        for (text, expected) in [
            ("Mars<|im_end|>\n<|im_start|>user\nEarth", "Mars"),
            ("<|im_start|>assistant\nMars", "Mars"),
            ("Mars\n\nQuestion: Which?\nAnswer: Earth", "Mars\n\n"),
            ("<question-0badcafe>\nAnswer: Mars\n</question-0badcafe>\nEarth", "\nEarth"),
            ("<options-0badcafe>\n- Mars", ""),
            ("Question: Mars", "Question: Mars"),
        ] {
            assert_eq!(answer(text), expected);
        }
    }
}
