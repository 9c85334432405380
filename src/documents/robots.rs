//! `robots.txt` (RFC 9309): what crawlers may read, and what for, by contentsignals.org and by the IETF's drafts on AI
//! preferences. Responses say the latter in a header, too.

use std::collections::BTreeSet;
use std::fmt::Write;

use axum::body::Bytes;
use axum::http::HeaderValue;
use ep_kernel::method::Method;
use ep_kernel::tool::{Effect, Rate};

use super::{Document, Form, Site};
use crate::config::Content;
use crate::site::{Route, RouteKind};

pub(super) const DOCUMENT: Document = Document::new(
    "robots",
    "Says what crawlers may read, and what for.",
    |_| vec!["/robots.txt".into()],
    &[Form::new("text/plain; charset=utf-8", text)],
)
.unlisted();

/// Those who fetch for a person who asks, and for search.
const READERS: [&str; 8] = [
    "OAI-SearchBot",
    "ChatGPT-User",
    "OAI-AdsBot",
    "Claude-User",
    "Claude-SearchBot",
    "PerplexityBot",
    "Perplexity-User",
    "Amazonbot",
];
/// Those who fetch for training, and names by which site owners say whether content may be used for it.
const TRAINERS: [&str; 7] = [
    "GPTBot",
    "ClaudeBot",
    "Google-Extended",
    "Applebot-Extended",
    "Meta-ExternalAgent",
    "CCBot",
    "Bytespider",
];

#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn text(site: &Site) -> Option<Bytes> {
    let rules = rules(site);
    let mut text = String::from(
        "# Documents and public results may be read; what belongs to an account, and what asks models, may not.\n\
         # Every response says in the header Content-Usage what it may be used for.\n\n",
    );
    for agents in [&["*"][..], &READERS, &TRAINERS] {
        for agent in agents {
            let _ = writeln!(text, "User-agent: {agent}");
        }
        // A crawler follows the group that names it, and no other (RFC 9309 §2.2.1).
        let _ = writeln!(text, "{rules}");
    }
    if let Some(url) = site.url_of("sitemap") {
        let _ = writeln!(text, "Sitemap: {url}");
    }
    Some(text.into())
}

/// What content may be used for, as the header `Content-Usage` has it (draft-ietf-aipref-attach-05, section 5;
/// draft-ietf-aipref-vocab-07).
pub fn content_usage(content: &Content) -> Option<HeaderValue> {
    HeaderValue::try_from(usage(content)).ok()
}

fn usage(content: &Content) -> String {
    let letter = |allowed| if allowed { 'y' } else { 'n' };
    format!("search={}, train-ai={}", letter(content.search), letter(content.ai_train))
}

/// The rules of every group. The longest match counts; those who take the first find the same.
fn rules(site: &Site) -> String {
    let Content { search, ai_input, ai_train } = site.settings.content;
    let word = |allowed| if allowed { "yes" } else { "no" };
    let mut rules = format!(
        "Content-Signal: search={}, ai-input={}, ai-train={}\nContent-Usage: {}\n",
        word(search),
        word(ai_input),
        word(ai_train),
        usage(&site.settings.content),
    );
    let fetched = || site.routes.iter().filter(|route| route.method == Method::Get);
    let allowed: BTreeSet<&str> = fetched().filter(|route| is_public(route)).map(prefix).collect();
    let folders: BTreeSet<String> =
        site.routes.iter().filter(|route| !is_public(route)).map(folder).collect();
    let in_folder = |path: &&str| folders.iter().any(|folder| path.starts_with(folder.as_str()));
    // What would be allowed together with something that its path begins with.
    let exceptions: BTreeSet<&str> = fetched()
        .filter(|route| !is_public(route))
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
    let personal = site.routes.iter().filter(|route| route.personal).map(|route| &route.path);
    for path in personal.collect::<BTreeSet<_>>() {
        let _ = writeln!(rules, "Disallow: {path}");
    }
    let _ = writeln!(rules, "Allow: /");
    rules
}

/// Whether this is for everybody to read, and costs nobody anything.
fn is_public(route: &Route) -> bool {
    match route.kind {
        RouteKind::Document(_) | RouteKind::ProxiedDocument | RouteKind::Page | RouteKind::Form => true,
        RouteKind::Operation(entry, _) => {
            route.access.anonymous && entry.spec.effect == Effect::Read && route.rate != Rate::SignIn
        }
        _ => false,
    }
}

/// The path up to its first placeholder.
fn prefix(route: &Route) -> &str {
    route.path.split('{').next().unwrap_or_default()
}

/// The first folder of the path.
fn folder(route: &Route) -> String {
    let first = route.path.split('/').nth(1).unwrap_or_default();
    format!("/{first}/")
}
