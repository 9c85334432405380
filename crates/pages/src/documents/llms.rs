//! `llms.txt` (llmstxt.org) and `llms-full.txt`: an index of the documents, and their full text in one file.

use askama::Template;
use ep_site::{Document, Form, Site};

use super::docs::guides;
use super::prose;
use super::prose::Prose;
use super::skills::SKILL;
use super::{error_reference, tool_reference};

/// The media type of both documents.
const PLAIN: &str = "text/plain; charset=utf-8";

pub(super) const INDEX: Document = Document::new(
    "llms",
    "A short description of this service, with links to its documentation (llmstxt.org).",
    |_| vec!["/llms.txt".into()],
    &[Form::new(PLAIN, |site| prose::bytes(&Index { p: Prose::new(site) }))],
);

pub(super) const FULL: Document = Document::new(
    "llms_full",
    "The whole documentation in one Markdown file.",
    |_| vec!["/llms-full.txt".into()],
    &[Form::new(PLAIN, |site| prose::bytes(&Full { site, p: Prose::new(site) }))],
);

#[derive(Template)]
#[template(path = "llms.txt")]
struct Index<'a> {
    p: Prose<'a>,
}

#[derive(Template)]
#[template(path = "llms-full.txt")]
struct Full<'a> {
    site: &'a Site,
    p: Prose<'a>,
}

impl Full<'_> {
    /// Returns the skill without its frontmatter.
    fn skill(&self) -> String {
        let text = self.text(SKILL);
        let body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        section(body.map_or(text.as_str(), |(_, body)| body))
    }

    /// Returns a document of this site; empty if the configuration does not have it.
    fn page(&self, name: &str) -> String {
        section(&self.text(name))
    }

    fn text(&self, name: &str) -> String {
        let bytes = self.site.document(name).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn operations(&self) -> String {
        lower(&tool_reference::offered(self.site))
    }

    fn errors(&self) -> String {
        error_reference::table(|kind| self.site.settings.offer.has_error(kind))
    }

    /// Returns the repository's guides with this service's URLs. The OAuth guide is included only with an issuer.
    fn guides(&self) -> String {
        let issuer = self.site.settings.offer.issuer.is_some();
        let guides =
            [guides::OPENAI, guides::LABELS, guides::SHARING, guides::OAUTH, guides::WEBHOOKS, guides::PACE];
        let shown = guides.iter().filter(|guide| issuer || guide.name != guides::OAUTH.name);
        let clients = guides::at(self.site, guides::CLIENTS_FILE);
        let texts = std::iter::once(clients).chain(shown.filter_map(|guide| (guide.markdown)(self.site)));
        texts.map(|guide| section(&guide)).collect::<Vec<String>>().join("\n")
    }
}

/// Formats a page as a section of a larger document.
fn section(page: &str) -> String {
    format!("{}\n", lower(page.trim()))
}

/// Lowers Markdown headings by one level. Code is unchanged.
fn lower(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len() + 64);
    let mut code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if !code && line.starts_with('#') {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_lowered_except_in_code() {
        let page = "# Title\n\n```sh\n# a comment\n```\n\n## Part\ntext # no heading";
        let lowered = "## Title\n\n```sh\n# a comment\n```\n\n### Part\ntext # no heading\n";
        assert_eq!(lower(page), lowered);
    }
}
