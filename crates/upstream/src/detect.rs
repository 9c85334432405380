//! Looks for model servers on this machine, so that the command line can suggest them.

use std::time::Duration;

use futures::future::join_all;

use crate::registry::listing;
use ep_outgoing::client_builder;
use ep_polling::time::Timestamp;

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The server that uses this address by default.
    pub name: &'static str,
    /// The address for `EP_UPSTREAM_URL`.
    pub base_url: String,
    /// How many chat models it lists.
    pub models: usize,
}

/// Model servers and their default addresses.
pub const DEFAULT_ADDRESSES: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
];

const PROBE_TIMEOUT: Duration = Duration::from_millis(200);

/// The servers that answer at their default addresses within 200 ms.
pub async fn local_servers() -> Vec<LocalServer> {
    servers_at(&DEFAULT_ADDRESSES).await
}

/// The same for other addresses.
pub async fn servers_at(addresses: &[(&'static str, &str)]) -> Vec<LocalServer> {
    let Ok(client) = client_builder().no_proxy().build() else { return Vec::new() };
    let probes = addresses.iter().map(|&(name, base_url)| {
        let client = client.clone();
        async move {
            let probe = async {
                let response = client.get(format!("{base_url}/models")).send().await.ok()?;
                let body = response.error_for_status().ok()?.text().await.ok()?;
                Some(listing::read(&body, Timestamp::from_millis(0), false).ok()?.models)
            };
            let models = tokio::time::timeout(PROBE_TIMEOUT, probe).await.ok()??;
            Some(LocalServer { name, base_url: base_url.to_owned(), models: models.len() })
        }
    });
    join_all(probes).await.into_iter().flatten().collect()
}
