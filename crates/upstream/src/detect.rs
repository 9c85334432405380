//! Looks for model servers on this machine: advice for the command line, never a choice made for
//! anybody.

use std::time::Duration;

use futures::future::join_all;

use crate::client::plain;
use crate::registry::listing;
use ep_polling::time::Timestamp;

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// What usually listens there.
    pub name: &'static str,
    /// The address for `EP_UPSTREAM_URL`.
    pub base_url: String,
    /// How many chat models it lists.
    pub models: usize,
}

/// Where such servers usually listen.
pub const USUAL_PLACES: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
];

const PATIENCE: Duration = Duration::from_millis(200);

/// The servers that answer in the usual places, all asked at once for 200 ms.
pub async fn local_servers() -> Vec<LocalServer> {
    servers_at(&USUAL_PLACES).await
}

/// The same for other places.
pub async fn servers_at(places: &[(&'static str, &str)]) -> Vec<LocalServer> {
    let Ok(client) = plain().no_proxy().build() else { return Vec::new() };
    let probes = places.iter().map(|&(name, base_url)| {
        let client = client.clone();
        async move {
            let probe = async {
                let response = client.get(format!("{base_url}/models")).send().await.ok()?;
                let body = response.error_for_status().ok()?.text().await.ok()?;
                listing::read(&body, Timestamp::from_millis(0), false).ok()
            };
            let models = tokio::time::timeout(PATIENCE, probe).await.ok()??;
            Some(LocalServer { name, base_url: base_url.to_owned(), models: models.len() })
        }
    });
    join_all(probes).await.into_iter().flatten().collect()
}
