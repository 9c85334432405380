//! The start page: what the service is, how to ask it, and what else is served. HTML, and the same in Markdown.

use std::fmt::Write;

use axum::body::Bytes;
use axum::http::header::{HeaderName, LINK};
use ep_kernel::tool::{Agents, Effect, Entry, Task, Tool};
use ep_tools::service::GetHealth;
use serde_json::Value;

use super::{
    AGENT_CARD, API_CATALOG, ASYNCAPI, Document, Form, MARKDOWN as MARKDOWN_TYPE, OPENAPI, Page, Site,
};
use crate::config::Operator;

/// The name of the page.
pub(super) const NAME: &str = "home";
const MARKDOWN_NAME: &str = "home_markdown";

pub(super) const DOCUMENT: Document = Document::new(
    NAME,
    "The start page: what this service is, and how to ask it.",
    |_| vec!["/".into()],
    &[Form::new("text/html; charset=utf-8", html), Form::markdown(markdown)],
)
.headers(headers);

pub(super) const MARKDOWN: Document = Document::new(
    MARKDOWN_NAME,
    "The start page in Markdown.",
    |_| vec!["/index.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.headers(|site| {
    site.url_of(NAME).into_iter().map(|url| (LINK, format!("<{url}>; rel=\"canonical\""))).collect()
})
.unlisted();

/// Where to read who runs the service.
pub(super) fn operator_url(site: &Site) -> String {
    let url = &site.settings.operator.url;
    if url.is_empty() { site.links.url(NAME, &[]) } else { url.clone() }
}

/// What agents look for from here (RFC 8288).
fn headers(site: &Site) -> Vec<(HeaderName, String)> {
    let links = [
        ("api-catalog", API_CATALOG, "application/linkset+json"),
        ("service-desc", OPENAPI, "application/json"),
        ("service-desc", ASYNCAPI, "application/json"),
        ("service-doc", "api_reference", "text/html"),
        ("status", GetHealth::SPEC.name, "application/json"),
        ("describedby", "llms", "text/plain"),
        ("alternate", MARKDOWN_NAME, "text/markdown"),
    ];
    let links = links.into_iter().filter_map(|(relation, name, media_type)| {
        Some(format!("<{}>; rel=\"{relation}\"; type=\"{media_type}\"", site.url_of(name)?))
    });
    let links: Vec<String> = links.collect();
    vec![(LINK, links.join(", "))]
}

fn html(site: &Site) -> Option<Bytes> {
    let owner = super::owner();
    let page = Page {
        name: NAME,
        title: owner["tagline"].as_str().unwrap_or_default(),
        description: owner["description"].as_str().unwrap_or_default(),
        markdown: &text(site),
        twin: MARKDOWN_NAME,
    };
    page.html(site)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    Some(text(site).into())
}

fn text(site: &Site) -> String {
    let owner = super::owner();
    let mut text = format!(
        "# {}\n\n{}\n\n",
        owner["name"].as_str().unwrap_or_default(),
        owner["description"].as_str().unwrap_or_default()
    );
    text.push_str(
        "What many models agree on can be wrong: they share training data and make the same errors. The confidence of a \
         result is about the panel, how surely all of it would give the same answer, and never about the truth.\n\n",
    );
    if site.settings.simulated {
        text.push_str(
            "**The models of this service are simulated**, for trying it out: its results say nothing about any real \
             model.\n\n",
        );
    }
    ask(site, &mut text);
    text.push_str("## Operations\n\n");
    for entry in site.tools.iter().filter(|entry| entry.spec.agents == Agents::Core) {
        let _ = writeln!(text, "- **{}** (`{}`): {}", entry.spec.title, entry.spec.name, entry.spec.summary);
    }
    text.push_str("\n## Documents\n\n");
    for (document, url) in site.listed().filter(|(document, url)| document.name != NAME && !url.contains('{'))
    {
        let _ = writeln!(text, "- [{}]({url}): {}", path(site, &url), document.summary);
    }
    operator(site, &mut text);
    text
}

/// A URL of this service without its base.
fn path<'a>(site: &Site, url: &'a str) -> &'a str {
    url.strip_prefix(&site.settings.base_url).unwrap_or(url)
}

/// How to ask: without an account, with a key, over MCP and A2A.
fn ask(site: &Site, text: &mut String) {
    let asks = |entry: &&Entry| entry.spec.effect == Effect::Consult;
    let free = site.tools.iter().filter(asks).find(|entry| entry.spec.access.anonymous);
    let paid = site.tools.iter().filter(asks).find(|entry| entry.spec.task == Task::Start);
    text.push_str("## Ask\n\n");
    if let Some(command) = free.and_then(|entry| curl(site, entry, "")) {
        let _ = write!(text, "Without an account, from open-weight models:\n\n```sh\n{command}\n```\n\n");
    }
    if let Some(command) =
        paid.and_then(|entry| curl(site, entry, " \\\n  -H \"Authorization: Bearer $EP_API_KEY\""))
    {
        let _ = write!(text, "With an API key, from a larger panel:\n\n```sh\n{command}\n```\n\n");
    }
    if let Some(url) = site.url_of("mcp") {
        let key = " \\\n  --header \"Authorization: Bearer $EP_API_KEY\"";
        let _ = write!(
            text,
            "From an MCP client, for example Claude Code:\n\n```sh\nclaude mcp add --transport http ensemble-poll \
             {url}{key}\n```\n\n"
        );
    }
    if let (Some(url), Some(card)) = (site.url_of("a2a"), site.url_of(AGENT_CARD)) {
        let _ = write!(
            text,
            "From an A2A agent: the endpoint is `{url}`, the card [{}]({card}).\n\n",
            path(site, &card)
        );
    }
}

/// A command that sends an operation's example.
fn curl(site: &Site, entry: &Entry, headers: &str) -> Option<String> {
    let example: Value = serde_json::from_str(entry.spec.example).ok()?;
    let url = site.url_of(entry.spec.name)?;
    // In single quotes a shell reads everything but a single quote as it is.
    let body = example.to_string().replace('\'', "'\\''");
    Some(format!("curl {url}{headers} \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"))
}

fn operator(site: &Site, text: &mut String) {
    let Operator { name, url, contact, documentation_url, .. } = &site.settings.operator;
    let _ = write!(text, "\n## Operator\n\nThis service is run by {}", plain(name));
    if !url.is_empty() {
        let _ = write!(text, " (<{url}>)");
    }
    text.push_str(".\n");
    if !contact.contains(['<', '>', ' ']) && (contact.contains("://") || contact.contains('@')) {
        let _ = writeln!(text, "\nContact: <{contact}>");
    }
    if !documentation_url.is_empty() {
        let _ = writeln!(text, "\nDocumentation: <{documentation_url}>");
    }
}

/// A text of the operator's on one line, what Markdown would make something of behind a backslash (CommonMark 0.31.2 §2.4).
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '-' | '\'' | '(' | ')') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}
