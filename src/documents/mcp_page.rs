//! What a browser sees that opens the MCP endpoint: how to connect, from `docs/clients.md`. The same in Markdown has an
//! address of its own.

use axum::body::Bytes;
use axum::http::header::CONTENT_SECURITY_POLICY;

use super::{Document, Form, MARKDOWN as MARKDOWN_TYPE, Page, Site, page_policy};

const GUIDE: &str = include_str!("../../docs/clients.md");
/// The address that the guide uses for the service.
const EXAMPLE: &str = "https://polls.example.com";
/// What the headings of the sections begin with that are shown.
const SECTIONS: &str = "MCP";
const TITLE: &str = "Ensemble Poll over MCP";
const ABOUT: &str = "This address is for programs: add it to an MCP client, with an API key.";

/// The name of the page, which the endpoint serves.
pub const NAME: &str = "mcp_page";
const MARKDOWN_NAME: &str = "mcp_guide";

pub(super) const DOCUMENT: Document = Document::new(
    NAME,
    "How to connect an MCP client, for people.",
    |_| Vec::new(),
    &[Form::new("text/html; charset=utf-8", html), Form::markdown(markdown)],
)
.headers(|_| vec![(CONTENT_SECURITY_POLICY, page_policy().to_owned())])
.unlisted();

pub(super) const MARKDOWN: Document = Document::new(
    MARKDOWN_NAME,
    "How to connect an MCP client.",
    |_| vec!["/api/mcp.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
);

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    Some(text(site).into())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn html(site: &Site) -> Option<Bytes> {
    let alternate = site.url_of(MARKDOWN_NAME);
    Some(Page { title: TITLE, description: ABOUT, markdown: &text(site), alternate }.html(site).into())
}

fn text(site: &Site) -> String {
    format!("# {TITLE}\n\n{ABOUT}\n\n{}", sections(GUIDE).replace(EXAMPLE, &site.settings.base_url))
}

/// The sections of the guide that are about MCP.
fn sections(guide: &str) -> String {
    let about = guide.split("\n## ").skip(1).filter(|section| section.starts_with(SECTIONS));
    about.flat_map(|section| ["## ", section, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_found_in_the_documentation() {
        let shown = sections(GUIDE);
        for line in ["claude mcp add --transport http", "codex mcp add", "\"servers\": {", "ep mcp"] {
            assert!(shown.contains(line), "{line}");
        }
        assert!(!shown.contains("## A2A"));
    }
}
