//! The start page in Markdown: a summary of the service, ways to ask and a list of routes. Its HTML shares some
//! of these parts.

use std::fmt::Write;

use axum::body::Bytes;
use axum::http::header::LINK;
use ep_kernel::{Agents, Effect, Entry, Task, Tool};
use ep_site::config::Operator;
use ep_site::names::{AGENT_CARD, API_CATALOG, ASYNCAPI, OPENAPI};
use ep_site::names::{HOME, HOME_MARKDOWN};
use ep_site::{Document, Form, MARKDOWN as MARKDOWN_TYPE, Site, owner};
use ep_tools::service::GetHealth;
use serde_json::Value;

pub(super) const MARKDOWN: Document = Document::new(
    HOME_MARKDOWN,
    "The start page in Markdown, with instructions for a first poll.",
    |_| vec!["/index.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.headers(|site| {
    site.url_of(HOME).into_iter().map(|url| (LINK, format!("<{url}>; rel=\"canonical\""))).collect()
});

/// Returns the start page's links for agents, as the value of a `Link` header (RFC 8288).
pub fn links(site: &Site) -> String {
    let links = [
        ("api-catalog", API_CATALOG, "application/linkset+json"),
        ("service-desc", OPENAPI, "application/json"),
        ("service-desc", ASYNCAPI, "application/json"),
        ("service-doc", "api_reference", "text/html"),
        ("status", GetHealth::SPEC.name, "application/json"),
        ("describedby", "llms", "text/plain"),
        ("alternate", HOME_MARKDOWN, "text/markdown"),
    ];
    let links = links.into_iter().filter_map(|(relation, name, media_type)| {
        Some(format!("<{}>; rel=\"{relation}\"; type=\"{media_type}\"", site.url_of(name)?))
    });
    links.collect::<Vec<String>>().join(", ")
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    Some(text(site).into())
}

fn text(site: &Site) -> String {
    let owner = owner();
    let mut text = format!(
        "# {}\n\n{}\n\n",
        owner["name"].as_str().unwrap_or_default(),
        owner["description"].as_str().unwrap_or_default()
    );
    text.push_str(
        "What many models agree on can be wrong: they share training data and make the same errors. The confidence of a \
         result is about the panel, how surely all of it would give the same answer, and never about the truth.\n\n",
    );
    if let Some(caution) = site.settings.offer.caution() {
        let _ = write!(text, "**{caution}**\n\n");
    }
    text.push_str("## Ask\n\n");
    for AskMethod { intro, command } in ways(site) {
        let _ = write!(text, "{intro}\n\n```sh\n{command}\n```\n\n");
    }
    text.push_str("## Operations\n\n");
    for entry in site.offered().filter(|entry| entry.spec.agents == Agents::Core) {
        let _ = writeln!(text, "- **{}** (`{}`): {}", entry.spec.title, entry.spec.name, entry.spec.summary);
    }
    text.push_str("\n## Documents\n\n");
    for (document, url) in
        site.listed().filter(|(document, url)| document.name != HOME_MARKDOWN && !url.contains('{'))
    {
        let _ = writeln!(text, "- [{}]({url}): {}", path(site, &url), document.summary);
    }
    operator(site, &mut text);
    text
}

/// Returns a URL of this service without the base URL.
fn path<'a>(site: &Site, url: &'a str) -> &'a str {
    url.strip_prefix(&site.settings.base_url).unwrap_or(url)
}

/// A way to ask a question.
pub struct AskMethod {
    /// The intended users, in a few words that end with a colon.
    pub intro: String,
    /// The command to run, or the configuration to add.
    pub command: String,
}

/// Returns the ways to ask for programs: without an account, with a key, over MCP, from OpenAI's clients and over A2A.
pub fn ways(site: &Site) -> Vec<AskMethod> {
    let asks = |entry: &&Entry| entry.spec.effect == Effect::Consult;
    let free = site.tools.iter().filter(asks).find(|entry| entry.spec.access.anonymous);
    let paid = site.tools.iter().filter(asks).find(|entry| entry.spec.task == Task::Start);
    let with_key = " \\\n  -H \"Authorization: Bearer $EP_API_KEY\"";
    let way = |intro: &str, command: String| AskMethod { intro: intro.to_owned(), command };
    let free = free
        .and_then(|entry| curl(site, entry, ""))
        .map(|command| way("Without an account, where free open-weight models are available:", command));
    let paid = paid
        .and_then(|entry| curl(site, entry, with_key))
        .map(|command| way("With an API key, from a larger panel:", command));
    let mcp = site.url_of("mcp").map(|url| {
        let key = " \\\n  --header \"Authorization: Bearer $EP_API_KEY\"";
        let command = format!("claude mcp add --transport http ensemble-poll {url}{key}");
        way("From an MCP client, for example Claude Code:", command)
    });
    let openai = site.url_of("openai").map(|base| {
        let command = format!("export OPENAI_BASE_URL={base} OPENAI_API_KEY=free");
        way("From a client of OpenAI's API, with the model poll:", command)
    });
    let a2a = site.url_of(AGENT_CARD).map(|card| {
        way("From an A2A agent, which reads everything in the agent card:", format!("curl {card}"))
    });
    [free, paid, mcp, openai, a2a].into_iter().flatten().collect()
}

/// Returns a command that sends an operation's example.
fn curl(site: &Site, entry: &Entry, headers: &str) -> Option<String> {
    let example: Value = serde_json::from_str(entry.spec.example).ok()?;
    let url = site.url_of(entry.spec.name)?;
    // A shell reads everything within single quotes literally, except a single quote.
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

/// Returns an operator's text on one line, with Markdown punctuation escaped (CommonMark 0.31.2 §2.4).
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
