//! A page that shows one Markdown text.

use askama::Template;

use super::Layout;
use super::markdown;
use super::markdown::Text;

/// A text as a page.
#[derive(Template)]
#[template(path = "layout/article.html")]
pub struct Article<'a> {
    page: Layout<'a>,
    text: Text,
}

impl<'a> Article<'a> {
    /// Renders this Markdown as the content of a page. HTML in it is shown as text.
    pub fn new(page: Layout<'a>, markdown: &str) -> Self {
        let text = markdown::text(markdown, &page.site.settings.base_url);
        Self { page, text }
    }
}
