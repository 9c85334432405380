//! A page that is one text, written in Markdown.

use askama::Template;

use super::Layout;
use super::markdown::{self, Text};

/// A text as a page.
#[derive(Template)]
#[template(path = "article.html")]
pub struct Article<'a> {
    page: Layout<'a>,
    text: Text,
    is_guide: bool,
}

impl<'a> Article<'a> {
    /// A page with this content. HTML in it is shown as text.
    pub fn new(page: Layout<'a>, markdown: &str) -> Self {
        let text = markdown::text(markdown, &page.site.settings.base_url);
        Self { page, text, is_guide: false }
    }

    /// One of the guides: it leads back to their list, and begins with its contents.
    pub fn of_guides(self) -> Self {
        Self { is_guide: true, ..self }
    }
}
