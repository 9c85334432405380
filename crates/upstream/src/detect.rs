//! Detection of model servers on this machine, which the command line can suggest.

use std::time::Duration;

use futures::future::join_all;

use crate::registry::listing;
use ep_outgoing::client_builder;
use ep_polling::Timestamp;

/// A detected server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The server software that uses this URL by default.
    pub name: &'static str,
    /// The URL for `EP_UPSTREAM_URL`.
    pub base_url: String,
    /// Number of models in its list that can vote.
    pub models: usize,
}

/// Model servers and their default URLs.
pub const DEFAULT_ADDRESSES: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
];

const PROBE_TIMEOUT: Duration = Duration::from_millis(200);

/// Returns the servers that respond at their default URLs within 200 ms.
pub async fn local_servers() -> Vec<LocalServer> {
    servers_at(&DEFAULT_ADDRESSES).await
}

/// Returns the servers that respond at these URLs within 200 ms.
pub async fn servers_at(addresses: &[(&'static str, &str)]) -> Vec<LocalServer> {
    let Ok(client) = client_builder().no_proxy().build() else { return Vec::new() };
    let probes = addresses.iter().map(|&(name, base_url)| {
        let client = client.clone();
        async move {
            let probe = async {
                let response = client.get(format!("{base_url}/models")).send().await.ok()?;
                let body = response.error_for_status().ok()?.text().await.ok()?;
                Some(listing::read(&body, Timestamp::from_millis(0), &listing::Rules::NONE).ok()?.models)
            };
            let models = tokio::time::timeout(PROBE_TIMEOUT, probe).await.ok()??;
            Some(LocalServer { name, base_url: base_url.to_owned(), models: models.len() })
        }
    });
    join_all(probes).await.into_iter().flatten().collect()
}
