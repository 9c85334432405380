//! Messages about a list of options, for a person: they count from 1, and name the source of the list.

use std::fmt::Write;

/// Returns a message about a list of options under the name of its source.
pub fn options_as_typed(message: &str, source: &str) -> String {
    let message = after_name(message, "options").filter(|rest| !rest.starts_with('[')).unwrap_or(message);
    format!("{source}: {}", with_items(message.trim_start_matches([':', ' ']), "option"))
}

/// Replaces the places of options, from 0, by the numbers of items, from 1.
pub fn with_items(message: &str, item: &str) -> String {
    let (mut text, mut rest) = (String::new(), message);
    while let Some((before, after)) = rest.split_once("options[") {
        let Some((number, after)) = numbered(after, "") else { break };
        let _ = write!(text, "{before}{item} {number}");
        rest = after;
    }
    text + rest
}

/// Returns the text after a name at its beginning.
pub fn after_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(name)?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(rest)
}

/// Reads an index after `open`, and returns the number of its item, from 1, with the text behind the bracket.
pub fn numbered<'t>(text: &'t str, open: &str) -> Option<(usize, &'t str)> {
    let (index, rest) = text.strip_prefix(open)?.split_once(']')?;
    Some((index.parse::<usize>().ok()?.checked_add(1)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_a_list_name_its_source() {
        for (message, typed) in [
            (
                "options[1] is the same as options[0]; change or remove one of them",
                "--options: option 2 is the same as option 1; change or remove one of them",
            ),
            ("options: add at least one more option", "--options: add at least one more option"),
        ] {
            assert_eq!(options_as_typed(message, "--options"), typed);
        }
    }
}
