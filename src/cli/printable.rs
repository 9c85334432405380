//! Escapes untrusted text for the terminal: a server or a model could otherwise move the cursor, retitle the
//! terminal or hide text.

use std::borrow::Cow;
use std::fmt::Write;

use ep_polling::text::is_direction_mark;
use serde_json::Value;

/// Escapes control characters as in JSON, except line breaks and tabs, and replaces direction marks with their code points, such as `U+202E`.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c, shown| {
        let code = u32::from(c);
        if is_direction_mark(c) { write!(shown, "U+{code:04X}") } else { write!(shown, "\\u{code:04x}") }
    })
}

/// Escapes the same characters in JSON, which stays the same JSON.
pub(super) fn printable_json(json: &str) -> Cow<'_, str> {
    escaped(json, |c, shown| write!(shown, "\\u{:04x}", u32::from(c)))
}

fn escaped(text: &str, escape: impl Fn(char, &mut String) -> std::fmt::Result) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            let _ = escape(c, &mut shown);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Escapes every string and key in a value, including line breaks.
pub(super) fn printable_value(value: &Value) -> Value {
    let line = |text: &str| printable(text).replace('\n', "\\n");
    match value {
        Value::String(text) => Value::String(line(text)),
        Value::Array(items) => Value::Array(items.iter().map(printable_value).collect()),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (line(name), printable_value(member))).collect()
        }
        other => other.clone(),
    }
}

/// True for control characters and characters that change the text direction (UAX #9).
fn is_unsafe(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_direction_mark(c)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let hostile = "a\u{1b}]0;title\u{7}b\u{9b}2Jc\rd\u{202e}e";
        let shown = printable(hostile);
        assert_eq!(shown, "a\\u001b]0;title\\u0007b\\u009b2Jc\\u000ddU+202Ee");
        assert_eq!(printable("caf\u{e9}\n\ttea"), "caf\u{e9}\n\ttea");
        let value = printable_value(&json!({ "x\u{1b}[2J": [1, "two\nlines"] }));
        assert_eq!(value, json!({ "x\\u001b[2J": [1, "two\\nlines"] }));
        // Escaped JSON is the same JSON.
        let written = serde_json::to_string(&json!({ "name": hostile })).unwrap();
        let read: Value = serde_json::from_str(&printable_json(&written)).unwrap();
        assert_eq!(read["name"], hostile);
    }
}
