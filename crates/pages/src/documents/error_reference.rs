//! `docs/errors.md`: every error code, from the error table.

use std::fmt::Write;

use axum::body::Bytes;
use ep_kernel::Kind;
use ep_site::{Document, Form, Site};

pub(super) const DOCUMENT: Document = Document::in_repository(
    "error_reference",
    "Describes every error.",
    &[Form::new("text/markdown", markdown).committed("docs/errors.md")],
);

/// Renders the error reference in Markdown.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every renderer")]
fn markdown(_: &Site) -> Option<Bytes> {
    let mut text = String::from(
        "# Errors\n\nEvery kind of error, rendered from the one table by `ep render`. Do not edit.\n\n",
    );
    text.push_str(&table(|_| true));
    Some(text.into())
}

/// Returns a table of the errors that can occur.
pub(super) fn table(occurs: impl Fn(Kind) -> bool) -> String {
    let mut text = String::from(
        "| code | meaning | HTTP | MCP | A2A | exit | retry | recovery actions |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in Kind::all().filter(|kind| occurs(*kind)).map(Kind::row) {
        let recovery: Vec<&str> = row.recovery.iter().map(|recovery| recovery.description).collect();
        let retry = if row.retryable { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {retry} | {} |",
            row.code,
            row.title,
            row.http,
            row.mcp,
            row.a2a,
            row.exit,
            recovery.join(" ")
        );
    }
    text
}

/// Returns a section for each error that can occur, with its code as heading.
pub(super) fn sections(occurs: impl Fn(Kind) -> bool) -> String {
    let mut text = String::new();
    for row in Kind::all().filter(|kind| occurs(*kind)).map(Kind::row) {
        let _ = write!(text, "## `{}`\n\n**{}.**", row.code, row.title);
        for recovery in row.recovery {
            let _ = write!(text, " {}", recovery.description);
        }
        let retry = if row.retryable { "can succeed" } else { "fails again" };
        let _ = write!(
            text,
            "\n\nHTTP {} · MCP {} · A2A {} · the same request {retry}\n\n",
            row.http, row.mcp, row.a2a
        );
    }
    text
}
