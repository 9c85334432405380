//! HTML in which every text is escaped.

use std::fmt::Write;

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

    pub(super) fn into_string(self) -> String {
        self.0
    }
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
    }
}
