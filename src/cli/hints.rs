//! Hints before a poll or a server starts: the voting models, and ways to use others.

use console::style;
use ep_polling::counted::counted;
use ep_site::config::{Config, Demo};

use crate::telemetry::is_json;

const NO_MODELS: &str = "No upstream is set and EP_DEMO is off: no models are available.";
const SIMULATED: &str =
    "Demo roster: 60 simulated models vote. Set OPENROUTER_API_KEY or EP_UPSTREAM_URL to ask real ones.";

/// Prints setup hints before a poll without an upstream.
pub(super) async fn before_a_poll(config: &Config) {
    if !config.upstream.url.is_empty() {
        return;
    }
    if config.upstream.demo == Demo::Off {
        eprintln!("{}", style(NO_MODELS).yellow());
    }
    for server in local_servers().await {
        eprintln!("{}", style(format!("{server} ep poll …")).cyan());
    }
}

/// Reports the voting models when a server starts: as log events if the log is JSON, else on standard error.
pub(super) async fn banner(config: &Config) {
    let is_simulated = config.upstream.url.is_empty() && config.upstream.demo == Demo::Auto;
    if !is_json(config.telemetry.log_format) {
        if is_simulated {
            eprintln!("{}", style(SIMULATED).yellow());
        }
        return before_a_poll(config).await;
    }
    if !config.upstream.url.is_empty() {
        return;
    }
    tracing::warn!("{}", if is_simulated { SIMULATED } else { NO_MODELS });
    for server in local_servers().await {
        tracing::info!("{server} ep serve");
    }
}

/// Finds model servers on this machine; each entry ends with the start of a command that uses it.
async fn local_servers() -> Vec<String> {
    let found = ep_upstream::detect::local_servers().await.into_iter();
    let hint = found.map(|server| {
        let (name, url, models) = (&server.name, &server.base_url, counted(server.models, "model"));
        format!("Found {name} with {models}. To ask them: EP_UPSTREAM_URL={url}")
    });
    hint.collect()
}
