//! HTML in which every text is escaped.

use std::fmt::Write;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// HTML that is being written.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup as it is.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// An element that holds a text; `attributes` as they are, with a space before each.
    pub(super) fn element(&mut self, name: &str, attributes: &str, text: &str) -> &mut Self {
        let _ = write!(self.0, "<{name}{attributes}>");
        self.text(text);
        let _ = write!(self.0, "</{name}>");
        self
    }

    /// A link to an address.
    pub(super) fn anchor(&mut self, to: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"").text(to).raw("\">").text(text).raw("</a>")
    }

    /// A link of the page's head.
    pub(super) fn link(&mut self, relation: &str, media_type: &str, to: &str) -> &mut Self {
        self.raw("<link rel=\"")
            .text(relation)
            .raw("\" type=\"")
            .text(media_type)
            .raw("\" href=\"")
            .text(to)
            .raw("\">\n")
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Markdown as HTML. What looks like HTML in it is text; headings come below those of the page.
pub(super) fn prose(markdown: &str) -> String {
    let below = |level: HeadingLevel| match level {
        HeadingLevel::H1 | HeadingLevel::H2 | HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    };
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Event::Start(Tag::Heading { level: below(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        other => other,
    });
    let mut text = String::new();
    html::push_html(&mut text, events);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup_by_itself() {
        let mut page = Markup::default();
        page.element("p", "", "<script>&\"").anchor("x\" onclick=\"y", "a");
        assert_eq!(
            page.into_string(),
            "<p>&lt;script&gt;&amp;&quot;</p><a href=\"x&quot; onclick=&quot;y\">a</a>"
        );
        assert_eq!(
            prose("EP-<date> <b>`x`</b>"),
            "<p>EP-&lt;date&gt; &lt;b&gt;<code>x</code>&lt;/b&gt;</p>\n"
        );
        assert_eq!(prose("# A"), "<h4>A</h4>\n");
    }
}
