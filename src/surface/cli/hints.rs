//! Hints before a poll or a server starts: which models will vote, and how to use others.

use console::style;

use crate::config::{Config, Demo};

/// Before a poll without an upstream: what can be configured.
pub(super) async fn before_a_poll(config: &Config) {
    if !config.upstream.url.is_empty() {
        return;
    }
    if config.upstream.demo == Demo::Off {
        eprintln!("{}", style("No upstream is set and EP_DEMO is off: there are no models to ask.").yellow());
    }
    for server in ep_upstream::detect::local_servers().await {
        let (name, url) = (&server.name, &server.base_url);
        eprintln!(
            "{}",
            style(format!(
                "Found {name} with {} models. To ask them: EP_UPSTREAM_URL={url} ep poll …",
                server.models
            ))
            .cyan()
        );
    }
}

/// When a server starts: which models will vote, on standard error.
pub(super) async fn banner(config: &Config) {
    if config.upstream.url.is_empty() && config.upstream.demo == Demo::Auto {
        eprintln!(
            "{}",
            style("Demo roster: 60 simulated models vote. Set OPENROUTER_API_KEY or EP_UPSTREAM_URL to ask real ones.").yellow()
        );
    }
    before_a_poll(config).await;
}
