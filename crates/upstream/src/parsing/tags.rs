//! Reads the vote in calls and tags written as text.

use super::declared::Declared;
use super::fields::words_of_name;
use super::matcher::ChoiceMatcher;
use super::normal::normal;
use super::vocabulary::{doubts, label};

/// The most tags that are read.
const MAX_TAGS: usize = 16;
/// The longest name of a tag and the longest value, in bytes.
const MAX_NAME: usize = 48;
const MAX_VALUE: usize = 1024;

/// Reads calls and tags written as text: `<answer>Earth</answer>`, `<parameter=option>Earth</parameter>`,
/// `<arg_key>option</arg_key><arg_value>Earth</arg_value>`, `vote(option="Earth")`.
pub(super) fn from_tags(text: &str, matcher: &ChoiceMatcher<'_>, cut_off: bool) -> Declared {
    let mut found = Declared::default();
    let function = text.split("<function=").nth(1).and_then(|rest| rest.split('>').next());
    if function.is_some_and(|name| doubts(&normal(&words_of_name(name)))) {
        return found;
    }
    let mut read = 0;
    for (at, mark) in text.match_indices(['>', '=']) {
        let start = text.ceil_char_boundary(at.saturating_sub(MAX_NAME));
        let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &text[start.max(line_start)..at];
        let rest = &text[at + 1..text.floor_char_boundary((at + 1 + MAX_VALUE).min(text.len()))];
        let tag = if mark == ">" { tag_value(&text[..at], before, rest) } else { argument(before, rest) };
        let Some(Tag { name, value, ends }) = tag else { continue };
        // The whole line before the value: “I will not call vote(option="Mars")”.
        let is_refused = || doubts(&normal(&words_of_name(&text[line_start..at])));
        if label(&normal(&words_of_name(name))).is_none() || is_refused() {
            continue;
        }
        read += 1;
        if read > MAX_TAGS {
            break;
        }
        if ends || !cut_off {
            found.choices.add(matcher.value(value));
        } else {
            found.unfinished = true;
        }
    }
    found
}

/// A name and its value, and whether the value's end was found.
struct Tag<'t> {
    name: &'t str,
    value: &'t str,
    ends: bool,
}

fn tag_value<'t>(whole: &'t str, before: &'t str, rest: &'t str) -> Option<Tag<'t>> {
    let tag = before.rsplit('<').next().filter(|tag| tag.len() < before.len() && !tag.starts_with('/'))?;
    // Attributes are no part of the name: `<option id="1">`.
    let mut name = tag.split_whitespace().next()?;
    if name == "arg_value" {
        name = whole.rsplit("<arg_key>").next()?.split("</arg_key>").next()?;
    }
    let end = rest.find("</");
    let value = end.map_or_else(|| rest.lines().next().unwrap_or(rest), |end| &rest[..end]);
    Some(Tag { name, value, ends: end.is_some() })
}

fn argument<'t>(before: &'t str, rest: &'t str) -> Option<Tag<'t>> {
    let before = before.trim_end();
    let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    // Only in a call: `vote(option=…`, `vote(name="x", option=…`.
    let call = before[..before.len() - name.len()].trim_end();
    let (function, _) = call.split_once('(')?;
    let is_name =
        |name: &str| name.chars().rev().take(3).filter(|c| c.is_alphanumeric() || *c == '_').count() == 3;
    if !call.ends_with(['(', ',']) || !is_name(function) {
        return None;
    }
    let rest = rest.trim_start();
    let quote = rest.chars().next()?;
    let (value, end) = match quote {
        '"' | '\'' => (&rest[1..], rest[1..].find(quote)),
        '“' => (&rest[quote.len_utf8()..], rest[quote.len_utf8()..].find('”')),
        _ => (rest, rest.find([')', ',', '\n']).filter(|&end| !rest[end..].starts_with('\n'))),
    };
    let quoted = matches!(quote, '"' | '\'' | '“');
    (quoted || end.is_some()).then(|| Tag {
        name,
        value: &value[..end.unwrap_or(value.len())],
        ends: end.is_some(),
    })
}
