//! The MCP App: a poll's result as an interactive card (extension `io.modelcontextprotocol/ui`, SEP-1865).
//!
//! Hosts show the page in a sandboxed frame and hand it what the tools answered. It is one file without a build step, and
//! reaches nothing but its host.

use ep_kernel::tool::{Entry, Task};
use rmcp::model::{ExtensionCapabilities, JsonObject, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

/// The extension's id.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The page.
pub(super) const URI: &str = "ui://poll/result";
const MIME_TYPE: &str = "text/html;profile=mcp-app";
const PAGE: &str = include_str!("poll-result.html");

/// What the server says of the extension: some hosts show nothing without it.
pub(super) fn capability() -> ExtensionCapabilities {
    ExtensionCapabilities::from([(EXTENSION.to_owned(), object(json!({ "mimeTypes": [MIME_TYPE] })))])
}

/// What names the page on a tool whose results it shows, by both keys that hosts read.
pub(super) fn tool_meta(entry: &Entry) -> Option<MetaObject> {
    let shown = matches!(entry.spec.task, Task::Start | Task::Read);
    shown.then(|| MetaObject(object(json!({ "ui": { "resourceUri": URI }, "ui/resourceUri": URI }))))
}

/// The page as it is listed.
pub(super) fn listed() -> Resource {
    let page =
        Resource::new(URI, "poll-result").with_title("A poll's result, as a card").with_mime_type(MIME_TYPE);
    page.with_meta(frame())
}

/// The page.
pub(super) fn contents() -> ResourceContents {
    ResourceContents::text(PAGE, URI).with_mime_type(MIME_TYPE).with_meta(frame())
}

/// How hosts frame the page: it may connect to nothing.
fn frame() -> MetaObject {
    let csp = json!({ "connectDomains": [], "resourceDomains": [] });
    MetaObject(object(json!({ "ui": { "csp": csp, "prefersBorder": true } })))
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
