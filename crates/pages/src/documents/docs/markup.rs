//! A builder for HTML that escapes every text.

use std::fmt::Write;

use crate::share_image::escape;

/// HTML under construction.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Appends markup verbatim.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends escaped text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// Appends an element with a text. `attributes` are verbatim, each with a leading space.
    pub(super) fn element(&mut self, name: &str, attributes: &str, text: &str) -> &mut Self {
        let _ = write!(self.0, "<{name}{attributes}>");
        self.text(text);
        let _ = write!(self.0, "</{name}>");
        self
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut page = Markup::default();
        page.element("p", "", "<script>&\"");
        assert_eq!(page.into_string(), "<p>&lt;script&gt;&amp;&quot;</p>");
    }
}
