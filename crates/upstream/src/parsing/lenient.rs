//! Reads the members of something that means to be JSON.
//!
//! Repair crates rebuild a document and so cannot say that a string was cut off, which matters here:
//! half of `Earthrise` is another option. This reader keeps nothing but members: it forgives fences,
//! comments, single and typographic quotes, bare words, trailing or missing commas, and a missing end.

use std::borrow::Cow;

/// One value with the name it stands under.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member<'t> {
    /// The name, or that of the list it stands in; empty where there is none.
    pub(super) name: Cow<'t, str>,
    /// A string's text, or a bare word as it stands.
    pub(super) value: Cow<'t, str>,
    /// Whether the value was closed; a bare word or string at the very end may have been cut off.
    pub(super) complete: bool,
}

/// Visits the members of every object or list that stands in `text`, outermost first in reading order.
/// Strings that themselves hold an object are read as well, a few levels deep.
pub(super) fn members<'t>(text: &'t str, visit: &mut dyn FnMut(Member<'_>)) {
    read(text, 0, visit);
}

const MAX_DEPTH: u8 = 3;

fn read<'t>(text: &'t str, depth: u8, visit: &mut dyn FnMut(Member<'_>)) {
    let mut scanner = Scanner { text, at: 0 };
    let mut open = 0_u32;
    let mut name: Option<Cow<'t, str>> = None;
    // What stands in a list stands under the list's name.
    let mut list: Option<Cow<'t, str>> = None;
    while let Some(c) = scanner.peek() {
        match c {
            '{' | '[' => {
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
            // Prose around the object is not part of it.
            _ if open == 0 => scanner.skip(c),
            ',' => {
                name = None;
                scanner.skip(c);
            }
            c if c.is_whitespace() || matches!(c, ':' | '=') => scanner.skip(c),
            _ => {
                let (value, complete) = scanner.token();
                if scanner.names_a_member() {
                    name = Some(value);
                    continue;
                }
                if depth < MAX_DEPTH && value.trim_start().starts_with(['{', '[']) {
                    read(&value, depth + 1, visit);
                } else {
                    let name = name.take().or_else(|| list.clone()).unwrap_or_default();
                    visit(Member { name, value, complete });
                }
            }
        }
    }
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

    /// Whether a colon or an equals sign follows.
    fn names_a_member(&self) -> bool {
        self.text[self.at..].trim_start().starts_with([':', '='])
    }

    /// A quoted string or a bare word, and whether its end was seen.
    fn token(&mut self) -> (Cow<'t, str>, bool) {
        let close = match self.peek() {
            Some('"') => '"',
            Some('\'') => '\'',
            Some('`') => '`',
            Some('“' | '”') => '”',
            Some('‘') => '’',
            _ => return self.bare(),
        };
        if let Some(quote) = self.peek() {
            self.skip(quote);
        }
        self.quoted(close)
    }

    fn bare(&mut self) -> (Cow<'t, str>, bool) {
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
                let whole = &self.text[start..start + offset];
                return (owned.map_or(Cow::Borrowed(whole), Cow::Owned), true);
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

/// Four hexadecimal digits as a character. A surrogate, of which no option needs one that is not
/// written out, becomes the replacement character.
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
        members(text, &mut |member| {
            found.push((member.name.into_owned(), member.value.into_owned(), member.complete));
        });
        found
    }

    fn option(text: &str) -> Option<(String, bool)> {
        read_all(text).into_iter().find(|(name, ..)| name == "option").map(|(_, value, done)| (value, done))
    }

    #[test]
    fn broken_json_keeps_its_members() {
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
    fn a_cut_off_string_says_so() {
        assert_eq!(option(r#"{"option":"Ear"#), Some(("Ear".to_owned(), false)));
        assert_eq!(option(r#"{"reason":"x","opt"#), None);
        assert_eq!(option("{option: Ear"), Some(("Ear".to_owned(), false)));
    }

    #[test]
    fn prose_has_no_members() {
        assert_eq!(read_all("option: QX, or not"), []);
        assert_eq!(read_all("{}[]\\\"'"), []);
    }
}
