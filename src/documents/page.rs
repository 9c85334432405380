//! The HTML form of pages, from their Markdown: no script, one style sheet, light and dark.

use std::fmt::Write;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pulldown_cmark::{Event, Parser, html};
use sha2::{Digest, Sha256};

use super::Site;

const STYLE: &str = include_str!("page.css");

static POLICY: LazyLock<String> = LazyLock::new(|| policy_with(STYLE));

/// The `Content-Security-Policy` of pages.
pub fn policy() -> &'static str {
    &POLICY
}

/// The policy of a page with this style sheet inside, which is known by its digest: it and images of this origin.
pub(super) fn policy_with(style: &str) -> String {
    let digest = BASE64.encode(Sha256::digest(style));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

/// A page for people.
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// What it is, in one sentence.
    pub description: &'a str,
    /// Its content. HTML in it is shown as text.
    pub markdown: &'a str,
    /// Where its Markdown is, if it has an address of its own.
    pub alternate: Option<String>,
}

impl Page<'_> {
    /// The page as HTML.
    pub fn html(&self, site: &Site) -> String {
        let (title, description) = (escaped(self.title), escaped(self.description));
        let mut head = String::new();
        let icon = site.url_of(super::LOGO).map(|url| escaped(&url));
        if let Some(icon) = &icon {
            let _ = writeln!(head, "<link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">");
        }
        if let Some(url) = &self.alternate {
            let url = escaped(url);
            let _ = writeln!(head, "<link rel=\"alternate\" href=\"{url}\" type=\"text/markdown\">");
        }
        let mark = icon
            .map(|icon| format!("<img class=\"mark\" src=\"{icon}\" alt=\"\" width=\"56\" height=\"56\">\n"));
        let mut body = String::new();
        html::push_html(&mut body, Parser::new(self.markdown).map(as_text));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <meta name=\"description\" content=\"{description}\">\n{head}<style>{STYLE}</style>\n</head>\n<body>\n\
             <main>\n{}{body}</main>\n</body>\n</html>\n",
            mark.unwrap_or_default()
        )
    }
}

/// HTML as the text that it is written with.
fn as_text(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    }
}

/// A text as HTML has it, also in attributes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
