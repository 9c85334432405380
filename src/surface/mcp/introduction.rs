//! How the server introduces itself, to clients and in documents about it.

use rmcp::model::{ProtocolVersion, ServerCapabilities};
use serde_json::Value;

use super::app;

/// The server's name.
pub(super) const NAME: &str = "ensemble-poll";

/// What documents say of the server.
pub struct Introduction {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The protocol versions that it supports, oldest first.
    pub protocol_versions: Vec<&'static str>,
    /// What it can do, as the protocol has it.
    pub capabilities: Value,
}

/// What documents say of the server.
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
