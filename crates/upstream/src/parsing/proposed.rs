//! The options in a response to a request for them: a list in the arguments of a call or in JSON, or lines.

use super::lenient_json::{self, Field};
use super::{MAX_CALLS, MAX_ENCODINGS, ResponseContent, turns, without_reasoning};

/// Maximum length of a text that is searched, in bytes.
const MAX_TEXT: usize = 4096;
/// Maximum length of a line that can be an option, in bytes.
const MAX_LINE: usize = 200;
/// The names of a list of options.
const NAMES: [&str; 6] = ["options", "option", "answers", "choices", "proposals", "candidates"];

/// Returns up to `most` options of a response, in its order. One whose end is missing does not count.
pub(crate) fn proposed_options(content: &ResponseContent<'_>, most: usize) -> Vec<String> {
    for arguments in content.calls.iter().take(MAX_CALLS) {
        let mut arguments = arguments.clone();
        // Some servers encode the arguments again.
        for _ in 0..MAX_ENCODINGS {
            let Ok(decoded) = serde_json::from_str::<String>(&arguments) else { break };
            arguments = decoded.into();
        }
        let options = in_fields(&arguments, most);
        if !options.is_empty() {
            return options;
        }
    }
    let Some(text) = &content.text else { return Vec::new() };
    let text = without_reasoning(text);
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let options = in_fields(text, most);
    if options.is_empty() { in_lines(&turns::answer(text), most) } else { options }
}

/// Reads the named list, or a list without a name.
fn in_fields(text: &str, most: usize) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let mut options = Vec::new();
    lenient_json::fields(text, &mut |Field { name, value, complete, .. }| {
        let is_named = name.is_empty() || NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
        if complete && is_named && options.len() < most && !value.trim().is_empty() {
            options.push(value.trim().to_owned());
        }
    });
    options
}

/// Reads short lines. A line that introduces them ends with a colon.
fn in_lines(text: &str, most: usize) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= MAX_LINE);
    let options: Vec<String> = lines
        .filter(|line| !line.ends_with(':') && !line.starts_with("```"))
        .take(most)
        .map(str::to_owned)
        .collect();
    // A single line is a sentence and no list.
    if options.len() > 1 { options } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn from(calls: &[&str], text: &str) -> Vec<String> {
        let calls = calls.iter().map(|call| Cow::Borrowed(*call)).collect();
        proposed_options(&ResponseContent { calls, text: Some(Cow::Borrowed(text)) }, 5)
    }

    #[test]
    fn lists_of_any_form_are_read() {
        for (calls, text) in [
            (&[r#"{"options": ["Tea", "Coffee"]}"#][..], "ignored"),
            (&[r#""{\"options\": [\"Tea\", \"Coffee\"]}""#], ""),
            (&["{'answers': ['Tea', 'Coffee',"], ""),
            (&[], "```json\n{\"options\": [\"Tea\", \"Coffee\"]}\n```"),
            (&[], r#"["Tea", "Coffee"]"#),
            (&[], "<think>1. Water\n2. Milk</think>Here are some:\nTea\n\nCoffee\n"),
        ] {
            assert_eq!(from(calls, text), ["Tea", "Coffee"], "{calls:?} {text}");
        }
        assert_eq!(from(&[r#"{"options": ["Tea", "Coff"#], ""), ["Tea"]);
        assert_eq!(from(&[], "I cannot help with that."), [""; 0]);
        assert_eq!(from(&[r#"{"options": ["a","b","c","d","e","f"]}"#], "").len(), 5);
    }
}
