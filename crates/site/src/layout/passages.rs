//! The plain text of Markdown, for a search.

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};

use super::markdown::{HeadingIds, events, words_of_heading};

/// The text below one heading.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The heading's id; empty for the text before the first section.
    pub id: String,
    /// The heading; empty for the text before the first section.
    pub title: String,
    /// The text without markup, on one line.
    pub text: String,
}

/// Splits a text at its headings. The ids are those of the rendered page.
pub fn passages(markdown: &str) -> Vec<Passage> {
    let events: Vec<Event<'_>> = events(markdown).collect();
    let mut ids = HeadingIds::default();
    let mut passages = vec![Passage::default()];
    let mut in_heading = false;
    for (index, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                in_heading = true;
                let title = words_of_heading(&events[index + 1..]);
                let id = ids.of(&title);
                if *level != HeadingLevel::H1 {
                    passages.push(Passage { id, title, text: String::new() });
                }
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Text(words) | Event::Code(words) if !in_heading => add(&mut passages, words),
            Event::SoftBreak | Event::HardBreak | Event::End(_) if !in_heading => add(&mut passages, " "),
            _ => {}
        }
    }
    passages
}

/// Appends text to the last passage. White space is written once.
fn add(passages: &mut [Passage], words: &str) {
    let Some(passage) = passages.last_mut() else { return };
    for letter in words.chars() {
        if !letter.is_whitespace() {
            passage.text.push(letter);
        } else if !passage.text.is_empty() && !passage.text.ends_with(' ') {
            passage.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_at_headings() {
        let found = passages("# Title\n\nOne\n`two`.\n\n## To *b*\n\n| a | b |\n|---|---|\n| c | d |");
        let passage = |id: &str, title: &str, text: &str| Passage {
            id: id.to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(found, [passage("", "", "One two. "), passage("to-b", "To b", "a b c d ")]);
    }
}
