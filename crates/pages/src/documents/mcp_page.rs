//! The page that browsers get at the MCP endpoint: connection instructions from the guide to clients. The Markdown
//! has a separate URL.

use axum::body::Bytes;
use ep_site::names::MCP_PAGE;
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Site};

use super::docs::guides;
use super::page::About;

/// The prefix of the headings of the included sections.
const SECTIONS: &str = "MCP";
const TITLE: &str = "Ensemble Poll over MCP";
const ABOUT: &str = "This address is for programs: add it to an MCP client, with an API key.";

const MARKDOWN_NAME: &str = "mcp_guide";

pub(super) const DOCUMENT: Document = Document::new(
    MCP_PAGE,
    "Connection instructions for MCP clients.",
    |_| Vec::new(),
    &[Form::new(HTML, html), Form::markdown(markdown)],
)
.unlisted();

pub(super) const MARKDOWN: Document = Document::new(
    MARKDOWN_NAME,
    "Connection instructions for MCP clients in Markdown.",
    |_| vec!["/api/mcp.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
);

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    Some(text(site).into())
}

fn html(site: &Site) -> Option<Bytes> {
    let page = About { name: MCP_PAGE, title: TITLE, description: ABOUT, markdown: MARKDOWN_NAME };
    page.html(site, &text(site))
}

fn text(site: &Site) -> String {
    let sections = guides::of_clients(site, |heading| heading.starts_with(SECTIONS));
    format!("# {TITLE}\n\n{ABOUT}\n\n{sections}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_guide_has_mcp_sections() {
        let shown = guides::sections(guides::CLIENTS_FILE, |heading| heading.starts_with(SECTIONS));
        for line in ["claude mcp add --transport http", "codex mcp add", "\"servers\": {", "ep mcp"] {
            assert!(shown.contains(line), "{line}");
        }
        assert!(!shown.contains("## A2A"));
    }
}
