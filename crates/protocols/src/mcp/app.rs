//! The MCP App: a poll's result as an interactive card (extension `io.modelcontextprotocol/ui`, SEP-1865).
//!
//! Hosts show the page in a sandboxed frame and pass it the tool results. It is a single file without a build step,
//! and connects only to its host.

use ep_kernel::{Entry, Task};
use rmcp::model::{ExtensionCapabilities, JsonObject, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

/// Extension id.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// URI of the page.
pub(super) const URI: &str = "ui://poll/result";
const MIME_TYPE: &str = "text/html;profile=mcp-app";
const PAGE: &str = include_str!("poll-result.html");

/// Returns the extension's capability; some hosts show nothing without it.
pub(super) fn capability() -> ExtensionCapabilities {
    ExtensionCapabilities::from([(EXTENSION.to_owned(), object(json!({ "mimeTypes": [MIME_TYPE] })))])
}

/// Returns the metadata that links a tool to the page, under both keys that hosts read.
pub(super) fn tool_meta(entry: &Entry) -> Option<MetaObject> {
    let shown = matches!(entry.spec.task, Task::Start | Task::Read);
    shown.then(|| MetaObject(object(json!({ "ui": { "resourceUri": URI }, "ui/resourceUri": URI }))))
}

/// Returns the page's list entry.
pub(super) fn listed() -> Resource {
    let page =
        Resource::new(URI, "poll-result").with_title("A poll's result, as a card").with_mime_type(MIME_TYPE);
    page.with_meta(frame())
}

/// Returns the page's contents.
pub(super) fn contents() -> ResourceContents {
    ResourceContents::text(PAGE, URI).with_mime_type(MIME_TYPE).with_meta(frame())
}

/// Returns the frame settings: the page may not connect to any host.
fn frame() -> MetaObject {
    let csp = json!({ "connectDomains": [], "resourceDomains": [] });
    MetaObject(object(json!({ "ui": { "csp": csp, "prefersBorder": true } })))
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
