//! The server's introduction, for clients and for documents.

use rmcp::model::{ProtocolVersion, ServerCapabilities};
use serde_json::Value;

use super::app;

/// Name of the server.
pub(super) const NAME: &str = "ensemble-poll";

/// Facts about the server for documents.
pub struct Introduction {
    /// Name of the server.
    pub name: &'static str,
    /// Version of the server.
    pub version: &'static str,
    /// Supported protocol versions, oldest first.
    pub protocol_versions: Vec<&'static str>,
    /// Server capabilities in protocol form.
    pub capabilities: Value,
}

/// Returns the facts about the server for documents.
pub fn introduction() -> Introduction {
    Introduction {
        name: NAME,
        version: env!("CARGO_PKG_VERSION"),
        protocol_versions: ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect(),
        capabilities: serde_json::to_value(capabilities()).unwrap_or_default(),
    }
}

pub(super) fn capabilities() -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_prompts()
        .enable_resources()
        .enable_completions()
        .enable_tasks()
        .build();
    capabilities.extensions.get_or_insert_default().extend(app::capability());
    capabilities
}
