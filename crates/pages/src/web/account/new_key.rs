//! A new API key on the account page, with instructions.

use ep_site::Site;
use ep_tools::keys::CreatedKey;
use serde_json::Value;

use crate::documents;
use crate::documents::AskMethod;

/// Placeholders for the API key in the examples.
const KEY_VARIABLES: [&str; 2] = ["${EP_API_KEY}", "$EP_API_KEY"];

/// A new key with instructions.
pub(super) struct NewKeyView {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) mcp_config: String,
    pub(super) ways: Vec<AskMethod>,
}

impl NewKeyView {
    pub(super) fn new(site: &Site, created: CreatedKey, mcp_config: &str) -> Self {
        let CreatedKey { key, label, .. } = created;
        let with_key =
            |text: &str| KEY_VARIABLES.iter().fold(text.to_owned(), |text, name| text.replace(name, &key));
        let ways = documents::ways(site)
            .into_iter()
            .filter(|way| KEY_VARIABLES.iter().any(|name| way.command.contains(name)));
        let ways = ways.map(|way| AskMethod { command: with_key(&way.command), ..way });
        Self { mcp_config: with_key(&remote_servers(mcp_config)), ways: ways.collect(), label, key }
    }
}

/// Removes local servers from an MCP client's configuration, because a key is for this service only.
fn remote_servers(mcp_config: &str) -> String {
    let Ok(mut config) = serde_json::from_str::<Value>(mcp_config) else { return mcp_config.to_owned() };
    if let Some(servers) = config["mcpServers"].as_object_mut() {
        servers.retain(|_, server| server.get("url").is_some());
    }
    format!("{config:#}")
}
