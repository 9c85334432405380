//! The server's introduction, for clients and for documents.

use ep_site::protocol::Introduction;
use rmcp::model::{ProtocolVersion, ServerCapabilities};

use super::app;

/// Returns the facts about the server for documents: versions, oldest first, and capabilities.
pub(super) fn introduction() -> Introduction {
    Introduction {
        versions: ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect(),
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
