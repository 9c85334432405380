//! Renders Markdown as HTML. HTML in the source is shown as text; the output has no styles or scripts.

use std::collections::HashSet;

use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A rendered text.
pub struct Text {
    /// HTML before the first section.
    pub beginning: String,
    /// The sections.
    pub contents: Vec<Section>,
    /// HTML of the sections.
    pub rest: String,
}

/// A second-level heading.
pub struct Section {
    /// The heading's id.
    pub id: String,
    /// The heading's text.
    pub title: String,
}

/// Renders a text with heading ids and copyable code. Links to `base_url` become relative to the origin.
pub fn text(markdown: &str, base_url: &str) -> Text {
    render(markdown, Writer { base_url, ..Writer::default() })
}

/// Renders a text whose headings are links to themselves. See [`text`].
pub fn linked_text(markdown: &str, base_url: &str) -> Text {
    render(markdown, Writer { base_url, links_headings: true, ..Writer::default() })
}

fn render<'a>(markdown: &'a str, mut writer: Writer<'a>) -> Text {
    let events: Vec<Event<'_>> = events(markdown).collect();
    let mut first = None;
    for (index, event) in events.iter().enumerate() {
        if let Event::Start(Tag::Heading { level, .. }) = event {
            let title = words_of_heading(&events[index + 1..]);
            let id = writer.ids.of(&title);
            if *level == HeadingLevel::H2 {
                first = first.or(Some(writer.written.len()));
                writer.contents.push(Section { id: id.clone(), title });
            }
            // The title of the page needs no link.
            let link = (writer.links_headings && *level != HeadingLevel::H1)
                .then(|| format!("<a class=\"anchor\" href=\"#{id}\">"));
            let heading = Tag::Heading { level: *level, id: Some(id.into()), classes: vec![], attrs: vec![] };
            writer.written.push(Event::Start(heading));
            writer.in_linked_heading = link.is_some();
            writer.written.extend(link.map(|link| Event::Html(link.into())));
        } else {
            writer.write(event.clone());
        }
    }
    let rest = writer.written.split_off(first.unwrap_or(writer.written.len()));
    Text { beginning: written(writer.written), contents: writer.contents, rest: written(rest) }
}

/// Renders a text within a page: its headings are placed below the third level.
pub fn below(markdown: &str) -> String {
    let below = |level: HeadingLevel| match level {
        HeadingLevel::H1 | HeadingLevel::H2 | HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    };
    let events = events(markdown).map(|event| match event {
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Event::Start(Tag::Heading { level: below(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        other => other,
    });
    written(events)
}

/// Returns the text of the first top-level heading.
pub fn title(markdown: &str) -> Option<&str> {
    markdown.lines().find_map(|line| line.strip_prefix("# "))
}

/// Puts a text on one line and escapes Markdown syntax with backslashes (CommonMark 0.31.2 §2.4).
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&' => {
                line.push('\\');
                line.push(c);
            }
            c if c.is_control() => line.push(' '),
            c => line.push(c),
        }
    }
    line
}

pub(super) fn events(markdown: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        // Alignment would be rendered as an inline style.
        Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
        other => other,
    })
}

fn written<'a>(events: impl IntoIterator<Item = Event<'a>>) -> String {
    let mut text = String::new();
    html::push_html(&mut text, events.into_iter());
    text
}

/// Returns the text of the heading that starts before these events.
pub(super) fn words_of_heading(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        Event::SoftBreak => Some(" "),
        _ => None,
    });
    words.collect()
}

#[derive(Default)]
struct Writer<'a> {
    base_url: &'a str,
    /// True for the documentation: headings are links to themselves.
    links_headings: bool,
    written: Vec<Event<'a>>,
    contents: Vec<Section>,
    ids: HeadingIds,
    in_table_head: bool,
    in_linked_heading: bool,
    in_code: bool,
}

/// The ids of the headings of a text.
#[derive(Default)]
pub(super) struct HeadingIds(HashSet<String>);

impl HeadingIds {
    /// Returns a heading's id, formed as GitHub does.
    pub(super) fn of(&mut self, title: &str) -> String {
        let letters = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let plain: String = letters.flat_map(char::to_lowercase).collect::<String>().replace(' ', "-");
        let numbered = (1_u32..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let id = names.find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.insert(id.clone());
        id
    }
}

impl<'a> Writer<'a> {
    fn write(&mut self, event: Event<'a>) {
        match event {
            Event::Start(Tag::Table(columns)) => {
                self.html("<div class=\"scroll words\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">");
                self.written.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                self.written.push(event);
                self.html("</div>\n");
            }
            Event::Start(Tag::TableHead) | Event::End(TagEnd::TableHead) => {
                self.in_table_head = matches!(event, Event::Start(_));
                self.written.push(event);
            }
            Event::Start(Tag::TableCell) if self.in_table_head => self.html("<th scope=\"col\">"),
            Event::End(TagEnd::TableCell) if self.in_table_head => self.html("</th>"),
            Event::End(TagEnd::Heading(_)) if self.in_linked_heading => {
                self.in_linked_heading = false;
                self.html("</a>");
                self.written.push(event);
            }
            Event::Start(Tag::CodeBlock(_)) => {
                self.in_code = true;
                // Code in the documentation scrolls, by the arrow keys, too.
                let focus = if self.links_headings { " tabindex=\"0\"" } else { "" };
                let markup = format!("<div class=\"code\"><pre{focus}><code>");
                self.written.push(Event::Html(markup.into()));
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_code = false;
                self.html("</code></pre><button type=\"button\" data-copy hidden>Copy</button></div>\n");
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let path = dest_url.strip_prefix(self.base_url).filter(|path| path.starts_with('/'));
                let dest_url = path.map(|path| path.to_owned().into()).unwrap_or(dest_url);
                self.written.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            // A number and its percent sign stay on one line.
            Event::Text(text) if !self.in_code && text.contains(" %") => {
                self.written.push(Event::Text(text.replace(" %", "\u{a0}%").into()));
            }
            other => self.written.push(other),
        }
    }

    fn html(&mut self, markup: &'static str) {
        self.written.push(Event::Html(markup.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup_by_itself() {
        assert_eq!(
            below("EP-<date> <b>`x`</b>"),
            "<p>EP-&lt;date&gt; &lt;b&gt;<code>x</code>&lt;/b&gt;</p>\n"
        );
        assert_eq!(below("# A"), "<h4>A</h4>\n");
        let shown = text("# A\n\n<script>x</script>\n\n|a|\n|-:|\n|`b`|", "").beginning;
        assert!(shown.contains("&lt;script&gt;") && !shown.contains("style"), "{shown}");
        assert!(
            shown.contains("<th scope=\"col\">a</th>") && shown.contains("<td><code>b</code></td>"),
            "{shown}"
        );
    }

    #[test]
    fn sections_have_ids_and_links_stay_here() {
        let shown = text(
            "# A\n\nOne.\n\n## To `b`, twice\n\n[c](https://ep.example/c#d)\n\n## To b twice",
            "https://ep.example",
        );
        let ids: Vec<&str> = shown.contents.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["to-b-twice", "to-b-twice-1"]);
        assert_eq!(shown.beginning, "<h1 id=\"a\">A</h1>\n<p>One.</p>\n");
        assert!(shown.rest.contains("<a href=\"/c#d\">c</a>"), "{}", shown.rest);
        let linked = linked_text("# A\n\n## B `c`", "").rest;
        assert_eq!(linked, "<h2 id=\"b-c\"><a class=\"anchor\" href=\"#b-c\">B <code>c</code></a></h2>\n");
    }
}
