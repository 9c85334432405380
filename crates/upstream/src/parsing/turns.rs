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
    let mut own = String::new();
    // The start of the text after the last part.
    let mut from = 0;
    for (at, _) in text.match_indices('<') {
        let part = PARTS.iter().find(|part| text[at + 1..].starts_with(**part));
        let Some(part) = part.filter(|_| at >= from) else { continue };
        own.push_str(&text[from..at]);
        let close = text[at..].find(&format!("</{part}")).map(|close| at + close);
        let end = close.and_then(|close| text[close..].find('>').map(|end| close + end + 1));
        from = end.unwrap_or(text.len());
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    own.push_str(&text[from..]);
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
