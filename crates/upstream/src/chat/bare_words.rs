//! Numbers that JSON lacks.

use std::borrow::Cow;

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of strings by `null`. Python's `json` writes them.
pub(super) fn without_bare_words(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut replaced = String::new();
    let (mut from, mut at, mut quoted) = (0, 0, false);
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => at += 1,
            b'-' | b'I' | b'N' if !quoted => {
                if let Some(word) = WORDS.iter().find(|word| bytes[at..].starts_with(word.as_bytes())) {
                    replaced.push_str(&text[from..at]);
                    replaced.push_str("null");
                    at += word.len();
                    from = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(&text[from..]);
    Cow::Owned(replaced)
}
