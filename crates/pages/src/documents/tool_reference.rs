//! `docs/tools.md`: every operation, its addresses and its manual.

use std::fmt::Write;

use axum::body::Bytes;
use ep_kernel::{Access, Agents, Entry, Kind};
use ep_site::{Document, Form, Site};

pub(super) const DOCUMENT: Document = Document::in_repository(
    "tool_reference",
    "Describes every operation.",
    &[Form::new("text/markdown", markdown).committed("docs/tools.md")],
);

/// Renders the operation reference in Markdown.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(site: &Site) -> Option<Bytes> {
    let mut text = String::from(
        "# Operations\n\nEvery operation, rendered from the catalogue by `ep render`. Do not edit.\n",
    );
    for entry in site.tools {
        operation(&mut text, entry, None);
    }
    Some(text.into())
}

/// Renders a section for each operation that this configuration offers.
pub(super) fn offered(site: &Site) -> String {
    let mut text = String::new();
    for entry in site.offered() {
        operation(&mut text, entry, Some(site));
    }
    text
}

/// Renders the section of one operation.
pub(super) fn one(site: &Site, entry: &Entry) -> String {
    let mut text = String::new();
    operation(&mut text, entry, Some(site));
    text.trim_start().replacen("## ", "# ", 1)
}

/// Renders the section of an operation: for the readers of a site, or for those of the repository.
fn operation(text: &mut String, entry: &Entry, site: Option<&Site>) {
    let spec = &entry.spec;
    let _ = write!(text, "\n## {}\n\n**{}.** {}\n\n", spec.name, spec.title, spec.summary);
    if let Some(lack) = site.and_then(|site| site.settings.offer.lacks(spec)) {
        let _ = write!(text, "**{}**\n\n", lack.sentence());
    }
    for (what, rest) in [("REST", spec.rest), ("Event stream", spec.stream)] {
        if let Some(rest) = rest {
            let access = spec.access.and(rest.only);
            let key = site.is_none_or(|site| site.settings.keys_read_account || !rest.keys_by_setting);
            let mut callers = callers(Access { key: access.key && key, ..access });
            if site.is_none() && rest.keys_by_setting {
                callers.push_str(" where `EP_KEYS_READ_ACCOUNT` allows it");
            }
            let _ = writeln!(text, "- {what}: `{} {}` ({callers})", rest.method.as_str(), rest.path);
        }
    }
    match spec.agents {
        Agents::Core => text.push_str("- MCP tool and A2A skill\n"),
        Agents::Set(set) => {
            let name = set.name();
            let _ = writeln!(text, "- MCP tool with `?toolsets={name}`, A2A skill of the extended card");
        }
        Agents::None => {}
    }
    // `ep call` needs a REST binding, and the program of the operator.
    if site.is_none() && spec.rest.is_some() {
        let _ = writeln!(text, "- Command line: `ep call {}`", spec.name);
    }
    let occurs = |kind: &&Kind| site.is_none_or(|site| site.settings.offer.has_error(**kind));
    let faults = spec.faults.iter().filter(occurs);
    let codes: Vec<String> = faults.map(|kind| format!("`{}`", kind.row().code)).collect();
    if !codes.is_empty() {
        let _ = writeln!(text, "- Its own errors: {}", codes.join(", "));
    }
    let _ = write!(text, "\n{}\n", spec.manual.trim());
    let _ = write!(text, "\n```json\n{}\n```\n", spec.example.trim());
}

/// Returns the accepted callers in words.
pub(super) fn callers(access: Access) -> String {
    let kinds = [
        (access.anonymous, "anyone without credentials"),
        (access.cookie, "session cookie"),
        (access.key, "API key"),
    ];
    if access == Access::PUBLIC {
        return "anyone".into();
    }
    kinds.iter().filter(|(allowed, _)| *allowed).map(|(_, name)| *name).collect::<Vec<_>>().join(" or ")
}
