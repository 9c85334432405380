//! The factory of all HTTP clients.

use std::sync::Arc;

use reqwest::Client;

use crate::tls;

/// A factory of HTTP client builders. Every client of the service is built by one, so that a test can direct
/// all outgoing requests to its servers.
#[derive(Clone)]
pub struct HttpClients(Arc<dyn Fn() -> reqwest::ClientBuilder + Send + Sync>);

impl HttpClients {
    /// Creates a factory from this function.
    pub fn new(make: impl Fn() -> reqwest::ClientBuilder + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Returns a client builder. The caller sets its timeouts.
    pub fn builder(&self) -> reqwest::ClientBuilder {
        (self.0)()
    }
}

impl Default for HttpClients {
    /// Returns a factory that uses [`client_builder`].
    fn default() -> Self {
        Self::new(client_builder)
    }
}

/// Returns a client builder with the settings shared by all clients.
pub fn client_builder() -> reqwest::ClientBuilder {
    // This fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("ensemble-poll/", env!("CARGO_PKG_VERSION")))
        // A redirect could drop the body of a POST, or send the key to another server.
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .tls_backend_preconfigured(tls::config())
}
