//! A parser for the fields of malformed JSON, as models write it.
//!
//! It tolerates code fences, comments, single and typographic quotes, unquoted words, trailing or missing
//! commas, and a missing end. JSON repair crates return a complete document, which hides that a string was
//! cut off. That matters here, because the first half of `Earthrise` may be another option.

use std::borrow::Cow;

/// One value and its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field<'t> {
    /// The name of the value, or of the list that contains it; empty if there is none.
    pub(super) name: Cow<'t, str>,
    /// The content of a string, or an unquoted word.
    pub(super) value: Cow<'t, str>,
    /// True if the end of the value was found. A string or word at the end of the text may be cut off.
    pub(super) complete: bool,
    /// The place of the outermost object or list around the value, in bytes.
    pub(super) opened_at: usize,
}

/// Visits the fields of every object and list in `text`, in reading order. Strings that contain an object are
/// parsed too, a few levels deep. Returns true if an object or list has no end.
pub(super) fn fields<'t>(text: &'t str, visit: &mut dyn FnMut(Field<'_>)) -> bool {
    read(text, None, 0, visit)
}

const MAX_DEPTH: u8 = 3;

fn read<'t>(text: &'t str, outer: Option<usize>, depth: u8, visit: &mut dyn FnMut(Field<'_>)) -> bool {
    let mut scanner = Scanner { text, at: 0 };
    let mut open = 0_u32;
    let mut opened_at = 0;
    let mut name: Option<Cow<'t, str>> = None;
    // Values in a list have the name of the list.
    let mut list: Option<Cow<'t, str>> = None;
    while let Some(c) = scanner.peek() {
        match c {
            '{' | '[' => {
                if open == 0 {
                    opened_at = outer.unwrap_or(scanner.at);
                }
                open += 1;
                if c == '[' {
                    list = name.take();
                }
                scanner.skip(c);
            }
            '}' | ']' => {
                open = open.saturating_sub(1);
                name = None;
                list = None;
                scanner.skip(c);
            }
            // Text outside of objects and lists is skipped.
            _ if open == 0 => scanner.skip(c),
            ',' => {
                name = None;
                scanner.skip(c);
            }
            c if c.is_whitespace() || matches!(c, ':' | '=') => scanner.skip(c),
            _ => {
                let (value, complete) = scanner.token();
                if scanner.is_name() {
                    name = Some(value);
                    continue;
                }
                if depth < MAX_DEPTH && value.trim_start().starts_with(['{', '[']) {
                    read(&value, Some(opened_at), depth + 1, visit);
                } else {
                    let name = name.take().or_else(|| list.clone()).unwrap_or_default();
                    visit(Field { name, value, complete, opened_at });
                }
            }
        }
    }
    open > 0
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    /// Returns true if the token just read is a name, because a colon or an equals sign follows.
    fn is_name(&self) -> bool {
        self.text[self.at..].trim_start().starts_with([':', '='])
    }

    /// Reads a quoted string or an unquoted word. Returns true beside it if its end was found.
    fn token(&mut self) -> (Cow<'t, str>, bool) {
        let close = match self.peek() {
            Some('"') => '"',
            Some('\'') => '\'',
            Some('`') => '`',
            Some('“' | '”') => '”',
            Some('‘') => '’',
            _ => return self.unquoted(),
        };
        if let Some(quote) = self.peek() {
            self.skip(quote);
        }
        self.quoted(close)
    }

    fn unquoted(&mut self) -> (Cow<'t, str>, bool) {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ':', '=', '{', '}', '[', ']', '\n', '"']);
        let length = end.unwrap_or(rest.len()).max(rest.chars().next().map_or(0, char::len_utf8));
        self.at += length;
        (Cow::Borrowed(rest[..length].trim()), end.is_some())
    }

    fn quoted(&mut self, close: char) -> (Cow<'t, str>, bool) {
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut chars = self.text[start..].char_indices();
        while let Some((offset, c)) = chars.next() {
            if c == close {
                self.at = start + offset + c.len_utf8();
                let content = &self.text[start..start + offset];
                return (owned.map_or(Cow::Borrowed(content), Cow::Owned), true);
            }
            if c == '\\' {
                let text = owned.get_or_insert_with(|| self.text[start..start + offset].to_owned());
                match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, 'u')) => text.push(unicode(&mut chars)),
                    Some((_, other)) => text.push(other),
                    None => {}
                }
            } else if let Some(text) = &mut owned {
                text.push(c);
            }
        }
        self.at = self.text.len();
        (owned.map_or(Cow::Borrowed(&self.text[start..]), Cow::Owned), false)
    }
}

/// Reads four hexadecimal digits as a character; a surrogate becomes the replacement character.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> char {
    let mut code = 0;
    for _ in 0..4 {
        let mut ahead = chars.clone();
        match ahead.next().and_then(|(_, c)| c.to_digit(16)) {
            Some(digit) => code = code * 16 + digit,
            None => break,
        }
        *chars = ahead;
    }
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<(String, String, bool)> {
        let mut found = Vec::new();
        fields(text, &mut |field| {
            found.push((field.name.into_owned(), field.value.into_owned(), field.complete));
        });
        found
    }

    fn option(text: &str) -> Option<(String, bool)> {
        read_all(text).into_iter().find(|(name, ..)| name == "option").map(|(_, value, done)| (value, done))
    }

    #[test]
    fn fields_of_broken_json_are_read() {
        for text in [
            r#"{"option":"QX"}"#,
            r#"{"option":"QX",}"#,
            r#"{"option":"QX""#,
            "{'option': 'QX'}",
            "{option: QX}",
            "{“option”: “QX”}",
            r#"```json
            { "reason": "a, {b}", "option" : "QX" }
            ```"#,
            r#"{"name":"vote","arguments":{"option":"QX"}}"#,
            r#"{"name":"vote","arguments":"{\"option\":\"QX\"}"}"#,
            r#"Sure: {"option":"QX"} is my vote."#,
            r#"[{"option":"\u0051X"}]"#,
            r#"{"reason" "x" "option": "QX"}"#,
        ] {
            assert_eq!(option(text), Some(("QX".to_owned(), true)), "{text}");
        }
    }

    #[test]
    fn a_cut_off_string_is_marked_incomplete() {
        assert_eq!(option(r#"{"option":"Ear"#), Some(("Ear".to_owned(), false)));
        assert_eq!(option(r#"{"reason":"x","opt"#), None);
        assert_eq!(option("{option: Ear"), Some(("Ear".to_owned(), false)));
    }

    #[test]
    fn text_without_an_object_has_no_fields() {
        assert_eq!(read_all("option: QX, or not"), []);
        assert_eq!(read_all("{}[]\\\"'"), []);
    }
}
