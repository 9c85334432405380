//! `robots.txt` (RFC 9309): crawler rules and usage preferences by contentsignals.org. The preferences of the IETF's
//! drafts on AI preferences are in a header of every response, because search engines reject their directive.

use std::collections::BTreeSet;
use std::fmt::Write;

use axum::body::Bytes;
use ep_kernel::method::Method;
use ep_site::config::Content;
use ep_site::names::LOGIN_PAGE;
use ep_site::{Document, Form, Route, Site};

pub(super) const DOCUMENT: Document = Document::new(
    "robots",
    "Rules for crawlers.",
    |_| vec!["/robots.txt".into()],
    &[Form::new("text/plain; charset=utf-8", text)],
)
.unlisted();

/// Crawlers for search and for requests of a person.
const READERS: &str = "OAI-SearchBot ChatGPT-User OAI-AdsBot Claude-User Claude-SearchBot PerplexityBot Perplexity-User \
     Amazonbot";
/// Crawlers for training, and user agents that site owners use to allow or forbid it.
const TRAINERS: &str =
    "GPTBot ClaudeBot Google-Extended Applebot-Extended Meta-ExternalAgent CCBot Bytespider";

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn text(site: &Site) -> Option<Bytes> {
    let rules = rules(site);
    let mut text = String::from(
        "# Documents and public results may be read; what belongs to an account, and what asks models, may not.\n",
    );
    // A comment, because search engines report directives that they do not know as errors.
    let _ = writeln!(text, "# Header of every response: Content-Usage: {}\n", site.settings.content_usage());
    for agents in ["*", READERS, TRAINERS] {
        for agent in agents.split(' ') {
            let _ = writeln!(text, "User-agent: {agent}");
        }
        // A crawler follows only the group with its name (RFC 9309 §2.2.1).
        let _ = writeln!(text, "{rules}");
    }
    if let Some(url) = site.url_of("sitemap") {
        let _ = writeln!(text, "Sitemap: {url}");
    }
    Some(text.into())
}

/// Returns the rules of every group. Crawlers use the longest match or the first match; both give the same
/// result.
fn rules(site: &Site) -> String {
    let Content { search, ai_input, ai_train } = site.settings.content;
    let word = |allowed| if allowed { "yes" } else { "no" };
    let mut rules = format!(
        "Content-Signal: search={}, ai-input={}, ai-train={}\n",
        word(search),
        word(ai_input),
        word(ai_train),
    );
    let fetched = || site.routes.iter().filter(|route| route.method == Method::Get);
    let allowed: BTreeSet<&str> = fetched().filter(|route| route.is_public).map(prefix).collect();
    let folders: BTreeSet<String> = site.routes.iter().filter(|route| !route.is_public).map(folder).collect();
    let in_folder = |path: &&str| folders.iter().any(|folder| path.starts_with(folder.as_str()));
    // Private paths that start with an allowed path.
    let exceptions: BTreeSet<&str> = fetched()
        .filter(|route| !route.is_public)
        .map(prefix)
        .filter(|path| !allowed.contains(path))
        .filter(|path| allowed.iter().filter(|other| in_folder(other)).any(|other| path.starts_with(other)))
        .collect();
    for path in exceptions {
        let _ = writeln!(rules, "Disallow: {path}");
    }
    for path in allowed.iter().filter(|path| in_folder(path)) {
        let _ = writeln!(rules, "Allow: {path}");
    }
    for folder in &folders {
        let _ = writeln!(rules, "Disallow: {folder}");
    }
    // Everyone may read the sign-in page, and people search for it.
    let personal = site.routes.iter().filter(|route| route.personal && route.name != LOGIN_PAGE);
    let personal = personal.map(|route| &route.path);
    for path in personal.collect::<BTreeSet<_>>() {
        let _ = writeln!(rules, "Disallow: {path}");
    }
    let _ = writeln!(rules, "Allow: /");
    rules
}

/// Returns the path up to its first placeholder.
fn prefix(route: &Route) -> &str {
    route.path.split('{').next().unwrap_or_default()
}

/// Returns the first folder of the path, or the path itself if it has no folder.
fn folder(route: &Route) -> String {
    let mut parts = route.path.split('/').skip(1);
    let first = parts.next().unwrap_or_default();
    if parts.next().is_some() { format!("/{first}/") } else { route.path.to_string() }
}
