//! HTTP clients, all from one place.

use std::sync::Arc;

use reqwest::Client;

/// Makes the builders of HTTP clients. Every client of the service begins with one, so that a test can
/// direct all outgoing requests to its own servers.
#[derive(Clone)]
pub struct HttpClients(Arc<dyn Fn() -> reqwest::ClientBuilder + Send + Sync>);

impl HttpClients {
    /// Builders made by this function.
    pub fn new(make: impl Fn() -> reqwest::ClientBuilder + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// A builder of a client. Whoever builds it sets its timeouts.
    pub fn builder(&self) -> reqwest::ClientBuilder {
        (self.0)()
    }
}

impl Default for HttpClients {
    /// Builders with the settings that all clients share.
    fn default() -> Self {
        Self::new(client_builder)
    }
}

/// The settings that all clients share.
pub fn client_builder() -> reqwest::ClientBuilder {
    // This fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("ensemble-poll/", env!("CARGO_PKG_VERSION")))
        // A redirected POST could lose its body, or send the key elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
}
